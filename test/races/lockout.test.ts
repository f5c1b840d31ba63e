// process: own - starts a service as a process
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { passForAttempts } from '../identity/pass-for-attempts.ts'
import { throttleOver } from '../identity/throttle.fixture.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl, migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { startServiceProcess } from '../support/service-process.ts'
import type { TestService } from '../support/service.ts'
import { adminLogin, startService } from '../support/service.ts'
import { ourMigrations } from '../support/schema.ts'
import { brokenInvariants } from './invariants.ts'
import { must, personPassword, statusesOf } from './two-instances.ts'

/** Instances behind a load balancer that come and go, and the database that they share. */
const startInstances = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-lockout-'))
  const url = await migratedMysqlUrl()
  const settings = {
    MOORAGE_DATABASE_URL: url,
    MOORAGE_KEYRING: join(folder, 'keyring.json'),
    MOORAGE_TLS: 'false',
    MOORAGE_TRUSTED_PROXIES: '127.0.0.1',
  }
  const running: TestService[] = []
  const start = async (): Promise<TestService> => {
    const service = await startService({ settings })
    running.push(service)
    return service
  }
  const stop = async (service: TestService): Promise<void> => {
    running.splice(running.indexOf(service), 1)
    await service.stop()
  }
  const database = await openPatiently(url)
  const close = async (): Promise<void> => {
    await Promise.all(running.map((service) => service.stop()))
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { start, stop, database, close }
}

const makePerson = (service: TestService, username: string) =>
  must(
    201,
    service.send('POST', '/api/v1/admin/users', {
      token: service.adminToken,
      body: { username, email: `${username}@example.com`, password: personPassword },
    }),
  )

let addresses = 0
/** Each from an address of its own, so that the limit of an address stays out of it. */
const fresh = () => ({ 'X-Forwarded-For': `198.51.${100 + Math.floor(addresses / 250)}.${1 + (addresses++ % 250)}` })
/** One network, from which the guesses of a caller are counted together. */
const home = { 'X-Forwarded-For': '198.51.99.9' }
const basic = (service: TestService, login: string, password: string, headers = home) =>
  service.send('GET', '/api/v1/user', { basic: [login, password], headers })
const signIn = (service: TestService, username: string, password: string) =>
  service.send('POST', '/api/v1/user/signin', { body: { username, password }, headers: home })

/** Failures of many other names, as an instance would count them. */
const failOthers = async (database: SqlDatabase, count: number): Promise<void> => {
  const throttle = throttleOver(makeSqlAttemptCounters(database), Date.now)
  const sourceIp = (i: number) => `203.0.${Math.floor(i / 50)}.1`
  for (let done = 0; done < count; done += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        throttle.guard({ kind: 'password', subject: `other-${done + i}`, sourceIp: sourceIp(done + i) }, async () =>
          right(undefined),
        ),
      ),
    )
  }
}

