import type { IncomingMessage, ServerResponse } from 'node:http'
import { anyTurn } from '../../../../core/kernel/clock.ts'
import { Busy, Overtaken, Unavailable } from '../../../../core/kernel/failure.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import type { Call } from '../../../../core/kernel/principal.ts'
import type { Access } from '../../../../plugins/kit/access.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { lingerMs } from '../connections.ts'
import { nothingSent } from '../request/authenticate.ts'
import { mergedCookies } from '../request/credentials.ts'
import type { RequestContext } from '../request/request-context.ts'
import { noteRefusal } from '../request/request-context.ts'
import type { Dialect, Refusal } from '../failure-response.ts'
import type { Answer } from './packed-answer.ts'
import { errorBody, internalError, jsonTypeOf, operationPage, refusalOfThrown } from '../failure-response.ts'

/** The most that is written at once, in bytes. */
export const pieceBytes = 65_536

/** Writes the body of an answer. */
export interface Pieces {
  /** Returns false when the client must first read some of the output: then wait for `onDrain`. */
  write(chunk: Uint8Array): boolean
  onDrain(listener: () => void): void
  /** Reports whether the system has taken everything that was written. */
  hasSentAll(): boolean
  end(): void
}

/**
 * Writes a long chunk in pieces, each after the client has taken the previous one. A chunk written at once shows only
 * whether all of it was taken, so that a slow client would look like one that takes nothing.
 */
export const makePieces = (res: ServerResponse): Pieces => {
  const waiting: Uint8Array[] = []
  const listeners: (() => void)[] = []
  let hasEnded = false

  const pump = (): void => {
    for (let chunk = waiting.shift(); chunk !== undefined; chunk = waiting.shift()) {
      if (res.destroyed) return
      if (chunk.length > pieceBytes) waiting.unshift(chunk.subarray(pieceBytes))
      if (!res.write(chunk.subarray(0, pieceBytes)) && waiting.length > 0) return void res.once('drain', pump)
    }
    for (const listener of listeners.splice(0)) {
      if (res.writableNeedDrain) res.once('drain', listener)
      else listener()
    }
    if (hasEnded) res.end()
  }
  return {
    write(chunk) {
      if (res.destroyed) return true
      if (waiting.length === 0 && chunk.length <= pieceBytes) return res.write(chunk)
      waiting.push(chunk)
      if (waiting.length === 1) pump()
      return waiting.length === 0 && !res.writableNeedDrain
    },
    onDrain(listener) {
      if (waiting.length > 0) listeners.push(listener)
      else res.once('drain', listener)
    },
    hasSentAll: () => !res.destroyed && waiting.length === 0 && res.writableLength === 0,
    end() {
      if (res.destroyed) return
      hasEnded = true
      if (waiting.length === 0) res.end()
    },
  }
}

/**
 * Ends an answer with its whole body, whose length in bytes is known. Head and body are one write. A text of as many
 * bytes as characters is ASCII, whose bytes are the same in Latin-1, which is copied as it is.
 */
const endInPieces = (res: ServerResponse, body: string | Uint8Array | undefined, length: number): void => {
  if (typeof body === 'string' && length <= pieceBytes)
    return void res.end(body, body.length === length ? 'latin1' : 'utf8')
  if (body === undefined || length <= pieceBytes) return void res.end(body)
  const pieces = makePieces(res)
  pieces.write(typeof body === 'string' ? Buffer.from(body) : body)
  pieces.end()
}

/**
 * Sent with every answer: browsers must not guess content types, frame the answer, or cache what only the caller may
 * see.
 */
export const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
} as const

/**
 * Returns the answer in the form that the client prefers, or its 304 when the client already holds this representation.
 */
export const orNotModified = (req: IncomingMessage, answer: Answer): Answer => {
  const chosen = answer.negotiate?.(req.headers)
  if (chosen !== undefined)
    return chosen.status === 304 ? chosen : { ...chosen, headers: { ...answer.headers, ...chosen.headers } }
  return answer.notModifiedFor?.(req.headers['if-none-match']) ?? answer
}

/** The largest unread body that is drained to keep a connection. For a larger body, closing is cheaper. */
const drainableBytes = 65_536

/** Reports whether the rest of the request's body must be read before this connection can carry another request. */
const leavesUnreadBody = (req: IncomingMessage): boolean => {
  if (req.complete || req.readableEnded) return false
  if (req.headers['transfer-encoding'] !== undefined) return true
  return Number(req.headers['content-length'] ?? 0) > drainableBytes
}

/**
 * Returns the cookies of a session that was opened by this request. An answer with these cookies must not be cached.
 */
const sessionHeaders = ({ setCookies }: RequestContext, answer: Answer): Record<string, string | string[]> =>
  setCookies.length === 0
    ? {}
    : { 'Set-Cookie': mergedCookies(setCookies, answer.headers['Set-Cookie']), 'Cache-Control': 'no-store' }

