import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { changedFields, definedFields, isUnchanged } from '../../kernel/json.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { accountNameKey, parseAccountName } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { checkPassword } from '../authentication/password-policy.ts'
import type { SetPasswordDeps } from '../authentication/passwords.ts'
import { passwordContextOf } from '../authentication/passwords.ts'
import type { AttemptThrottle } from '../attempt-ports.ts'
import type { MailOccasion } from '../emails/account-mail.ts'
import { passwordChangedMail, postIfAddressed, renamedMail } from '../emails/account-mail.ts'
import { parseEmailAddress } from '../emails/email-address.ts'
import { movePrimaryEmail, replacePrimaryEmail } from '../emails/own-emails.ts'
import type { DomainNames, IdentityChanges, IdentityStores } from '../ports.ts'
import { ownSecondFactorRefusal, resetSecondFactorOf } from '../second-factor/enrollment.ts'
import type { AdminChanges, EmailAddress, User, UserChanges } from '../types.ts'
import { UserNameRefused, ProfileInvalid, readProfile } from './users.ts'
import { userMissing } from '../types.ts'

/** The installation would have no administrator. */
export const LastAdmin = defineFailure('LastAdmin', 'Conflict', 'The user is the last active site admin.')

export interface EditUserDeps extends SetPasswordDeps {
  readonly domains: DomainNames
  readonly clock: Clock
}

/** The fields to change. An absent one and an empty address are unchanged; another empty text clears its field. */
export interface UserEdit extends UserChanges {
  /** If set, it must be empty or the user's current name: this operation does not rename. */
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly password?: Secret | undefined
  /** Removes the second factor, if any, and ends all sessions. */
  readonly removesSecondFactor?: boolean
}

export interface EditUserInput extends UserEdit {
  readonly login: string
}

export type EditUserFailure =
  | Failure<'UserMissing'>
  | Failure<'LastAdmin'>
  | Failure<'ProfileInvalid'>
  | Failure<'EmailInvalid'>
  | Failure<'EmailTaken'>
  | Failure<'PasswordTooWeak'>

const isActingAdmin = (user: Pick<User, 'isAdmin' | 'isActive' | 'prohibitLogin'>): boolean =>
  user.isAdmin && user.isActive && !user.prohibitLogin

/** Locks all active site admins, so that two of them cannot demote each other concurrently. */
export const isLastActingAdmin = async (stores: IdentityChanges, user: User): Promise<boolean> => {
  if (!isActingAdmin(user)) return false
  const acting = await stores.users.lockActiveAdmins()
  return acting.every((id) => id === user.id)
}

/** The values checked and hashed before the transaction. */
interface Prepared {
  readonly email: EmailAddress | undefined
  readonly phc: string | undefined
  readonly removesSecondFactor: boolean
}

/**
 * Reports whether the account waits for confirmation without an address, because it was registered with one that is
 * already in use.
 */
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
  if (loses && (await isLastActingAdmin(stores, user)))
    return left(LastAdmin('This is the last active site administrator.'))
  const isLetIn = !user.isActive && after.isActive && prepared.email === undefined
  if (isLetIn && (await waitsWithoutAddress(stores, user)))
    return left(ProfileInvalid('The account must have an e-mail address first.'))
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
  const isTold =
    !isUnchanged(changed) || email !== undefined || prepared.phc !== undefined || prepared.removesSecondFactor
  if (!isTold) return right(user)
  const secrets = definedFields({ email: email && 'changed', password: prepared.phc && 'changed' })
  await stores.audit.record(auditOfUser(user, 'user.updated', { ...changed, ...secrets }))
  const edited = await stores.users.byId(user.id)
  return edited === undefined ? left(userMissing()) : right(edited)
}

/**
 * Changes any of a user's fields for an administrator, in one transaction. A new password, or deactivation, ends all of
 * the user's sessions. The last active site admin cannot be demoted.
 */
export const makeEditUser =
  (deps: EditUserDeps) =>
  async (call: Call<User>, input: EditUserInput): Outcome<EditUserFailure, User> => {
    const { login, name, email: emailText, password, removesSecondFactor = false, ...fields } = input
    if (name !== undefined && name !== '' && accountNameKey(name) !== accountNameKey(login)) {
      return left(ProfileInvalid('The name cannot be changed here.'))
    }
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const read = readProfile(fields)
    if (isLeft(read)) return read
    const changes = read.right
    // Clients send an empty address for one that is unchanged, and every user keeps an address once there is one.
    const email =
      emailText === undefined || emailText === '' ? right(undefined) : parseEmailAddress(emailText, deps.domains)
    if (isLeft(email)) return email
    let phc: string | undefined
    if (password !== undefined) {
      const own = await passwordContextOf(deps.stores, found)
      const context = email.right === undefined ? own : { ...own, emails: [...own.emails, email.right.text] }
      const checked = checkPassword(deps.passwords, password, context)
      if (isLeft(checked)) return checked
      phc = await deps.hasher.hash(checked.right)
    }
    return deps.unitOfWork.run<EditUserFailure, User>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      return user === undefined
        ? left(userMissing())
        : applyEdit(stores, user, changes, { email: email.right, phc, removesSecondFactor }, deps.clock.now())
    })
  }

export interface EditUserByIdInput extends Omit<UserEdit, 'name'> {
  readonly id: UserId
}

