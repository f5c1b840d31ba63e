import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import restify from 'restify'
import type { Method } from '../../plugins/kit/route.ts'
import type { NodeHandler } from './binder-deps.ts'

/** The calls of restify that are used; its own types describe version 8. */
export interface RestifyServer {
  readonly server: Server
  on(event: 'error', listener: () => void): void
  on(event: 'restifyError', listener: (req: IncomingMessage, res: ServerResponse, error: { statusCode?: number }) => void): void
  first(guard: (req: IncomingMessage, res: ServerResponse) => boolean): void
  get: AddRoute
  post: AddRoute
  put: AddRoute
  patch: AddRoute
  del: AddRoute
}

type AddRoute = (options: { readonly path: string; readonly name: string }, handler: NodeHandler) => void

/** restify logs through pino by default; its own lines would hold raw requests. */
const silent = Object.fromEntries(['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, () => undefined]))
const silentLog = { ...silent, child: () => silentLog, level: () => 100 } as unknown

/** A restify server with its router and nothing else of it. */
export const createRestifyServer = (): RestifyServer => {
  const server = restify.createServer({
    name: '',
    log: silentLog,
    maxParamLength: 1000,
    ignoreTrailingSlash: true,
  } as unknown as Parameters<typeof restify.createServer>[0]) as unknown as RestifyServer
  // restify passes the listener's errors on to itself, where nobody listens; `listen` has told them already.
  server.on('error', () => undefined)
  return server
}

const verbs = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/**
 * Adds a route. `path` is a template of ours (`/authz/roles/{id}`), `name` is unique; restify's names are letters only.
 * The handler is handed over as it is: a function of two arguments, whose promise restify awaits.
 */
export const addRoute = (server: RestifyServer, method: Method, path: string, name: string, handler: NodeHandler): void =>
  server[verbs[method]]({ path: path.replaceAll(/\{([^}]+)\}/g, ':$1'), name: name.replaceAll('.', '') }, handler)
