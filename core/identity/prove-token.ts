import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { hasAccessTokenForm } from './access-token.ts'
import type { MarkUsed } from './mark-used.ts'
import type { CredentialStore, TokenDigest, TokenGrant } from './ports.ts'
import { NotAuthenticated } from './ports.ts'
import { scopeSetOf } from './scope-words.ts'
import { isMarkDue } from './session-rules.ts'
import type { User } from './types.ts'

export interface ProveTokenDeps {
  readonly credentials: CredentialStore
  readonly digest: TokenDigest
  readonly clock: Clock
}

const badToken = (): Failure<'NotAuthenticated'> => NotAuthenticated('The access token is not valid.')

/** Proves the owner of an access token: one query; the profile comes along in it when asked for. */
export const makeProveToken =
  (deps: ProveTokenDeps, mark: MarkUsed) =>
  async (token: string, loads: 'profile' | undefined): Outcome<Failure<'NotAuthenticated'>, Principal> => {
    if (!hasAccessTokenForm(token)) return left(badToken())
    const hash = deps.digest.digest(token)
    const grant = await (loads === 'profile' ? deps.credentials.tokenWithProfileByHash(hash) : deps.credentials.tokenByHash(hash))
    const now = deps.clock.now()
    if (grant === undefined || !grant.account.isEnabled || isExpired(grant, now)) return left(badToken())
    if (isMarkDue(grant.lastUsedAt, now)) {
      mark(`token ${grant.tokenId}`, now, () => deps.credentials.markTokenUsed(grant.tokenId, grant.account.userId, now))
    }
    return right(tokenPrincipal(grant))
  }

const isExpired = (grant: TokenGrant, now: Date): boolean =>
  grant.expiresAt !== undefined && grant.expiresAt.getTime() <= now.getTime()

const tokenPrincipal = (grant: TokenGrant): Principal & { readonly profile?: User } => ({
  userId: grant.account.userId,
  login: grant.account.login,
  isSiteAdmin: grant.account.isSiteAdmin,
  method: 'token',
  scopes: scopeSetOf(grant.scopeWords),
  tokenId: grant.tokenId,
  tokenCreatedAt: grant.createdAt,
  ...(grant.expiresAt === undefined ? {} : { tokenExpiresAt: grant.expiresAt }),
  ...(grant.onlyOrgId === undefined ? {} : { onlyOrgId: grant.onlyOrgId }),
  ...(grant.onlyClusterId === undefined ? {} : { onlyClusterId: grant.onlyClusterId }),
  ...(grant.profile === undefined ? {} : { profile: grant.profile }),
})

/** The profile that authentication brought along, if the route asked for it and the credential was one that could. */
export const profileOf = (principal: Principal & { readonly profile?: User }): User | undefined => principal.profile
