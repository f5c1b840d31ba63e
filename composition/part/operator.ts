import { randomUUID } from 'node:crypto'
import type { Call } from '../../core/kernel/principal.ts'
import { portKey } from '../../core/kernel/port-key.ts'

/** Returns a call by the operator of the service: without a signed-in user, from this machine. */
export const operatorCall = (operation: string, signal: AbortSignal = new AbortController().signal): Call => ({
  principal: undefined,
  requestId: randomUUID(),
  sourceIp: '127.0.0.1',
  operation,
  signal,
})

/** The first site admin, if this start created one. */
export interface FirstAdmin {
  readonly username: string
  /** Set when the password was generated. It is shown once and stored nowhere. */
  readonly generatedPassword: string | undefined
}

/** Creates the first site admin when the store has none; resolves undefined otherwise. Rejects with StartRefused. */
export type MakeFirstAdmin = () => Promise<FirstAdmin | undefined>
export const FirstAdminPort = portKey<MakeFirstAdmin>('identity.FirstAdmin')
