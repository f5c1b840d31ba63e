import type { Provider } from 'oidc-provider'
import type { AcceptedAuthorization, SessionCaller } from '../../core/authorization-server/ports.ts'
import { listAt, textAt } from '../../core/kernel/json.ts'
import { requestScope } from './request-scope.ts'

/** Reads the resources of a request, of which there can be several. */
export const resourcesIn = (params: unknown): readonly string[] => {
  const one = textAt(params, 'resource')
  return one === '' ? listAt(params, 'resource').filter((each): each is string => typeof each === 'string') : [one]
}

/** Grants the scopes to the client, in the grant that it has in this session or in a new one. Returns the grant's id. */
export const grantTo = async (
  provider: Provider,
  clientId: string,
  { userId, scopes, apiScopes, resources }: AcceptedAuthorization,
  grantId: string | undefined,
): Promise<string> => {
  const accountId = String(userId)
  const known = grantId === undefined || resources.length > 0 ? undefined : await provider.Grant.find(grantId)
  const isExtended = known?.accountId === accountId && known.resources === undefined
  const grant = isExtended ? known : new provider.Grant({ accountId, clientId })
  if (resources.length === 0) grant.addOIDCScope(scopes.join(' '))
  else {
    // Without the resource, a token would not be confined to it: then it gets none of these scopes.
    grant.addOIDCScope(scopes.filter((scope) => !apiScopes.includes(scope)).join(' '))
    grant.rejectOIDCScope(apiScopes.join(' '))
    for (const resource of resources) grant.addResourceScope(resource, apiScopes.join(' '))
  }
  return grant.save()
}

/** Runs work of the library for a person who answers. */
export const asPerson = <A>({ userId, sessionId }: SessionCaller, work: () => Promise<A>): Promise<A> =>
  requestScope.run({ caller: { userId, sessionId }, sourceIp: '', userAgent: '' }, work)
