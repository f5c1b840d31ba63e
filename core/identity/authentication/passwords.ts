import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { userMissing } from '../types.ts'
import { auditOfUser } from '../audit.ts'
import { passwordChangedMail, postIfAddressed } from '../emails/account-mail.ts'
import { parseEmailAddress } from '../emails/email-address.ts'
import type { AddressClaim, IssueLinkCodeDeps } from '../emails/link-codes.ts'
import {
  linkCodeHash,
  linkCodeInvalid,
  linkCodeMinutes,
  linkWithCode,
  makeIssueLinkCode,
  makePostConfirmation,
} from '../emails/link-codes.ts'
import type {
  Background,
  CredentialStore,
  DomainNames,
  IdentityChanges,
  IdentitySettings,
  IdentityStores,
  PasswordHasher,
  TokenDigest,
} from '../ports.ts'
import type { EmailAddress, EmailRecord, User } from '../types.ts'
import type { ThrottledCheckDeps, VerifyOwnPasswordDeps } from '../credentials.ts'
import { makeThrottledCheck, makeVerifyOwnPassword, OwnPasswordWrong } from '../credentials.ts'
import type { PasswordContext, PasswordPolicy } from './password-policy.ts'
import { checkPassword, isRetyped, PasswordsDiffer, PasswordTooWeak } from './password-policy.ts'
import type { Allowances } from '../attempt-ports.ts'

export interface SetPasswordDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly clock: Clock
}

export interface SetPasswordInput {
  readonly login: string
  readonly password: Secret
  /** If set, it must be the same as the password. */
  readonly retyped?: Secret | undefined
  readonly mustChangePassword?: boolean | undefined
}

export type SetPasswordFailure = Failure<'UserMissing'> | Failure<'PasswordsDiffer'> | Failure<'PasswordTooWeak'>

/**
 * Returns what a password of this user must not resemble: the login, the name, and all addresses, also unconfirmed
 * ones.
 */
export const passwordContextOf = async (
  stores: Pick<IdentityStores, 'emails'>,
  { id, login, fullName }: Pick<User, 'id' | 'login' | 'fullName'>,
): Promise<PasswordContext> => ({
  login,
  emails: (await stores.emails.list(id)).map(({ email }) => email),
  fullName,
})

/** Sets a user's password without requiring the old one, and ends all of the user's sessions. Tokens remain. */
export const makeSetPassword =
  (deps: SetPasswordDeps) =>
  async (call: Call, input: SetPasswordInput): Outcome<SetPasswordFailure, void> => {
    if (!isRetyped(input)) return left(PasswordsDiffer('The two passwords must not differ.'))
    const user = await deps.stores.users.byLogin(input.login)
    if (user === undefined) return left(userMissing())
    const password = checkPassword(deps.passwords, input.password, await passwordContextOf(deps.stores, user))
    if (isLeft(password)) return password
    const phc = await deps.hasher.hash(password.right)
    return deps.unitOfWork.run<SetPasswordFailure, void>(call, async (stores) => {
      const isSet = await stores.users.replacePassword(user.id, phc, undefined, input.mustChangePassword ?? false)
      if (!isSet) return left(userMissing())
      await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, deps.clock.now())
      const ended = await stores.sessions.removeAll(user.id, undefined)
      await stores.audit.record(
        auditOfUser(user, 'user.password_changed', { by: 'administrator', sessions_ended: ended }),
      )
      await postIfAddressed(stores.mail, passwordChangedMail(user, deps.clock.now(), { kind: 'administrator' }))
      return right(undefined)
    })
  }

export type ChangeOwnPasswordDeps = SetPasswordDeps & VerifyOwnPasswordDeps

export interface ChangeOwnPasswordInput {
  readonly oldPassword: Secret
  readonly password: Secret
  /** If set, it must be the same as the new password. */
  readonly retyped?: Secret | undefined
  readonly revokesTokens: boolean
}

export type ChangeOwnPasswordFailure =
  | Failure<'PasswordsDiffer'>
  | Failure<'OwnPasswordWrong'>
  | Failure<'PasswordTooWeak'>
  | Failure<'TooManyAttempts'>

/**
 * Replaces the caller's password, ends all sessions except the current one and, if requested, deletes all access
 * tokens. Of two concurrent changes with the same old password one is refused.
 */
