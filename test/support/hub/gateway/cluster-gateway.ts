import type { IncomingMessage } from 'node:http'
import type { KubeClient, ServerAddress } from '../api/kube-client.ts'
import {
  headersOf,
  startForwardingServer,
  type ForwardingServer,
  type Reply,
  type Upstream,
} from './forwarding-server.ts'
import { callerOf, impersonationOf, mayReach, type GatewayRefusal } from './gateway-identity.ts'

export interface GatewayOptions {
  /** As the admin of the hub. */
  readonly client: KubeClient
  /** The spoke of a cluster; 'unknown' where the hub has no such cluster, 'unreachable' where it has no live agent. */
  readonly spokeOf: (
    cluster: string,
  ) => { readonly server: ServerAddress; readonly adminToken: string } | 'unknown' | 'unreachable'
}

const group = 'gateway.open-cluster-management.io'
const proxyPath = new RegExp(
  `^/apis/${group.replaceAll('.', '\\.')}/v1alpha1/clustergateways/([^/?]+)/proxy(/[^?]*)?(\\?.*)?$`,
)
const groupVersion = { groupVersion: `${group}/v1alpha1`, version: 'v1alpha1' }
const discovery: Readonly<Record<string, object>> = {
  [`/apis/${group}`]: {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: group,
    versions: [groupVersion],
    preferredVersion: groupVersion,
  },
  [`/apis/${group}/v1alpha1`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: groupVersion.groupVersion,
    resources: [
      {
        name: 'clustergateways',
        singularName: 'clustergateway',
        namespaced: false,
        kind: 'ClusterGateway',
        verbs: ['get', 'list'],
      },
      {
        name: 'clustergateways/proxy',
        singularName: '',
        namespaced: false,
        kind: 'ClusterGatewayProxyOptions',
        verbs: ['get', 'create', 'update', 'patch', 'delete'],
      },
    ],
  },
}

/**
 * '`<hub>/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways/<spoke>/proxy/<path>` with a hub SA token,
 * `Impersonate-User: ace.user.<userID>`' (note §3, Reaching a spoke). In a real hub this is an aggregated API; here it
 * is a server in front of the hub, since an APIService would be one for all test files. Everything but the paths of the
 * gateway is passed to the API server of the hub.
 */
export const startClusterGateway = (options: GatewayOptions): Promise<ForwardingServer> =>
  startForwardingServer('test-hub-gateway', async (incoming): Promise<Reply | Upstream> => {
    const found = discovery[incoming.url ?? '']
    if (found !== undefined) return { code: 200, body: found }
    const target = await targetOf(options, incoming)
    return 'code' in target ? { code: target.code, body: statusOf(target) } : target
  })

/** The hub itself, or a spoke if the caller may reach it: there the admin acts as the caller. */
const targetOf = async (
  { client, spokeOf }: GatewayOptions,
  incoming: IncomingMessage,
): Promise<Upstream | GatewayRefusal> => {
  const headers = headersOf(incoming)
  const [isProxy, encoded = '', path = '/', query = ''] = proxyPath.exec(incoming.url ?? '') ?? []
  if (isProxy === undefined) return { server: client.server, path: incoming.url ?? '/', headers }
  const cluster = decodeURIComponent(encoded)
  const caller = await callerOf(client, incoming)
  if ('code' in caller) return caller
  if (!(await mayReach(client, caller, cluster, incoming.method ?? 'GET'))) {
    return {
      code: 403,
      reason: 'Forbidden',
      message: `clustergateways.${group} "${cluster}" is forbidden: User "${caller.username}" cannot use resource "clustergateways/proxy" in API group "${group}" at the cluster scope`,
    }
  }
  const spoke = spokeOf(cluster)
  if (spoke === 'unknown')
    return { code: 404, reason: 'NotFound', message: `clustergateways.${group} "${cluster}" not found` }
  if (spoke === 'unreachable')
    return { code: 503, reason: 'ServiceUnavailable', message: `no agent of ${cluster} is connected` }
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== 'authorization' && !name.startsWith('impersonate-')),
  )
  return {
    server: spoke.server,
    path: `${path}${query}`,
    headers: { ...kept, authorization: `Bearer ${spoke.adminToken}`, ...impersonationOf(caller) },
  }
}

const statusOf = ({ code, reason, message }: GatewayRefusal): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
})
