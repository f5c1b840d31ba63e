import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, FailureType, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { randomBase62 } from './access-token.ts'
import { makeCheckCredentials } from './check-credentials.ts'
import type { CheckCredentialsDeps } from './check-credentials.ts'
import type { IdentityChanges, IdentitySettings, PasswordRecord, TokenDigest } from './ports.ts'
import { maxSessionsPerUser, newSessionTimes } from './session-rules.ts'

/** Unknown user and wrong password are one answer. */
export const SignInRefused = defineFailure('SignInRefused', 'NotFound')
/** The password is right, but this account may not sign in. */
export const SignInProhibited = defineFailure('SignInProhibited', 'Prohibited')

export interface SignInDeps extends CheckCredentialsDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
}

export interface SignInInput {
  readonly login: string
  readonly password: Secret
  readonly remember: boolean
}

export interface SignedIn {
  readonly sessionKey: Secret
  /** Set for a remembered session: how long the cookies live. Others end with the browser. */
  readonly cookieSeconds: number | undefined
}

/** The password that was right a moment ago was replaced before the session began. */
const PasswordReplaced: FailureType<'PasswordReplaced'> = defineFailure('PasswordReplaced', 'Conflict')

type SignInFailure = Failure<'SignInRefused'> | Failure<'SignInProhibited'> | Failure<'TooManyAttempts'>

/** 43 base62 characters are a little more than 256 bits. */
const sessionKeyLength = 43

/**
 * Opens a session with a key of its own; a session that the call came with ends. Everything after the password's check
 * is one transaction; a hash of old parameters is replaced in it.
 */
export const makeSignIn = (deps: SignInDeps) => {
  const checkCredentials = makeCheckCredentials(deps)

  /** The new hash of a password whose old one is too cheap by today's parameters. */
  const rehashed = async (record: PasswordRecord, password: Secret): Promise<string | undefined> => {
    if (!deps.hasher.needsRehash(record.phc)) return undefined
    const phc = await deps.hasher.hash(password)
    return isLeft(phc) ? undefined : phc.right
  }

  const signInOnce = async (call: Call, input: SignInInput): Outcome<SignInFailure | Failure<'PasswordReplaced'>, SignedIn> => {
    const checked = await checkCredentials(input.login, input.password)
    if (isLeft(checked)) {
      return checked.left.tag === 'NotAuthenticated'
        ? left(SignInRefused('The user name or the password is wrong.'))
        : left(checked.left as Failure<'TooManyAttempts'>)
    }
    const { account, phc } = checked.right
    if (!account.isEnabled) return left(SignInProhibited('This account may not sign in. Ask an administrator.'))
    const newPhc = await rehashed(checked.right, input.password)
    const key = randomBase62(deps.entropy, sessionKeyLength)
    return deps.unitOfWork.run<SignInFailure | Failure<'PasswordReplaced'>, SignedIn>(call, async (stores) => {
      // Whoever changes the password locks the user and ends the sessions: none may begin after that with the old one.
      const current = (await stores.users.lock(account.userId)) === undefined ? undefined : await stores.users.passwordPhc(account.userId)
      if (current !== phc) return left(PasswordReplaced('The password was replaced.'))
      const now = deps.clock.now()
      const old = call.principal
      if (old?.sessionId !== undefined) await stores.sessions.remove(old.userId, old.sessionId)
      const sessionId = await stores.sessions.insert({
        userId: account.userId,
        hash: deps.digest.digest(key),
        remember: input.remember,
        sourceIp: call.sourceIp,
        userAgent: call.userAgent ?? '',
        createdAt: now,
        ...newSessionTimes(deps.settings, input.remember, now),
      })
      await stores.sessions.trim(account.userId, maxSessionsPerUser, now)
      await stores.users.markLoggedIn(account.userId, now)
      if (newPhc !== undefined) await stores.users.rehashPassword(account.userId, newPhc, phc)
      await stores.audit.record({
        action: 'user.signed_in',
        objectType: 'user',
        objectId: account.userId,
        objectName: account.login,
        tenantId: account.userId,
        changes: { session: sessionId, remember: input.remember },
      })
      return right({ sessionKey: secret(key), cookieSeconds: input.remember ? deps.settings.rememberSeconds : undefined })
    })
  }

  return async (call: Call, input: SignInInput): Outcome<SignInFailure, SignedIn> => {
    // Replaced may also mean hashed anew by another sign-in: the second check tells.
    for (let attempts = 2; attempts > 0; attempts--) {
      const outcome = await signInOnce(call, input)
      if (!isLeft(outcome) || outcome.left.tag !== 'PasswordReplaced') return outcome as Awaited<Outcome<SignInFailure, SignedIn>>
    }
    return left(SignInRefused('The user name or the password is wrong.'))
  }
}
