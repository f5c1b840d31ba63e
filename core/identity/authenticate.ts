import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { fullScope } from '../kernel/token-scope.ts'
import { hasAccessTokenForm } from './access-token.ts'
import { badCredentials, makeCheckCredentials } from './check-credentials.ts'
import type { CheckCredentialsDeps } from './check-credentials.ts'
import type { Authenticator, Background, Credential, IdentitySettings, SessionGrant, TokenDigest, TokenGrant } from './ports.ts'
import { NotAuthenticated, NotPermitted, SudoTargetMissing, SudoTargetNoUser } from './ports.ts'
import { scopeSetOf } from './scope-words.ts'
import type { User } from './types.ts'
import { isMarkDue, isSessionAlive, renewedIdleExpiry } from './session-rules.ts'

export interface AuthenticateDeps extends CheckCredentialsDeps {
  readonly digest: TokenDigest
  readonly clock: Clock
  readonly background: Background
  readonly settings: IdentitySettings
}

/** Credentials remembered as marked; one that is forgotten is marked once more, which does no harm. */
const maxMarked = 10_000

type Refused =
  | Failure<'NotAuthenticated'>
  | Failure<'NotPermitted'>
  | Failure<'SudoTargetMissing'>
  | Failure<'SudoTargetNoUser'>
  | Failure<'TooManyAttempts'>

const badToken = (): Failure<'NotAuthenticated'> => NotAuthenticated('The access token is not valid.')
const badSession = (): Failure<'NotAuthenticated'> => NotAuthenticated('The session is over; sign in again.')

/** Proves callers over a credential store; see the port for its promises. */
export const makeAuthenticator = (deps: AuthenticateDeps): Authenticator => {
  const checkCredentials = makeCheckCredentials(deps)
  // What this process marked, and when: of a burst of requests, all but one read the row before the mark was there.
  const marked = new Map<string, Date>()
  const mark = (key: string, now: Date, write: () => Promise<void>): void => {
    if (!isMarkDue(marked.get(key), now)) return
    marked.delete(key)
    marked.set(key, now)
    const oldest = marked.size > maxMarked ? marked.keys().next().value : undefined
    if (oldest !== undefined) marked.delete(oldest)
    deps.background.run('mark a credential as used', async () => {
      try {
        await write()
      } catch (error) {
        marked.delete(key)
        throw error
      }
    })
  }

  const byToken = async (token: string, loads: 'profile' | undefined): Outcome<Refused, Principal> => {
    if (!hasAccessTokenForm(token)) return left(badToken())
    const hash = deps.digest.digest(token)
    const grant = await (loads === 'profile' ? deps.credentials.tokenWithProfileByHash(hash) : deps.credentials.tokenByHash(hash))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled || isExpired(grant, now)) return left(badToken())
    if (isMarkDue(grant.lastUsedAt, now)) mark(`token ${grant.tokenId}`, now, () => deps.credentials.markTokenUsed(grant.tokenId, now))
    return right(tokenPrincipal(grant))
  }

  const bySession = async (key: string): Outcome<Refused, Principal> => {
    const grant = await deps.credentials.sessionByHash(deps.digest.digest(key))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled || !isSessionAlive(grant, now)) return left(badSession())
    if (isMarkDue(grant.lastSeenAt, now)) {
      const idleExpiresAt = renewedIdleExpiry(deps.settings, grant, now)
      mark(`session ${grant.sessionId}`, now, () => deps.credentials.markSessionSeen(grant.sessionId, now, idleExpiresAt))
    }
    return right(sessionPrincipal(grant))
  }

  const byPassword = async (credential: Credential & { kind: 'password' }): Outcome<Refused, Principal> => {
    const checked = await checkCredentials(credential.login, credential.password)
    if (isLeft(checked)) return checked
    const { account } = checked.right
    if (!account.isEnabled) return left(badCredentials())
    return right({ userId: account.userId, login: account.login, isSiteAdmin: account.isSiteAdmin, method: 'password', scopes: fullScope })
  }

  const prove = (credential: Credential, loads: 'profile' | undefined): Outcome<Refused, Principal> => {
    if (credential.kind === 'token') return byToken(credential.token.reveal(), loads)
    if (credential.kind === 'session') return bySession(credential.sessionKey.reveal())
    return byPassword(credential)
  }

  const impersonate = async (actor: Principal, login: string): Outcome<Refused, Principal> => {
    const allowed = mayImpersonate(actor)
    if (isLeft(allowed)) return allowed
    const target = await deps.credentials.accountByName(login)
    if (target === undefined) return left(SudoTargetMissing('There is no such user to act as.'))
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

  return {
    async authenticate(credential, sudo, _sourceIp, loads) {
      const proven = await prove(credential, sudo === undefined ? loads : undefined)
      if (isLeft(proven) || sudo === undefined) return proven
      return impersonate(proven.right, sudo)
    },
  }
}

const isExpired = (grant: TokenGrant, now: Date): boolean =>
  grant.expiresAt !== undefined && grant.expiresAt.getTime() <= now.getTime()

/** Only a site admin, and with a token only one that was given this power. */
const mayImpersonate = (actor: Principal): Either<Failure<'NotPermitted'>, void> => {
  if (!actor.isSiteAdmin) return left(NotPermitted('Only site administrators may act as another user.'))
  if (actor.method === 'session') return left(NotPermitted('A session cannot act as another user; use a token.'))
  if (!actor.scopes.sudo) return left(NotPermitted('The token does not carry the scope "sudo".'))
  return right(undefined)
}

const tokenPrincipal = (grant: TokenGrant): Principal & { readonly profile?: User } => ({
  userId: grant.account.userId,
  login: grant.account.login,
  isSiteAdmin: grant.account.isSiteAdmin,
  method: 'token',
  scopes: scopeSetOf(grant.scopeWords),
  tokenId: grant.tokenId,
  ...(grant.expiresAt === undefined ? {} : { tokenExpiresAt: grant.expiresAt }),
  ...(grant.onlyOrgId === undefined ? {} : { onlyOrgId: grant.onlyOrgId }),
  ...(grant.profile === undefined ? {} : { profile: grant.profile }),
})

/** The profile that authentication brought along, if the route asked for it and the credential was one that could. */
export const profileOf = (principal: Principal & { readonly profile?: User }): User | undefined => principal.profile

const sessionPrincipal = (grant: SessionGrant): Principal => ({
  userId: grant.account.userId,
  login: grant.account.login,
  isSiteAdmin: grant.account.isSiteAdmin,
  method: 'session',
  scopes: fullScope,
  sessionId: grant.sessionId,
})
