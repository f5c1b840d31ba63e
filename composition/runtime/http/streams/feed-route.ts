import type { IncomingMessage, ServerResponse } from 'node:http'
import type * as t from 'io-ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { toWireJson } from '../../../../core/kernel/json.ts'
import type { Feed, FeedItem } from '../../../../plugins/kit/reply.ts'
import type { BoundRoute } from '../../../../plugins/kit/route.ts'
import {
  answerError,
  recordRefusal,
  jsonAnswer,
  securityHeaders,
  writeAnswer,
  writeRefusal,
} from '../answer/write-answer.ts'
import type { BinderDeps, NodeHandler } from '../binder-deps.ts'
import type { NoteEndless } from '../connections.ts'
import type { AnyRouteInput } from '../request/check-request.ts'
import { makeCheckRequest } from '../request/check-request.ts'
import type { Refusal } from '../failure-response.ts'
import { refusal, refusalOf } from '../failure-response.ts'
import type { RequestContext } from '../request/request-context.ts'
import { callOf, clientSignal, contextOf, noteRoute } from '../request/request-context.ts'
import { whileAdmitted } from './stream-route.ts'

/** The intervals of a feed, in milliseconds. */
export interface FeedTimes {
  /** The interval at which data is sent, so that intermediaries see that the connection is alive. */
  readonly heartbeat?: number
}
const heartbeatMs = 15_000
/** The delay in milliseconds after which a client should reconnect when its connection is cut. */
const retryMs = 2_000

/**
 * The most feeds that one caller may have open in this process. Each takes a connection and queries the store every few
 * seconds.
 */
const mostOfOneCaller = 100

/** Counts the open feeds of each caller. */
const makeFeedCount = () => {
  const open = new Map<number, number>()
  return {
    /**
     * Counts a feed until its connection closes. Returns false, and counts nothing, when the caller has reached the
     * limit.
     */
    take: (caller: number, res: ServerResponse): boolean => {
      const before = open.get(caller) ?? 0
      if (before >= mostOfOneCaller) return false
      open.set(caller, before + 1)
      res.once('close', () => {
        const left = (open.get(caller) ?? 1) - 1
        if (left === 0) open.delete(caller)
        else open.set(caller, left)
      })
      return true
    },
  }
}

/**
 * Reports whether to send events: when they are requested or there is no preference. A client that requests only JSON
 * gets an array.
 */
const wantsEvents = ({ accept }: IncomingMessage['headers']): boolean =>
  accept === undefined || accept.includes('text/event-stream') || !accept.includes('application/json')

const startOf = (req: IncomingMessage, params: URLSearchParams): Either<Refusal, number> => {
  const header = req.headers['last-event-id']
  const given = typeof header === 'string' && header !== '' ? header : (params.get('after') ?? '0')
  return /^[0-9]{1,15}$/.test(given)
    ? right(Number(given))
    : left(refusal(400, 'BadLastEventId', 'Last-Event-ID must be the number of an event.'))
}

/**
 * Resolves when the client can take more, and rejects when it has disconnected. A client that takes nothing is cut with
 * its connection.
 */
const drained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (done: () => void) => () => {
      res.off('drain', onDrain)
      res.off('close', onClose)
      done()
    }
    const onDrain = settle(resolve)
    const onClose = settle(() => reject(new Error('the client has left')))
    res.once('drain', onDrain)
    res.once('close', onClose)
  })

const sendEvents = async (
  res: ServerResponse,
  context: RequestContext,
  encode: (value: unknown) => unknown,
  items: AsyncIterable<FeedItem<unknown>>,
  beatMs: number,
  stopping: AbortSignal,
): Promise<void> => {
  const write = (text: string): boolean => {
    context.bytesOut += text.length
    return res.write(text)
  }
  write(`retry: ${retryMs}\n\n`)
  const heartbeat = setInterval(() => {
    if (!res.writableNeedDrain) write(':\n\n')
  }, beatMs)
  try {
    for await (const { id, value } of items) {
      if (res.destroyed) return
      if (!write(`id: ${id}\ndata: ${toWireJson(encode(value))}\n\n`)) await drained(res)
    }
    if (stopping.aborted) write(': the service stops\n\n')
    res.end()
  } finally {
    clearInterval(heartbeat)
  }
}

