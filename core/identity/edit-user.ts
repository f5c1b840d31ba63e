import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { changedFields, isUnchanged } from '../kernel/changed-fields.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { passwordChangedMail, postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import { parseEmailAddress } from './email-address.ts'
import { userMissing } from './find-user.ts'
import { checkPassword } from './password-policy.ts'
import type { DomainNames, IdentityChanges } from './ports.ts'
import { ProfileInvalid, readProfile } from './profile-rules.ts'
import { replacePrimaryEmail } from './primary-email.ts'
import { resetSecondFactorOf } from './reset-second-factor.ts'
import type { SetPasswordDeps } from './set-password.ts'
import type { EmailAddress, User, UserChanges } from './types.ts'

/** Nobody would be left to administer the installation. */
export const LastAdmin = defineFailure('LastAdmin', 'Conflict')

export interface EditUserDeps extends SetPasswordDeps {
  readonly domains: DomainNames
  readonly clock: Clock
}

/** An absent field stays as it is; an empty text clears it. */
export interface EditUserInput extends UserChanges {
  readonly email?: string | undefined
  readonly password?: Secret | undefined
  /** Removes the second factor, if there is one, and ends all sessions. */
  readonly removesSecondFactor?: boolean
}

export type EditUserFailure =
  | Failure<'UserMissing'>
  | Failure<'LastAdmin'>
  | Failure<'ProfileInvalid'>
  | Failure<'EmailInvalid'>
  | Failure<'EmailTaken'>
  | Failure<'PasswordTooWeak'>
  | Failure<'TooManyAttempts'>

const isActingAdmin = (user: Pick<User, 'isAdmin' | 'isActive' | 'prohibitLogin'>): boolean =>
  user.isAdmin && user.isActive && !user.prohibitLogin

/** Locks all acting admins, so that two of them cannot lay each other down at once. */
export const isLastActingAdmin = async (stores: IdentityChanges, user: User): Promise<boolean> => {
  if (!isActingAdmin(user)) return false
  const acting = await stores.users.lockActiveAdmins()
  return acting.every((id) => id === user.id)
}

/** What is checked and hashed before the transaction. */
interface Prepared {
  readonly email: EmailAddress | undefined
  readonly phc: string | undefined
  readonly removesSecondFactor: boolean
}

/** Whoever signed up with somebody else's address has none. */
const waitsWithoutAddress = async (stores: IdentityChanges, user: User): Promise<boolean> =>
  user.primaryEmail === '' && (await stores.accountLife.lockState(user.id)) === 'unconfirmed'

const applyEdit = async (
  stores: IdentityChanges,
  user: User,
  changes: UserChanges,
  prepared: Prepared,
  now: Date,
): Outcome<EditUserFailure, User> => {
  const after = { ...user, ...changes }
  const loses = isActingAdmin(user) && !isActingAdmin(after)
  if (loses && (await isLastActingAdmin(stores, user))) return left(LastAdmin('This is the last active site administrator.'))
  const isLetIn = !user.isActive && after.isActive && prepared.email === undefined
  if (isLetIn && (await waitsWithoutAddress(stores, user))) return left(ProfileInvalid('Give this account an e-mail address first.'))
  const email = prepared.email?.key === user.primaryEmail.toLowerCase() ? undefined : prepared.email
  if (email !== undefined) {
    const replaced = await replacePrimaryEmail(stores, user, email, now)
    if (isLeft(replaced)) return replaced
  }
  const changed = changedFields(user, changes)
  if (!isUnchanged(changed)) await stores.users.update(user.id, changes)
  if (prepared.phc !== undefined) {
    await stores.users.replacePassword(user.id, prepared.phc, undefined, after.mustChangePassword)
    await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, now)
    await postIfAddressed(stores.mail, passwordChangedMail(user, now, { kind: 'administrator' }))
  }
  if (prepared.removesSecondFactor) await resetSecondFactorOf(stores, user, now)
  const isShutOut = !after.isActive || after.prohibitLogin
  if (isShutOut || prepared.phc !== undefined) await stores.sessions.removeAll(user.id, undefined)
  const isTold = !isUnchanged(changed) || email !== undefined || prepared.phc !== undefined || prepared.removesSecondFactor
  if (!isTold) return right(user)
  await stores.audit.record({
    action: 'user.updated',
    ...auditedUser(user),
    changes: {
      ...changed,
      ...(email === undefined ? {} : { email: 'changed' }),
      ...(prepared.phc === undefined ? {} : { password: 'changed' }),
    },
  })
  const edited = await stores.users.byId(user.id)
  return edited === undefined ? left(userMissing()) : right(edited)
}

/**
 * Changes any of a user's fields for an administrator, in one transaction. A new password, and shutting the account,
 * end all of its sessions. The last active site admin stays one.
 */
export const makeEditUser =
  (deps: EditUserDeps) =>
  async (call: Call<User>, login: string, input: EditUserInput): Outcome<EditUserFailure, User> => {
    const { email: emailText, password, removesSecondFactor = false, ...fields } = input
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const read = readProfile(fields)
    if (isLeft(read)) return read
    const changes = read.right
    // Who has no address is shown an empty one.
    const keepsEmail = emailText === undefined || (emailText === '' && found.primaryEmail === '')
    const email = keepsEmail ? right(undefined) : parseEmailAddress(emailText, deps.domains)
    if (isLeft(email)) return email
    let phc: string | undefined
    if (password !== undefined) {
      const context = { login: found.login, emails: [email.right?.text ?? found.primaryEmail], fullName: found.fullName }
      const checked = checkPassword(deps.passwords, password, context)
      if (isLeft(checked)) return checked
      const hashed = await deps.hasher.hash(checked.right)
      if (isLeft(hashed)) return hashed
      phc = hashed.right
    }
    return deps.unitOfWork.run<EditUserFailure, User>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      return user === undefined ? left(userMissing()) : applyEdit(stores, user, changes, { email: email.right, phc, removesSecondFactor }, deps.clock.now())
    })
  }
