import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { Exchange } from '../../../core/kernel/exchange.ts'
import type { HelmEvent, HelmObject } from '../../../core/packages/releases/ports.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

/** Returns the resource that the path of a Kubernetes API call names, or undefined if it names none. @internal */
export const calledObject = (path: string): HelmObject | undefined => {
  const words = path.split('/').filter((word) => word !== '')
  const [root] = words
  const [group, version, ...rest] = root === 'api' ? ['core', ...words.slice(1)] : root === 'apis' ? words.slice(1) : []
  if (group === undefined || version === undefined) return undefined
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2
  const [resource, name] = isNamespaced ? rest.slice(2) : rest
  if (resource === undefined) return undefined
  return { group, version, resource, namespace: isNamespaced ? rest[1] : undefined, name }
}

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/**
 * Returns a request from helm as an exchange of the core.
 * @param path below the secret segment.
 * @param onStatus is called with the status of the answer.
 */
const loopbackExchange = (
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  query: string,
  onStatus: (status: number) => void,
): Exchange => ({
  method: req.method ?? 'GET',
  root: (req.url ?? '').slice(0, (req.url ?? '').indexOf('/', 1)),
  path,
  query,
  headers: req.headers,
  body: announcesBody(req) ? req : undefined,
  respond(status, headers) {
    if (res.destroyed || res.headersSent) return
    onStatus(status)
    res.writeHead(status, headers.flat())
  },
  write(chunk) {
    return res.destroyed ? true : res.write(chunk)
  },
  onDrain(listener) {
    res.once('drain', listener)
  },
  end() {
    if (!res.destroyed) res.end()
  },
  abort() {
    res.destroy()
  },
  // Stopping ends helm, and with it its requests.
  onStop: () => undefined,
  get hasResponded() {
    return res.headersSent
  },
})

/** Answers with a Kubernetes Status, so that helm shows the message. */
const answerStatus = (res: ServerResponse, code: number, reason: string, message: string): void => {
  if (res.destroyed || res.headersSent) return void res.destroy()
  res.writeHead(code, ['content-type', 'application/json'])
  res.end(toWireJson({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }))
}

/** What the proxy knows of a helm process. */
interface ProxiedWork {
  readonly cluster: MemberCluster
  readonly onEvent: (event: HelmEvent) => void
}

/** The server of an operation's kubeconfig, until it is closed. */
export interface ProxyDoor {
  /** `http://127.0.0.1:<port>/<random>`. A client with this URL acts as the caller of the operation. */
  readonly url: string
  /** Returns why the cluster could not be reached the last time it could not. */
  trouble(): string | undefined
  /** Removes the URL and ends requests in progress. */
  close(): void
}

export interface LoopbackProxy {
  open(work: ProxiedWork): Promise<ProxyDoor>
  close(): Promise<void>
}

interface OpenDoor {
  readonly digest: Buffer
  readonly work: ProxiedWork
  readonly cut: AbortController
  trouble: string | undefined
}

const changingMethods: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

const digestOf = (segment: string): Buffer => createHash('sha256').update(segment).digest()

const isDryRun = (query: string): boolean => new URLSearchParams(query).getAll('dryRun').includes('All')

const outOfReach = { code: 502, reason: 'BadGateway' }
const statusOf = {
  ProxyPathRefused: { code: 400, reason: 'BadRequest' },
  CredentialRefused: outOfReach,
  ClusterUnreachable: outOfReach,
}

/** Reports a call that changes something, after its answer. */
const reporter =
  (work: ProxiedWork, method: string, path: string, query: string) =>
  (status: number): void => {
    if (!changingMethods.includes(method)) return
    const object = calledObject(path)
    work.onEvent({ kind: 'call', method: method as 'POST', target: path, status, object, isDryRun: isDryRun(query) })
  }

const relay = async (
  door: OpenDoor,
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  query: string,
): Promise<void> => {
  const left = new AbortController()
  // A response that was sent whole closes too, and there is nothing left to end.
  res.once('close', () => {
    if (!res.writableFinished) left.abort()
  })
  const method = req.method ?? 'GET'
  const exchange = loopbackExchange(req, res, path, query, reporter(door.work, method, path, query))
  const relayed = await door.work.cluster.relay(exchange, AbortSignal.any([left.signal, door.cut.signal]))
  if (isLeft(relayed)) {
    door.trouble = relayed.left.message
    const { code, reason } = statusOf[relayed.left.tag]
    return answerStatus(res, code, reason, relayed.left.message)
  }
  // An aborted signal leaves an answer incomplete.
  if (door.cut.signal.aborted) res.destroy()
}

/**
 * A loopback listener through which helm reaches a cluster. It adds the caller's credential, so that helm's own files
 * and environment hold none. Over plain http clients send no token, so the secret is a random segment of the path.
 */
export const makeLoopbackProxy = (): LoopbackProxy => {
  const doors = new Set<OpenDoor>()
  let listening: Promise<Server> | undefined

  const doorOf = (segment: string): OpenDoor | undefined => {
    const digest = digestOf(segment)
    let found: OpenDoor | undefined
    for (const door of doors) if (timingSafeEqual(door.digest, digest)) found = door
    return found
  }

  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const [whole = '', query = ''] = splitOnce(req.url ?? '', '?')
    const [segment = '', below] = splitOnce(whole.slice(1), '/')
    const door = doorOf(segment)
    if (door === undefined) return answerStatus(res, 404, 'NotFound', 'There is nothing here.')
    relay(door, req, res, `/${below ?? ''}`, query).catch(() =>
      answerStatus(res, 500, 'InternalError', 'The call failed inside the service.'),
    )
  }

  const listen = async (): Promise<Server> => {
    const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 0 }, serve)
    // In a worker of several, the port would else be shared with the others.
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true })
    await once(server, 'listening')
    server.unref()
    return server
  }

  return {
    async open(work) {
      const server = await (listening ??= listen())
      const segment = randomBytes(16).toString('hex')
      const door: OpenDoor = { digest: digestOf(segment), work, cut: new AbortController(), trouble: undefined }
      doors.add(door)
      return {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${segment}`,
        trouble: () => door.trouble,
        close() {
          doors.delete(door)
          door.cut.abort()
        },
      }
    },
    async close() {
      for (const door of doors) door.cut.abort()
      doors.clear()
      const server = await listening
      listening = undefined
      if (server === undefined) return
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const splitOnce = (text: string, at: string): readonly [string, string?] => {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}