export const makeChangeOwnPassword =
  (deps: ChangeOwnPasswordDeps) =>
  async (call: SignedInCall, input: ChangeOwnPasswordInput): Outcome<ChangeOwnPasswordFailure, void> => {
    if (!isRetyped(input)) return left(PasswordsDiffer('The two new passwords must not differ.'))
    const { userId, sessionId } = call.principal
    const user = await deps.stores.users.byId(userId)
    const oldPhc = await makeVerifyOwnPassword(deps)(call, input.oldPassword)
    if (isLeft(oldPhc)) return oldPhc
    if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
    const password = checkPassword(deps.passwords, input.password, await passwordContextOf(deps.stores, user))
    if (isLeft(password)) return password
    if (user.mustChangePassword && password.right.reveal() === input.oldPassword.reveal())
      return left(PasswordTooWeak('The new password must be another one.'))
    const phc = await deps.hasher.hash(password.right)
    return deps.unitOfWork.run<ChangeOwnPasswordFailure, void>(call, async (stores) => {
      if (!(await stores.users.replacePassword(userId, phc, oldPhc.right, false)))
        return left(OwnPasswordWrong('The password was replaced by another request.'))
      await stores.linkCodes.closeAll(userId, 'password-reset', undefined, deps.clock.now())
      const sessionsEnded = await stores.sessions.removeAll(userId, sessionId)
      const tokensRemoved = input.revokesTokens ? await stores.tokens.removeAll(userId) : 0
      await stores.audit.record(
        auditOfUser(user, 'user.password_changed', {
          by: 'user',
          sessions_ended: sessionsEnded,
          tokens_removed: tokensRemoved,
        }),
      )
      await postIfAddressed(
        stores.mail,
        passwordChangedMail(user, deps.clock.now(), { kind: 'user', sourceIp: call.sourceIp }),
      )
      return right(undefined)
    })
  }

const dayMilliseconds = 24 * 3600 * 1000

/**
 * Reports whether a forgotten password may be reset by mail to this address: it must have been verified for a day. A
 * stolen session or token can add and confirm an address; it must not gain the whole account before the owner, who is
 * notified by mail, can react. Addresses of an account younger than a day need not wait.
 *
 * @internal
 */
export const servesReset = (
  user: Pick<User, 'createdAt'>,
  email: Pick<EmailRecord, 'verified' | 'verifiedAt'>,
  now: Date,
): boolean => {
  const dayAgo = now.getTime() - dayMilliseconds
  return (
    email.verified &&
    (user.createdAt.getTime() > dayAgo || (email.verifiedAt !== undefined && email.verifiedAt.getTime() <= dayAgo))
  )
}

export interface AskPasswordResetDeps extends IssueLinkCodeDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly credentials: Pick<CredentialStore, 'passwordByKey'>
  readonly background: Background
  readonly allowances: Allowances
  readonly domains: DomainNames
  readonly settings: Pick<IdentitySettings, 'baseUrl'>
}

/**
 * Posts a mail with a reset code if the address is a verified one of an account that may sign in. If a newly registered
 * account waits for the address, its confirmation is sent again: without that mail its user cannot sign in to request
 * it. All work that depends on the address happens after the response, so that neither the response nor its time
 * discloses whether an account exists.
 */
export const makeAskPasswordReset =
  (deps: AskPasswordResetDeps) =>
  (call: Call, address: string): Outcome<never, void> => {
    // The response does not wait for this work, so the call has its own signal and no idempotency record.
    const later: Call = {
      principal: undefined,
      requestId: call.requestId,
      sourceIp: call.sourceIp,
      operation: call.operation,
      signal: new AbortController().signal,
    }
    deps.background.run('posting a password reset', () => postReset(deps, later, address))
    return Promise.resolve(right(undefined))
  }

const postReset = async (deps: AskPasswordResetDeps, call: Call, address: string): Promise<void> => {
  const email = parseEmailAddress(address, deps.domains)
  if (isLeft(email)) return
  const record = await deps.credentials.passwordByKey(email.right.key)
  if (record === undefined) return confirmAgain(deps, call, email.right)
  if (!record.account.isEnabled) return
  // No error is returned: the response must not disclose anything.
  if ((await deps.allowances.take('password-reset', call.sourceIp)) !== undefined) return
  const { userId, login } = record.account
  const issue = makeIssueLinkCode(deps)
  await deps.unitOfWork.run<Failure<'TooManyMails'>, void>(call, async (stores) => {
    // Requests for one account are serialized, so that the limit holds.
    const user = await stores.users.lock(userId)
    // The address as stored, not as entered.
    const own = (await stores.emails.list(userId)).find((record) => record.email.toLowerCase() === email.right.key)
    if (user === undefined || own === undefined || !servesReset(user, own, deps.clock.now())) return right(undefined)
    const code = await issue(stores, 'password-reset', { userId, emailKey: email.right.key })
    if (isLeft(code)) return code
    await stores.audit.record(auditOfUser({ id: userId, login }, 'user.password_reset_asked'))
    await stores.mail.post({
      to: own.email,
      subject: 'Set a new password',
      paragraphs: [
        `A new password was requested for the account ${login} from the address ${call.sourceIp}.`,
        `The link and the code are valid for ${linkCodeMinutes['password-reset']} minutes, once. The code ` +
          `is: ${code.right.reveal()}`,
        'If this was not you, ignore this mail: your password does not change.',
      ],
      action: { label: 'Set a new password', url: linkWithCode(deps.settings.baseUrl(), 'reset-password', code.right) },
      accountId: userId,
    })
    return right(undefined)
  })
}

