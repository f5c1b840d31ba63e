import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './http-limits.ts'
import { lingerMs } from './http-limits.ts'

/** Notes that an answer has no end of its own. `end` is called when the service stops; it must end the answer soon. */
export type NoteEndless = (answer: ServerResponse, end: () => void) => void

/** The HTTP connections of a listener, for the limits of answers and for an orderly stop. */
export interface Connections {
  readonly noteEndless: NoteEndless
  /** Whether a request must not be carried out: the answer before it said that it is the last on its connection. */
  isTooLate(req: IncomingMessage): boolean
  /** Whether the head of an answer is out on this connection, and the rest is not. */
  isAnswering(socket: Duplex): boolean
  /** From now on each answer says that it is the last on its connection. */
  sayClose(): void
  /** Ends the connections on which nothing has been going on for so long. */
  endIdle(quietMs: number): void
  /** Ends the answers that have no end of their own, those that begin later too. */
  endEndless(): void
  /** Cuts those that have not ended. */
  cutEndless(): void
  /** Answers that are not out yet, without the endless ones. */
  unanswered(): number
}

interface Connection {
  readonly socket: Socket
  /** Answers that are not out yet, in the order of their requests. */
  readonly answers: Set<ServerResponse>
  /** When it was accepted or the last answer was out, and how much had been read then: more is a request that arrives. */
  quietSinceMs: number
  readThen: number
  /** Bytes of its answers that the client has taken, and how many looks ago it took some although more was there. */
  taken: number
  looksAgo: number
}

/**
 * Says goodbye: what was written goes out, then the end. What still arrives is read for a moment and thrown away, since
 * closing a connection with unread bytes resets it, and the client may lose the answer.
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

/** Watches a server's connections from the first on. A connection that leaves HTTP is not among them. */
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
  // Node closes by it after an answer that says so.
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
      // Requests were sent without waiting for answers: the last of them closes.
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

/** Looks this often within the limit, and cuts a look early rather than late. */
const looks = 30

/**
 * Cuts connections whose client takes nothing of what is written for so long. A socket's own timeout starts again when the
 * kernel took part of a write, and so lets twice the time pass. Looks are counted and not time: while this process is held
 * up, clients are not at fault. Answers what ends the looking.
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