if (!isSwitchedOff('mariadb')) {
  test('T-LOCK: distributed wrong passwords lock the account, which opens by itself', async (t) => {
    const { start, stop, database, close } = await startInstances()
    t.teardown(close)
    const [a, b] = [await start(), await start()]
    await makePerson(a, 'ada')
    t.is((await basic(a, 'ada', 'wrong')).status, 401)
    t.is((await signIn(b, 'ADA', 'wrong')).status, 404)
    // These name nobody: they neither sign in with the right password nor spare the account a failure.
    for (const spelling of ['ada ', ' ada', 'аda', 'ada\u0000', 'ada@example.com '])
      t.is((await basic(b, spelling, personPassword)).status, 401, JSON.stringify(spelling))
    t.is((await basic(b, 'Ada@Example.COM', 'wrong')).status, 401)
    await failOthers(database, 2000)
    await stop(b)
    const restarted = await start()
    t.is((await signIn(restarted, 'aDa', 'wrong')).status, 404)
    t.is((await basic(a, 'ada@example.com', 'wrong')).status, 401)
    for (const service of [a, restarted]) {
      t.is((await basic(service, 'ada', personPassword)).status, 401)
      t.is((await signIn(service, 'ada@example.com', personPassword)).status, 404)
    }
    t.is((await a.send('GET', '/api/v1/user', { token: await a.tokenFor('ada') })).status, 200)
    await passForAttempts(database, 30_000)
    const later = await start()
    t.is((await basic(later, 'ada', personPassword)).status, 200)
  })

  test('concurrent wrong passwords at two instances meet each limit', async (t) => {
    const { start, stop, database, close } = await startInstances()
    t.teardown(close)
    const services = [await start(), await start()]
    await makePerson(services[0] as TestService, 'ada')
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => basic(services[i % 2] as TestService, 'ada', `wrong-${i}`, fresh())),
    )
    t.deepEqual(
      [...new Set(statusesOf(answers))].filter((status) => status !== 401 && status !== 429),
      [],
    )
    const [{ points }] = (await database.query<{ points: number }>((k) =>
      k('identity_attempts').max({ points: 'points' }),
    )) as [{ points: number }]
    // The total over all networks: twenty lock, what was under way elsewhere may still be counted on top.
    t.true(points >= 20 && points <= 60, String(points))
    const rows = await database.query<{ n: number }>((k) =>
      k('audit_events').where('action', 'user.locked').count({ n: '*' }),
    )
    await Promise.all(services.map(stop))
    const after = await database.query<{ n: number }>((k) =>
      k('audit_events').where('action', 'user.locked').count({ n: '*' }),
    )
    t.true(Number(rows[0]?.n) <= 1)
    t.is(Number(after[0]?.n), 1)
  })
}

const withMariaDb = needing('mariadb')

withMariaDb(
  'two instances that start at once on an empty database: one schema, one keyring, one admin, one password shown',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-first-start-'))
    const url = await emptyMysqlUrl()
    // Empty: as if it were not set, so that a password is generated.
    const settings = {
      MOORAGE_DATABASE_URL: url,
      MOORAGE_KEYRING: join(folder, 'keyring.json'),
      MOORAGE_TLS: 'false',
      MOORAGE_ADMIN_PASSWORD: '',
    }
    const database = await openPatiently(url)
    const services = await Promise.all([1, 2].map(() => startServiceProcess({ settings })))
    t.teardown(async () => {
      await Promise.all(services.map((service) => service.stop()))
      await database.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const shown = services.flatMap((service) => /password\D*?:?\s+(\S{12,})/i.exec(service.stdout())?.[1] ?? [])
    t.is(shown.length, 1, services.map((service) => service.stdout()).join('\n'))
    const count = async (table: string): Promise<number> =>
      Number((await database.query<{ n: number }>((k) => k(table).count({ n: '*' })))[0]?.n)
    t.deepEqual([await count('users'), await count('accounts'), await count('emails')], [1, 1, 1])
    t.is(await count('schema_migrations'), ourMigrations.length)
    t.deepEqual(await brokenInvariants(database), [])

    const [first] = services
    const signedIn = await first!.send('POST', '/api/v1/user/signin', {
      body: { username: adminLogin, password: shown[0] },
    })
    t.is(signedIn.status, 200, signedIn.text)
    const Cookie = [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0] ?? '')
    const csrf = decodeURIComponent(Cookie.find((each) => each.startsWith('_csrf='))?.slice('_csrf='.length) ?? '')
    const headers = { Cookie: Cookie.join('; '), 'X-Csrf-Token': csrf }
    for (const service of services) {
      t.is((await service.send('GET', '/api/v1/user', { headers })).json.login, adminLogin, 'one session everywhere')
      const changed = await service.send('PATCH', '/api/v1/user/settings', { headers, body: { location: 'here' } })
      t.is(changed.status, 200, 'and one key for its CSRF value')
    }
  },
)
