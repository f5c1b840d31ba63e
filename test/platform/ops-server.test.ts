import { readFileSync } from 'node:fs'
import test from 'ava'
import { request } from 'undici'
import { makeMetrics } from '../../composition/runtime/http/metrics.ts'
import { makeOpsServer } from '../../composition/runtime/http/ops-server.ts'
import type { RequestContext } from '../../composition/runtime/http/request/request-context.ts'
import { releaseVersion } from '../../core/platform/version.ts'

const contextOf = (over: Partial<RequestContext>): RequestContext =>
  ({ method: 'GET', routePath: '/users/{username}', code: undefined, ...over }) as RequestContext

const start = async (state: { databaseWorks: boolean; stopping: boolean }) => {
  const metrics = makeMetrics(releaseVersion)
  const check = () =>
    state.databaseWorks ? Promise.resolve(true) : Promise.reject(new Error('mysql://root:hunter2@db is away'))
  const server = makeOpsServer({ checks: [{ name: 'database', check }], isStopping: () => state.stopping, metrics })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const get = async (path: string, method: 'GET' | 'POST' = 'GET') => {
    const reply = await request(`http://127.0.0.1:${port}${path}`, { method })
    return { status: reply.statusCode, text: await reply.body.text() }
  }
  return { metrics, get, close: () => server.close() }
}

test('alive, ready, and why not', async (t) => {
  const state = { databaseWorks: true, stopping: false }
  const { get, close } = await start(state)
  t.deepEqual(await get('/livez'), { status: 200, text: 'ok\n' })
  t.deepEqual(await get('/readyz'), { status: 200, text: 'ok\n' })
  t.deepEqual(await get('/readyz?verbose'), { status: 200, text: '[+] database\n[+] not stopping\nok\n' })
  state.stopping = true
  t.deepEqual(await get('/readyz'), { status: 503, text: 'not ready: not stopping\n' })
  t.is((await get('/livez')).status, 200)
  await close()
})

test('shutdown is reported at once beside a hanging check', async (t) => {
  const server = makeOpsServer({
    checks: [{ name: 'hangs', check: () => new Promise(() => undefined) }],
    isStopping: () => true,
    metrics: makeMetrics(releaseVersion),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => server.close())
  const reply = await request(`http://127.0.0.1:${port}/readyz`)
  t.deepEqual(
    [reply.statusCode, reply.headers['connection'], await reply.body.text()],
    [503, 'close', 'not ready: not stopping\n'],
  )
})

test('a database outage is reported without its text', async (t) => {
  const { get, close } = await start({ databaseWorks: false, stopping: false })
  t.deepEqual(await get('/readyz?verbose'), {
    status: 503,
    text: '[-] database\n[+] not stopping\nnot ready: database\n',
  })
  await close()
})

test('a check that does not pass gives its reason in the list of all checks', async (t) => {
  let seconds = 0
  const check = { name: 'clock', check: async () => seconds === 0, reason: () => `the clock is ${seconds} s ahead` }
  const server = makeOpsServer({ checks: [check], isStopping: () => false, metrics: makeMetrics(releaseVersion) })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => server.close())
  seconds = 34
  const reply = await request(`http://127.0.0.1:${port}/readyz?verbose`)
  t.is(reply.statusCode, 503)
  t.is(await reply.body.text(), '[-] clock: the clock is 34 s ahead\n[+] not stopping\nnot ready: clock\n')
})

test('nothing else is served, and nothing is changed', async (t) => {
  const { get, close } = await start({ databaseWorks: true, stopping: false })
  t.is((await get('/')).status, 404)
  t.is((await get('/metrics', 'POST')).status, 405)
  await close()
})

const series = (text: string, name: string): readonly string[] =>
  text.split('\n').filter((line) => line.startsWith(name))

