// process: own - starts a service as a process
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import anyTest from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { makeSpools } from '../../../adapters/system/spools.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { callOf } from '../../sql/call.ts'
import { migratedSqlitePath } from '../../support/databases.ts'
import { cleanEnvironment, mainFile, startServiceProcess, type ServiceProcess } from '../../support/service-process.ts'
import { adminLogin, adminPassword, testEnvironment } from '../../support/service.ts'
import { startSmallDisk, type SmallDisk } from '../../support/small-disk.ts'
import { newObject } from './event-fixture.ts'
import { fillMonth, makeMonthsFixture, month, owner } from '../months-fixture.ts'

/** A disk that is really full: a small one, which the test fills and frees while the service runs on it. */

const disk = await startSmallDisk(48)
const test = disk === undefined ? anyTest.skip : anyTest.serial
const { folder, enter } = disk ?? { folder: '', enter: [] }
const kept = mkdtempSync(join(tmpdir(), 'moorage-disk-full-'))
const cluster = randomUUID()
const lastMonth = new Date(new Date().setUTCDate(0))
const monthText = lastMonth.toISOString().slice(0, 7)
/** In the last hours of the last month, which is at most 31 days ago. */
const at = `${lastMonth.toISOString().slice(0, 10)}T20:00:00Z`

let settings: Readonly<Record<string, string>>
let service: ServiceProcess
let token: string

anyTest.before(async () => {
  if (disk === undefined) return
  copyFileSync(await migratedSqlitePath(), join(disk.outside, 'moorage.sqlite'))
  settings = {
    ...(await testEnvironment(kept, 'sqlite')),
    MOORAGE_DATABASE_URL: `sqlite:${join(folder, 'moorage.sqlite')}`,
    MOORAGE_BILLING_ENABLED: 'true',
    MOORAGE_USAGE_REPORTERS: 'anyone',
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_TLS: 'false',
  }
  service = await startServiceProcess({ settings, enter })
  token = (
    await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
      basic: [adminLogin, adminPassword],
      body: { name: 'meter', scopes: ['all', 'sudo'] },
    })
  ).json.sha1
  const now = Math.floor(Date.now() / 1000)
  const contract = await service.send('POST', '/api/v1/contracts', {
    token,
    body: {
      orgOrUser: adminLogin,
      name: 'Databases',
      products: ['database'],
      features: ['db-basic'],
      start: now - 86_400,
      end: now + 86_400,
    },
  })
  if (contract.status !== 201) throw new Error(contract.text)
  const bound = await service.send('POST', `/api/v1/contracts/${contract.json[0].id}/clusters`, {
    token,
    body: [{ cluster, displayName: 'one' }],
  })
  if (bound.status >= 300) throw new Error(bound.text)
})
anyTest.after.always(async () => {
  await service?.stop()
  await disk?.close()
  rmSync(kept, { recursive: true })
})

const report = (count: number) => ({
  clusterUID: cluster,
  events: Array.from({ length: count }, (_, n) =>
    newObject({ createdAt: at, name: `db-${n}-${'x'.repeat(100)}` }).created(at),
  ),
})
const send = (body: object) => service.send('POST', `/api/v1/usage/${adminLogin}/events`, { token, body })
/** The database as it is on the disk, opened as a copy. */
const withCopy = async <A>(read: (db: SqlDatabase) => Promise<A>): Promise<A> => {
  const copy = join(kept, randomUUID())
  for (const end of ['', '-wal']) {
    const file = join((disk as SmallDisk).outside, `moorage.sqlite${end}`)
    if (existsSync(file)) cpSync(file, `${copy}${end}`)
  }
  const db = await openDatabase(`sqlite:${copy}`)
  try {
    return await read(db)
  } finally {
    await db.close()
  }
}
const count = (db: SqlDatabase, table: string): Promise<number> =>
  db.query<{ n: number }>((k) => k(table).count('* as n')).then(([row]) => Number(row?.n))
const counts = () =>
  withCopy(async (db) => [
    await count(db, 'usage_objects'),
    await count(db, 'usage_changes'),
    await count(db, 'usage_intervals'),
  ])
