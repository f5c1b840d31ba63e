import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import { fullScope } from '../kernel/principal.ts'
import { badCredentials, makeCheckCredentials } from './check-credentials.ts'
import type { CheckCredentialsDeps } from './check-credentials.ts'
import type { MarkUsed } from './mark-used.ts'
import type { Credential } from './ports.ts'
import { isMarkDue } from './session-rules.ts'
import type { JudgeOneTimeCode } from './second-factor-ports.ts'

export interface ProvePasswordDeps extends CheckCredentialsDeps {
  readonly judgeOneTimeCode: JudgeOneTimeCode
  readonly clock: Clock
}

export type ProvePasswordFailure = Failure<'NotAuthenticated'> | Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>

/** Proves a caller who sent name and password and, where a second factor is enrolled, a code that has not been used. The code is left unspent. */
export const makeProvePassword = (deps: ProvePasswordDeps, mark: MarkUsed) => {
  const checkCredentials = makeCheckCredentials(deps)
  return async (credential: Credential & { kind: 'password' }, sourceIp: string): Outcome<ProvePasswordFailure, Principal> => {
    const checked = await checkCredentials({ login: credential.login, password: credential.password, sourceIp })
    if (isLeft(checked)) return checked
    const { account, phc, hasSecondFactor, secondFactorRef, lastLoginAt } = checked.right
    if (!account.isEnabled) return left(badCredentials(account.userId))
    const judged = hasSecondFactor ? await deps.judgeOneTimeCode({ userId: account.userId, code: credential.oneTimeCode, sourceIp }) : right(undefined)
    if (isLeft(judged)) return judged
    const { userId, login, isSiteAdmin, mustChangePassword } = account
    const now = deps.clock.now()
    if (isMarkDue(lastLoginAt, now)) mark(`password ${userId}`, now, () => deps.credentials.markPasswordUsed(userId, now))
    return right({
      userId, login, isSiteAdmin, mustChangePassword, method: 'password', scopes: fullScope, provenPhc: secret(phc),
      ...(judged.right === undefined ? {} : { unspentCode: judged.right }),
      ...(secondFactorRef === undefined ? {} : { provenSecondFactorRef: secondFactorRef }),
    })
  }
}
