import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import { lockProvenUser } from './lock-proven-user.ts'
import type { IdentityChanges } from './ports.ts'
import type { Proof, ProveAgainDeps, ProveAgainFailure } from './prove-again.ts'
import { makeProveAgain } from './prove-again.ts'
import { disabledMail } from './second-factor-mail.ts'
import { isEnrolled, notEnrolled } from './second-factor-rules.ts'

export interface DisableSecondFactorDeps extends ProveAgainDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export type DisableSecondFactorFailure = ProveAgainFailure | Failure<'SecondFactorMissing'> | Failure<'NotAuthenticated'>

/** Removes the caller's second factor and recovery codes and ends all sessions but the one of this call. */
export const makeDisableSecondFactor = (deps: DisableSecondFactorDeps) => {
  const proveAgain = makeProveAgain(deps)
  return async (call: SignedInCall, proof: Proof): Outcome<DisableSecondFactorFailure, void> => {
    const proven = await proveAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId, sessionId } = call.principal
    return deps.unitOfWork.run<DisableSecondFactorFailure, void>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      if (!isEnrolled(await stores.secondFactors.find(userId))) return left(notEnrolled())
      await stores.secondFactors.remove(userId)
      const ended = await stores.sessions.removeAll(userId, sessionId)
      await stores.audit.record({ action: 'second_factor.disabled', ...auditedUser(user), changes: { by: 'user', sessions_ended: ended } })
      await postIfAddressed(stores.mail, disabledMail(user, { at: deps.clock.now(), sourceIp: call.sourceIp }))
      return right(undefined)
    })
  }
}
