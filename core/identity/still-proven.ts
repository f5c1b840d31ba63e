import type { Clock } from '../kernel/clock.ts'
import type { Failure } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { IdentityStores } from './ports.ts'
import { NotAuthenticated } from './ports.ts'
import { enrolledRef } from './second-factor-rules.ts'

/** The credential was replaced or revoked between its check and the change. */
export const credentialOutdated = (): Failure<'NotAuthenticated'> =>
  NotAuthenticated('The credential was replaced or revoked meanwhile. Send the current one.')

/** Where it stands what proves a caller. */
export type ProvenStores = Pick<IdentityStores, 'users' | 'tokens' | 'sessions' | 'secondFactors'>

/** What a right password, and code, were compared with. */
export interface ProvenSecrets {
  readonly phc: Secret
  /** Undefined where the account had no second factor. */
  readonly secondFactorRef: string | undefined
}

/** Whether password and second factor are still those that were proven; the user's row is locked. */
export const areStillTheirs = async (stores: Pick<IdentityStores, 'users' | 'secondFactors'>, userId: UserId, proven: ProvenSecrets): Promise<boolean> =>
  (await stores.users.passwordPhc(userId)) === proven.phc.reveal() && enrolledRef(await stores.secondFactors.find(userId)) === proven.secondFactorRef

/**
 * Whether what proved the caller is still in force, inside a transaction: for changes whose result outlives the credential.
 * Locks the user's row, as whoever replaces the password does, so that such a change sees this one's result or this one
 * sees that.
 */
export const isStillProven = async (
  stores: ProvenStores,
  clock: Clock,
  principal: Principal,
): Promise<boolean> => {
  const { method, provenPhc, provenSecondFactorRef, tokenId, tokenCreatedAt, sessionId } = principal
  const actorId = principal.impersonator?.userId ?? principal.userId
  if ((await stores.users.lock(actorId)) === undefined) return false
  if (method === 'password') return provenPhc === undefined || areStillTheirs(stores, actorId, { phc: provenPhc, secondFactorRef: provenSecondFactorRef })
  if (tokenId !== undefined) return stores.tokens.isInForce(actorId, tokenId, tokenCreatedAt)
  if (sessionId === undefined) return true
  return (await stores.sessions.list(actorId, clock.now())).some(({ id }) => id === sessionId)
}
