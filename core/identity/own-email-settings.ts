import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Allowances } from './allowance-ports.ts'
import { auditedUser } from './audited-user.ts'
import { EmailIsPrimary, EmailMissing } from './change-own-emails.ts'
import { makePostConfirmation, mayPostConfirmations } from './post-confirmation.ts'
import type { PostConfirmationDeps } from './post-confirmation.ts'
import type { IdentityChanges } from './ports.ts'
import { movePrimaryEmail } from './primary-email.ts'
import type { EmailRecord, User } from './types.ts'

/** There is nothing to confirm. */
export const EmailIsVerified = defineFailure('EmailIsVerified', 'Unprocessable')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

const missing = (): Failure<'EmailMissing'> => EmailMissing('You have no such e-mail address.')

/** Runs `change` on one address of the caller, whose row is locked. */
const onOwnEmail = <F extends Failure>(
  deps: Pick<Deps, 'unitOfWork'>,
  call: SignedInCall,
  emailId: number,
  change: (stores: IdentityChanges, user: User, email: EmailRecord) => Outcome<F, void>,
): Outcome<F | Failure<'EmailMissing'>, void> =>
  deps.unitOfWork.run<F | Failure<'EmailMissing'>, void>(call, async (stores) => {
    const user = await stores.users.lock(call.principal.userId)
    if (user === undefined) throw new Error('the account of a proven caller is gone')
    const email = (await stores.emails.list(user.id)).find(({ id }) => id === emailId)
    return email === undefined ? left(missing()) : change(stores, user, email)
  })

const record = (stores: IdentityChanges, user: User, action: string): Promise<void> =>
  stores.audit.record({ action, ...auditedUser(user) })

/** Makes a verified address of the caller the primary one; the old one is told. */
export const makeChoosePrimaryEmail =
  (deps: Deps) =>
  (call: SignedInCall, emailId: number): Outcome<Failure<'EmailMissing'> | Failure<'EmailNotVerified'>, void> =>
    onOwnEmail<Failure<'EmailNotVerified'>>(deps, call, emailId, async (stores, user, email) => {
      const moved = await movePrimaryEmail(stores, user, email, { at: deps.clock.now(), sourceIp: call.sourceIp })
      if (isLeft(moved)) return moved
      if (moved.right) await record(stores, user, 'email.made_primary')
      return right(undefined)
    })

/** Posts the confirmation mail of an address of the caller once more; the older code counts no longer. */
export const makeResendConfirmation = (deps: Deps & PostConfirmationDeps & { readonly allowances: Allowances }) => {
  const postConfirmation = makePostConfirmation(deps)
  return async (call: SignedInCall, emailId: number): Outcome<Failure<'EmailMissing'> | Failure<'EmailIsVerified'> | Failure<'TooManyMails'>, void> => {
    // Counted on its own, so before the transaction.
    const allowed = await mayPostConfirmations(deps.allowances, call.principal.userId, 1)
    if (isLeft(allowed)) return allowed
    return onOwnEmail<Failure<'EmailIsVerified'> | Failure<'TooManyMails'>>(deps, call, emailId, async (stores, user, { email, verified }) => {
      if (verified) return left(EmailIsVerified('This address is confirmed already.'))
      const posted = await postConfirmation(stores, { userId: user.id, login: user.login, email })
      if (isLeft(posted)) return posted
      await record(stores, user, 'email.confirmation_asked')
      return right(undefined)
    })
  }
}

/** Removes one address of the caller by its id; the primary one stays. */
export const makeRemoveOwnEmail =
  (deps: Pick<Deps, 'unitOfWork'>) =>
  (call: SignedInCall, emailId: number): Outcome<Failure<'EmailMissing'> | Failure<'EmailIsPrimary'>, void> =>
    onOwnEmail<Failure<'EmailIsPrimary'>>(deps, call, emailId, async (stores, user, email) => {
      if (email.isPrimary) return left(EmailIsPrimary('The primary e-mail address cannot be deleted.'))
      await stores.emails.remove(user.id, [email.id])
      await record(stores, user, 'email.removed')
      return right(undefined)
    })
