import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { IdentityChanges } from './ports.ts'
import { EmailTaken } from './ports.ts'
import type { EmailAddress, User } from './types.ts'

/**
 * Makes an address that an administrator gives the primary one: the user's own when it is there already, else a new
 * one, verified. The old primary address goes.
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
  if (primary !== undefined) await stores.emails.remove(user.id, [primary.id])
  if (known !== undefined) {
    await stores.emails.makePrimary(user.id, known.id)
    return right(undefined)
  }
  if (await stores.emails.isTaken(email.key)) return left(EmailTaken('This e-mail address is in use.'))
  return stores.emails.insert(user.id, email, true, true, now)
}
