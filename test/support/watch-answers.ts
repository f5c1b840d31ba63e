import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from 'node:http'
import type { Duplex, Writable } from 'node:stream'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { AnswerCheck } from './answer-check.ts'

/** Every answer of one listener in this process, held against its document. */
export interface AnswerWatch {
  stop(): void
  /** What was not as documented so far, and no longer fails this process. */
  takeProblems(): readonly string[]
}

interface Watched {
  readonly check: (answer: Parameters<AnswerCheck>[0]) => void
}

/** Listeners of this process, by port. */
const watched = new Map<number, Watched>()
/** Listeners of processes that tests start, by port. */
const watchedFromOutside = new Map<number, Watched>()
/** What fails this process at its end. A test is not failed by it: the rest of it, and what it tears down, goes on. */
const unreported = new Set<string>()

/** Bytes of a body that are kept; an answer of the service itself is never so large. */
const keptBytes = 16 * 1024 * 1024

/**
 * Watches what the listener on `port` answers, whoever asks: the typed client, a raw socket or a browser. The check
 * is made when the first answer comes.
 */
export const watchAnswers = (port: number, makeCheck: () => AnswerCheck): AnswerWatch =>
  watchIn(watched, port, makeCheck)

/** The same for a listener of another process: what the clients of this process receive whole, by undici or `fetch`. */
export const watchReceivedAnswers = (port: number, makeCheck: () => AnswerCheck): AnswerWatch =>
  watchIn(watchedFromOutside, port, makeCheck)

const watchIn = (listeners: Map<number, Watched>, port: number, makeCheck: () => AnswerCheck): AnswerWatch => {
  const problems = new Map<string, string>()
  let check: AnswerCheck | undefined
  const judge: Watched['check'] = (answer) => {
    check ??= makeCheck()
    const problem = problemOf(check, answer)
    if (problem === undefined || problems.has(problem)) return
    const line = `${answer.method} ${answer.target.slice(0, 200)} ${answer.status}: ${problem}; ${(answer.body ?? '').slice(0, 300)}`
    problems.set(problem, line)
    unreported.add(line)
  }
  listeners.set(port, { check: judge })
  return {
    stop: () => void listeners.delete(port),
    takeProblems: () => {
      const lines = [...problems.values()]
      for (const line of lines) unreported.delete(line)
      return lines
    },
  }
}

/** A check that fails must not end the service under test: it is a problem like the others. */
const problemOf = (check: AnswerCheck, answer: Parameters<AnswerCheck>[0]): string | undefined => {
  try {
    return check(answer)
  } catch (error) {
    return `the check itself failed: ${error instanceof Error ? error.message : String(error)}`
  }
}

const statusIn = (block: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(block)?.[1] ?? 0)

/**
 * A header block as it was sent. Of a response it is the only place that has all of it: `writeHead` keeps nothing else.
 */
const headersIn = (block: string): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':')
    if (colon === -1) continue
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}

/** A body as it was before it was compressed. */
const unpacked = (bytes: Buffer | undefined, coding: string | undefined): Buffer | undefined => {
  if (bytes === undefined || bytes.length === 0) return bytes
  return coding === 'gzip' ? gunzipSync(bytes) : coding === 'br' ? brotliDecompressSync(bytes) : bytes
}

