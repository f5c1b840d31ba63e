import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import { httpLimits } from './http-limits.ts'

/** The first byte of a TLS handshake record. No HTTP method starts with it. */
const tlsHandshake = 0x16

/**
 * Suites with forward secrecy and authenticated encryption, in the order of the server's preference. The first three are
 * those of TLS 1.3.
 */
const ciphers = [
  'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256',
].join(':')

/** The certificate and the key with which the listener speaks TLS. */
export interface TlsKeys {
  readonly certificatePem: string
  readonly keyPem: string
}

interface Undecided {
  readonly socket: Socket
  readonly sinceMs: number
  readonly limit: NodeJS.Timeout
}

/** Returns the key of a connection: a TLS socket and its underlying socket have the same peer. */
const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`

/**
 * Serves HTTP and HTTPS on one port. The first byte selects the protocol. kubectl sends no token over plain HTTP, so a
 * service that starts without a proxy must offer both. Requests of both kinds use the same server and the same limits. A
 * connection has `decisionMs` for its first byte and its handshake. Returns a function that drops the connections that have
 * been undecided for a given time, for the stop, since the server does not know them.
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
  // A failed handshake is an error of the client. Node leaves the socket open, and it is only reported here.
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
