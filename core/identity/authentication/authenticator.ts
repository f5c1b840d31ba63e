import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Cache, Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { fullScope } from '../../kernel/principal.ts'
import { secret } from '../../kernel/secret.ts'
import type {
  Authenticator,
  Background,
  Credential,
  CredentialStore,
  IdentitySettings,
  TokenDigest,
  TokenGrant,
} from '../ports.ts'
import { NotAuthenticated, NotPermitted, SudoTargetMissing, SudoTargetNoUser } from '../ports.ts'
import type { CheckOneTimeCode, SpendOneTimeCode } from '../second-factor/ports.ts'
import { isMarkDue, isSessionAlive, renewedIdleExpiry } from '../sessions/sessions.ts'
import { scopeSetOf } from '../tokens/scopes.ts'
import { hasAccessTokenForm } from '../tokens/access-tokens.ts'
import type { User } from '../types.ts'
import type { CheckCredentialsDeps } from '../credentials.ts'
import { accountDisabled, credentialOutdated, makeCheckCredentials } from '../credentials.ts'
import { definedFields } from '../../kernel/json.ts'
import { localSignInOff } from '../access-ports.ts'

/** The number of marked credentials kept in memory. A forgotten one is marked again, which is harmless. */
const maxMarked = 10_000

/** Runs `write` in the background if the credential's mark is due in this process too. */
export type MarkUsed = (key: string, now: Date, write: () => Promise<void>) => void

/**
 * Marks credentials as used, at most once a minute each. In a burst of requests, all but one read the row before the
 * mark is written, so this process remembers what it has marked.
 */
const makeMarkUsed = (background: Background, caches: Caches): MarkUsed => {
  const marked: Cache<string, Date> = caches.make({ maxEntries: maxMarked })
  return (key, now, write) => {
    if (!isMarkDue(marked.get(key), now)) return
    marked.set(key, now)
    background.run('mark a credential as used', async () => {
      try {
        await write()
      } catch (error) {
        marked.delete(key)
        throw error
      }
    })
  }
}

export type ImpersonateFailure = Failure<'NotPermitted'> | Failure<'SudoTargetMissing'> | Failure<'SudoTargetNoUser'>

/**
 * Returns the principal of a site admin who acts as another user. The rights are the other user's; the actor is kept.
 */
const makeImpersonate =
  (credentials: CredentialStore) =>
  async (actor: Principal, login: string): Outcome<ImpersonateFailure, Principal> => {
    const allowed = mayImpersonate(actor)
    if (isLeft(allowed)) return allowed
    const target = await credentials.accountByName(login, actor.provenAt)
    if (target === undefined) return left(SudoTargetMissing('The user to act as does not exist.'))
    if (target === 'organization') return left(SudoTargetNoUser('An organization cannot be acted as, only a user.'))
    if (!target.isEnabled) return left(NotPermitted('A disabled account cannot be acted as.'))
    return right({
      ...actor,
      userId: target.userId,
      login: target.login,
      isSiteAdmin: target.isSiteAdmin,
      impersonator: { userId: actor.userId, login: actor.login },
    })
  }

/** Checks that the actor is a site admin, did not authenticate by session and, with a token, has the scope `sudo`. */
const mayImpersonate = (actor: Principal): Either<Failure<'NotPermitted'>, void> => {
  if (!actor.isSiteAdmin) return left(NotPermitted('Only site administrators may act as another user.'))
  if (actor.method === 'session') return left(NotPermitted('A session cannot act as another user; use a token.'))
  if (!actor.scopes.sudo) return left(NotPermitted('The token does not carry the scope "sudo".'))
  return right(undefined)
}

export interface AuthenticateTokenDeps {
  readonly credentials: CredentialStore
  readonly digest: TokenDigest
  readonly clock: Clock
}

const badToken = (): Failure<'NotAuthenticated'> => NotAuthenticated('The access token is not valid.')

/** Only its holder can send the token, so its expiry is no secret. */
const expiredToken = (at: Date): Failure<'NotAuthenticated'> =>
  NotAuthenticated(`The access token expired at ${at.toISOString().slice(0, 19)}Z; make a new one.`)

