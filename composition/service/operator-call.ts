import { randomUUID } from 'node:crypto'
import type { Call } from '../../core/kernel/principal.ts'

/** A call by whoever operates the service: no signed-in user, from this machine. */
export const operatorCall = (operation: string): Call => ({
  principal: undefined,
  requestId: randomUUID(),
  sourceIp: '127.0.0.1',
  operation,
  signal: new AbortController().signal,
})
