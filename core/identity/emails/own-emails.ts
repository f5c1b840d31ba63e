import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { emailDomainRefused, isDomainAllowed } from '../site-rules.ts'
import { auditOfUser } from '../audit.ts'
import type { Allowances } from '../attempt-ports.ts'
import type { DomainNames, IdentityChanges } from '../ports.ts'
import { EmailTaken } from '../ports.ts'
import type { EmailAddress, EmailRecord, User } from '../types.ts'
import type { MailOccasion } from './account-mail.ts'
import { emailsChangedMail, postIfAddressed, primaryEmailChangedMail } from './account-mail.ts'
import { parseEmailAddress } from './email-address.ts'
import type { PostConfirmationDeps } from './link-codes.ts'
import { makePostConfirmation, mayPostConfirmations, removeExpiredEmailClaim } from './link-codes.ts'

/** The primary address must be a verified one. */
export const EmailNotVerified = defineFailure(
  'EmailNotVerified',
  'Unprocessable',
  'Only a confirmed address can be the primary one.',
)

/**
 * Makes a verified address of the user the primary one and notifies the old one by mail. The caller must hold the lock
 * on the user. Returns false if it is already the primary one.
 */
export const movePrimaryEmail = async (
  stores: IdentityChanges,
  user: User,
  chosen: EmailRecord,
  { at, sourceIp }: MailOccasion,
): Outcome<Failure<'EmailNotVerified'>, boolean> => {
  if (!chosen.verified)
    return left(EmailNotVerified('Confirm this address first: only a verified address can be the primary one.'))
  if (chosen.isPrimary) return right(false)
  await stores.emails.makePrimary(user.id, chosen.id)
  await postIfAddressed(stores.mail, primaryEmailChangedMail(user, user.primaryEmail, at, { kind: 'user', sourceIp }))
  return right(true)
}

/**
 * Makes an address supplied by an administrator the primary one: the user's own if it exists, else a new, verified one.
 * The old primary address is removed and notified by mail.
 */
export const replacePrimaryEmail = async (
  stores: IdentityChanges,
  user: User,
  email: EmailAddress,
  now: Date,
): Outcome<Failure<'EmailTaken'>, void> => {
  const own = await stores.emails.list(user.id)
  const primary = own.find((record) => record.isPrimary)
  if (primary?.email.toLowerCase() === email.key) return right(undefined)
  const known = own.find((record) => record.email.toLowerCase() === email.key)
  if (primary !== undefined) {
    await stores.emails.remove(user.id, [primary.id])
    await stores.mail.post(primaryEmailChangedMail(user, primary.email, now, { kind: 'administrator' }))
  }
  if (known !== undefined) {
    await stores.emails.verify(user.id, email.key, user.createdAt)
    await stores.emails.makePrimary(user.id, known.id)
    return right(undefined)
  }
  await removeExpiredEmailClaim(stores, email.key, now)
  if (await stores.emails.isTaken(email.key)) return left(EmailTaken('This e-mail address is already in use.'))
  const added = await stores.emails.insert(user.id, email, true, true, now)
  // An address supplied by an administrator is trusted like the account's first address: it need not wait.
  if (!isLeft(added)) await stores.emails.verify(user.id, email.key, user.createdAt)
  return added
}

/** The address is not one of the caller's. */
export const EmailMissing = defineFailure('EmailMissing', 'Unprocessable', 'The account does not have this address.')
/** The primary address cannot be removed until another one is primary. */
export const EmailIsPrimary = defineFailure(
  'EmailIsPrimary',
  'Unprocessable',
  'The primary address of an account cannot be deleted.',
)

/** The maximum number of addresses is reached. Unlimited addresses would be a way to send mail to other people. */
export const TooManyEmails = defineFailure(
  'TooManyEmails',
  'Unprocessable',
  'The account has the most addresses that it can have.',
)
const maxEmails = 10

export interface ChangeOwnEmailsDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly domains: DomainNames
  readonly clock: Clock
}

export interface AddOwnEmailsDeps extends ChangeOwnEmailsDeps, PostConfirmationDeps {
  readonly allowances: Allowances
}

const parseAll = (
  texts: readonly string[],
  domains: DomainNames,
  field: 'email' | 'emails',
): Either<Failure<'EmailInvalid'>, readonly EmailAddress[]> => {
  const byKey = new Map<string, EmailAddress>()
  for (const text of texts) {
    const email = parseEmailAddress(text, domains, field)
    if (isLeft(email)) return email
    byKey.set(email.right.key, email.right)
  }
  return right([...byKey.values()])
}

/**
 * Records the change. The owner is notified of a change by an administrator, since a new address can reset the
 * password.
 */
