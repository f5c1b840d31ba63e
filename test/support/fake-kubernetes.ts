import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { stringify } from 'yaml'
import { makeServerCertificate } from './server-certificate.ts'
import { FakeObjects } from './fake-objects.ts'

/** One request as it came in over the wire. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  /** Lower-case name and value, in order, repeated names kept. */
  readonly headers: readonly (readonly [string, string])[]
  readonly connection: number
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void
type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * A Kubernetes API server small enough to be everywhere: identity, discovery and ConfigMaps with watches behave as
 * the real one (one contract suite runs on both); what a test wants otherwise it answers itself.
 */
export interface FakeKubernetes {
  readonly url: string
  readonly port: number
  /** What a request must send. */
  token: string
  readonly seen: readonly SeenRequest[]
  /** Answers paths that begin so instead of the built-in ones. */
  on(pathPrefix: string, handler: Handler): void
  onUpgrade(handler: UpgradeHandler): void
  kubeconfig(changes?: { readonly token?: string; readonly server?: string }): string
  /** What the namespace kube-system says it is. */
  uid: string
  isReady: boolean
  acceptsToken: boolean
  /** Requests whose answer is under way. */
  openRequests(): number
  stop(): Promise<void>
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that tells when it ends, in seconds since 1970, as those of service accounts do. Nothing has signed it. */
export const tokenUntil = (end: number): string => `${part({ alg: 'RS256' })}.${part({ exp: end })}.c2lnbmF0dXJl`

const pairs = (raw: readonly string[]): (readonly [string, string])[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [(raw[2 * index] ?? '').toLowerCase(), raw[2 * index + 1] ?? ''])

/** Not chained: restify, in the same process, replaces `writeHead` with one that answers nothing. */
const text = (res: ServerResponse, status: number, body: string): void => {
  res.writeHead(status, { 'content-type': 'text/plain' })
  res.end(body)
}

const json = (res: ServerResponse, status: number, body: unknown): void => {
  res.writeHead(status, { 'content-type': 'application/json', 'audit-id': randomUUID() })
  res.end(JSON.stringify(body))
}

const status = (code: number, reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
})

export const startFakeKubernetes = async (): Promise<FakeKubernetes> => {
  const { certificatePem, keyPem } = await makeServerCertificate('fake-kubernetes')
  const seen: SeenRequest[] = []
  const handlers: [string, Handler][] = []
  const objects = new FakeObjects()
  const connections = new WeakMap<object, number>()
  const sockets = new Set<Duplex>()
  let connected = 0
  let open = 0
  let upgradeHandler: UpgradeHandler | undefined

  const record = (req: IncomingMessage): void => {
    seen.push({
      method: req.method ?? '',
      url: req.url ?? '',
      headers: pairs(req.rawHeaders),
      connection: connections.get(req.socket) ?? 0,
    })
  }

  const serve: Handler = (req, res) => {
    record(req)
    open += 1
    res.on('close', () => (open -= 1))
    if (!fake.acceptsToken || req.headers.authorization !== `Bearer ${fake.token}`)
      return json(res, 401, status(401, 'Unauthorized', 'Unauthorized'))
    const path = (req.url ?? '').split('?')[0] ?? ''
    const own = handlers.find(([prefix]) => path.startsWith(prefix))
    if (own !== undefined) return own[1](req, res)
    if (path === '/version')
      return json(res, 200, { major: '1', minor: '34', gitVersion: 'v1.34.2', platform: 'linux/amd64' })
    if (path === '/readyz') return text(res, fake.isReady ? 200 : 500, fake.isReady ? 'ok' : 'not ok')
    if (path === '/apis') return json(res, 200, { kind: 'APIGroupList', groups: [{ name: 'apps' }] })
    if (path === '/apis/apps/v1')
      return json(res, 200, {
        kind: 'APIResourceList',
        resources: [{ name: 'deployments', kind: 'Deployment', verbs: ['list'] }],
      })
    if (path === '/api/v1/nodes') return json(res, 200, { kind: 'NodeList', metadata: {}, items: [] })
    if (path === '/api/v1/namespaces/kube-system')
      return json(res, 200, { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid: fake.uid } })
    if (objects.serve(req, res)) return
    text(res, 404, '404 page not found\n')
  }

  const server: Server = createServer({ cert: certificatePem, key: keyPem }, serve)
  server.on('secureConnection', (socket: TLSSocket) => {
    connections.set(socket, (connected += 1))
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => undefined)
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    record(req)
    if (upgradeHandler === undefined)
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}')
    else upgradeHandler(req, socket, head)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `https://127.0.0.1:${port}`

  const fake: FakeKubernetes = {
    url,
    port,
    token: `fake-${randomUUID()}`,
    seen,
    uid: randomUUID(),
    isReady: true,
    acceptsToken: true,
    on: (prefix, handler) => void handlers.unshift([prefix, handler]),
    onUpgrade: (handler) => void (upgradeHandler = handler),
    kubeconfig: (changes = {}) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'fake',
            cluster: {
              server: changes.server ?? url,
              'certificate-authority-data': Buffer.from(certificatePem).toString('base64'),
            },
          },
        ],
        users: [{ name: 'fake', user: { token: changes.token ?? fake.token } }],
        contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
        'current-context': 'fake',
      }),
    openRequests: () => open,
    stop: async () => {
      objects.close()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return fake
}
