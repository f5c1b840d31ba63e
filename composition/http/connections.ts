import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './http-limits.ts'
import { lingerMs } from './http-limits.ts'

/** Registers an answer that does not end by itself. `end` is called when the service stops, and must end the answer soon. */
export type NoteEndless = (answer: ServerResponse, end: () => void) => void

/** The HTTP connections of a listener, for the limits on answers and for an orderly stop. */
export interface Connections {
  readonly noteEndless: NoteEndless
  /** Reports whether a request must not be carried out, because the answer before it was marked as the last on its connection. */
  isTooLate(req: IncomingMessage): boolean
  /** Reports whether the head of an answer has been sent on this connection and the rest has not. */
  isAnswering(socket: Duplex): boolean
  /** Marks each answer from now on as the last on its connection. */
  sayClose(): void
  /** Ends the connections that have been silent for `quietMs`. */
  endIdle(quietMs: number): void
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
   * The time at which the connection was accepted or the last answer was complete. `readThen` is the number of bytes read by
   * then: more bytes mean that a request is arriving.
   */
  quietSinceMs: number
  readThen: number
  /** The bytes of its answers that the client has taken. `looksAgo` counts the checks since it last took some while more was waiting. */
  taken: number
  looksAgo: number
}

/**
 * Closes a connection gracefully: the written bytes are sent, then the end. Incoming bytes are read and discarded for a short
 * time, since closing a connection with unread bytes resets it, and the client may lose the answer.
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
  let isClosing = false
  let endsEndless = false

  const note = (socket: Socket): void => {
    open.set(socket, { socket, answers: new Set(), quietSinceMs: performance.now(), readThen: socket.bytesRead, taken: 0, looksAgo: 0 })
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
      connection.quietSinceMs = performance.now()
      connection.readThen = socket.bytesRead
    })
  }
  const isIdle = ({ socket, answers, quietSinceMs, readThen }: Connection, quietMs: number): boolean =>
    answers.size === 0 && !socket.writableEnded && socket.bytesRead === readThen && performance.now() - quietSinceMs >= quietMs

  server.on('connection', note)
  server.prependListener('request', begin)
  server.prependListener('upgrade', (_req: IncomingMessage, socket: Duplex) => open.delete(socket))
  server.once('close', cutUnread(open, unread))

  return {
    noteEndless(answer, end) {
      endless.set(answer, end)
      answer.once('close', () => endless.delete(answer))
      if (endsEndless) end()
    },
    isTooLate: (req) => tooLate.has(req),
    isAnswering: (socket) => [...(open.get(socket)?.answers ?? [])].some(({ headersSent }) => headersSent),
    sayClose() {
      isClosing = true
      for (const { socket, answers } of open.values()) {
        endsGently(socket)
        const last = lastOf(answers)
        if (last?.headersSent === false) last.setHeader('Connection', 'close')
      }
    },
    endIdle(quietMs) {
      for (const connection of open.values()) if (isIdle(connection, quietMs)) endGently(connection.socket)
    },
    endEndless() {
      endsEndless = true
      for (const end of [...endless.values()]) end()
    },
    cutEndless() {
      for (const answer of [...endless.keys()]) answer.destroy()
    },
    unanswered: () => [...open.values()].reduce((sum, { answers }) => sum + [...answers].filter((each) => !endless.has(each)).length, 0),
  }
}

/** The number of checks within the limit. A connection is cut up to one check early rather than late. */
const looks = 30

/**
 * Cuts connections whose client takes no output for `unreadMs`. The timeout of a socket restarts when the kernel takes part
 * of a write, and so allows twice the time. Checks are counted instead of time: clients are not at fault while this process
 * is blocked. Returns a function that stops the checks.
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
