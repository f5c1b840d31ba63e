import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Agent, createServer, request as sendHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { makeServerCertificate } from '../../server-certificate.ts'
import type { ServerAddress } from '../api/kube-client.ts'

/** An API server that a request is passed on to, with what proves there who asks. */
export interface Upstream {
  readonly server: ServerAddress
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  /** Awaited when the server has answered, before the caller hears of it. */
  readonly beforeAnswer?: () => Promise<void>
}

/** An answer of the server itself. Text is answered as such, and an object as JSON. */
export interface Reply {
  readonly code: number
  readonly body: string | object
}

/** Answers a request, or says where it goes. */
export type Decide = (incoming: IncomingMessage) => Reply | Upstream | Promise<Reply | Upstream>

export interface ForwardingServer {
  readonly server: ServerAddress
  /** Requests whose answer, and upgraded connections whose end, is under way. */
  openExchanges(): number
  stop(): Promise<void>
}

/** Returns the headers of a request, without those that belong to its connection. */
export const headersOf = ({
  headersDistinct: { host: _host, connection: _connection, ...headers },
}: IncomingMessage): OutgoingHttpHeaders => headers

const rendered = ({ body }: Reply): readonly [type: string, text: string] =>
  typeof body === 'string' ? ['text/plain', body] : ['application/json', JSON.stringify(body)]

const linesOf = ({ rawHeaders: raw }: IncomingMessage): string => {
  let text = ''
  for (let index = 0; index < raw.length; index += 2) text += `${raw[index] ?? ''}: ${raw[index + 1] ?? ''}\r\n`
  return text
}

/**
 * An https server in front of others, for requests and for upgraded connections. TLS ends here, so callers need a
 * token.
 */
export const startForwardingServer = async (name: string, decide: Decide): Promise<ForwardingServer> => {
  const { certificatePem, keyPem } = await makeServerCertificate(name)
  const agents = new Map<string, Agent>()
  const agentOf = ({ url, caPem }: ServerAddress): Agent => {
    const known = agents.get(url) ?? new Agent({ ca: caPem, keepAlive: true })
    agents.set(url, known)
    return known
  }
  const send = (incoming: IncomingMessage, { server: target, path, headers }: Upstream) =>
    sendHttps(`${target.url}${path}`, { method: incoming.method ?? 'GET', headers, agent: agentOf(target) })
  const sockets = new Set<Duplex>()
  let open = 0

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const decided = await decide(incoming)
    if ('code' in decided) {
      const [type, text] = rendered(decided)
      response.writeHead(decided.code, { 'content-type': type })
      response.end(text)
      return
    }
    const outgoing = send(incoming, decided)
    const passOn = async (received: IncomingMessage): Promise<void> => {
      received.on('error', () => response.destroy())
      await decided.beforeAnswer?.()
      response.writeHead(received.statusCode ?? 500, received.headers)
      response.flushHeaders()
      received.pipe(response)
    }
    outgoing.on('response', (received) => void passOn(received))
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  const upgrade = async (incoming: IncomingMessage, socket: Duplex): Promise<void> => {
    const decided = await decide(incoming)
    if ('code' in decided) {
      const [type, text] = rendered(decided)
      socket.end(
        `HTTP/1.1 ${decided.code} Refused\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      )
      return
    }
    const outgoing = send(incoming, {
      ...decided,
      headers: { ...decided.headers, connection: 'upgrade', upgrade: incoming.headers.upgrade ?? '' },
    })
    outgoing.on('upgrade', (received, upstream, head) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${linesOf(received)}\r\n`)
      if (head.byteLength > 0) socket.write(head)
      upstream.pipe(socket).pipe(upstream)
      for (const [one, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const)
        one.on('error', () => other.destroy()).on('close', () => other.destroy())
    })
    outgoing.on('response', (received) => {
      const type = received.headers['content-type'] ?? 'application/json'
      socket.write(
        `HTTP/1.1 ${received.statusCode ?? 500} Refused\r\nConnection: close\r\nContent-Type: ${type}\r\n\r\n`,
      )
      received.pipe(socket)
    })
    outgoing.on('error', () => socket.destroy())
    outgoing.end()
  }

  const server = createServer({ cert: certificatePem, key: keyPem })
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    open += 1
    response.on('close', () => (open -= 1))
    answer(incoming, response).catch(() => response.destroy())
  })
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    open += 1
    socket.on('close', () => (open -= 1))
    upgrade(incoming, socket).catch(() => socket.destroy())
  })
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  return {
    server: { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, caPem: certificatePem },
    openExchanges: () => open,
    stop: async () => {
      for (const each of agents.values()) each.destroy()
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((go) => server.close(() => go()))
    },
  }
}
