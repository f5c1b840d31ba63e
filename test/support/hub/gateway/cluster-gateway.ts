import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Agent, createServer, request as sendHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { makeServerCertificate } from '../../server-certificate.ts'
import type { KubeClient, ServerAddress } from '../api/kube-client.ts'
import { callerOf, impersonationOf, mayReach, type GatewayRefusal } from './gateway-identity.ts'

/** An API server that requests are passed on to, with what proves there who asks. */
export interface Upstream {
  readonly server: ServerAddress
  readonly path: string
  readonly headers: OutgoingHttpHeaders
}

export interface GatewayOptions {
  /** As the admin of the hub. */
  readonly client: KubeClient
  /** The spoke of a cluster; 'unknown' where the hub has no such cluster, 'unreachable' where it has no live agent. */
  readonly spokeOf: (cluster: string) => { readonly server: ServerAddress; readonly adminToken: string } | 'unknown' | 'unreachable'
}

/** A hub with the cluster gateway: everything but the gateway's paths is passed to the API server of the hub. */
export interface ClusterGateway {
  readonly server: ServerAddress
  stop(): Promise<void>
}

const group = 'gateway.open-cluster-management.io'
const proxyPath = new RegExp(`^/apis/${group.replaceAll('.', '\\.')}/v1alpha1/clustergateways/([^/?]+)/proxy(/[^?]*)?(\\?.*)?$`)
const groupVersion = { groupVersion: `${group}/v1alpha1`, version: 'v1alpha1' }
const discovery: Readonly<Record<string, object>> = {
  [`/apis/${group}`]: { kind: 'APIGroup', apiVersion: 'v1', name: group, versions: [groupVersion], preferredVersion: groupVersion },
  [`/apis/${group}/v1alpha1`]: {
    kind: 'APIResourceList', apiVersion: 'v1', groupVersion: groupVersion.groupVersion,
    resources: [
      { name: 'clustergateways', singularName: 'clustergateway', namespaced: false, kind: 'ClusterGateway', verbs: ['get', 'list'] },
      { name: 'clustergateways/proxy', singularName: '', namespaced: false, kind: 'ClusterGatewayProxyOptions', verbs: ['get', 'create', 'update', 'patch', 'delete'] },
    ],
  },
}

/**
 * '`<hub>/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways/<spoke>/proxy/<path>` with a hub SA token,
 * `Impersonate-User: ace.user.<userID>`' (note §3, Reaching a spoke). In a real hub this is an aggregated API; here it is a
 * server in front of the hub, since an APIService would be one for all test files. Callers need a token: TLS ends here.
 */
export const startClusterGateway = async (options: GatewayOptions): Promise<ClusterGateway> => {
  const { certificatePem, keyPem } = await makeServerCertificate('test-hub-gateway')
  const agents = new Map<string, Agent>()
  const agentOf = ({ url, caPem }: ServerAddress): Agent => {
    const known = agents.get(url) ?? new Agent({ ca: caPem, keepAlive: true })
    agents.set(url, known)
    return known
  }
  const server = createServer({ cert: certificatePem, key: keyPem })
  const send = (incoming: IncomingMessage, { server: target, path, headers }: Upstream) =>
    sendHttps(`${target.url}${path}`, { method: incoming.method ?? 'GET', headers, agent: agentOf(target) })

  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      const found = discovery[incoming.url ?? '']
      if (found !== undefined) return writeJson(response, 200, found)
      const target = await targetOf(options, incoming)
      if ('code' in target) return writeJson(response, target.code, statusOf(target))
      const outgoing = send(incoming, target)
      outgoing.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
        answer.on('error', () => response.destroy())
      })
      outgoing.on('error', () => response.destroy())
      response.on('close', () => outgoing.destroy())
      incoming.pipe(outgoing)
    })().catch(() => response.destroy())
  })
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    void (async () => {
      const target = await targetOf(options, incoming)
      if ('code' in target) return socket.end(`HTTP/1.1 ${target.code} ${target.reason}\r\ncontent-length: 0\r\n\r\n`)
      const outgoing = send(incoming, { ...target, headers: { ...target.headers, connection: 'upgrade', upgrade: incoming.headers.upgrade ?? '' } })
      outgoing.on('upgrade', (answer, upstream) => {
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${rawHeaders(answer)}\r\n`)
        upstream.pipe(socket).pipe(upstream)
        for (const [one, other] of [[socket, upstream], [upstream, socket]] as const) one.on('error', () => other.destroy()).on('close', () => other.destroy())
      })
      outgoing.on('response', (answer) => {
        socket.write(`HTTP/1.1 ${answer.statusCode ?? 500} ${answer.statusMessage ?? ''}\r\n${rawHeaders(answer)}\r\n`)
        answer.pipe(socket)
      })
      outgoing.on('error', () => socket.destroy())
      outgoing.end()
      return undefined
    })().catch(() => socket.destroy())
  })
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  return {
    server: { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, caPem: certificatePem },
    stop: async () => {
      for (const each of agents.values()) each.destroy()
      server.closeAllConnections()
      await new Promise<void>((go) => server.close(() => go()))
    },
  }
}

/** The hub itself, or a spoke if the caller may reach it: there the admin acts as the caller. */
const targetOf = async ({ client, spokeOf }: GatewayOptions, incoming: IncomingMessage): Promise<Upstream | GatewayRefusal> => {
  const { host: _host, connection: _connection, ...headers } = incoming.headersDistinct
  const [isProxy, encoded = '', path = '/', query = ''] = proxyPath.exec(incoming.url ?? '') ?? []
  if (isProxy === undefined) return { server: client.server, path: incoming.url ?? '/', headers }
  const cluster = decodeURIComponent(encoded)
  const caller = await callerOf(client, incoming)
  if ('code' in caller) return caller
  if (!(await mayReach(client, caller, cluster, incoming.method ?? 'GET'))) {
    return { code: 403, reason: 'Forbidden', message: `clustergateways.${group} "${cluster}" is forbidden: User "${caller.username}" cannot use resource "clustergateways/proxy" in API group "${group}" at the cluster scope` }
  }
  const spoke = spokeOf(cluster)
  if (spoke === 'unknown') return { code: 404, reason: 'NotFound', message: `clustergateways.${group} "${cluster}" not found` }
  if (spoke === 'unreachable') return { code: 503, reason: 'ServiceUnavailable', message: `no agent of ${cluster} is connected` }
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization' && !name.startsWith('impersonate-')))
  return { server: spoke.server, path: `${path}${query}`, headers: { ...kept, authorization: `Bearer ${spoke.adminToken}`, ...impersonationOf(caller) } }
}

const statusOf = ({ code, reason, message }: GatewayRefusal): object => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code })

const writeJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const rawHeaders = ({ rawHeaders: raw }: IncomingMessage): string => {
  let text = ''
  for (let index = 0; index < raw.length; index += 2) text += `${raw[index] ?? ''}: ${raw[index + 1] ?? ''}\r\n`
  return text
}