const isWhole = () => withCopy(async (db) => JSON.stringify(await db.query((k) => k.raw('pragma integrity_check'))))

test('a report on a full disk is 503, leaves nothing and is retried', async (t) => {
  t.is((await send(report(10))).status, 200)
  disk?.fill()
  let recorded = 10
  let refused = report(1000)
  // What is in the file of the journal already has its space.
  let answer = await send(refused)
  for (; answer.status === 200; answer = await send(refused)) {
    recorded += 1000
    refused = report(1000)
  }
  t.is(answer.status, 503, answer.text)
  t.regex(answer.json.message, /full/)
  t.true(Number(answer.headers['retry-after']) > 0)
  t.is((await send(refused)).status, 503)
  t.is((await service.send('GET', '/api/v1/user', { token })).status, 200)
  const readiness = await fetch(`${service.opsUrl}/readyz`)
  t.deepEqual([readiness.status, await readiness.text()], [200, 'degraded: database changes\n'])
  t.deepEqual(await counts(), [recorded, recorded, 2 * recorded])
  disk?.free()
  const taken = await send(refused)
  t.is(taken.status, 200, taken.text)
  t.true((taken.json.results as { result: string }[]).every(({ result }) => result === 'accepted'))
  t.deepEqual(await counts(), [recorded + 1000, recorded + 1000, 2 * (recorded + 1000)])
  t.is(await isWhole(), '[{"integrity_check":"ok"}]')
})

/** Runs Node with these arguments where the disk is. */
const run = async (...words: readonly string[]) => {
  const [file = '', ...given] = [...enter, process.execPath, ...words]
  const child = spawn(file, given, {
    env: cleanEnvironment({ TMPDIR: kept, ...settings }),
    cwd: kept,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, said, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { code, said: printed + said }
}
const close = () => run(mainFile, 'usage', 'close', '--org', adminLogin, '--month', monthText)
/** A full disk does not take the end of a lease either. It ends by itself after a minute; here it is ended at once. */
const endLeases = () =>
  run(
    '-e',
    `require('${fileURLToPath(import.meta.resolve('better-sqlite3'))}')('${join(folder, 'moorage.sqlite')}').exec('update leases set until = 0')`,
  )
const months = () =>
  withCopy(async (db) =>
    (await db.query<{ is_published: unknown }>((k) => k('usage_months').select('is_published'))).map(
      (row) => row.is_published === 1,
    ),
  )

test('a month on a full disk has no revision until there is space', async (t) => {
  // Its job would close the month as well.
  await service.stop()
  let refusals = 0
  for (let kibibytes = 0; ; kibibytes = Math.max(512, kibibytes * 2)) {
    disk?.fill(kibibytes)
    const { code, said } = await close()
    disk?.free()
    if (code === 0) break
    t.is((await endLeases()).said, '')
    refusals += 1
    // With no space at all the database cannot even be opened.
    t.regex(said, /is full and takes no changes|cannot be used: disk I\/O error/)
    t.false((await months()).includes(true))
  }
  t.true(refusals > 0)
  t.deepEqual(await months(), [true])
  t.is(await isWhole(), '[{"integrity_check":"ok"}]')
})

test('a month without space for its temporary files has no revision yet', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  t.teardown(() => db.close())
  const fixture = await makeMonthsFixture(db)
  await fillMonth(fixture)
  const closeMonth = fixture.closeWith({
    gather: fixture.gatherWith({ spools: makeSpools(join((disk as SmallDisk).outside, 'spools')) }),
  })
  const closing = () => closeMonth(callOf(), { ownerId: owner, month })
  disk?.fill()
  await t.throwsAsync(closing(), { instanceOf: Unavailable, message: 'The disk of the data folder is full.' })
  t.is(await fixture.shown('objects-usage-view'), undefined)
  t.is(await fixture.leftovers(), 0)
  disk?.free()
  t.true(isRight(await closing()))
  t.like(await fixture.shown('objects-usage-view'), { revision: 1 })
})
