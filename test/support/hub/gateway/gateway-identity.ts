import type { IncomingMessage } from 'node:http'
import { mayAct, type RequestUser } from '../api/access-review.ts'
import type { KubeClient } from '../api/kube-client.ts'

/** Why the gateway does not pass a request on. */
export interface GatewayRefusal {
  readonly code: 401 | 403 | 404 | 503
  readonly reason: 'Unauthorized' | 'Forbidden' | 'NotFound' | 'ServiceUnavailable'
  readonly message: string
}

const extraPrefix = 'impersonate-extra-'
const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

/**
 * Who asks, as the API server of the hub says: by the token, and the user that it acts as, if the rights of the token
 * permit that.
 */
export const callerOf = async (client: KubeClient, request: IncomingMessage): Promise<RequestUser | GatewayRefusal> => {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: token ?? '' } }
  const { status } = await client.call<{
    readonly status: { readonly authenticated?: boolean; readonly user: RequestUser }
  }>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review)
  if (status.authenticated !== true) return { code: 401, reason: 'Unauthorized', message: 'Unauthorized' }
  const wanted = impersonated(request)
  if (wanted === undefined) return status.user
  const needed = [
    { group: '', resource: 'users', name: wanted.username },
    ...(wanted.groups ?? []).map((name) => ({ group: '', resource: 'groups', name })),
    ...Object.entries(wanted.extra ?? {}).flatMap(([subresource, values]) =>
      values.map((name) => ({ group: 'authentication.k8s.io', resource: 'userextras', subresource, name })),
    ),
  ]
  for (const each of needed) {
    if (await mayAct(client, status.user, { ...each, verb: 'impersonate' })) continue
    return {
      code: 403,
      reason: 'Forbidden',
      message: `${each.resource} "${each.name}" is forbidden: User "${status.user.username}" cannot impersonate resource "${each.resource}"`,
    }
  }
  return { ...wanted, groups: [...(wanted.groups ?? []), 'system:authenticated'] }
}

/**
 * '`Impersonate-User: ace.user.<userID>`, `Impersonate-Extra-ace.appscode.com%2Forg-id: <orgID>`' (note §3, Reaching a
 * spoke).
 */
const impersonated = ({ headersDistinct: headers }: IncomingMessage): RequestUser | undefined => {
  const username = headers['impersonate-user']?.[0]
  if (username === undefined) return undefined
  const extra = Object.entries(headers)
    .filter(([name]) => name.startsWith(extraPrefix))
    .map(([name, values]) => [decodeURIComponent(name.slice(extraPrefix.length)), values ?? []] as const)
  return { username, groups: headers['impersonate-group'] ?? [], extra: Object.fromEntries(extra) }
}

/**
 * The right on the hub to reach this spoke: `clustergateways/proxy`, which the role of an Account gives (note §5,
 * sync-accounts).
 */
export const mayReach = (client: KubeClient, user: RequestUser, cluster: string, method: string): Promise<boolean> =>
  mayAct(client, user, {
    group: 'gateway.open-cluster-management.io',
    resource: 'clustergateways',
    subresource: 'proxy',
    name: cluster,
    verb: verbs[method] ?? 'get',
  })

/** The headers by which the spoke sees the same user. */
export const impersonationOf = ({
  username,
  groups = [],
  extra = {},
}: RequestUser): Record<string, string | string[]> => ({
  'impersonate-user': username,
  'impersonate-group': [...groups],
  ...Object.fromEntries(
    Object.entries(extra).map(([key, values]) => [`${extraPrefix}${encodeURIComponent(key)}`, [...values]]),
  ),
})