test('requests are counted by route template', async (t) => {
  const { metrics, get, close } = await start({ databaseWorks: true, stopping: false })
  for (let i = 0; i < 3; i++) {
    metrics.started()
    metrics.finished(contextOf({}), 200, 0.004)
  }
  metrics.started()
  metrics.finished(contextOf({ routePath: '', method: 'BREW', code: 'NotFound' }), 404, 0.001)
  metrics.started()
  metrics.finished(contextOf({ routePath: '/clusters/{owner}/{cluster}/proxy/*' }), 200, 3600)
  metrics.started()
  metrics.finished(contextOf({ routePath: '/clusters/{owner}/{cluster}/proxy/*', isUpstream: true }), 503, 1)
  metrics.read({
    databasePool: () => ({ used: 2, free: 3, waiting: 1, waits: 9, waitSeconds: 0.5 }),
    openStreams: () => ({ exchanges: new Map(), tunnels: new Map([['acme/quay', 6]]) }),
    pools: () => ({ charts: { running: 1, waiting: 2, waits: 3, waitSeconds: 4, refusals: 5 } }),
  })
  metrics.add({ moorage_password_checks_waiting: { help: 'Checks.' } }, () => ({ moorage_password_checks_waiting: 4 }))
  metrics.add({ moorage_mail_attempts_total: { type: 'counter', help: 'Attempts.', label: 'outcome' } }, async () => ({
    moorage_mail_attempts_total: { sent: 7, given_up: 9 },
  }))
  metrics.jobStarted('identity.pruneSessions')
  metrics.jobRan('identity.pruneSessions', 'failed', 2)
  metrics.jobStarted('mail.deliver')
  const { text } = await get('/metrics')
  t.deepEqual(series(text, 'moorage_http_requests_total'), [
    'moorage_http_requests_total{method="GET",route="/users/{username}",status="200",origin="service"} 3',
    'moorage_http_requests_total{method="other",route="unrouted",status="404",origin="service"} 1',
    'moorage_http_requests_total{method="GET",route="/clusters/{owner}/{cluster}/proxy/*",status="200",origin="service"} 1',
    'moorage_http_requests_total{method="GET",route="/clusters/{owner}/{cluster}/proxy/*",status="503",origin="upstream"} 1',
  ])
  t.true(text.includes('moorage_http_request_seconds_bucket{le="0.005",method="GET",route="/users/{username}"} 3'))
  t.false(text.includes('moorage_http_request_seconds_count{method="GET",route="/clusters'))
  t.true(text.includes('moorage_http_requests_in_flight 0\n'))
  t.true(text.includes('moorage_refusals_total{code="NotFound"} 1'))
  t.true(text.includes('moorage_database_connections{state="waiting"} 1'))
  t.true(text.includes('moorage_password_checks_waiting 4'))
  t.true(text.includes('moorage_database_wait_seconds_sum 0.5\nmoorage_database_wait_seconds_count 9'))
  t.true(text.includes('moorage_pool_wait_seconds_sum{pool="charts"} 4'))
  t.true(text.includes('moorage_pool_waiting{pool="charts"} 2'))
  t.true(text.includes('moorage_pool_refusals_total{pool="charts"} 5'))
  t.true(text.includes('moorage_proxy_open{kind="tunnel",cluster="acme/quay"} 6'))
  t.true(text.includes('moorage_mail_attempts_total{outcome="given_up"} 9'))
  t.true(text.includes('moorage_job_runs_total{job_id="identity.pruneSessions",outcome="failed"} 1'))
  t.regex(text, /moorage_job_last_end_timestamp_seconds\{job_id="identity\.pruneSessions"\} \d{9}/)
  t.true(text.includes('moorage_job_running_seconds{job_id="identity.pruneSessions"} 0\n'))
  t.regex(text, /moorage_job_running_seconds\{job_id="mail\.deliver"\} [1-9\d.e-]+\n/, 'a run in progress')
  t.true(text.includes('nodejs_eventloop_lag_seconds'))
  t.true(text.includes(`moorage_build_info{version="${releaseVersion}"} 1`))
  await close()
})

test('made-up methods and codes cannot grow the number of series without bound', async (t) => {
  const { metrics, get, close } = await start({ databaseWorks: true, stopping: false })
  for (let i = 0; i < 1000; i++) {
    metrics.started()
    metrics.finished(contextOf({ method: `M${i}`, code: `Code${i}` }), 400, 0.001)
  }
  const { text } = await get('/metrics')
  t.is(series(text, 'moorage_http_requests_total').length, 1)
  t.is(series(text, 'moorage_refusals_total').length, 301)
  await close()
})

const versionIn = (file: string): unknown =>
  (JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')) as { version: unknown }).version

test('the release has its form, and package.json and its lock agree', (t) => {
  t.regex(releaseVersion, /^v\d{4}\.\d{1,2}\.\d{1,2}$/)
  t.is(`v${String(versionIn('package.json'))}`, releaseVersion)
  t.is(versionIn('package-lock.json'), versionIn('package.json'))
})

test('every package of the lock is pinned by hash and comes from the registry', (t) => {
  const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, { integrity?: string; link?: boolean; resolved?: string }>
  }
  const own = Object.entries(packages).filter(([path]) => path !== '')
  t.true(own.length > 100)
  t.deepEqual(
    own
      .filter(
        ([, { integrity, link, resolved }]) =>
          !/^sha512-/.test(integrity ?? '') ||
          link === true ||
          !/^(https:\/\/registry\.npmjs\.org\/.*)?$/.test(resolved ?? ''),
      )
      .map(([path]) => path),
    [],
  )
})
