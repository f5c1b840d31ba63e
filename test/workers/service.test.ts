// process: own - starts services as processes and kills workers
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type TestFn } from 'ava'
import { Agent, request } from 'undici'
import { childrenOf, isRunning } from '../support/child-processes.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openFeed, order } from '../tasks/task-client.ts'
import { metricOf, pinTwo } from './pinned.ts'

const password = 'quiet-lantern-over-water-17'
const versions = 'moorage_http_requests_total{method="GET",route="/version",status="200",origin="service"}'

const readiness = async (service: ServiceProcess): Promise<string> =>
  (await fetch(`${service.opsUrl}/readyz?verbose`)).text()

/** Two workers of one instance, with the plugin of tests that has tasks. */
const startTwo = async (database: 'sqlite' | 'mysql') => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-workers-'))
  const diary = join(folder, 'diary')
  writeFileSync(diary, '')
  const service = await startServiceProcess({
    database,
    settings: {
      MOORAGE_WORKERS: '2',
      MOORAGE_TASK_WORKERS: '2',
      MOORAGE_RATE_LIMIT_PER_MINUTE: '120',
      MOORAGE_TEST_DIARY: diary,
      MOORAGE_PLUGINS: fileURLToPath(new URL('../tasks/filed-plugin.ts', import.meta.url)),
    },
  })
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'workers', scopes: ['all'] },
  })
  const token = made.json.sha1 as string
  const person = async (username: string): Promise<string> => {
    const body = { username, email: `${username}@example.com`, password, must_change_password: false }
    await service.send('POST', '/api/v1/admin/users', { token, body })
    const own = await service.send('POST', `/api/v1/users/${username}/tokens`, {
      basic: [username, password],
      body: { name: 'own', scopes: ['all'] },
    })
    return own.json.sha1 as string
  }
  return { service, person, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

const declareCases = (database: 'sqlite' | 'mysql', given: TestFn): void => {
  let house: Awaited<ReturnType<typeof startTwo>>
  let pins: Awaited<ReturnType<typeof pinTwo>>
  const named = (title: string): string => `two workers on ${database}: ${title}`
  given.before(async () => {
    house = await startTwo(database)
    pins = await pinTwo(house.service)
  })
  given.after.always(async () => {
    await pins?.close()
    await house?.service.stop()
    house?.remove()
  })

  given.serial(
    named('both serve requests, what one changed the other shows, and the metrics are one set'),
    async (t) => {
      const { service, person } = house
      const [a, b] = pins.both
      t.deepEqual([...childrenOf(service.pid)].sort(), [a.pid, b.pid].sort())
      const before = await metricOf(service, versions)
      for (let count = 0; count < 5; count++) for (const { send } of pins.both) await send('GET', '/api/v1/version')
      t.is((await metricOf(service, versions)) - before, 10)
      t.is(await metricOf(service, 'moorage_workers'), 2)
      const token = await person('ada')
      const made = await a.send('POST', '/api/v1/orgs', { token, body: { username: 'harbour' } })
      t.is(made.status, 201, made.text)
      t.is((await b.send('GET', '/api/v1/orgs/harbour', { token })).status, 200)
      t.regex(await readiness(service), /\[\+\] workers\n[^]*\[\+\] database\n[^]*\nok\n$/)
      t.is(service.stdout().match(/is ready/g)?.length, 1)
      for (const { pid } of pins.both)
        t.regex(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /\0--max-semi-space-size=32\0/)
    },
  )

  given.serial(named('a client of either worker follows a task of the other to its end'), async (t) => {
    const { service, person } = house
    const token = await person('bea')
    const { id } = await order(service, token, { title: 'Count', lines: 3, waitMs: 500 })
    const feeds = await Promise.all(
      pins.both.map(({ client }) => openFeed(service.baseUrl, `/api/v1/tasks/${id}/events`, token, {}, client)),
    )
    await Promise.all(feeds.map(({ ended }) => ended))
    for (const { events } of feeds) {
      t.deepEqual(
        events.map(({ event }) => event.seq),
        events.map((_, index) => index + 1),
      )
      t.like(events.at(-1)?.event, { status: 'Success' })
    }
    t.is(feeds[0]?.events.length, feeds[1]?.events.length)
  })

  if (database === 'sqlite') declareLimits(given, named, () => ({ ...house, pins }))

  given.serial(named('SIGTERM ends all processes, exit 0'), async (t) => {
    const { service } = house
    const children = childrenOf(service.pid)
    service.signal('SIGTERM')
    t.is(await service.exited, 0)
    t.deepEqual(children.filter(isRunning), [])
  })
}

/** On one database: what they hold does not depend on it. The tests of faults kill workers on both. */
const declareLimits = (
  given: TestFn,
  named: (title: string) => string,
  house: () => Awaited<ReturnType<typeof startTwo>> & { readonly pins: Awaited<ReturnType<typeof pinTwo>> },
): void => {
  given.serial(named('failed attempts at both lock an account at both'), async (t) => {
    const { person, pins } = house()
    await person('cleo')
    const [a, b] = pins.both
    const signIn = (worker: typeof a, secret: string) =>
      worker.send('GET', '/api/v1/user', { basic: ['cleo', secret] }).then(({ status }) => status)
    t.deepEqual([await signIn(a, password), await signIn(b, password)], [200, 200])
    for (const worker of [a, b, a, b, a]) t.is(await signIn(worker, 'not-the-password-of-cleo'), 401)
    t.deepEqual([await signIn(b, password), await signIn(a, password)], [401, 401])
  })

  given.serial(named('the rate of a caller is that of the instance'), async (t) => {
    const { person, pins } = house()
    const token = await person('dora')
    const [a, b] = pins.both
    const spend = async (worker: typeof a) => {
      const { status, headers } = await worker.send('GET', '/api/v1/user', { token })
      return { status, left: Number((headers as Record<string, string>)['ratelimit-remaining']) }
    }
    for (let request = 0; request < 40; request++) t.is((await spend(a)).status, 200)
    // Each request takes more than the rate returns in its time.
    await until('the other counts them too', async () => ((await spend(b)).left < 90 ? true : undefined))
    await until('the rate is spent', async () => ((await spend(b)).status === 429 ? true : undefined))
    await until('at the first too', async () => ((await spend(a)).status === 429 ? true : undefined))
  })

  given.serial(named('one that is killed is replaced; the other answers, and no counter falls'), async (t) => {
    const { service, pins } = house()
    const [survivor, victim] = pins.both
    const before = await metricOf(service, versions)
    // A worker that is stopped does not accept the connection that is sent to it.
    process.kill(victim.pid, 'SIGSTOP')
    let answered = 0
    const statuses = Array.from({ length: 4 }, async () => {
      const { statusCode } = await request(`${service.baseUrl}/api/v1/version`, {
        dispatcher: new Agent(),
        reset: true,
      })
      answered += 1
      return statusCode
    })
    await until('the survivor answered its own', () => (answered === 3 ? true : undefined))
    process.kill(victim.pid, 'SIGKILL')
    t.deepEqual(await Promise.all(statuses), [200, 200, 200, 200])
    await until('it is gone', () => (isRunning(victim.pid) ? undefined : true))
    t.is((await survivor.send('GET', '/api/v1/version')).status, 200)
    t.is(await metricOf(service, versions), before + 5)
    await until('another is there', async () => ((await readiness(service)).endsWith('\nok\n') ? true : undefined))
    t.deepEqual(
      [await metricOf(service, 'moorage_workers'), await metricOf(service, 'moorage_worker_restarts_total')],
      [2, 1],
    )
    t.is(await metricOf(service, versions), before + 5)
    t.is(childrenOf(service.pid).length, 2)
    t.regex(service.stderr(), /"workerPid":\d+,"reason":"it ended with the signal SIGKILL"/)
  })
}

declareCases('sqlite', test)
declareCases('mysql', needing('mariadb'))

test('an error is reported once, and no process stays', async (t) => {
  const error = await t.throwsAsync(
    startServiceProcess({ settings: { MOORAGE_WORKERS: '2', MOORAGE_LISTEN: '192.0.2.1:80' } }),
  )
  t.is(error.message.match(/moorage: MOORAGE_LISTEN: 192\.0\.2\.1:80 cannot be bound/g)?.length, 1, error.message)
  t.regex(error.message, /ended with 1 before/)
})
