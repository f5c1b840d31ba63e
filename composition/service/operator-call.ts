import { randomUUID } from 'node:crypto'
import type { Call } from '../../core/kernel/principal.ts'

/** Returns a call by the operator of the service: without a signed-in user, from this machine. */
export const operatorCall = (operation: string): Call => ({
  principal: undefined,
  requestId: randomUUID(),
  sourceIp: '127.0.0.1',
  operation,
  signal: new AbortController().signal,
})
