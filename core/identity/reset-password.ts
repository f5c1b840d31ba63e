import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { passwordChangedMail } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import { makeJudgeGuess } from './judge-guess.ts'
import type { JudgeGuessDeps } from './judge-guess.ts'
import { linkCodeHash, linkCodeInvalid } from './link-codes.ts'
import type { PasswordPolicy } from './password-policy.ts'
import { checkPassword } from './password-policy.ts'
import type { IdentityChanges, IdentityStores, PasswordHasher, TokenDigest } from './ports.ts'
import type { User } from './types.ts'

export interface ResetPasswordDeps extends JudgeGuessDeps {
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

/** A code that counts, and whose it is. */
interface Proven {
  readonly hash: Uint8Array
  readonly user: User
}

/**
 * Sets a new password for whoever has the code of a mail. The code survives a password that the policy refuses. Ends all
 * sessions and remembered logins; access tokens and the second factor stay, and nobody is signed in.
 */
export const makeResetPassword = (deps: ResetPasswordDeps) => {
  const judge = makeJudgeGuess(deps)
  return async (call: Call, input: ResetPasswordInput): Outcome<ResetPasswordFailure, void> => {
    const attempt = { kind: 'reset-code', subject: input.code.slice(0, 64), sourceIp: call.sourceIp } as const
    const proven = await judge(attempt, async () => right(await prove(deps, input.code)), linkCodeInvalid)
    if (isLeft(proven)) return proven
    const { user, hash } = proven.right
    const emails = (await deps.stores.emails.list(user.id)).map(({ email }) => email)
    const password = checkPassword(deps.passwords, input.password, { login: user.login, emails, fullName: user.fullName })
    if (isLeft(password)) return password
    const phc = await deps.hasher.hash(password.right)
    if (isLeft(phc)) return phc
    const replaced = await replace(deps, call, { user, hash }, phc.right)
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
  const isStillTheirs = found !== undefined && (await stores.emails.list(found.userId)).some((own) => own.verified && own.email.toLowerCase() === found.emailKey)
  return user !== undefined && user.isActive && !user.prohibitLogin && isStillTheirs ? { hash: hash.right, user } : undefined
}

const replace = (deps: ResetPasswordDeps, call: Call, { user, hash }: Proven, phc: string): Outcome<Failure<'LinkCodeInvalid'>, void> =>
  deps.unitOfWork.run<Failure<'LinkCodeInvalid'>, void>(call, async (stores) => {
    const now = deps.clock.now()
    const current = await stores.users.lock(user.id)
    const isAllowed = current !== undefined && current.isActive && !current.prohibitLogin
    if (!isAllowed || !(await stores.linkCodes.use('password-reset', hash, now))) return left(linkCodeInvalid())
    await stores.users.replacePassword(user.id, phc, undefined, false)
    await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, now)
    const sessionsEnded = await stores.sessions.removeAll(user.id, undefined)
    await stores.audit.record({
      action: 'user.password_changed',
      ...auditedUser(user),
      changes: { by: 'reset', sessions_ended: sessionsEnded },
    })
    await stores.mail.post(passwordChangedMail(current, now, { kind: 'reset', sourceIp: call.sourceIp }))
    return right(undefined)
  })
