import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ListenAddress } from '../setting-type.ts'
import type { Metrics } from './metrics.ts'

/** One thing that must work before the service takes requests. Resolves false, or rejects, when it does not. */
export interface ReadinessCheck {
  readonly name: string
  check(): Promise<boolean>
}

export interface OpsServerDeps {
  readonly checks: readonly ReadinessCheck[]
  /** True from the moment the process was asked to end. */
  readonly isStopping: () => boolean
  readonly metrics: Pick<Metrics, 'expose'>
}

/** `/livez`, `/readyz` and `/metrics`, on a listener of their own that is not meant for the public. */
export interface OpsServer {
  listen(address: ListenAddress): Promise<ListenAddress>
  close(): Promise<void>
}

const checkTimeoutMs = 2_000
/** Probes of several callers within this time share one answer. */
const readinessKeptMs = 1_000

interface CheckResult {
  readonly name: string
  readonly passed: boolean
}

const withinTimeout = (check: ReadinessCheck): Promise<CheckResult> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ name: check.name, passed: false }), checkTimeoutMs)
    const done = (passed: boolean): void => {
      clearTimeout(timer)
      resolve({ name: check.name, passed })
    }
    check.check().then(done, () => done(false))
  })

const makeReadiness = ({ checks, isStopping }: OpsServerDeps): (() => Promise<readonly CheckResult[]>) => {
  let running: Promise<readonly CheckResult[]> | undefined
  return async () => {
    const stopping = { name: 'not-stopping', passed: !isStopping() }
    if (running === undefined) {
      running = Promise.all(checks.map(withinTimeout))
      setTimeout(() => (running = undefined), readinessKeptMs).unref()
    }
    return [stopping, ...(await running)]
  }
}

const answer = (res: ServerResponse, status: number, contentType: string, body: string): void => {
  res.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  res.end(body)
}

const plain = 'text/plain; charset=utf-8'

const readinessText = (results: readonly CheckResult[], isReady: boolean): string =>
  results.map(({ name, passed }) => `[${passed ? '+' : '-'}] ${name}\n`).join('') + (isReady ? 'ready\n' : 'not ready\n')

const route = async (req: IncomingMessage, res: ServerResponse, deps: OpsServerDeps, readiness: () => Promise<readonly CheckResult[]>): Promise<void> => {
  const [path, query = ''] = (req.url ?? '').split('?')
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD')
    return answer(res, 405, plain, 'method not allowed\n')
  }
  if (path === '/livez') return answer(res, 200, plain, 'ok\n')
  if (path === '/readyz') {
    const results = await readiness()
    const isReady = results.every(({ passed }) => passed)
    const isVerbose = new URLSearchParams(query).has('verbose')
    const short = isReady ? 'ok\n' : `not ready: ${results.filter((result) => !result.passed).map(({ name }) => name).join(', ')}\n`
    return answer(res, isReady ? 200 : 503, plain, isVerbose ? readinessText(results, isReady) : short)
  }
  if (path !== '/metrics') return answer(res, 404, plain, 'not found; this listener serves /livez, /readyz and /metrics\n')
  const { contentType, text } = await deps.metrics.expose()
  answer(res, 200, contentType, text)
}

export const makeOpsServer = (deps: OpsServerDeps): OpsServer => {
  const readiness = makeReadiness(deps)
  const server = createServer((req, res) => {
    route(req, res, deps, readiness).catch(() => (res.headersSent ? res.destroy() : answer(res, 500, plain, 'error\n')))
  })
  server.headersTimeout = 5_000
  server.requestTimeout = 10_000
  server.maxConnections = 200
  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          const bound = server.address() as AddressInfo
          resolve({ host: bound.address, port: bound.port })
        })
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