/** Authenticates the owner of an access token in one query, which includes the profile if requested. */
const makeAuthenticateToken =
  (deps: AuthenticateTokenDeps, mark: MarkUsed) =>
  async (token: string, loads: 'profile' | undefined): Outcome<Failure<'NotAuthenticated'>, Principal> => {
    if (!hasAccessTokenForm(token, deps.digest)) return left(badToken())
    const hash = deps.digest.digest(token)
    const grant = await (loads === 'profile'
      ? deps.credentials.tokenWithProfileByHash(hash)
      : deps.credentials.tokenByHash(hash))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled) return left(badToken())
    if (grant.expiresAt !== undefined && isPast(grant.expiresAt, now)) return left(expiredToken(grant.expiresAt))
    if (isMarkDue(grant.lastUsedAt, now)) {
      mark(`token ${grant.tokenId}`, now, () =>
        deps.credentials.markTokenUsed(grant.tokenId, grant.account.userId, now),
      )
    }
    return right(tokenPrincipal(grant))
  }

const isPast = (at: Date, now: Date): boolean => at.getTime() <= now.getTime()

const tokenPrincipal = (grant: TokenGrant): Principal & { readonly profile?: User } => ({
  userId: grant.account.userId,
  login: grant.account.login,
  isSiteAdmin: grant.account.isSiteAdmin,
  method: 'token',
  scopes: scopeSetOf(grant.scopeWords),
  tokenId: grant.tokenId,
  tokenCreatedAt: grant.createdAt,
  ...definedFields({
    tokenExpiresAt: grant.expiresAt,
    onlyOrgId: grant.onlyOrgId,
    onlyClusterId: grant.onlyClusterId,
    profile: grant.profile,
    provenAt: grant.provenAt,
  }),
})

/** Returns the profile loaded by authentication, if the route requested it and the credential's query includes it. */
export const profileOf = (principal: Principal & { readonly profile?: User }): User | undefined => principal.profile

export interface AuthenticateSessionDeps {
  readonly credentials: CredentialStore
  readonly digest: TokenDigest
  readonly clock: Clock
  readonly settings: IdentitySettings
}

const badSession = (): Failure<'NotAuthenticated'> => NotAuthenticated('The session is over; sign in again.')

/** Authenticates the session of a cookie in one query. Use extends the idle expiry, never the absolute expiry. */
const makeAuthenticateSession =
  (deps: AuthenticateSessionDeps, mark: MarkUsed) =>
  async (key: string): Outcome<Failure<'NotAuthenticated'>, Principal> => {
    const grant = await deps.credentials.sessionByHash(deps.digest.digest(key))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled || !isSessionAlive(grant, now)) return left(badSession())
    if (isMarkDue(grant.lastSeenAt, now)) {
      const idleExpiresAt = renewedIdleExpiry(deps.settings, grant, now)
      mark(`session ${grant.sessionId}`, now, () =>
        deps.credentials.markSessionSeen(grant.sessionId, now, idleExpiresAt),
      )
    }
    const { userId, login, isSiteAdmin, mustChangePassword } = grant.account
    return right({
      userId,
      login,
      isSiteAdmin,
      mustChangePassword,
      method: 'session',
      scopes: fullScope,
      sessionId: grant.sessionId,
      ...definedFields({ sessionProof: grant.proof, provenAt: grant.provenAt }),
    })
  }

export interface AuthenticatePasswordDeps extends CheckCredentialsDeps {
  readonly checkOneTimeCode: CheckOneTimeCode
  readonly clock: Clock
}

export type ProvePasswordFailure =
  | Failure<'NotAuthenticated'>
  | Failure<'NotPermitted'>
  | Failure<'OneTimeCodeRequired'>
  | Failure<'TooManyAttempts'>

/**
 * Authenticates a caller by name and password and, if a second factor is enrolled, an unused code. The code is not
 * spent.
 */
