import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OpenApiDocument } from '../../composition/http/openapi/document.ts'
import type { AnswerCheck } from './answer-check.ts'
import { makeAnswerCheck } from './answer-check.ts'

/** Every answer of one listener in this process, held against its document. */
export interface AnswerWatch {
  /** Ends the watch. Throws an error with everything that was not as documented. */
  stop(): void
}

interface Watched {
  readonly check: (answer: Parameters<AnswerCheck>[0]) => void
}

const watched = new Map<number, Watched>()
/** Of services that nobody has stopped. */
const unreported = new Set<string>()

/** Bytes of a body that are kept; an answer of the service itself is never so large. */
const keptBytes = 16 * 1024 * 1024

/**
 * Watches what the listener on `port` answers, whoever asks: the typed client, a raw socket or a browser. The document
 * is made when the first answer comes.
 */
export const watchAnswers = (port: number, makeDocument: () => OpenApiDocument): AnswerWatch => {
  const problems = new Map<string, string>()
  let check: AnswerCheck | undefined
  const judge: Watched['check'] = (answer) => {
    check ??= makeAnswerCheck(makeDocument())
    const problem = problemOf(check, answer)
    if (problem === undefined || problems.has(problem)) return
    const line = `${answer.method} ${answer.target.slice(0, 200)} ${answer.status}: ${problem}; ${(answer.body ?? '').slice(0, 300)}`
    problems.set(problem, line)
    unreported.add(line)
  }
  watched.set(port, { check: judge })
  return {
    stop: () => {
      watched.delete(port)
      for (const line of problems.values()) unreported.delete(line)
      if (problems.size > 0) throw new Error(`Answers that are not as documented:\n${[...problems.values()].join('\n')}`)
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

/** The header block as it was sent: `writeHead` keeps what it is given nowhere else. */
const sentHeaders = (response: ServerResponse): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  const [, ...lines] = ((response as unknown as { readonly _header: string | null })._header ?? '').split('\r\n')
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon === -1) continue
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}

interface Started {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Started
  const port = request.socket.localPort
  const watch = port === undefined ? undefined : watched.get(port)
  if (watch === undefined) return
  // The guard rewrites both on the request.
  const { method = '', url: target = '' } = request
  const chunks: Buffer[] = []
  let size = 0
  let isJudged = false
  const keep = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    size += chunk.length
    if (size <= keptBytes) chunks.push(Buffer.from(chunk as string))
    else chunks.length = 0
  }
  const write = response.write.bind(response) as (...args: unknown[]) => boolean
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse
  response.write = ((...args: unknown[]) => {
    keep(args[0])
    return write(...args)
  }) as typeof response.write
  response.end = ((...args: unknown[]) => {
    keep(args[0])
    const ended = end(...args)
    if (isJudged) return ended
    isJudged = true
    const body = method === 'HEAD' ? '' : size > keptBytes ? undefined : Buffer.concat(chunks).toString('utf8')
    watch.check({ method, target, status: response.statusCode, headers: sentHeaders(response), body })
    return ended
  }) as typeof response.end
})

// A file that never stops its service fails as well.
process.on('exit', () => {
  if (unreported.size === 0) return
  process.stderr.write(`Answers that are not as documented:\n${[...unreported].join('\n')}\n`)
  process.exitCode = 1
})