/**
 * Binds a route whose answer grows. The request is checked like any other. While the feed is open, the caller's
 * permission is checked again every 30 seconds. When the service stops, the feed announces this and ends, and its
 * client reconnects to another instance.
 */
export const bindFeedRoute = (
  deps: BinderDeps,
  { route, handler, reply }: BoundRoute,
  noteEndless: NoteEndless,
  times: FeedTimes = {},
): NodeHandler => {
  const checkRequest = makeCheckRequest(deps, route)
  const encode = (value: unknown): unknown => (route.ok.codec as t.Any).encode(value)
  const count = makeFeedCount()

  const open = async (
    req: IncomingMessage,
    context: RequestContext,
    signal: AbortSignal,
    isAgain = false,
  ): Promise<Either<Refusal, Feed<unknown>>> => {
    const checked = await checkRequest(req, context, isAgain)
    if (isLeft(checked)) return checked
    const input = { ...checked.right.input, call: callOf(context, signal) as AnyRouteInput['call'] }
    const outcome = await handler(input)
    if (isLeft(outcome)) return left(refusalOf(outcome.left, route))
    return right((await reply(outcome.right, input)) as Feed<unknown>)
  }

  const answer = async (
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    feed: Feed<unknown>,
    afterId: number,
    signal: AbortSignal,
  ): Promise<void> => {
    if (!wantsEvents(req.headers)) {
      const items = await feed.now(afterId)
      return writeAnswer(
        req,
        res,
        context,
        jsonAnswer(
          200,
          items.map(({ value }) => encode(value)),
        ),
      )
    }
    if (!count.take(context.principal?.userId ?? 0, res)) {
      const tooMany = refusal(429, 'TooManyFeeds', `There are ${mostOfOneCaller} open feeds already; close some.`, {
        headers: { 'Retry-After': '30' },
      })
      return writeRefusal(req, res, context, tooMany, 'platform', deps.docsUrl)
    }
    await follow(req, res, context, feed, afterId, signal)
  }

  /** Sends what is new until the client leaves, the server stops, or the caller may no longer read it. */
  const follow = async (
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    feed: Feed<unknown>,
    afterId: number,
    signal: AbortSignal,
  ): Promise<void> => {
    context.status = 200
    context.isEndless = true
    const cookies = context.setCookies.length === 0 ? {} : { 'Set-Cookie': [...context.setCookies] }
    res.writeHead(200, {
      ...securityHeaders,
      'X-Request-Id': context.requestId,
      'Content-Type': 'text/event-stream; charset=utf-8',
      'X-Accel-Buffering': 'no',
      ...cookies,
    })
    if (context.method === 'HEAD') return void res.end()
    const stopping = new AbortController()
    noteEndless(res, () => stopping.abort())
    const ended = AbortSignal.any([signal, stopping.signal])
    res.once(
      'close',
      whileAdmitted(
        () => open(req, context, signal, true),
        () => res.destroy(),
        deps.recheckMilliseconds,
      ),
    )
    try {
      await sendEvents(
        res,
        context,
        encode,
        feed.follow(afterId, ended),
        times.heartbeat ?? heartbeatMs,
        stopping.signal,
      )
    } catch (error) {
      if (!res.destroyed) throw error
    }
  }

  return async (req, res) => {
    const context = contextOf(req)
    noteRoute(context, route)
    const signal = clientSignal(res)
    try {
      const opened = await open(req, context, signal)
      const start = isLeft(opened) ? opened : startOf(req, context.params)
      if (isLeft(opened) || isLeft(start)) {
        const refused = isLeft(opened) ? opened.left : (start as { readonly left: Refusal }).left
        recordRefusal(deps, callOf(context, signal), route.access, refused)
        return writeRefusal(req, res, context, refused, 'platform', deps.docsUrl)
      }
      // Its client may have left: `close` is not emitted again.
      if (!res.destroyed) await answer(req, res, context, opened.right, start.right, signal)
    } catch (error) {
      answerError(deps, req, res, context, error, 'platform')
    }
  }
}