/**
 * Returns the registration that waits for this address: an inactive account whose unconfirmed primary address it is.
 * Locks that account.
 */
const waitingFor = async (stores: IdentityChanges, key: string): Promise<AddressClaim | undefined> => {
  const userId = await stores.emails.ownerOf(key)
  const user = userId === undefined ? undefined : await stores.users.lock(userId)
  if (user === undefined || user.isActive) return undefined
  const own = (await stores.emails.list(user.id)).find(({ email }) => email.toLowerCase() === key)
  return own?.isPrimary === true && !own.verified ? { userId: user.id, login: user.login, email: own.email } : undefined
}

const confirmAgain = async (deps: AskPasswordResetDeps, call: Call, { key }: EmailAddress): Promise<void> => {
  const waiting = await deps.unitOfWork.run<never, boolean>(call, async (stores) =>
    right((await waitingFor(stores, key)) !== undefined),
  )
  if (isLeft(waiting) || !waiting.right) return
  if ((await deps.allowances.take('password-reset', call.sourceIp)) !== undefined) return
  const postConfirmation = makePostConfirmation(deps)
  await deps.unitOfWork.run<Failure<'TooManyMails'>, void>(call, async (stores) => {
    const claim = await waitingFor(stores, key)
    return claim === undefined ? right(undefined) : postConfirmation(stores, claim)
  })
}

export interface ResetPasswordDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly digest: TokenDigest
  readonly clock: Clock
}

export interface ResetPasswordInput {
  readonly code: string
  readonly password: Secret
}

export type ResetPasswordFailure = Failure<'LinkCodeInvalid'> | Failure<'PasswordTooWeak'> | Failure<'TooManyAttempts'>

/** A valid code and its user. */
interface Proven {
  readonly hash: Uint8Array
  readonly user: User
  /** The address to which the code was sent. */
  readonly emailKey: string
}

/**
 * Sets a new password for the holder of a reset code. A password that the policy refuses does not use up the code. Ends
 * all sessions and remembered logins; access tokens and the second factor remain. Does not sign in.
 */
export const makeResetPassword = (deps: ResetPasswordDeps) => {
  const judge = makeThrottledCheck(deps)
  return async (call: Call, input: ResetPasswordInput): Outcome<ResetPasswordFailure, void> => {
    const attempt = { kind: 'reset-code', subject: input.code.slice(0, 64), sourceIp: call.sourceIp } as const
    const proven = await judge(attempt, async () => right(await prove(deps, input.code)), linkCodeInvalid)
    if (isLeft(proven)) return proven
    const { user } = proven.right
    const password = checkPassword(deps.passwords, input.password, await passwordContextOf(deps.stores, user))
    if (isLeft(password)) return password
    const phc = await deps.hasher.hash(password.right)
    const replaced = await replace(deps, call, proven.right, phc)
    if (isLeft(replaced)) return replaced
    await deps.throttle.unlock(user.id, 'password')
    return right(undefined)
  }
}

const prove = async ({ stores, digest, clock }: ResetPasswordDeps, code: string): Promise<Proven | undefined> => {
  const hash = linkCodeHash(digest, code)
  if (isLeft(hash)) return undefined
  const found = await stores.linkCodes.find('password-reset', hash.right, clock.now())
  const user = found && (await stores.users.byId(found.userId))
  if (found === undefined || user === undefined || !user.isActive || user.prohibitLogin) return undefined
  return (await hasVerified(stores, user.id, found.emailKey))
    ? { hash: hash.right, user, emailKey: found.emailKey }
    : undefined
}

const hasVerified = async (stores: Pick<IdentityStores, 'emails'>, userId: UserId, key: string): Promise<boolean> =>
  (await stores.emails.list(userId)).some((own) => own.verified && own.email.toLowerCase() === key)

const replace = (
  deps: ResetPasswordDeps,
  call: Call,
  { user, hash, emailKey }: Proven,
  phc: string,
): Outcome<Failure<'LinkCodeInvalid'>, void> =>
  deps.unitOfWork.run<Failure<'LinkCodeInvalid'>, void>(call, async (stores) => {
    const now = deps.clock.now()
    const current = await stores.users.lock(user.id)
    // The user may have removed the address while the password was hashed.
    const isAllowed =
      current !== undefined &&
      current.isActive &&
      !current.prohibitLogin &&
      (await hasVerified(stores, user.id, emailKey))
    if (!isAllowed || !(await stores.linkCodes.use('password-reset', hash, now))) return left(linkCodeInvalid())
    await stores.users.replacePassword(user.id, phc, undefined, false)
    await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, now)
    const sessionsEnded = await stores.sessions.removeAll(user.id, undefined)
    await stores.audit.record(
      auditOfUser(user, 'user.password_changed', { by: 'reset', sessions_ended: sessionsEnded }),
    )
    await stores.mail.post(passwordChangedMail(current, now, { kind: 'reset', sourceIp: call.sourceIp }))
    return right(undefined)
  })
