import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer } from 'node:tls'

/** Limits on the clients of a listener, in milliseconds. */
export interface HttpLimits {
  /** For the first byte and, with TLS, for the handshake, from the time at which the connection is accepted. */
  readonly firstBytes: number
  /** For the headers of a request. */
  readonly headers: number
  /** For a whole request, headers and body. */
  readonly request: number
  /** A client that takes no part of an answer for this long is cut. */
  readonly unread: number
  /** How long a connection stays open between two requests. It is longer than load balancers keep connections. */
  readonly keepAlive: number
}

/** The limits of a service. docs/security.md lists them; a test compares the two. */
export const httpLimits: HttpLimits = {
  firstBytes: 15_000,
  headers: 15_000,
  request: 60_000,
  unread: 30_000,
  keepAlive: 75_000,
}

const mostConnections = 20_000

/** The limits of this process, or none where the system has no such file. */
const ownLimits = (): string => {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

/** Fewer open files than this do not hold the database, the listeners, their clients and what an operation opens. */
const leastFiles = 128

/** Returns a sentence if this process may open too few files to start, or undefined. */
export const tooFewFiles = (limits = ownLimits()): string | undefined => {
  const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  return most >= leastFiles
    ? undefined
    : `This process may have ${most} files open, and needs ${leastFiles} or more; 4096 suit most services. Raise the limit: ulimit -n, or LimitNOFILE of systemd.`
}

/**
 * Returns how many connections a listener accepts: 20,000, and at most a third of the files that this process may have
 * open. The rest is for the database, clusters, files, and the listener of operators, which must answer when clients
 * have taken all that they can get.
 * @param limits the text of `/proc/self/limits`.
 */
export const connectionLimit = (limits = ownLimits()): number =>
  Math.min(mostConnections, Math.floor(Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity) / 3))

/**
 * Milliseconds for which a connection is still read after its last answer, so that closing does not reset that answer.
 */
export const lingerMs = 2_000

/**
 * Registers an answer that does not end by itself. `end` is called when the service stops, and must end the answer
 * soon.
 */
export type NoteEndless = (answer: ServerResponse, end: () => void) => void

/** The HTTP connections of a listener, for the limits on answers and for an orderly stop. */
export interface Connections {
  readonly noteEndless: NoteEndless
  /**
   * Reports whether a request must not be carried out, because the answer before it was marked as the last on its
   * connection.
   */
  isTooLate(req: IncomingMessage): boolean
  /**
   * Calls `report` when the requests that arrived whole on this connection are answered, so that a fault of what
   * follows them is not taken for their answer. Only the first fault of a connection is reported, and none within
   * another answer.
   */
  onFault(socket: Duplex, report: () => void): void
  /** Marks each answer from now on as the last on its connection. */
  sayClose(): void
  /** Ends the connections that have been silent for `quiet` milliseconds, or `fresh` if they were not answered yet. */
  endIdle(after: { readonly quiet: number; readonly fresh: number }): void
  /** Ends the answers that do not end by themselves, including those that start later. */
  endEndless(): void
  /** Cuts the endless answers that have not ended. */
  cutEndless(): void
  /** Returns the number of answers that are not complete, excluding the endless ones. */
  unanswered(): number
}

interface Connection {
  readonly socket: Socket
  /** Incomplete answers, in the order of their requests. */
  readonly answers: Set<ServerResponse>
  /**
   * The time at which the connection was accepted or the last answer was complete. `readThen` is the number of bytes
   * read by then: more bytes mean that a request is arriving.
   */
  quietSinceMs: number
  readThen: number
  wasAnswered: boolean
  /**
   * The bytes of its answers that the client has taken. `looksAgo` counts the checks since it last took some while more
   * was waiting.
   */
  taken: number
  looksAgo: number
}

/**
 * Closes a connection gracefully: the written bytes are sent, then the end. Incoming bytes are read and discarded for a
 * short time, since closing a connection with unread bytes resets it, and the client may lose the answer.
 */
export const endGently = (socket: Duplex): void => {
  socket.removeAllListeners('data')
  socket.on('data', () => undefined)
  socket.resume()
  const linger = (): void => {
    const limit = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(limit))
  }
  if (socket.writableFinished) linger()
  else socket.once('finish', linger)
  socket.end()
}

const lastOf = <A>(all: Iterable<A>): A | undefined => [...all].at(-1)
const saysClose = (answer: ServerResponse): boolean => answer.headersSent && answer.getHeader('connection') === 'close'

