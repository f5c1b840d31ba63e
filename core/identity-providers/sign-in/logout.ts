import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SessionId, UserId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { SecretBox } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { TokenDigest } from '../../identity/ports.ts'
import { auditOfProvider } from '../audit.ts'
import { providerMissing } from '../providers/providers.ts'
import type {
  ExternalAccountStore,
  ExternalSessionStore,
  LogoutRequest,
  OpenIdConnect,
  ProviderStore,
  ProviderStores,
} from '../ports.ts'
import { LogoutTokenRefused } from '../ports.ts'
import { idTokenPlace, makeClientOf } from '../sealing.ts'
import type { Provider, ProviderId } from '../types.ts'

export interface EndSessionDeps {
  readonly accounts: Pick<ExternalAccountStore, 'listOfUser'>
  readonly sessions: Pick<ExternalSessionStore, 'find'>
  readonly providers: Pick<ProviderStore, 'active'>
  readonly openIdConnect: OpenIdConnect
  readonly secretBox: SecretBox
  readonly baseUrl: () => string
}

/**
 * Returns the address at which the caller signs out at the provider of this session; empty if the session is no
 * external one, or the provider has none. The session here ends as any other does.
 */
export const makeEndSessionUrl = (deps: EndSessionDeps) => {
  const clientOf = makeClientOf(deps.secretBox)
  return async (call: SignedInCall<never>): Outcome<never, string> => {
    const { sessionId, userId } = call.principal
    const session = sessionId === undefined ? undefined : await deps.sessions.find(sessionId)
    if (session === undefined) return right('')
    const linked = (await deps.accounts.listOfUser(userId)).find(({ account }) => account.id === session.accountId)
    const provider = linked === undefined ? undefined : await deps.providers.active(linked.account.providerId)
    if (provider?.kind !== 'oidc') return right('')
    const idToken = await deps.secretBox.open(session.sealedIdToken, idTokenPlace(session))
    const request = { idToken, returnTo: `${deps.baseUrl()}/sign-in` }
    return right((await deps.openIdConnect.endSessionUrl(await clientOf(provider), request, call.signal)) ?? '')
  }
}

export interface BackChannelLogoutDeps {
  readonly providers: Pick<ProviderStore, 'active'>
  readonly openIdConnect: OpenIdConnect
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly digest: TokenDigest
  readonly secretBox: SecretBox
}

export interface LogoutInput {
  readonly providerId: ProviderId
  readonly logoutToken: string
}

/** The audit rows about a session that a provider ended. The name of its user is not read. */
const auditOfSessions = defineAudit('user', ['user.sessions_ended'], (userId: UserId) => ({
  objectId: userId,
  tenantId: userId,
}))

interface EndedSession {
  readonly sessionId: SessionId
  readonly userId: UserId
}

/**
 * Returns the sessions that a logout token ends: those of its `sid`, which is the provider's own name of a session, or
 * all of its person if it names none.
 */
const sessionsOf = async (
  stores: ProviderStores,
  provider: Provider,
  { issuer, subject, sid }: LogoutRequest,
): Promise<readonly EndedSession[]> => {
  if (sid !== undefined) return stores.sessions.ofSid(provider.id, sid)
  const account = subject === undefined ? undefined : await stores.accounts.bySubject(provider.id, issuer, subject)
  if (account === undefined) return []
  const ids = await stores.sessions.ofAccount(account.id)
  return ids.map((sessionId) => ({ sessionId, userId: account.userId }))
}

/** Ends the sessions that a provider reports as over. A logout token is valid once. */
export const makeBackChannelLogout = (deps: BackChannelLogoutDeps) => {
  const clientOf = makeClientOf(deps.secretBox)
  return async (
    call: Call<void>,
    { providerId, logoutToken }: LogoutInput,
  ): Outcome<Failure<'ProviderMissing'> | Failure<'ProviderUnavailable'> | Failure<'LogoutTokenRefused'>, void> => {
    const provider = await deps.providers.active(providerId)
    if (provider?.kind !== 'oidc') return left(providerMissing())
    const read = await deps.openIdConnect.readLogoutToken(await clientOf(provider), logoutToken, call.signal)
    if (isLeft(read)) return read
    return deps.unitOfWork.run<Failure<'LogoutTokenRefused'>, void>(call, async (stores) => {
      const { tokenId, expiresAt } = read.right
      const tokenHash = deps.digest.digest(`${providerId} ${tokenId}`)
      if (!(await stores.attempts.useLogoutToken(tokenHash, expiresAt)))
        return left(LogoutTokenRefused('The logout token was used already.'))
      const ended = await sessionsOf(stores, provider, read.right)
      for (const { sessionId, userId } of ended) {
        await stores.identity.users.lock(userId)
        await stores.identity.sessions.remove(userId, sessionId)
        await stores.audit.record(
          auditOfSessions(userId, 'user.sessions_ended', { session: sessionId, provider: provider.name }),
        )
      }
      await stores.audit.record(
        auditOfProvider(provider, 'identity_provider.logged_out', { sessions_ended: ended.length }),
      )
      return right(undefined)
    })
  }
}
