import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { MailOccasion } from './account-mail.ts'
import { postIfAddressed, primaryEmailChangedMail } from './account-mail.ts'
import { removeExpiredEmailClaim } from './link-codes.ts'
import type { IdentityChanges } from '../ports.ts'
import { EmailTaken } from '../ports.ts'
import type { EmailAddress, EmailRecord, User } from '../types.ts'

/** The primary address must be a verified one. */
export const EmailNotVerified = defineFailure('EmailNotVerified', 'Unprocessable')

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
  if (!chosen.verified) return left(EmailNotVerified('Confirm this address first: only a verified address can be the primary one.'))
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