/** Like `makeEditUser`, for a user who is named by id. Callers cannot remove their own second factor. */
export const makeEditUserById = (deps: EditUserDeps) => {
  const edit = makeEditUser(deps)
  return async (
    call: SignedInCall<User>,
    { id, ...input }: EditUserByIdInput,
  ): Outcome<EditUserFailure | Failure<'OwnSecondFactor'>, User> => {
    const found = await deps.stores.users.byId(id)
    if (found === undefined) return left(userMissing())
    const refused = input.removesSecondFactor === true ? ownSecondFactorRefusal(call, id) : undefined
    return refused === undefined ? edit(call, { login: found.login, ...input }) : left(refused)
  }
}

export interface RenameUserInput {
  readonly login: string
  readonly newLogin: string
}

type RenameFailure = Failure<'UserMissing'> | Failure<'UserNameRefused'> | Failure<'UserNameTaken'>

/**
 * Renames a user. The old name redirects to the user until another account takes it. Tokens and sessions belong to the
 * account, not to its name, so they remain valid.
 */
export const makeRenameUser =
  (deps: { readonly stores: IdentityStores; readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (call: SignedInCall, { login, newLogin }: RenameUserInput): Outcome<RenameFailure, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const name = parseAccountName(newLogin)
    if (isLeft(name)) return left(UserNameRefused(name.left.message))
    return deps.unitOfWork.run<RenameFailure, void>(call, async ({ users, audit, mail }) => {
      const user = await users.lock(found.id)
      if (user === undefined) return left(userMissing())
      if (user.login === name.right) return right(undefined)
      const renamed = await users.rename(user, name.right)
      if (isLeft(renamed)) return renamed
      await audit.record(
        auditOfUser({ id: user.id, login: name.right }, 'user.renamed', { from: user.login, to: name.right }),
      )
      await postIfAddressed(mail, renamedMail(user, user.login, name.right))
      return right(undefined)
    })
  }

export interface UnlockUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly throttle: AttemptThrottle
}

/**
 * Re-enables a user who was made inactive, was prohibited from signing in, or is locked after failed attempts; the
 * failure count is reset. A deactivated account, or one with an unconfirmed address, is unchanged: these have their own
 * operations. Returns whether anything changed. The counters are outside the transaction and are cleared first: a crash
 * in between leaves an unlocked account without its audit row, never the reverse.
 */
export const makeUnlockUser =
  (deps: UnlockUserDeps) =>
  async (call: Call, login: string): Outcome<Failure<'UserMissing'>, boolean> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const wasLocked = await deps.throttle.unlock(found.id)
    return deps.unitOfWork.run<Failure<'UserMissing'>, boolean>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      const isWaiting = (await stores.accountLife.lockState(user.id)) !== undefined
      const wasShut = !isWaiting && (!user.isActive || user.prohibitLogin)
      if (wasShut) await stores.users.update(user.id, { isActive: true, prohibitLogin: false })
      if (wasShut) await stores.audit.record(auditOfUser(user, 'user.enabled'))
      if (wasLocked) await stores.audit.record(auditOfUser(user, 'user.unlocked'))
      return right(wasShut || wasLocked)
    })
  }

/** An absent field and an empty address are unchanged; another empty text clears its field. */
export interface OwnProfileInput extends Omit<UserChanges, keyof AdminChanges> {
  /** Must be the user's current name: this operation does not rename. */
  readonly name?: string
  /** A verified address of the user, which becomes the primary one, or empty. */
  readonly email?: string
}

type ProfileFailure = Failure<'ProfileInvalid'>

const choosePrimary = async (
  stores: IdentityChanges,
  user: User,
  email: string,
  occasion: MailOccasion,
): Outcome<ProfileFailure, boolean> => {
  const own = await stores.emails.list(user.id)
  const chosen = own.find((record) => record.email.toLowerCase() === email.toLowerCase())
  const refused = left(ProfileInvalid('Only a verified address of yours can become the primary one.'))
  if (chosen === undefined) return refused
  const moved = await movePrimaryEmail(stores, user, chosen, occasion)
  return isLeft(moved) ? refused : moved
}

/** Changes the fields that users set for themselves. */
export const makeEditOwnProfile =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly clock: Clock }) =>
  async (call: SignedInCall<User>, input: OwnProfileInput): Outcome<ProfileFailure, User> => {
    const { name, email, ...fields } = input
    const read = readProfile(fields)
    if (isLeft(read)) return read
    const changes = read.right
    return deps.unitOfWork.run<ProfileFailure, User>(call, async (stores) => {
      const user = await stores.users.lock(call.principal.userId)
      if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
      if (name !== undefined && name !== user.login) return left(ProfileInvalid('The name cannot be changed here.'))
      const keepsEmail = email === undefined || email === '' || email === user.primaryEmail
      const moved = keepsEmail
        ? right(false)
        : await choosePrimary(stores, user, email, { at: deps.clock.now(), sourceIp: call.sourceIp })
      if (isLeft(moved)) return moved
      const changed = changedFields(user, changes)
      if (isUnchanged(changed) && !moved.right) return right(user)
      if (!isUnchanged(changed)) await stores.users.update(user.id, changes)
      await stores.audit.record(
        auditOfUser(user, 'user.updated', { ...changed, ...(moved.right ? { email: 'changed' } : {}) }),
      )
      const edited = await stores.users.byId(user.id)
      return right(edited ?? user)
    })
  }
