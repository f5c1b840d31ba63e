import type { IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { UpgradeExchange } from '../../../../core/kernel/exchange.ts'
import type { BoundStreamRoute } from '../../../../plugins/kit/route.ts'
import { streamOperationId } from '../../../../plugins/kit/route.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { endGently } from '../connections.ts'
import type { Dialect, Refusal } from '../failure-response.ts'
import { refuseThrown } from '../answer/write-answer.ts'
import { errorBody, operationPage, refusal, refusalOf } from '../failure-response.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import type { DialectAt } from '../guard.ts'
import type { MatchPath } from '../request/request-target.ts'
import { makeMatchPath } from '../request/request-target.ts'
import type { RequestContext } from '../request/request-context.ts'
import { noteRefusal, noteRoute } from '../request/request-context.ts'
import { makeAdmit, receivedBy, whileAdmitted } from './stream-route.ts'

type Headers = readonly (readonly [string, string])[]

/** Protocols that an upgrade may select. A request for any other protocol is answered as an ordinary request. */
const protocols: readonly string[] = ['websocket', 'spdy/3.1']

/** Reports whether Node should pass this request to the upgrade listener. */
export const mayUpgrade = (req: IncomingMessage): boolean =>
  protocols.includes((req.headers.upgrade ?? '').toLowerCase())

const headerValue = (value: string): string => value.replace(/[\r\n\0]/g, ' ')

const writeHead = (socket: Duplex, status: number, headers: Headers): void => {
  const lines = headers.map(([name, value]) => `${name}: ${headerValue(value)}`)
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Status'}`, ...lines, '', ''].join('\r\n'))
}

/**
 * Answers an upgrade request with an ordinary response and closes. The connection is never reused (CVE-2018-1002105).
 */
const answerAndClose = (socket: Duplex, status: number, headers: Headers, body: Uint8Array): void => {
  if (socket.destroyed) return
  const kept = headers.filter(
    ([name]) => !['content-length', 'connection', 'transfer-encoding'].includes(name.toLowerCase()),
  )
  writeHead(socket, status, [...kept, ['Content-Length', String(body.length)], ['Connection', 'close']])
  socket.write(body)
  endGently(socket)
}

export const refuseUpgrade = (
  socket: Duplex,
  refused: Refusal,
  docsUrl: string,
  requestId: string,
  dialect: Dialect,
  traceId?: string,
): void => {
  const headers: Headers = [
    ['Content-Type', 'application/json; charset=utf-8'],
    ['X-Request-Id', requestId],
    ...Object.entries(refused.headers ?? {}),
  ]
  answerAndClose(
    socket,
    refused.status,
    headers,
    Buffer.from(`${toWireJson(errorBody(dialect, refused, docsUrl, requestId, traceId))}\n`),
  )
}

/** Refuses like `refuseUpgrade`, and records the refusal for the access log. */
export const refuseNoted = (
  socket: Duplex,
  refused: Refusal,
  docsUrl: string,
  context: RequestContext,
  dialect: Dialect,
): void => {
  noteRefusal(context, refused)
  context.status = refused.status
  refuseUpgrade(
    socket,
    refused,
    operationPage(context.ownAddress.url + docsUrl, context.operationId),
    context.requestId,
    dialect,
    context.trace?.traceId,
  )
}

const upgradeExchangeOf = (
  deps: BinderDeps,
  req: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
  context: RequestContext,
): UpgradeExchange => ({
  ...receivedBy(deps, req, context),
  body: undefined,
  head,
  accept(headers) {
    context.status = 101
    writeHead(socket, 101, headers)
    return socket
  },
  refuse(status, headers, body) {
    context.status = status
    context.isUpstream = true
    answerAndClose(
      socket,
      status,
      [...headers.filter(([name]) => name.toLowerCase() !== 'x-request-id'), ['X-Request-Id', context.requestId]],
      body,
    )
  },
  abort: () => socket.destroy(),
})

interface UpgradeRoute {
  readonly bound: BoundStreamRoute
  readonly match: MatchPath
  readonly admit: ReturnType<typeof makeAdmit>
}

/**
 * Refuses, or cuts the connection when the answer has already been sent: in a tunnel an answer would be data of the
 * other protocol.
 */
const giveUp = (socket: Duplex, refused: Refusal, docsUrl: string, context: RequestContext, dialect: Dialect): void => {
  if (context.status === 0) refuseNoted(socket, refused, docsUrl, context, dialect)
  else if (context.status === 101) socket.destroy()
}

/**
 * Serves `Connection: Upgrade`. restify's own implementation leaks its in-flight count and swallows every Upgrade
 * header, so this listens on Node's server, and authenticates, authorizes and logs as for any request.
 */
export const makeUpgradeListener = (
  deps: BinderDeps & { readonly dialectAt: DialectAt },
  routes: readonly BoundStreamRoute[],
  prefix: string,
) => {
  const upgradable: readonly UpgradeRoute[] = routes
    .filter((bound) => bound.upgrade !== undefined)
    .map((bound) => ({ bound, match: makeMatchPath(prefix + bound.route.path), admit: makeAdmit(deps, bound.route) }))

  const serve = async (
    req: IncomingMessage,
    socket: Duplex,
    head: Uint8Array,
    context: RequestContext,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> => {
    for (const { bound, match, admit } of upgradable) {
      const params = match(context.path)
      if (params === undefined || bound.upgrade === undefined) continue
      noteRoute(context, bound.route, streamOperationId(bound.route, req.method ?? ''))
      const ask = (isAgain: boolean) => admit(req, context, params, signal, 'write', isAgain)
      const admitted = await ask(false)
      if (isLeft(admitted)) return admitted.left
      // Its client has left, and `close` is not emitted again.
      if (socket.destroyed) return undefined
      const exchange = upgradeExchangeOf(deps, req, socket, head, context)
      socket.once(
        'close',
        whileAdmitted(
          () => ask(true),
          () => socket.destroy(),
          deps.recheckMilliseconds,
        ),
      )
      const outcome = await bound.upgrade({ params, exchange, ...admitted.right })
      return isLeft(outcome) ? refusalOf(outcome.left) : undefined
    }
    return refusal(404, 'NotFound', 'Nothing at this path takes an upgraded connection.')
  }

  return async (req: IncomingMessage, socket: Duplex, head: Uint8Array, context: RequestContext): Promise<void> => {
    const gone = new AbortController()
    socket.once('close', () => gone.abort())
    socket.on('error', () => socket.destroy())
    try {
      const refused = await serve(req, socket, head, context, gone.signal)
      if (refused !== undefined) giveUp(socket, refused, deps.docsUrl, context, deps.dialectAt(context.path))
    } catch (error) {
      giveUp(socket, refuseThrown(deps, context, error), deps.docsUrl, context, deps.dialectAt(context.path))
    }
  }
}
