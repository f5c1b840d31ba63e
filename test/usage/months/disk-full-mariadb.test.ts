// process: own - fills a small disk
import { randomUUID } from 'node:crypto'
import anyTest from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { CloseMonthPort } from '../../../core/usage/months/close.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { laterByMonths, monthOf, secondOf } from '../../../core/usage/month.ts'
import { isSwitchedOff } from '../../support/components/names.ts'
import { startDatabaseServer, type DatabaseServer } from '../../support/components/database-server.ts'
import { patient } from '../../support/databases.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startSmallDisk } from '../../support/small-disk.ts'
import { until } from '../../support/until.ts'
import { callOf } from '../../sql/call.ts'
import { newObject } from '../events/event-fixture.ts'

/**
 * A MariaDB that takes no changes: it is read-only, or its disk is really full. Its redo log, which has its space from
 * the start, is elsewhere.
 */

const disk = isSwitchedOff('mariadb') ? undefined : await startSmallDisk(256)
const test = disk === undefined ? anyTest.skip : anyTest.serial
const cluster = randomUUID()
const month = laterByMonths(monthOf(secondOf(new Date())), -1)
const at = new Date(new Date().setUTCDate(0)).toISOString()

let server: DatabaseServer
let service: TestService
let db: SqlDatabase
let ownerId: AccountId

anyTest.before(async () => {
  if (disk === undefined) return
  server = await startDatabaseServer(undefined, { disk })
  const created = new URL(await server.createDatabase())
  // An account with every right could still change a server that is read-only.
  await administer('create user app')
  await administer(`grant all on ${created.pathname.slice(1)}.* to app`)
  created.username = 'app'
  const url = created.href
  service = await startService({
    settings: { MOORAGE_DATABASE_URL: url, MOORAGE_BILLING_ENABLED: 'true', MOORAGE_USAGE_REPORTERS: 'anyone' },
  })
  db = await openDatabase(url, { mysql: patient })
  const [account] = await db.query<{ id: number }>((k) => k('accounts').where('name', 'admin').select('id'))
  ownerId = account!.id as AccountId
  await db.query((k) =>
    k('clusters').insert({
      owner_id: ownerId,
      name: 'one',
      display_name: '',
      uid: cluster,
      provider: 'generic',
      endpoint: 'https://192.0.2.1',
      phase: 'Active',
      ref: randomUUID(),
      created_at: 0,
    }),
  )
})
anyTest.after.always(async () => {
  await service?.stop()
  await db?.close()
  await server?.stop()
  await disk?.close()
})

const administer = async (sql: string): Promise<void> => {
  const connection = await createConnection({ socketPath: server.socket, user: 'root' })
  await connection.query(sql)
  await connection.end()
}
const readiness = async () => {
  const answer = await fetch(`${service.opsUrl}/readyz?verbose`)
  return { status: answer.status, text: await answer.text() }
}

const report = () => ({
  clusterUID: cluster,
  events: Array.from({ length: 1000 }, (_, n) =>
    newObject({ createdAt: at, name: `db-${n}-${'x'.repeat(200)}` }).created(at),
  ),
})
const send = (body: object) => service.send('POST', '/api/v1/usage/admin/events', { token: service.adminToken, body })
const count = async (table: string): Promise<number> =>
  Number((await db.query<{ n: number | string }>((k) => k(table).count('* as n')))[0]?.n)

/**
 * There is space again. A server that found none to roll a change back with has ended itself: its supervisor starts it
 * again.
 */
const recover = async (): Promise<void> => {
  disk?.free()
  await server.restart()
}

test('a read-only server is degraded with 503 for changes until it recovers', async (t) => {
  await administer('set global read_only = 1')
  try {
    const degraded = await until('readiness says so', async () => {
      const { status, text } = await readiness()
      return text.endsWith('degraded: database changes\n') ? { status, text } : undefined
    })
    t.is(degraded.status, 200)
    t.regex(degraded.text, /^\[-\] database changes: The database takes no changes at present\.$/m)
    const refused = await service.send('POST', '/api/v1/orgs', {
      token: service.adminToken,
      body: { username: 'meanwhile' },
    })
    t.like(refused.json, { code: 'Unavailable', message: 'The database takes no changes at present.' })
    t.is(refused.status, 503)
    t.true(Number(refused.headers['retry-after']) > 0)
    t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  } finally {
    await administer('set global read_only = 0')
  }
  t.is(
    (await service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: 'meanwhile' } })).status,
    201,
  )
})

test('MariaDB: a report on a full disk is 503 and is recorded with space', async (t) => {
  t.is((await send(report())).status, 200)
  disk?.fill(1024)
  let recorded = 1000
  let refused = report()
  let answer = await send(refused)
  // Tables grow by several MiB at once, in which there is space for some more.
  for (; answer.status === 200; answer = await send(refused)) {
    recorded += 1000
    refused = report()
  }
  t.is(answer.status, 503, answer.text)
  t.regex(answer.json.message, /is full and takes no changes|does not answer at present/)
  t.true(Number(answer.headers['retry-after']) > 0)
  await recover()
  t.deepEqual([await count('usage_changes'), await count('usage_objects')], [recorded, recorded])
  const taken = await until('it is recorded', async () => {
    const again = await send(refused)
    return again.status === 503 ? undefined : again
  })
  t.is(taken.status, 200, taken.text)
  t.deepEqual([await count('usage_changes'), await count('usage_objects')], [recorded + 1000, recorded + 1000])
})

test('MariaDB: a month on a full disk has no revision until there is space', async (t) => {
  const close = service.running.container.resolve(CloseMonthPort)
  let refusals = 0
  for (let isClosed = false; !isClosed;) {
    disk?.fill(refusals * 2048)
    try {
      isClosed = isRight(await close(callOf(), { ownerId, month }))
      t.true(isClosed)
    } catch (error) {
      t.true(error instanceof Unavailable, String(error))
      refusals += 1
    }
    await recover()
    t.is((await db.query((k) => k('usage_months').where('is_published', true).select('id'))).length, isClosed ? 1 : 0)
    await db.query((k) => k('leases').update({ until: 0 }))
  }
  t.true(refusals > 0)
  t.is(await count('usage_months'), 1)
})
