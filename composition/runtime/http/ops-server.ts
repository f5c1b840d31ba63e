import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ListenAddress } from '../../part/setting-type.ts'
import type { ReadinessCheck } from '../../part/readiness-check.ts'
import type { Metrics } from './metrics.ts'

export interface OpsServerDeps {
  readonly checks: readonly ReadinessCheck[]
  /** Reports whether the process was asked to stop. */
  readonly isStopping: () => boolean
  readonly metrics: Pick<Metrics, 'expose' | 'snapshot'>
  /** Returns what checks in other processes of the instance found. */
  readonly othersFound?: () => Promise<readonly CheckResult[]>
  /** Reports whether the other processes of the instance answer. */
  readonly othersAnswer?: () => Promise<boolean>
}

/** `/livez`, `/readyz` and `/metrics`, on a separate listener that is not meant for the public. */
export interface OpsServer {
  listen(address: ListenAddress): Promise<ListenAddress>
  close(): Promise<void>
}

const checkTimeoutMs = 2_000
/** Probes within this time share one run of the checks. */
const resultsKeptMs = 1_000

/** What a check found. It is plain JSON. */
export interface CheckResult {
  readonly name: string
  readonly passed: boolean
  readonly reason?: string | undefined
  readonly isInformative?: boolean
  readonly isDegrading?: boolean
}

const withinTimeout = (check: ReadinessCheck): Promise<CheckResult> =>
  new Promise((resolve) => {
    const finish = (passed: boolean): void => {
      clearTimeout(timer)
      resolve({
        name: check.name,
        passed,
        isInformative: check.isInformative === true,
        isDegrading: check.isDegrading === true,
        reason: passed ? undefined : check.reason?.(),
      })
    }
    const timer = setTimeout(() => finish(false), checkTimeoutMs)
    check.check().then(finish, () => finish(false))
  })

/** Runs all checks at once, each within its time limit. */
export const runChecks = (checks: readonly ReadinessCheck[]): Promise<readonly CheckResult[]> =>
  Promise.all(checks.map(withinTimeout))

/** Checks by name: 1 while one fails. */
type FailingChecks = Readonly<Record<string, 0 | 1>>

/** Returns the checks that degrade the service, and those that make the instance not ready. */
export const failingChecks = async (
  checks: readonly ReadinessCheck[],
): Promise<{ readonly degraded: FailingChecks; readonly notReady: FailingChecks }> => {
  const results = await runChecks(checks.filter(({ isInformative }) => isInformative !== true))
  const states = (isDegrading: boolean): FailingChecks =>
    Object.fromEntries(
      results.filter((each) => each.isDegrading === isDegrading).map(({ name, passed }) => [name, passed ? 0 : 1]),
    )
  return { degraded: states(true), notReady: states(false) }
}

/**
 * Returns the readiness check. After the process was asked to stop no other check runs, since not-ready must show
 * immediately even when a check would hang.
 */
const makeReadiness = ({ checks, isStopping, othersFound }: OpsServerDeps): (() => Promise<readonly CheckResult[]>) => {
  let kept: { readonly atMs: number; readonly results: Promise<readonly CheckResult[]> } | undefined
  return async () => {
    if (isStopping()) return [{ name: 'not stopping', passed: false }]
    const nowMs = performance.now()
    if (kept === undefined || nowMs - kept.atMs > resultsKeptMs)
      kept = {
        atMs: nowMs,
        results: Promise.all([runChecks(checks), othersFound?.() ?? []]).then((found) => found.flat()),
      }
    const results = await kept.results
    return [...results, { name: 'not stopping', passed: !isStopping() }]
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

const stopsService = ({ passed, isInformative = false, isDegrading = false }: CheckResult): boolean =>
  !passed && !isInformative && !isDegrading
const degradesService = ({ passed, isDegrading = false }: CheckResult): boolean => !passed && isDegrading

const readinessText = (results: readonly CheckResult[], isVerbose: boolean): string => {
  const named = (isSo: (result: CheckResult) => boolean): string =>
    results
      .filter(isSo)
      .map(({ name }) => name)
      .join(', ')
  const [failing, degrading] = [named(stopsService), named(degradesService)]
  const summary = failing !== '' ? `not ready: ${failing}` : degrading !== '' ? `degraded: ${degrading}` : 'ok'
  return [
    ...(isVerbose
      ? results.map(
          ({ name, passed, reason }) => `[${passed ? '+' : '-'}] ${name}${reason === undefined ? '' : `: ${reason}`}`,
        )
      : []),
    summary,
    '',
  ].join('\n')
}

const route = async (
  req: IncomingMessage,
  res: ServerResponse,
  deps: OpsServerDeps,
  readiness: () => Promise<readonly CheckResult[]>,
): Promise<void> => {
  const [path, query = ''] = (req.url ?? '').split('?')
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD')
    return answer(res, 405, plain, 'method not allowed\n')
  }
  if (path === '/livez') {
    const isAlive = (await deps.othersAnswer?.()) ?? true
    return answer(res, isAlive ? 200 : 503, plain, isAlive ? 'ok\n' : 'a worker does not answer\n')
  }
  if (path === '/readyz') {
    const results = await readiness()
    const isReady = !results.some(stopsService)
    return answer(res, isReady ? 200 : 503, plain, readinessText(results, new URLSearchParams(query).has('verbose')))
  }
  if (path !== '/metrics')
    return answer(res, 404, plain, 'not found; this listener serves /livez, /readyz and /metrics\n')
  const { contentType, text } = await deps.metrics.expose()
  answer(res, 200, contentType, text)
}

export const makeOpsServer = (deps: OpsServerDeps): OpsServer => {
  const readiness = makeReadiness(deps)
  const server = createServer((req, res) => {
    if (deps.isStopping()) res.setHeader('Connection', 'close')
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
        // An answer in progress is still sent, within the time limit of its checks.
        setTimeout(() => server.closeAllConnections(), checkTimeoutMs).unref()
      }),
  }
}