/** Watches the connections of a server from the first on. Connections that leave HTTP are excluded. */
export const watchConnections = (server: Server, { unread }: Pick<HttpLimits, 'unread'>): Connections => {
  const open = new Map<Duplex, Connection>()
  const endless = new Map<ServerResponse, () => void>()
  const tooLate = new WeakSet<IncomingMessage>()
  const faulty = new WeakSet<Duplex>()
  let isClosing = false
  let endsEndless = false

  const note = (socket: Socket): void => {
    open.set(socket, {
      socket,
      answers: new Set(),
      quietSinceMs: performance.now(),
      readThen: socket.bytesRead,
      wasAnswered: false,
      taken: 0,
      looksAgo: 0,
    })
    socket.once('close', () => open.delete(socket))
    if (isClosing) endsGently(socket)
  }
  // Node calls this to close a connection after an answer that announces it.
  const endsGently = (socket: Socket): void => {
    socket.destroySoon = () => endGently(socket)
  }
  const begin = (req: IncomingMessage, res: ServerResponse): void => {
    const connection = open.get(req.socket)
    if (connection === undefined) return
    const { answers, socket } = connection
    if (isClosing) {
      const before = lastOf(answers)
      if (before !== undefined && saysClose(before)) return void tooLate.add(req)
      // Requests were pipelined: the last of them closes the connection.
      if (before !== undefined && !before.headersSent) before.removeHeader('Connection')
      res.setHeader('Connection', 'close')
    }
    answers.add(res)
    res.once('close', () => {
      answers.delete(res)
      connection.wasAnswered = true
      connection.quietSinceMs = performance.now()
      connection.readThen = socket.bytesRead
    })
  }
  const isIdle = ({ socket, answers, quietSinceMs, readThen }: Connection, quietMs: number): boolean =>
    answers.size === 0 &&
    !socket.writableEnded &&
    socket.bytesRead === readThen &&
    performance.now() - quietSinceMs >= quietMs

  server.on('connection', note)
  server.prependListener('request', begin)
  for (const leaving of ['upgrade', 'connect'])
    server.prependListener(leaving, (_req: IncomingMessage, socket: Duplex) => open.delete(socket))
  server.once('close', cutUnread(open, unread))

  return {
    noteEndless(answer, end) {
      endless.set(answer, end)
      answer.once('close', () => endless.delete(answer))
      if (endsEndless) end()
    },
    isTooLate: (req) => tooLate.has(req),
    onFault(socket, report) {
      if (faulty.has(socket)) return
      faulty.add(socket)
      const answers = open.get(socket)?.answers ?? new Set()
      const next = (): void => {
        // It ends by itself when the bytes that were written are sent.
        if (!socket.writable) return
        const before = [...answers].find(({ req }) => req.complete)
        if (before !== undefined) before.once('close', next)
        else if ([...answers].some(({ headersSent }) => headersSent)) socket.destroy()
        else report()
      }
      next()
    },
    sayClose() {
      isClosing = true
      for (const { socket, answers } of open.values()) {
        endsGently(socket)
        const last = lastOf(answers)
        if (last?.headersSent === false) last.setHeader('Connection', 'close')
      }
    },
    endIdle({ quiet, fresh }) {
      for (const connection of open.values())
        if (isIdle(connection, connection.wasAnswered ? quiet : fresh)) endGently(connection.socket)
    },
    endEndless() {
      endsEndless = true
      for (const end of [...endless.values()]) end()
    },
    cutEndless() {
      for (const answer of [...endless.keys()]) answer.destroy()
    },
    unanswered: () =>
      [...open.values()].reduce(
        (sum, { answers }) => sum + [...answers].filter((each) => !endless.has(each)).length,
        0,
      ),
  }
}

/** The number of checks within the limit. A connection is cut up to one check early rather than late. */
const looks = 30

/**
 * Cuts connections whose client takes no output for `unreadMs`. The timeout of a socket restarts when the kernel takes
 * part of a write, and so allows twice the time. Checks are counted instead of time: clients are not at fault while
 * this process is blocked. Returns a function that stops the checks.
 */
const cutUnread = (open: ReadonlyMap<Duplex, Connection>, unreadMs: number): (() => void) => {
  const look = setInterval(() => {
    for (const connection of open.values()) {
      const { socket, taken } = connection
      const waiting = socket.writableLength
      connection.taken = socket.bytesWritten - waiting
      connection.looksAgo = waiting === 0 || connection.taken !== taken ? 0 : connection.looksAgo + 1
      if (connection.looksAgo >= looks - 1) socket.destroy()
    }
  }, unreadMs / looks)
  look.unref()
  return () => clearInterval(look)
}

/** The first byte of a TLS handshake record. No HTTP method starts with it. */
const tlsHandshake = 0x16

/**
 * Suites with forward secrecy and authenticated encryption, in the order of the server's preference. The first three
 * are those of TLS 1.3.
 */
const ciphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
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

/** A port that also speaks HTTPS. */
export interface SharedPort {
  /**
   * Drops the connections that have been undecided for this time, for the stop, since the server does not know them.
   */
  dropUndecided(forMs: number): void
  /** Uses another certificate for the handshakes from now on. Throws if it cannot be used. */
  replaceKeys(keys: TlsKeys): void
}

const contextOf = ({ certificatePem, keyPem }: TlsKeys) =>
  ({ cert: certificatePem, key: keyPem, minVersion: 'TLSv1.2', ciphers, honorCipherOrder: true }) as const

/**
 * Serves HTTP and HTTPS on one port. The first byte selects the protocol. kubectl sends no token over plain HTTP, so a
 * service that starts without a proxy must offer both. Requests of both kinds use the same server and the same limits.
 * A connection has `decisionMs` for its first byte and its handshake.
 */
export const shareWithTls = (server: Server, keys: TlsKeys, decisionMs = httpLimits.firstBytes): SharedPort => {
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const tls = createServer({ ...contextOf(keys), ALPNProtocols: ['http/1.1'] })
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
  return {
    dropUndecided(forMs) {
      const nowMs = performance.now()
      for (const { socket, sinceMs } of undecided.values()) if (nowMs - sinceMs >= forMs) socket.destroy()
    },
    replaceKeys: (replaced) => tls.setSecureContext(contextOf(replaced)),
  }
}
