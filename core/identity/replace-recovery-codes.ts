import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import { lockProvenUser } from './lock-proven-user.ts'
import type { IdentityChanges, TokenDigest } from './ports.ts'
import type { Proof, ProveAgainDeps, ProveAgainFailure } from './prove-again.ts'
import { makeProveAgain } from './prove-again.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { recoveryCodesReplacedMail } from './second-factor-mail.ts'
import { isEnrolled, makeRecoveryCodes, notEnrolled } from './second-factor-rules.ts'

export interface ReplaceRecoveryCodesDeps extends ProveAgainDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

export type ReplaceRecoveryCodesFailure = ProveAgainFailure | Failure<'SecondFactorMissing'> | Failure<'NotAuthenticated'>

/** Voids all recovery codes and answers new ones, once. */
export const makeReplaceRecoveryCodes = (deps: ReplaceRecoveryCodesDeps) => {
  const proveAgain = makeProveAgain(deps)
  return async (call: SignedInCall<readonly Secret[]>, proof: Proof): Outcome<ReplaceRecoveryCodesFailure, readonly Secret[]> => {
    const proven = await proveAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId } = call.principal
    const codes = makeRecoveryCodes(deps.entropy)
    const hashes = codes.map((one) => recoveryCodeHash(deps.digest, one))
    return deps.unitOfWork.run<ReplaceRecoveryCodesFailure, readonly Secret[]>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      if (!isEnrolled(await stores.secondFactors.find(userId))) return left(notEnrolled())
      const now = deps.clock.now()
      await stores.secondFactors.replaceRecoveryCodes(userId, hashes, now)
      await stores.audit.record({
        action: 'second_factor.recovery_codes_replaced',
        ...auditedUser(user),
        changes: { recovery_codes: codes.length },
      })
      await postIfAddressed(stores.mail, recoveryCodesReplacedMail(user, { at: now, sourceIp: call.sourceIp }))
      return right(codes.map(secret))
    })
  }
}
