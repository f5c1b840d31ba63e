import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { stringify } from 'yaml'
import type { ControlPlaneAccess } from '../components/control-plane-access.ts'
import { makeServerCertificate } from '../server-certificate.ts'

/** One request as the hub received it. */
export interface HubRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Which of the failures of a hub and its gateway is played. */
export type HubTrouble = 'none' | 'no-gateway' | 'gateway-down' | 'may-not-impersonate' | 'gateway-credential-refused'

/**
 * A hub with a cluster gateway, in front of a kube-apiserver that is hub and spoke at the same time. Like an aggregated API
 * server behind a hub, it authenticates the hub's credential, takes the user from the impersonation headers, and forwards to the
 * spoke under the name that the user's Account has.
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

const status = (code: number, reason: string, message: string, details?: object): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, ...(details === undefined ? {} : { details }), code })

interface Reply {
  readonly code: number
  readonly text: string
}
type Forward = { readonly path: string; readonly as: string | undefined }

const own = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? '')

export const startGatewayHub = async (spoke: ControlPlaneAccess): Promise<GatewayHub> => {
  const { certificatePem, keyPem } = await makeServerCertificate('gateway-hub')
  const seen: HubRequest[] = []
  const sockets = new Set<Duplex>()
  const prefix = `gateway-${randomUUID().slice(0, 8)}`
  let open = 0

  /** Decides as the hub's API server and its gateway do, in their order. */
  const decide = (req: IncomingMessage): Reply | Forward => {
    const [url, user] = [req.url ?? '', own(req, 'impersonate-user')]
    if (req.headers.authorization !== `Bearer ${hub.token}`) return { code: 401, text: status(401, 'Unauthorized', 'Unauthorized') }
    if (user !== '' && hub.trouble === 'may-not-impersonate')
      return { code: 403, text: status(403, 'Forbidden', `users "${user}" is forbidden: User "system:serviceaccount:moorage:hub" cannot impersonate resource "users" in API group "" at the cluster scope`, { name: user, kind: 'users' }) }
    if (!url.startsWith(root)) return { path: url, as: undefined }
    if (hub.trouble === 'no-gateway') return { code: 404, text: '404 page not found\n' }
    if (hub.trouble === 'gateway-down') return { code: 503, text: 'service unavailable\n' }
    const [, name = '', path = ''] = /^\/clustergateways\/([^/]+)\/proxy(\/.*)$/.exec(url.slice(root.length)) ?? []
    if (path === '') return { code: 200, text: JSON.stringify({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: root.slice(6), resources: [{ name: 'clustergateways/proxy' }] }) }
    if (user === '') return { code: 403, text: status(403, 'Forbidden', `clustergateways.gateway.open-cluster-management.io "${name}" is forbidden`, { name, group: root.split('/')[2], kind: 'clustergateways' }) }
    if (!hub.clusters.has(name)) return { code: 500, text: status(500, '', `no such cluster ${name}`) }
    if (hub.trouble === 'gateway-credential-refused') return { code: 401, text: status(401, 'Unauthorized', 'Unauthorized') }
    return { path, as: hub.nameOnSpoke(user) }
  }

  const forwarded = (req: IncomingMessage, { path, as }: Forward) => {
    const headers: OutgoingHttpHeaders = { ...req.headers, authorization: `Bearer ${spoke.tokenFor('admin')}` }
    for (const name of Object.keys(headers)) if (name === 'host' || name.startsWith('impersonate-')) delete headers[name]
    if (as !== undefined) headers['impersonate-user'] = as
    return request(`${spoke.url}${path}`, { method: req.method ?? 'GET', headers, ca: spoke.caPem, agent: false })
  }

  const note = (req: IncomingMessage): void => {
    seen.push({ method: req.method ?? '', url: req.url ?? '', headers: Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)])) })
  }

  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    note(req)
    open += 1
    res.on('close', () => (open -= 1))
    const decided = decide(req)
    if ('code' in decided) {
      res.writeHead(decided.code, { 'content-type': decided.text.startsWith('{') ? 'application/json' : 'text/plain' })
      res.end(decided.text)
      return
    }
    // A hub has another identity than its spoke.
    if (decided.as === undefined && decided.path === '/api/v1/namespaces/kube-system') {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid: hub.uid } }))
      return
    }
    const sent = forwarded(req, decided)
    sent.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers)
      res.flushHeaders()
      answer.pipe(res)
    })
    sent.on('error', () => res.destroy())
    res.on('close', () => sent.destroy())
    req.pipe(sent)
  }

  const server = createServer({ cert: certificatePem, key: keyPem }, serve)
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
    note(req)
    open += 1
    socket.on('close', () => (open -= 1))
    const decided = decide(req)
    if ('code' in decided) {
      socket.end(`HTTP/1.1 ${decided.code} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(decided.text)}\r\n\r\n${decided.text}`)
      return
    }
    const sent = forwarded(req, decided)
    sent.on('upgrade', (answer, upstream, head) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}`)
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
      if (head.byteLength > 0) socket.write(head)
      upstream.pipe(socket).pipe(upstream)
      upstream.on('error', () => socket.destroy())
      upstream.on('close', () => socket.destroy())
      socket.on('close', () => upstream.destroy())
    })
    sent.on('response', (answer) => {
      socket.write(`HTTP/1.1 ${answer.statusCode} Refused\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n`)
      answer.pipe(socket)
    })
    sent.on('error', () => socket.destroy())
    sent.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`

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
        clusters: [{ name: 'hub', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificatePem).toString('base64') } }],
        users: [{ name: 'hub', user: { token: hub.token } }],
        contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
        'current-context': 'hub',
      }),
    nameOnSpoke: (user) => `${prefix}:${user}`,
    openExchanges: () => open,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return hub
}
