import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ProvenSecrets, ProvenStores } from './still-proven.ts'
import { areStillTheirs, credentialOutdated, isStillProven } from './still-proven.ts'
import type { User } from './types.ts'

/**
 * Locks the caller's row until the transaction ends, and answers the user while what proved the caller is still in force, and
 * what the caller proved again, if anything.
 */
export const lockProvenUser = async (
  stores: ProvenStores,
  clock: Clock,
  { principal }: SignedInCall<never>,
  again?: ProvenSecrets,
): Outcome<Failure<'NotAuthenticated'>, User> => {
  const user = (await isStillProven(stores, clock, principal)) ? await stores.users.lock(principal.userId) : undefined
  if (user === undefined) return left(credentialOutdated())
  return again === undefined || (await areStillTheirs(stores, user.id, again)) ? right(user) : left(credentialOutdated())
}