/** The limit in characters of the names of ignored fields, which are the caller's. */
const longestNames = 1024
/** Encoded, a character has at most nine. */
const longestName = 100

/** Returns a header that lists names. Each is percent-encoded, so that it cannot contain a separator. */
const listedNames = (header: string, listed: readonly string[]): Record<string, string> => {
  if (listed.length === 0) return {}
  let names = ''
  for (const each of listed) {
    const name = `${names === '' ? '' : ', '}${encodeURIComponent(each.slice(0, longestName).toWellFormed())}`
    if (names.length + name.length > longestNames) break
    names += name
  }
  return { [header]: names }
}

/** Names the fields and parameters that were ignored. */
const ignoredHeaders = (
  { ignoredFields = [], ignoredParameters = [] }: RequestContext,
  { status }: Answer,
): Record<string, string> =>
  status >= 400
    ? {}
    : { ...listedNames('X-Ignored-Fields', ignoredFields), ...listedNames('X-Ignored-Parameters', ignoredParameters) }

type SentHeaders = Record<string, string | string[] | number>

const headersOf = (context: RequestContext, answer: Answer): SentHeaders => ({
  ...securityHeaders,
  'X-Request-Id': context.requestId,
  ...ignoredHeaders(context, answer),
  ...(answer.headers as Record<string, string | string[]>),
  ...sessionHeaders(context, answer),
})

/** Writes an answer. It is not an error when the client has disconnected. */
export const writeAnswer = (
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  answer: Answer,
): void => {
  if (res.destroyed || res.headersSent) return
  const body = answer.body
  const length = body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const headers = headersOf(context, answer)
  if (answer.status !== 204 && answer.status !== 304) headers['Content-Length'] = length
  const closes = leavesUnreadBody(req)
  if (closes) headers['Connection'] = 'close'
  context.bytesOut = length
  context.status = answer.status
  res.writeHead(answer.status, headers)
  if (closes) return endLingering(req, res, body)
  endInPieces(res, body, length)
}

/**
 * Writes an answer whose body may be long: it is written in pieces, each in a turn of its account and after the client
 * has taken the previous one.
 */
export const writeInTurns = async (
  deps: Pick<BinderDeps, 'pauseInLongTurn'>,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  answer: Answer,
): Promise<void> => {
  const { body } = answer
  if (body === undefined || body.length <= pieceBytes || context.method === 'HEAD' || leavesUnreadBody(req))
    return writeAnswer(req, res, context, answer)
  if (res.destroyed || res.headersSent) return
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  context.bytesOut = bytes.length
  context.status = answer.status
  res.writeHead(answer.status, { ...headersOf(context, answer), 'Content-Length': bytes.length })
  const out = makePieces(res)
  for (let at = 0; at < bytes.length && !res.destroyed; at += pieceBytes) {
    const turn = deps.pauseInLongTurn(anyTurn)
    if (turn !== undefined) await turn
    if (!out.write(bytes.subarray(at, at + pieceBytes))) await taken(res, out)
  }
  out.end()
}

/** An answer that is at most this long is sent at once, with its length. */
const heldBytes = 262_144

/**
 * Writes an answer while its pieces are read, each after the client has taken the previous one. A failure between two
 * pieces is thrown, and the connection must then be cut: the client must not take a part for the whole.
 */
export const writePieces = async (
  deps: Pick<BinderDeps, 'pauseInLongTurn'>,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  answer: Answer,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> => {
  if (context.method === 'HEAD') return writeHeadOnly(res, context, answer)
  const held: Uint8Array[] = []
  let length = 0
  let out: Pieces | undefined
  for await (const piece of pieces) {
    if (res.destroyed) return
    length += piece.length
    context.bytesOut = length
    if (out === undefined) held.push(piece)
    if (out === undefined && length <= heldBytes) continue
    if (out === undefined) {
      context.status = answer.status
      res.writeHead(answer.status, headersOf(context, answer))
      out = makePieces(res)
    }
    for (const next of held.length === 0 ? [piece] : held.splice(0)) if (!out.write(next)) await taken(res, out)
    // A client that reads as fast as pieces are made must not hold up the others.
    await deps.pauseInLongTurn()
  }
  if (out !== undefined) return out.end()
  writeAnswer(req, res, context, { ...answer, body: held.length === 1 ? held[0] : Buffer.concat(held) })
}

const writeHeadOnly = (res: ServerResponse, context: RequestContext, answer: Answer): void => {
  context.status = answer.status
  res.writeHead(answer.status, headersOf(context, answer))
  res.end()
}

/** Resolves when the client has taken what was written, or is gone. */
const taken = (res: ServerResponse, pieces: Pieces): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      res.off('close', done)
      resolve()
    }
    res.once('close', done)
    pieces.onDrain(done)
  })

/**
 * After an early refusal a connection is read until its client has sent nothing for `lingerMs`, at most so many times
 * as long,
 */
