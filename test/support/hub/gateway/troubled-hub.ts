import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { stringify } from 'yaml'
import type { ControlPlaneAccess } from '../../components/control-plane-access.ts'
import { headersOf, startForwardingServer, type Reply, type Upstream } from './forwarding-server.ts'

/** One request as the hub received it. */
export interface HubRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Which of the failures of a hub and its gateway is played. */
type HubTrouble = 'none' | 'no-gateway' | 'gateway-down' | 'may-not-impersonate' | 'gateway-credential-refused'

/**
 * A hub with a cluster gateway, in front of a kube-apiserver that is hub and spoke at the same time. Like an aggregated
 * API server behind a hub, it authenticates the hub's credential, takes the user from the impersonation headers, and
 * forwards to the spoke under the name that the user's Account has.
 */
export interface GatewayHub {
  readonly uid: string
  readonly seen: readonly HubRequest[]
  trouble: HubTrouble
  /** The names of the clusters that the gateway knows. */
  readonly clusters: Set<string>
  /** The credential that the hub accepts. */
  token: string
  kubeconfig(): string
  /** The name under which the spoke sees a user of the hub. */
  nameOnSpoke(user: string): string
  /** Requests whose answer, and upgraded connections whose end, is under way. */
  openExchanges(): number
  stop(): Promise<void>
}

const root = '/apis/gateway.open-cluster-management.io/v1alpha1'

const status = (code: number, reason: string, message: string, details?: object): Reply => ({
  code,
  body: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  },
})

const own = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? '')

export const startGatewayHub = async (spoke: ControlPlaneAccess): Promise<GatewayHub> => {
  const seen: HubRequest[] = []
  const prefix = `gateway-${randomUUID().slice(0, 8)}`

  const forwarded = (req: IncomingMessage, path: string, as: OutgoingHttpHeaders): Upstream => {
    const kept = Object.entries(headersOf(req)).filter(([name]) => !name.startsWith('impersonate-'))
    return {
      server: spoke,
      path,
      headers: { ...Object.fromEntries(kept), authorization: `Bearer ${spoke.tokenFor('admin')}`, ...as },
    }
  }

  /** Decides as the hub's API server and its gateway do, in their order. */
  const decide = (req: IncomingMessage): Reply | Upstream => {
    const [url, user] = [req.url ?? '', own(req, 'impersonate-user')]
    if (req.headers.authorization !== `Bearer ${hub.token}`) return status(401, 'Unauthorized', 'Unauthorized')
    if (user !== '' && hub.trouble === 'may-not-impersonate')
      return status(
        403,
        'Forbidden',
        `users "${user}" is forbidden: User "system:serviceaccount:moorage:hub" cannot impersonate resource "users" in API group "" at the cluster scope`,
        { name: user, kind: 'users' },
      )
    // A hub has another identity than its spoke.
    if (url === '/api/v1/namespaces/kube-system')
      return {
        code: 200,
        body: { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid: hub.uid } },
      }
    if (!url.startsWith(root)) return forwarded(req, url, {})
    if (hub.trouble === 'no-gateway') return { code: 404, body: '404 page not found\n' }
    if (hub.trouble === 'gateway-down') return { code: 503, body: 'service unavailable\n' }
    const [, name = '', path = ''] = /^\/clustergateways\/([^/]+)\/proxy(\/.*)$/.exec(url.slice(root.length)) ?? []
    if (path === '')
      return {
        code: 200,
        body: {
          kind: 'APIResourceList',
          apiVersion: 'v1',
          groupVersion: root.slice(6),
          resources: [{ name: 'clustergateways/proxy' }],
        },
      }
    if (user === '')
      return status(403, 'Forbidden', `clustergateways.gateway.open-cluster-management.io "${name}" is forbidden`, {
        name,
        group: root.split('/')[2],
        kind: 'clustergateways',
      })
    if (!hub.clusters.has(name)) return status(500, '', `no such cluster ${name}`)
    if (hub.trouble === 'gateway-credential-refused') return status(401, 'Unauthorized', 'Unauthorized')
    return forwarded(req, path, { 'impersonate-user': hub.nameOnSpoke(user) })
  }

  const forwarder = await startForwardingServer('gateway-hub', (req) => {
    seen.push({
      method: req.method ?? '',
      url: req.url ?? '',
      headers: Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)])),
    })
    return decide(req)
  })

  const hub: GatewayHub = {
    uid: randomUUID(),
    seen,
    trouble: 'none',
    clusters: new Set(),
    token: `hub-${randomUUID()}`,
    kubeconfig: () =>
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'hub',
            cluster: {
              server: forwarder.server.url,
              'certificate-authority-data': Buffer.from(forwarder.server.caPem).toString('base64'),
            },
          },
        ],
        users: [{ name: 'hub', user: { token: hub.token } }],
        contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
        'current-context': 'hub',
      }),
    nameOnSpoke: (user) => `${prefix}:${user}`,
    openExchanges: () => forwarder.openExchanges(),
    stop: () => forwarder.stop(),
  }
  return hub
}
