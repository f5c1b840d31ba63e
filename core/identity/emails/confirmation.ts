import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { emailConfirmedMail, postIfAddressed } from './account-mail.ts'
import { makeThrottledCheck } from '../authentication/throttle.ts'
import type { ThrottledCheckDeps } from '../authentication/throttle.ts'
import { linkCodeHash, linkCodeInvalid } from './link-codes.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from '../ports.ts'

export interface ConfirmEmailDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly clock: Clock
}

type ConfirmFailure = Failure<'LinkCodeInvalid'> | Failure<'TooManyAttempts'>

/**
 * Confirms the address that a code was sent to, if it still belongs to that user. Does not sign in. If the account
 * waited for its primary address, it becomes active; for any other address the primary one is notified.
 */
export const makeConfirmEmail = (deps: ConfirmEmailDeps) => {
  const judge = makeThrottledCheck(deps)
  return async (call: Call, code: string): Outcome<ConfirmFailure, void> => {
    const attempt = { kind: 'reset-code', subject: code.slice(0, 64), sourceIp: call.sourceIp } as const
    const confirmed = await judge<Failure<'TooManyAttempts'>, Failure<'LinkCodeInvalid'>, true>(attempt, () => confirm(deps, call, code), linkCodeInvalid)
    return isLeft(confirmed) ? confirmed : right(undefined)
  }
}

const confirm = async (deps: ConfirmEmailDeps, call: Call, code: string): Outcome<never, true | undefined> => {
  const hash = linkCodeHash(deps.digest, code)
  if (isLeft(hash)) return right(undefined)
  const outcome = await deps.unitOfWork.run<Failure<'LinkCodeInvalid'>, true>(call, async (stores) => {
    const now = deps.clock.now()
    const found = await stores.linkCodes.find('email-confirmation', hash.right, now)
    if (found === undefined) return left(linkCodeInvalid())
    const user = await stores.users.lock(found.userId)
    const isUsed = user !== undefined && (await stores.linkCodes.use('email-confirmation', hash.right, now))
    if (!isUsed || !(await stores.emails.verify(user.id, found.emailKey, now))) return left(linkCodeInvalid())
    const isPrimary = user.primaryEmail.toLowerCase() === found.emailKey
    const isAwaited = isPrimary && (await stores.accountLife.confirm(user.id))
    if (!isPrimary) await postIfAddressed(stores.mail, emailConfirmedMail(user, found.emailKey, { at: now, sourceIp: call.sourceIp }))
    await stores.audit.record(auditOfUser(user, 'email.confirmed', { activated: isAwaited }))
    return right(true)
  })
  return isLeft(outcome) ? right(undefined) : outcome
}