interface Started {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Collects what is written, and hands the whole of it over once it ends. */
const collect = (sink: Pick<Writable, 'write' | 'end'>, whole: (bytes: Buffer | undefined) => void): void => {
  const chunks: Buffer[] = []
  let size = 0
  let isWhole = false
  const keep = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    size += chunk.length
    if (size <= keptBytes) chunks.push(Buffer.from(chunk as string))
    else chunks.length = 0
  }
  const write = sink.write.bind(sink) as (...args: unknown[]) => boolean
  const end = sink.end.bind(sink) as (...args: unknown[]) => Writable
  Object.assign(sink, {
    write: (...args: unknown[]) => {
      keep(args[0])
      return write(...args)
    },
    end: (...args: unknown[]) => {
      keep(args[0])
      const ended = end(...args)
      if (!isWhole) {
        isWhole = true
        whole(size > keptBytes ? undefined : Buffer.concat(chunks))
      }
      return ended
    },
  })
}

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Started
  const watch = watched.get(request.socket.localPort ?? 0)
  if (watch === undefined) return
  // The guard rewrites both on the request.
  const { method = '', url: target = '' } = request
  collect(response, (bytes) => {
    const head = (response as unknown as { readonly _header: string | null })._header ?? ''
    const headers = headersIn(head)
    const body = unpacked(bytes, headers['content-encoding'])
    watch.check({
      method,
      target,
      status: statusIn(head),
      headers,
      body: method === 'HEAD' ? '' : body?.toString('utf8'),
    })
  })
})

/** An answer that is written to the connection itself: to an upgrade, or to what is no HTTP. */
const watchConnection = (socket: Duplex & { readonly localPort?: number }, method: string, target: string): void => {
  const watch = watched.get(socket.localPort ?? 0)
  if (watch === undefined) return
  collect(socket, (bytes) => {
    const [head = '', body = ''] = (bytes?.toString('utf8') ?? '').split(/\r\n\r\n(.*)/s)
    // What follows 101 is another protocol.
    if (statusIn(head) > 101) watch.check({ method, target, status: statusIn(head), headers: headersIn(head), body })
  })
}

const hooked = new WeakSet<Server>()

subscribe('net.server.socket', (message) => {
  const { server } = (message as { readonly socket: { readonly server?: unknown } }).socket
  if (!(server instanceof Server) || hooked.has(server)) return
  hooked.add(server)
  server.prependListener('upgrade', (request: IncomingMessage, socket: Duplex) =>
    watchConnection(socket, request.method ?? '', request.url ?? ''),
  )
  server.prependListener('clientError', (_error: Error, socket: Duplex) => watchConnection(socket, '', '/api/v1'))
})

interface Asked {
  readonly origin?: string | URL
  readonly method: string
  readonly path: string
}

interface Received {
  readonly status: number
  readonly headers: Record<string, string>
  readonly chunks: Uint8Array[]
}

const received = new WeakMap<Asked, Received>()

subscribe('undici:request:headers', (message) => {
  const { request, response } = message as {
    readonly request: Asked
    readonly response: { readonly statusCode: number; readonly headers: readonly Uint8Array[] }
  }
  if (response.statusCode <= 101 || watchOf(request) === undefined) return
  const words = response.headers.map((word) => Buffer.from(word).toString('latin1'))
  const headers: Record<string, string> = {}
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [name, value] = [(words[i] ?? '').toLowerCase(), words[i + 1] ?? '']
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  received.set(request, { status: response.statusCode, headers, chunks: [] })
})

subscribe('undici:request:bodyChunkReceived', (message) => {
  const { request, chunk } = message as { readonly request: Asked; readonly chunk: Uint8Array }
  received.get(request)?.chunks.push(Uint8Array.from(chunk))
})

// Published when an answer is complete, with trailers or without.
subscribe('undici:request:trailers', (message) => {
  const { request } = message as { readonly request: Asked }
  const answer = received.get(request)
  if (answer === undefined) return
  received.delete(request)
  const { method, path: target } = request
  watchOf(request)?.check({
    method,
    target,
    status: answer.status,
    headers: answer.headers,
    body: unpacked(Buffer.concat(answer.chunks), answer.headers['content-encoding'])?.toString('utf8'),
  })
})

const watchOf = ({ origin = 'http://0' }: Asked): Watched | undefined =>
  watchedFromOutside.get(Number(new URL(origin).port))

process.on('exit', () => {
  if (unreported.size === 0) return
  process.stderr.write(`Answers that are not as documented:\n${[...unreported].join('\n')}\n`)
  process.exitCode = 1
})
