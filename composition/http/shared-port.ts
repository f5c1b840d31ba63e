import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import { httpLimits } from './http-limits.ts'

/** The first byte of a TLS handshake record; no HTTP method starts with it. */
const tlsHandshake = 0x16

/** Suites with forward secrecy and authenticated encryption; the server's order counts. The first three are TLS 1.3's. */
const ciphers = [
  'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256',
].join(':')

/** What the listener needs to speak TLS. */
export interface TlsKeys {
  readonly certificatePem: string
  readonly keyPem: string
}

interface Undecided {
  readonly socket: Socket
  readonly sinceMs: number
  readonly limit: NodeJS.Timeout
}

/** Names a connection: a TLS socket and the one beneath it have the same peer. */
const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`

/**
 * Lets one port speak HTTP and HTTPS: the first byte tells which. kubectl sends no token over plain HTTP, so a service
 * that starts with nothing else beside it must offer both. Requests of both kinds run through the same server, with the
 * same limits. A connection has `decisionMs` for its first byte and its handshake. Answers how to drop the connections
 * that have been undecided for so long, for the stop: the server does not know of them.
 */
export const shareWithTls = (server: Server, keys: TlsKeys, decisionMs = httpLimits.firstBytes): ((forMs: number) => void) => {
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const tls = createServer({
    cert: keys.certificatePem,
    key: keys.keyPem,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    ciphers,
    honorCipherOrder: true,
  })
  const undecided = new Map<string, Undecided>()
  const decide = (peer: string): void => {
    clearTimeout(undecided.get(peer)?.limit)
    undecided.delete(peer)
  }
  const serve = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket)
  }
  tls.on('secureConnection', (socket) => {
    decide(peerOf(socket))
    serve(socket)
  })
  // A failed handshake is the client's affair. It is only reported here: Node leaves the socket open.
  tls.on('tlsClientError', (_error, socket) => socket.destroy())

  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const giveUp = (): void => void socket.destroy()
    const peer = peerOf(socket)
    undecided.set(peer, { socket, sinceMs: performance.now(), limit: setTimeout(giveUp, decisionMs) })
    socket.once('close', () => decide(peer))
    socket.once('error', giveUp)
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null
      socket.off('error', giveUp)
      if (first === null) return giveUp()
      socket.unshift(first)
      if (first[0] === tlsHandshake) tls.emit('connection', socket)
      else {
        decide(peer)
        serve(socket)
      }
    })
  })
  return (forMs) => {
    const nowMs = performance.now()
    for (const { socket, sinceMs } of undecided.values()) if (nowMs - sinceMs >= forMs) socket.destroy()
  }
}
