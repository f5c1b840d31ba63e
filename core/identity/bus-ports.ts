import type { UserId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'

/** Passes for the message bus, which browsers carry to its websocket in a cookie. */
export interface BusPasses {
  /**
   * A bearer JWT that lets the user, and nobody else, onto the bus for `validSeconds` from now, as far as the user's own
   * subjects go. Undefined where the bus gives none, or does not answer soon: a sign-in never waits or fails for it. Never
   * throws. Asked outside of transactions.
   */
  passFor(user: { readonly userId: UserId; readonly login: string }, validSeconds: number): Promise<Secret | undefined>
}
export const BusPassesToken = token<BusPasses>('identity.BusPasses')