const makeAuthenticatePassword = (deps: AuthenticatePasswordDeps, mark: MarkUsed) => {
  const checkCredentials = makeCheckCredentials(deps)
  return async (
    credential: Credential & { kind: 'password' },
    sourceIp: string,
  ): Outcome<ProvePasswordFailure, Principal> => {
    const checked = await checkCredentials({ login: credential.login, password: credential.password, sourceIp })
    if (isLeft(checked)) return checked
    const { account, phc, hasSecondFactor, secondFactorRef, lastLoginAt, isLocalSignInOff } = checked.right
    if (!account.isEnabled) return left(accountDisabled(account.userId))
    if (isLocalSignInOff) return left(NotPermitted(localSignInOff))
    const judged = hasSecondFactor
      ? await deps.checkOneTimeCode({ userId: account.userId, code: credential.oneTimeCode, sourceIp })
      : right(undefined)
    if (isLeft(judged)) return judged
    const { userId, login, isSiteAdmin, mustChangePassword } = account
    const now = deps.clock.now()
    if (isMarkDue(lastLoginAt, now))
      mark(`password ${userId}`, now, () => deps.credentials.markPasswordUsed(userId, now))
    return right({
      userId,
      login,
      isSiteAdmin,
      mustChangePassword,
      method: 'password',
      scopes: fullScope,
      provenPhc: secret(phc),
      ...definedFields({ unspentCode: judged.right, provenSecondFactorRef: secondFactorRef }),
    })
  }
}

/**
 * Re-checks a long-running request (a stream, a slow body) after its password was verified. It checks that the password
 * and the second factor are unchanged and that the account may still sign in, with current rights. It is not a new
 * attempt and does not hash, use a code or count a failure: a lock does not interrupt requests that are already
 * authenticated, and a one-time code need not be correct twice.
 */
const makeAuthenticatePasswordAgain = ({ credentials }: AuthenticatePasswordDeps) => {
  const impersonate = makeImpersonate(credentials)
  return async (proven: Principal): Outcome<ReturnType<typeof credentialOutdated> | ImpersonateFailure, Principal> => {
    const { impersonator, ...own } = proven
    const actor = impersonator ?? proven
    const record = await credentials.passwordByKey(actor.login.toLowerCase())
    if (record === undefined || record.account.userId !== actor.userId || !record.account.isEnabled)
      return left(credentialOutdated())
    const isSame = record.phc === proven.provenPhc?.reveal() && record.secondFactorRef === proven.provenSecondFactorRef
    if (!isSame || record.isLocalSignInOff) return left(credentialOutdated())
    const { userId, login, isSiteAdmin, mustChangePassword } = record.account
    const current: Principal = { ...own, userId, login, isSiteAdmin, mustChangePassword }
    if (impersonator === undefined) return right(current)
    const acting = await impersonate(current, proven.login)
    return isLeft(acting) || acting.right.userId === proven.userId ? acting : left(credentialOutdated())
  }
}

export interface AuthenticateDeps extends AuthenticateTokenDeps, AuthenticateSessionDeps, AuthenticatePasswordDeps {
  readonly background: Background
  readonly caches: Caches
  readonly spendOneTimeCode: SpendOneTimeCode
}

/** Returns an Authenticator over a credential store. See the port for its guarantees. */
export const makeAuthenticator = (deps: AuthenticateDeps): Authenticator => {
  const mark = makeMarkUsed(deps.background, deps.caches)
  const authenticateToken = makeAuthenticateToken(deps, mark)
  const authenticateSession = makeAuthenticateSession(deps, mark)
  const authenticatePassword = makeAuthenticatePassword(deps, mark)
  const impersonate = makeImpersonate(deps.credentials)

  const prove = (credential: Credential, sourceIp: string, loads: 'profile' | undefined) => {
    if (credential.kind === 'token') return authenticateToken(credential.token.reveal(), loads)
    if (credential.kind === 'session') return authenticateSession(credential.sessionKey.reveal())
    return authenticatePassword(credential, sourceIp)
  }

  return {
    async authenticate(credential, sudo, sourceIp, loads) {
      const proven = await prove(credential, sourceIp, sudo === undefined ? loads : undefined)
      if (isLeft(proven) || sudo === undefined) return proven
      return impersonate(proven.right, sudo)
    },
    authenticateAgain: makeAuthenticatePasswordAgain(deps),
    async spendCode(proven, sourceIp) {
      const { unspentCode, ...rest } = proven
      if (unspentCode === undefined) return right(proven)
      const spent = await deps.spendOneTimeCode((proven.impersonator ?? proven).userId, unspentCode, sourceIp)
      return isLeft(spent) ? spent : right(rest)
    },
    async userOfSession(sessionKey) {
      const grant = await deps.credentials.sessionByHash(deps.digest.digest(sessionKey.reveal()))
      return grant !== undefined && grant.account.isEnabled && isSessionAlive(grant, deps.clock.now())
        ? grant.account.userId
        : undefined
    },
  }
}
