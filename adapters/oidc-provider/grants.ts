import type { Provider } from 'oidc-provider'
import type { AcceptedAuthorization, SessionCaller } from '../../core/authorization-server/ports.ts'
import { requestScope } from './request-scope.ts'

/** Grants the scopes to the client, in the grant that it has in this session or in a new one. Returns the grant's id. */
export const grantTo = async (
  provider: Provider,
  clientId: string,
  { userId, scopes }: AcceptedAuthorization,
  grantId: string | undefined,
): Promise<string> => {
  const accountId = String(userId)
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const grant = known?.accountId === accountId ? known : new provider.Grant({ accountId, clientId })
  grant.addOIDCScope(scopes.join(' '))
  return grant.save()
}

/** Runs work of the library for a person who answers. */
export const asPerson = <A>({ userId, sessionId }: SessionCaller, work: () => Promise<A>): Promise<A> =>
  requestScope.run({ caller: { userId, sessionId }, sourceIp: '', userAgent: '' }, work)
