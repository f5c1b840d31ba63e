import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import restify from 'restify'
import type { Method } from '../../plugins/kit/route.ts'
import type { NodeHandler } from './binder-deps.ts'

/** The part of restify that is used. Its own types describe version 8. */
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

/** restify logs through pino by default. Its lines would contain raw requests. */
const silent = Object.fromEntries(['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, () => undefined]))
const silentLog = { ...silent, child: () => silentLog, level: () => 100 } as unknown

/** Returns a restify server that has only its router. */
export const createRestifyServer = (): RestifyServer => {
  const server = restify.createServer({
    name: '',
    log: silentLog,
    maxParamLength: 1000,
    ignoreTrailingSlash: true,
  } as unknown as Parameters<typeof restify.createServer>[0]) as unknown as RestifyServer
  // restify re-emits the errors of the listener on itself, where there is no handler. `listen` has already reported them.
  server.on('error', () => undefined)
  return server
}

const verbs = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/**
 * Adds a route. `path` is a template (`/authz/roles/{id}`) and `name` is unique; names in restify consist of letters only.
 * The handler is passed unchanged: a function of two arguments whose promise restify awaits.
 */
export const addRoute = (server: RestifyServer, method: Method, path: string, name: string, handler: NodeHandler): void =>
  server[verbs[method]]({ path: path.replaceAll(/\{([^}]+)\}/g, ':$1'), name: name.replaceAll('.', '') }, handler)
