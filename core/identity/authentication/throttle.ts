import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/secret.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { makeOwnCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { postIfAddressed } from '../emails/account-mail.ts'
import type { Background, IdentityChanges } from '../ports.ts'
import { TooManyAttempts } from '../ports.ts'
import type { Attempt, AttemptKind, AttemptThrottle, OnLocked } from './ports.ts'

export interface ThrottledCheckDeps {
  readonly throttle: AttemptThrottle
  readonly onLocked: OnLocked
}

/** The failure for a blocked address. It discloses nothing about any account. */
const addressBlocked = (retryAfterSeconds: number): Failure<'TooManyAttempts'> =>
  TooManyAttempts('Too many failed attempts from this address; wait and try again.', { retryAfterSeconds })

/**
 * Every check of a guessable secret goes through this function. `check` returns undefined for a wrong guess; `refused`
 * is the one failure for a wrong guess and for a locked subject. `whenLocked`, if set, runs instead of the check on a
 * locked subject, so that the cost is the same.
 */
export const makeThrottledCheck =
  ({ throttle, onLocked }: ThrottledCheckDeps) =>
  async <E extends Failure, R extends Failure, A>(
    attempt: Attempt,
    check: () => Promise<Either<E, A | undefined>>,
    refused: () => R,
    whenLocked?: () => Promise<Either<E, unknown>>,
  ): Outcome<E | R | Failure<'TooManyAttempts'>, A> => {
    const guarded = await throttle.guard(attempt, check)
    switch (guarded.kind) {
      case 'judged':
        return guarded.answer
      case 'address-blocked':
        return left(addressBlocked(guarded.retryAfterSeconds))
      case 'subject-locked': {
        const spent = await whenLocked?.()
        return left(spent !== undefined && isLeft(spent) ? spent.left : refused())
      }
      case 'wrong':
        if (guarded.hasLocked && typeof attempt.subject === 'number') onLocked({ ...attempt, subject: attempt.subject })
        return left(refused())
    }
  }

export interface NotifyLockedDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly background: Background
  readonly entropy: Entropy
  readonly clock: Clock
}

const whatFailed: Readonly<Record<AttemptKind, string>> = {
  password: 'the password was wrong',
  'one-time-code': 'the password was right, but the one-time code was wrong',
  'reset-code': 'the code to set a new password was wrong',
}

/**
 * Notifies the owner of a locked account by mail and in the account's log, in one transaction. It runs after the
 * response: a slower response for existing accounts would disclose that they exist.
 */
export const makeNotifyLocked = (deps: NotifyLockedDeps): OnLocked => {
  const ownCall = makeOwnCall(deps.entropy)
  return ({ kind, subject, sourceIp }) =>
    deps.background.run('telling of a locked account', async () => {
      // The attempt has no call yet: authentication precedes it.
      const told = await deps.unitOfWork.run({ ...ownCall('identity.lock'), sourceIp }, async (stores) => {
        const user = await stores.users.byId(subject)
        if (user === undefined) return right(undefined)
        await stores.audit.record(auditOfUser(user, 'user.locked', { attempts: kind }))
        await postIfAddressed(stores.mail, {
          to: user.primaryEmail,
          subject: 'Sign-in to your account is locked for a while',
          paragraphs: [
            `There were too many failed attempts for the account ${user.login}: ${whatFailed[kind]}. The last one came at ${deps.clock.now().toISOString()} from ${sourceIp}.`,
            'New sign-ins are refused for a while; the lock ends by itself. Sessions and access tokens stay valid.',
            kind === 'one-time-code'
              ? 'If this was not you, your password is known to another person: change it.'
              : 'If this was not you, you do not need to do anything; an administrator can remove the lock.',
          ],
          accountId: user.id,
        })
        return right(undefined)
      })
      if (isLeft(told)) throw new Error(told.left)
    })
}
