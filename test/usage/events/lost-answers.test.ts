// process: own - starts a service as a process
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { callOf } from '../../sql/call.ts'
import { needing } from '../../support/components/needing.ts'
import { migratedMysqlUrl, patient } from '../../support/databases.ts'
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.ts'
import { startServiceProcess, type ServiceProcess } from '../../support/service-process.ts'
import { adminLogin, adminPassword } from '../../support/service.ts'
import { clusterHeard, newObject } from './event-fixture.ts'
import { fillMonth, makeMonthsFixture, month, owner, type MonthsFixture } from '../months-fixture.ts'

/** The database has done what it was asked for, and its answer is lost: with the process, or with the connection. */

const test = needing('mariadb')

interface Linked {
  readonly link: FaultProxy
  /** Of the link. */
  readonly url: string
  /** Speaks to the server itself. */
  readonly direct: SqlDatabase
}

const startLink = async (t: ExecutionContext): Promise<Linked> => {
  const url = new URL(await migratedMysqlUrl())
  const direct = await openDatabase(url.href, { mysql: patient })
  const link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
  url.port = String(link.port)
  t.teardown(async () => {
    await direct.close()
    await link.close()
  })
  return { link, url: url.href, direct }
}

const count = async (db: SqlDatabase, table: string): Promise<number> =>
  Number((await db.query<{ n: number | string }>((k) => k(table).count('* as n')))[0]?.n)
const events = () => {
  const now = new Date().toISOString()
  return [clusterHeard(now), ...Array.from({ length: 5 }, () => newObject({ createdAt: now }).created(now))]
}

const startMetered = async (t: ExecutionContext, { url, direct }: Linked) => {
  const cluster = randomUUID()
  const folder = mkdtempSync(join(tmpdir(), 'moorage-lost-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const settings = {
    MOORAGE_KEYRING: join(folder, 'keyring.json'),
    MOORAGE_DATABASE_URL: url,
    MOORAGE_TLS: 'false',
    MOORAGE_BILLING_ENABLED: 'true',
    MOORAGE_USAGE_REPORTERS: 'anyone',
  }
  const start = async (): Promise<ServiceProcess> => {
    const service = await startServiceProcess({ settings })
    t.teardown(() => service.stop())
    return service
  }
  const service = await start()
  const token = (
    await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
      basic: [adminLogin, adminPassword],
      body: { name: 'meter', scopes: ['all'] },
    })
  ).json.sha1 as string
  const [account] = await direct.query<{ id: number }>((k) => k('accounts').where('name', adminLogin).select('id'))
  await direct.query((k) =>
    k('clusters').insert({
      owner_id: account?.id,
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
  const sendTo = (to: ServiceProcess, reported: readonly object[]) =>
    to.send('POST', `/api/v1/usage/${adminLogin}/events`, { token, body: { clusterUID: cluster, events: reported } })
  return { service, start, sendTo }
}
const words = ({ json }: { readonly json: unknown }): readonly string[] =>
  (json as { results: { result: string }[] }).results.map(({ result }) => result)

test('a report counts once when its process is killed before the answer', async (t) => {
  const linked = await startLink(t)
  const { service, start, sendTo } = await startMetered(t, linked)
  const reported = events()
  const held = linked.link.loseAnswerAfter('insert into `usage_changes`', 'commit', 'hold')
  const answer = sendTo(service, reported).then(
    ({ status }) => status,
    () => 'no answer',
  )
  await held
  t.is(await count(linked.direct, 'usage_changes'), 5, 'it is committed')
  service.signal('SIGKILL')
  t.is(await service.exited, 'SIGKILL')
  t.is(await answer, 'no answer')
  const again = await sendTo(await start(), reported)
  t.deepEqual(words(again), ['accepted', ...Array<string>(5).fill('repeated')])
  t.deepEqual(
    await Promise.all(
      ['usage_changes', 'usage_objects', 'usage_intervals', 'usage_conflicts', 'usage_presence'].map((table) =>
        count(linked.direct, table),
      ),
    ),
    [5, 5, 5, 0, 1],
  )
})

test('a report counts once when the database is cut during its commit', async (t) => {
  const linked = await startLink(t)
  const { service, sendTo } = await startMetered(t, linked)
  const reported = events()
  const cut = linked.link.loseAnswerAfter('insert into `usage_changes`', 'commit')
  const refused = await sendTo(service, reported)
  await cut
  t.is(refused.status, 503, refused.text)
  t.is(typeof refused.json.message, 'string')
  t.deepEqual(words(await sendTo(service, reported)), ['accepted', ...Array<string>(5).fill('repeated')])
  t.deepEqual(
    await Promise.all(
      ['usage_changes', 'usage_objects', 'usage_intervals'].map((table) => count(linked.direct, table)),
    ),
    [5, 5, 5],
  )
})

/** The content of a published month, whole. */
const wholeMonth = async (fixture: MonthsFixture) => ({
  objects: await fixture.shown('objects-usage-view'),
  clusters: await fixture.shown('clusters-usage-view'),
  segments: await fixture.count('usage_segments'),
})

for (const [title, isPublished, first, marker] of [
  ['while views are written', false, 'insert into `usage_views`', 'insert into `usage_view_pieces`'],
  ['while it is published', false, 'for update', 'update `usage_months`'],
  ['after it was published', true, 'update `usage_months`', 'commit'],
] as const)
  test(`a close that is cut off from the database ${title} leaves no half month`, async (t) => {
    const { link, url, direct } = await startLink(t)
    const db = await openDatabase(url, { mysql: patient })
    t.teardown(() => db.close())
    await fillMonth(await makeMonthsFixture(direct))
    const seen = await makeMonthsFixture(direct, false)
    const { close } = await makeMonthsFixture(db, false)
    const cut = link.loseAnswerAfter(first, marker)
    const closing = await close(callOf(), { ownerId: owner, month }).catch((error: unknown) => error)
    await cut
    t.true(closing instanceof Unavailable, String(closing))
    t.is((await seen.shown('objects-usage-view')) !== undefined, isPublished)
    const before = isPublished ? await wholeMonth(seen) : undefined
    await direct.query((k) => k('leases').update({ until: 0 }))
    t.true(isRight(await close(callOf(), { ownerId: owner, month })))
    const whole = await wholeMonth(seen)
    t.like(whole.objects, { revision: 1 })
    t.is((whole.objects?.json['items'] as unknown[]).length, 3)
    t.true(whole.segments > 0)
    if (before !== undefined) t.deepEqual(before, whole)
    t.is(await seen.leftovers(), 0)
  })