const lingerTimes = 5
/**
 * and at most so many bytes. Many clients send a body whole before they read, and lose the answer if the connection is
 * reset.
 */
const lingerBytes = 16_777_216

/**
 * Reads and discards the rest of a request's body for a short time. `done` is called once: with true if the body ended.
 */
const discardBody = (req: IncomingMessage, done: (isWhole: boolean) => void): void => {
  let [drained, drainedThen, looks] = [0, 0, 0]
  let isDone = false
  const finish = (isWhole: boolean): void => {
    if (isDone) return
    isDone = true
    clearInterval(timer)
    req.off('data', onData)
    done(isWhole)
  }
  const onData = (chunk: Uint8Array): void => {
    drained += chunk.length
    if (drained > lingerBytes) finish(false)
  }
  const look = (): void => {
    looks += 1
    if (drained === drainedThen || looks === lingerTimes) finish(false)
    drainedThen = drained
  }
  // What has arrived while this process was blocked is read between a timer and an immediate.
  const timer = setInterval(() => setImmediate(look), lingerMs)
  req.on('data', onData)
  req.once('end', () => finish(true))
  req.once('close', () => finish(false))
  req.resume()
}

/**
 * Ends an answer while the client still sends. Closing immediately would reset the connection and lose the answer. The
 * whole answer is sent, incoming bytes are discarded for a short time, and then the connection ends.
 */
const endLingering = (req: IncomingMessage, res: ServerResponse, body: Answer['body']): void => {
  if (body !== undefined) res.write(body)
  discardBody(req, () => {
    res.end()
    req.destroy()
  })
}

/**
 * Discards the rest of a request's body that was answered before its end, so that the client sees the answer. A
 * connection on which more arrives than is worth reading is closed.
 */
export const discardRest = (req: IncomingMessage): void => {
  if (!req.complete && !req.readableEnded && !req.destroyed)
    discardBody(req, (isWhole) => {
      if (!isWhole) req.destroy()
    })
}

export const jsonAnswer = (status: number, value: unknown, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
  // A terminal shows its prompt on a line of its own.
  body: `${toWireJson(value)}\n`,
})

export const refusalAnswer = (
  refused: Refusal,
  dialect: Dialect,
  docsUrl: string,
  { operationId, ownAddress, requestId, trace }: RequestContext,
): Answer =>
  jsonAnswer(
    refused.status,
    errorBody(dialect, refused, operationPage(ownAddress.url + docsUrl, operationId), requestId, trace?.traceId),
    { 'Content-Type': jsonTypeOf(dialect), ...refused.headers },
  )

/** Sends a refusal and records its code for the access log. */
export const writeRefusal = (
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  refused: Refusal,
  dialect: Dialect,
  docsUrl: string,
): void => {
  noteRefusal(context, refused)
  writeAnswer(req, res, context, refusalAnswer(refused, dialect, docsUrl, context))
}

export const writeInternalError = (
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  docsUrl: string,
): void => writeRefusal(req, res, context, internalError, 'platform', docsUrl)

/**
 * Returns the refusal for an unexpected error: 500, 503 when a store is unavailable, or 409 when another change came
 * first. The text of the error goes to the log and is never sent.
 */
export const refuseThrown = (deps: Pick<BinderDeps, 'log'>, context: RequestContext, error: unknown): Refusal => {
  // Both are caused by requests: the access log names them.
  if (!(error instanceof Overtaken) && !(error instanceof Busy)) logThrown(deps, context, error)
  return refusalOfThrown(error)
}

/** Answers an unexpected error, or cuts an answer that has begun. */
export const answerError = (
  deps: Pick<BinderDeps, 'log' | 'docsUrl'>,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  error: unknown,
  dialect: Dialect,
): void => {
  const refused = refuseThrown(deps, context, error)
  noteRefusal(context, refused)
  if (res.headersSent) res.destroy()
  else writeRefusal(req, res, context, refused, dialect, deps.docsUrl)
}

/** Logs an error as it is. The log decides which of its fields, including its causes, it writes. */
const logThrown = ({ log }: Pick<BinderDeps, 'log'>, context: RequestContext, error: unknown): void =>
  log.error(
    { requestId: context.requestId, operation: context.routeId, error },
    error instanceof Unavailable ? 'a component is away' : 'request failed',
  )

/**
 * Records a refusal in the audit log: each 403, each 401 except when no credential was sent, and every refusal that
 * names its subject.
 */
export const recordRefusal = (
  deps: Pick<BinderDeps, 'denials'>,
  call: Call,
  access: Access,
  refused: Refusal,
): void => {
  if (refused === nothingSent) return
  if (refused.status !== 403 && refused.status !== 401 && refused.about === undefined) return
  const objectType = access.kind === 'granted' ? access.object.type : ''
  // Not awaited: the answer does not depend on it, and the port never throws.
  void deps.denials.recordDenial(call, { objectType, ...refused.about, code: refused.code })
}
