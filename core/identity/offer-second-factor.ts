import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret, SecretBox } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { lockProvenUser } from './lock-proven-user.ts'
import type { IdentityChanges, IdentitySettings } from './ports.ts'
import type { OneTimePasswords } from './second-factor-ports.ts'
import { alreadyEnrolled, makeSeedRef } from './second-factor-rules.ts'
import { makeSeedSafe } from './seed-safe.ts'

export interface OfferSecondFactorDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly oneTimePasswords: OneTimePasswords
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
}

export interface OfferedSecondFactor {
  /** The only time that it is shown. */
  readonly seed: Secret
  /** The same for an authenticator app. */
  readonly uri: Secret
}

export type OfferSecondFactorFailure = Failure<'SecondFactorEnrolled'> | Failure<'NotAuthenticated'>

/** How an app tells this site from others: the host, without what would end a label (a port, the colons of IPv6). */
export const issuerOf = (baseUrl: string): string => {
  const authority = baseUrl.replace(/^[a-z]+:\/\//, '').replace(/\/.*$/, '')
  const host = authority.replace(/:\d+$/, '').replaceAll(/[^\w.-]+/g, ' ').trim()
  return `Moorage (${host})`
}

/** Makes a seed that waits for its first code, in place of one that waited before. Nothing is enrolled by that, so nothing is audited. */
export const makeOfferSecondFactor = (deps: OfferSecondFactorDeps) => {
  const seeds = makeSeedSafe(deps.secretBox)
  return async (call: SignedInCall): Outcome<OfferSecondFactorFailure, OfferedSecondFactor> => {
    const { userId } = call.principal
    const seed = deps.oneTimePasswords.newSeed()
    const ref = makeSeedRef(deps.entropy)
    const sealed = await seeds.seal(seed, userId, ref)
    return deps.unitOfWork.run<OfferSecondFactorFailure, OfferedSecondFactor>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call)
      if (isLeft(locked)) return locked
      const user = locked.right
      if (!(await stores.secondFactors.offer(userId, sealed, ref, deps.clock.now()))) return left(alreadyEnrolled())
      return right({ seed, uri: deps.oneTimePasswords.uri(seed, issuerOf(deps.settings.baseUrl()), user.login) })
    })
  }
}