const recordChange = async (
  stores: IdentityChanges,
  { principal }: SignedInCall<never>,
  user: User,
  done: 'added' | 'removed',
  texts: readonly string[],
  at: Date,
): Promise<void> => {
  await stores.audit.record(auditOfUser(user, `email.${done}`, { addresses: texts.length }))
  if (principal.impersonator !== undefined) await postIfAddressed(stores.mail, emailsChangedMail(user, done, texts, at))
}

/** Returns the caller's row, locked until the transaction ends. */
const lockCaller = async (stores: IdentityChanges, { principal }: SignedInCall<never>): Promise<User> => {
  const user = await stores.users.lock(principal.userId)
  if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
  return user
}

export type AddEmailsFailure =
  | Failure<'EmailInvalid'>
  | Failure<'EmailTaken'>
  | Failure<'EmailDomainRefused'>
  | Failure<'TooManyEmails'>
  | Failure<'TooManyMails'>

const tooMany = (): Failure<'TooManyEmails'> => TooManyEmails(`An account has at most ${maxEmails} e-mail addresses.`)

/** Checks whether the caller may add these addresses. Site admins are exempt from the domain rules. */
const checkAdded = async (
  stores: IdentityChanges,
  { principal }: SignedInCall<never>,
  emails: readonly EmailAddress[],
): Outcome<AddEmailsFailure, void> => {
  const rules = await stores.siteRules.read()
  if (!principal.isSiteAdmin && !emails.every((email) => isDomainAllowed(rules, email)))
    return left(emailDomainRefused(rules))
  const own = await stores.emails.list(principal.userId)
  return own.length + emails.length <= maxEmails ? right(undefined) : left(tooMany())
}

/** See `makeAddOwnEmails`. `field` is the name of the addresses in failures. */
const makeAddEmails = (deps: AddOwnEmailsDeps, field: 'email' | 'emails') => {
  const postConfirmation = makePostConfirmation(deps)
  return async (
    call: SignedInCall<readonly EmailRecord[]>,
    texts: readonly string[],
  ): Outcome<AddEmailsFailure, readonly EmailRecord[]> => {
    const emails = parseAll(texts, deps.domains, field)
    if (isLeft(emails)) return emails
    if (emails.right.length > maxEmails) return left(tooMany())
    const allowed = await mayPostConfirmations(deps.allowances, call.principal.userId, emails.right.length)
    if (isLeft(allowed)) return allowed
    return deps.unitOfWork.run<AddEmailsFailure, readonly EmailRecord[]>(call, async (stores) => {
      const user = await lockCaller(stores, call)
      const { id: userId, login } = user
      const checked = await checkAdded(stores, call, emails.right)
      if (isLeft(checked)) return checked
      for (const email of emails.right) {
        await removeExpiredEmailClaim(stores, email.key, deps.clock.now())
        const added = await stores.emails.insert(userId, email, false, false, deps.clock.now())
        if (isLeft(added)) return added
        await postConfirmation(stores, { userId, login, email: email.text })
      }
      await recordChange(
        stores,
        call,
        user,
        'added',
        emails.right.map(({ text }) => text),
        deps.clock.now(),
      )
      return right(await stores.emails.list(userId))
    })
  }
}

/**
 * Adds addresses to the caller's, all or none. They are unverified, and a mail to each asks for confirmation, unless
 * its limit is reached. Returns all of the caller's addresses. `field` is the name of the addresses in failures.
 */
export const makeAddOwnEmails = (deps: AddOwnEmailsDeps) => makeAddEmails(deps, 'emails')

type RemoveFailure = Failure<'EmailMissing'> | Failure<'EmailIsPrimary'>

/** Removes addresses of the caller, all or none. */
export const makeRemoveOwnEmails =
  (deps: Pick<ChangeOwnEmailsDeps, 'unitOfWork' | 'domains' | 'clock'>) =>
  async (call: SignedInCall, texts: readonly string[]): Outcome<RemoveFailure, void> => {
    const emails = parseAll(texts, deps.domains, 'emails')
    // A text that is not an address is not one of the caller's either.
    if (isLeft(emails)) return left(EmailMissing('The e-mail address does not exist.'))
    return deps.unitOfWork.run<RemoveFailure, void>(call, async (stores) => {
      const user = await lockCaller(stores, call)
      const own = await stores.emails.list(user.id)
      const found = emails.right.flatMap(
        (email) => own.find((record) => record.email.toLowerCase() === email.key) ?? [],
      )
      if (found.length < emails.right.length) return left(EmailMissing('The e-mail address does not exist.'))
      if (found.some((record) => record.isPrimary))
        return left(EmailIsPrimary('The primary e-mail address cannot be deleted.'))
      await stores.emails.remove(
        user.id,
        found.map(({ id }) => id),
      )
      await recordChange(
        stores,
        call,
        user,
        'removed',
        found.map(({ email }) => email),
        deps.clock.now(),
      )
      return right(undefined)
    })
  }

