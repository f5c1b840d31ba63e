import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from 'node:tls'

/** The first byte of a TLS handshake record; no HTTP method starts with it. */
const tlsHandshake = 0x16
/** A connection that sends nothing at all is closed after this, as one whose headers do not arrive. */
const firstByteMs = 15_000

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

/** Names a connection: a TLS socket and the one beneath it have the same peer. */
const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`

/**
 * Lets one port speak HTTP and HTTPS: the first byte tells which. kubectl sends no token over plain HTTP, so a service
 * that starts with nothing else beside it must offer both. Requests of both kinds run through the same server, with the
 * same limits. Answers how to drop the connections that have not said yet which they are, for the stop: the server
 * does not know of them.
 */
export const shareWithTls = (server: Server, keys: TlsKeys, handshakeMs = firstByteMs): (() => void) => {
  const [plain] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  if (plain === undefined) throw new Error('the HTTP server has no connection listener')
  const tls = createServer({
    cert: keys.certificatePem,
    key: keys.keyPem,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    ciphers,
    honorCipherOrder: true,
    handshakeTimeout: handshakeMs,
  })
  const undecided = new Map<string, Socket>()
  tls.on('secureConnection', (socket) => {
    undecided.delete(peerOf(socket))
    plain.call(server, socket)
  })
  // A failed handshake is the client's affair. One that never ends is only reported here: Node leaves the socket open.
  tls.on('tlsClientError', (_error, socket) => socket.destroy())

  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const giveUp = (): void => void socket.destroy()
    const peer = peerOf(socket)
    undecided.set(peer, socket)
    socket.once('close', () => undecided.delete(peer))
    socket.setTimeout(firstByteMs, giveUp)
    socket.once('error', giveUp)
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null
      socket.setTimeout(0)
      socket.off('timeout', giveUp)
      socket.off('error', giveUp)
      if (first === null) return giveUp()
      socket.unshift(first)
      if (first[0] === tlsHandshake) tls.emit('connection', socket)
      else {
        undecided.delete(peer)
        plain.call(server, socket)
      }
    })
  })
  return () => {
    for (const socket of undecided.values()) socket.destroy()
  }
}