/** The address is already verified. */
export const EmailIsVerified = defineFailure('EmailIsVerified', 'Unprocessable', 'The address is already confirmed.')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

const missing = (): Failure<'EmailMissing'> => EmailMissing('The e-mail address does not exist.')

/** Runs `change` on one address of the caller, whose row is locked. */
const onOwnEmail = <F extends Failure>(
  deps: Pick<Deps, 'unitOfWork'>,
  call: SignedInCall,
  emailId: number,
  change: (stores: IdentityChanges, user: User, email: EmailRecord) => Outcome<F, void>,
): Outcome<F | Failure<'EmailMissing'>, void> =>
  deps.unitOfWork.run<F | Failure<'EmailMissing'>, void>(call, async (stores) => {
    const user = await stores.users.lock(call.principal.userId)
    if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
    const email = (await stores.emails.list(user.id)).find(({ id }) => id === emailId)
    return email === undefined ? left(missing()) : change(stores, user, email)
  })

/** Makes a verified address of the caller the primary one; the old one is notified. */
const makeChoosePrimaryEmail =
  (deps: Deps) =>
  (call: SignedInCall, emailId: number): Outcome<Failure<'EmailMissing'> | Failure<'EmailNotVerified'>, void> =>
    onOwnEmail<Failure<'EmailNotVerified'>>(deps, call, emailId, async (stores, user, email) => {
      const moved = await movePrimaryEmail(stores, user, email, { at: deps.clock.now(), sourceIp: call.sourceIp })
      if (isLeft(moved)) return moved
      if (moved.right) await stores.audit.record(auditOfUser(user, 'email.made_primary'))
      return right(undefined)
    })

/** Sends the confirmation mail of an address of the caller again. The older code becomes invalid. */
const makeResendConfirmation = (deps: Deps & PostConfirmationDeps & { readonly allowances: Allowances }) => {
  const postConfirmation = makePostConfirmation(deps)
  return async (
    call: SignedInCall,
    emailId: number,
  ): Outcome<Failure<'EmailMissing'> | Failure<'EmailIsVerified'> | Failure<'TooManyMails'>, void> => {
    // Counted outside the transaction, therefore before it.
    const allowed = await mayPostConfirmations(deps.allowances, call.principal.userId, 1)
    if (isLeft(allowed)) return allowed
    return onOwnEmail<Failure<'EmailIsVerified'> | Failure<'TooManyMails'>>(
      deps,
      call,
      emailId,
      async (stores, user, { email, verified }) => {
        if (verified) return left(EmailIsVerified('This address is already confirmed.'))
        const posted = await postConfirmation(stores, { userId: user.id, login: user.login, email })
        if (isLeft(posted)) return posted
        await stores.audit.record(auditOfUser(user, 'email.confirmation_asked'))
        return right(undefined)
      },
    )
  }
}

/** Removes one address of the caller by its id. The primary one cannot be removed. */
export const makeRemoveOwnEmail =
  (deps: Pick<Deps, 'unitOfWork'>) =>
  (call: SignedInCall, emailId: number): Outcome<Failure<'EmailMissing'> | Failure<'EmailIsPrimary'>, void> =>
    onOwnEmail<Failure<'EmailIsPrimary'>>(deps, call, emailId, async (stores, user, email) => {
      if (email.isPrimary) return left(EmailIsPrimary('The primary e-mail address cannot be deleted.'))
      await stores.emails.remove(user.id, [email.id])
      await stores.audit.record(auditOfUser(user, 'email.removed'))
      return right(undefined)
    })

/** One change of the caller's addresses. */
export type OwnEmailChange =
  | { readonly kind: 'add'; readonly email: string }
  | { readonly kind: 'make-primary' | 'resend-confirmation'; readonly id: number }

export type ChangeOwnEmailFailure =
  | AddEmailsFailure
  | Failure<'EmailMissing'>
  | Failure<'EmailNotVerified'>
  | Failure<'EmailIsVerified'>

/** Adds one address of the caller, makes one the primary one, or sends its confirmation mail again. */
export const makeChangeOwnEmail = (deps: AddOwnEmailsDeps) => {
  const add = makeAddEmails(deps, 'email')
  const choosePrimary = makeChoosePrimaryEmail(deps)
  const resend = makeResendConfirmation(deps)
  return async (call: SignedInCall, change: OwnEmailChange): Outcome<ChangeOwnEmailFailure, void> => {
    switch (change.kind) {
      case 'add':
        return map(() => undefined)(await add(call, [change.email]))
      case 'make-primary':
        return choosePrimary(call, change.id)
      case 'resend-confirmation':
        return resend(call, change.id)
    }
  }
}
