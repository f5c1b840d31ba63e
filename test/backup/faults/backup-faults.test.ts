// process: own - kills commands, and fills a disk
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import type { ExecutionContext } from 'ava'
import anyTest from 'ava'
import { restoreMark } from '../../../adapters/sql/engine/migration-ledger.ts'
import { emptyMysqlUrl, migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { needing } from '../../support/components/needing.ts'
import { adminPassword, startService } from '../../support/service.ts'
import { ourMigrations } from '../../support/schema.ts'
import { startSmallDisk } from '../../support/small-disk.ts'
import { repeats } from '../../support/thorough.ts'
import { runBackup } from '../backup-process.ts'
import type { Settings } from '../drill.fixture.ts'
import { backup, differences, newDeployment, newPath, passphraseFile, rowsOf, underLoad } from '../drill.fixture.ts'

const disk = await startSmallDisk(24)
anyTest.after.always(() => disk?.close())
const onDisk = disk === undefined ? anyTest.skip : anyTest.serial
const withMariaDb = needing('mariadb')
const key = ['--passphrase-file', passphraseFile]
const urlOf = (settings: Settings): string => settings['MOORAGE_DATABASE_URL'] ?? ''

/** A deployment that has started once, with so many rows more. */
const filled = async (count: number): Promise<Settings> => {
  const path = await migratedSqlitePath()
  const settings = { ...newDeployment(`sqlite:${path}`), MOORAGE_ADMIN_PASSWORD: adminPassword }
  await (await startService({ settings })).stop()
  const file = new Database(path)
  file.exec(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) ` +
      'insert into idempotency_records (key_hash, request_hash, state, created_at) ' +
      "select randomblob(32), randomblob(32), 'answered', i from n",
  )
  file.close()
  return settings
}

const draftsBeside = (archive: string): readonly string[] =>
  readdirSync(dirname(archive)).filter((name) => name.startsWith(`.${archive.split('/').at(-1)}.`))

anyTest.serial('a killed backup leaves no archive, and the next one cleans up', async (t) => {
  t.timeout(900_000)
  const settings = await filled(100_000)
  const archive = newPath('.tar')
  const met = new Set<boolean>()
  for (let n = 0; n < repeats(8, 40); n += 1) {
    const killed =
      n === 0 ? { killWhen: () => draftsBeside(archive).length > 0 } : { killAfter: 600 + Math.random() * 3000 }
    const { code } = await runBackup(settings, ['create', archive, ...key], killed)
    if (code === 0) break
    met.add(draftsBeside(archive).length > 0)
    t.is(code, 'SIGKILL')
    t.false(existsSync(archive))
  }
  t.true(met.has(true), 'it was killed while it wrote')
  if (!existsSync(archive)) {
    // The sealed key ring may have got its name before the archive did.
    const last = await backup(settings, 'create', archive, ...key)
    if (last.code !== 0) t.regex(last.err, /keyring exists/)
  }
  const other = newPath('.tar')
  t.is((await backup(settings, 'create', other, ...key)).code, 0)
  t.is((await backup(settings, 'verify', other)).code, 0)
  t.deepEqual(draftsBeside(other), [])
})

const killedRestore = async (t: ExecutionContext, makeTarget: () => Promise<Settings>): Promise<void> => {
  const settings = await filled(100_000)
  const expected = await rowsOf(urlOf(settings))
  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  const startedAt = performance.now()
  t.is((await backup(await makeTarget(), 'restore', archive, ...key)).code, 0)
  const whole = performance.now() - startedAt
  const target = await makeTarget()
  let refused = 0
  for (let n = 0; n < repeats(5, 25); n += 1) {
    const { code, err } = await runBackup(target, ['restore', archive, ...key], {
      killAfter: whole * (0.3 + Math.random() * 0.5),
    })
    if (code === 0) break
    t.is(code, 'SIGKILL', err)
    let started = ''
    try {
      await (await startService({ settings: target })).stop()
    } catch (error) {
      started = (error as Error).message
    }
    if (started === '') {
      // It was killed before it wrote anything: the service made a database of its own.
      t.pass()
      return
    }
    t.regex(started, /restore into this database has begun|key ring/i)
    refused += 1
  }
  t.true(refused > 0)
  const restored = await backup(target, 'restore', archive, ...key)
  if (restored.code !== 0) t.regex(restored.err, /has data already/)
  t.deepEqual(differences(await rowsOf(urlOf(target)), expected), [])
}

anyTest.serial('a killed restore into SQLite is not served, and the next one is complete', async (t) => {
  t.timeout(900_000)
  await killedRestore(t, async () => newDeployment())
})

withMariaDb.serial('the same into MariaDB', async (t) => {
  t.timeout(900_000)
  await killedRestore(t, async () => newDeployment(await emptyMysqlUrl()))
})

/** What an observer sees of a restore, in turn. */
interface Step {
  readonly name: string
  readonly isReached: (ask: (sql: string) => Promise<number>) => Promise<boolean>
}

const tablesNow = 'select count(*) as n from information_schema.tables where table_schema = database()'
const marksNow = `select count(*) as n from schema_migrations where id = '${restoreMark.id}'`
const rowsNow = 'select count(*) as n from idempotency_records'
const someRows = 30_000

const steps: readonly Step[] = [
  { name: 'the mark is set', isReached: async (ask) => (await ask(marksNow)) === 1 },
  { name: 'tables are made', isReached: async (ask) => (await ask(tablesNow)) > 20 && (await ask(marksNow)) === 1 },
  { name: 'rows are there', isReached: async (ask) => (await ask(marksNow)) === 1 && (await ask(rowsNow)) > 0 },
  {
    name: 'all rows are there',
    isReached: async (ask) => (await ask(marksNow)) === 1 && (await ask(rowsNow)) === someRows,
  },
  {
    name: 'what is left is to check',
    isReached: async (ask) =>
      (await ask(marksNow)) === 1 &&
      (await ask(rowsNow)) === someRows &&
      (await ask(`select count(*) as n from schema_migrations`)) > ourMigrations.length,
  },
]

/** Runs a restore that is killed at a step, or ends before it is seen. */
const killedAt = async (target: Settings, archive: string, { isReached }: Step) => {
  const watching = await openPatiently(urlOf(target))
  let isNow = false
  let hasEnded = false
  // A table that does not exist yet is a step that is not reached.
  const ask = async (sql: string): Promise<number> =>
    Number((await watching.query<{ readonly n: number }>((k) => k.raw(sql)))[0]?.n)
  const watch = async (): Promise<void> => {
    while (!hasEnded && !isNow) isNow = await isReached(ask).catch(() => false)
  }
  const watched = watch()
  const ended = await runBackup(target, ['restore', archive, ...key], { killWhen: () => isNow })
  hasEnded = true
  await watched
  await watching.close()
  return ended
}

withMariaDb.serial('a restore into MariaDB that is killed at any step is not served', async (t) => {
  t.timeout(1_800_000)
  const settings = await filled(someRows)
  const expected = await rowsOf(urlOf(settings))
  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  const target = newDeployment(await emptyMysqlUrl())
  for (const step of steps) {
    const { code, err } = await killedAt(target, archive, step)
    t.is(code, 'SIGKILL', `${step.name}: ${err}`)
    await t.throwsAsync(
      startService({ settings: target }),
      { message: /restore into this database has begun/ },
      step.name,
    )
    const copied = await backup(target, 'create', newPath('.tar'), ...key)
    t.is(copied.code, 1, step.name)
    t.regex(copied.err, /restore into this database has begun and not ended/, step.name)
  }
  const restored = await backup(target, 'restore', archive, ...key)
  t.is(restored.code, 0, restored.err + restored.out)
  t.deepEqual(differences(await rowsOf(urlOf(target)), expected), [])
  await (await startService({ settings: target })).stop()
  const again = await backup(target, 'restore', archive, ...key)
  t.regex(again.err, /The database has data already/)
})

withMariaDb.serial('a killed backup of MariaDB leaves no archive, and the next one cleans up', async (t) => {
  t.timeout(900_000)
  const source = await filled(someRows)
  const moved = newPath('.tar')
  t.is((await backup(source, 'create', moved, ...key)).code, 0)
  const settings = newDeployment(await emptyMysqlUrl())
  t.is((await backup(settings, 'restore', moved, ...key)).code, 0)
  const archive = newPath('.tar')
  const sizes = (): number =>
    draftsBeside(archive).reduce((sum, name) => sum + statSync(join(dirname(archive), name)).size, 0)
  for (const killWhen of [() => draftsBeside(archive).length > 0, () => sizes() > 100_000, () => sizes() > 1_500_000]) {
    const { code, err } = await runBackup(settings, ['create', archive, ...key], { killWhen })
    t.is(code, 'SIGKILL', err)
    t.true(draftsBeside(archive).length > 0)
    t.false(existsSync(archive))
    t.false(existsSync(`${archive}.keyring`))
    t.is((await backup(settings, 'verify', archive)).code, 1)
  }
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  t.is((await backup(settings, 'verify', archive)).code, 0)
  t.deepEqual(draftsBeside(archive), [])
})

onDisk('a full disk ends a backup without an archive, and a restore with a mark', async (t) => {
  t.timeout(900_000)
  const { folder, outside, enter, fill, free } = disk!
  const settings = await filled(150_000)
  const path = join(folder, 'full.tar')
  const created = await runBackup(settings, ['create', path, '--no-key-ring'], { enter })
  t.is(created.code, 1)
  t.regex(created.err, /full/)
  t.deepEqual(readdirSync(outside), [])

  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  const target = { ...newDeployment(`sqlite:${join(folder, 'restored.sqlite')}`) }
  const restored = await runBackup(target, ['restore', archive, ...key], { enter })
  t.is(restored.code, 1)
  t.regex(restored.err, /full/)
  const again = await runBackup(target, ['create', newPath(), '--no-key-ring'], { enter })
  t.regex(again.err, /has begun and not ended/)
  fill()
  free()
})

anyTest.serial('10^6 rows are backed up, checked and restored in bounded memory', async (t) => {
  t.timeout(1_800_000)
  const few = await filled(100_000)
  const { peak: least } = await runBackup(few, ['create', newPath('.tar'), ...key])
  const settings = await filled(1_000_000)
  const archive = newPath('.tar')
  const target = newDeployment()
  for (const [words, of] of [
    [['create', archive, ...key], settings],
    [['verify', archive], settings],
    [['restore', archive, ...key], target],
  ] as const) {
    const started = performance.now()
    const { code, err, peak } = await runBackup(of, words)
    t.is(code, 0, err)
    t.true(
      peak < least + 250,
      `${words[0]} had ${Math.round(peak)} MiB, for a tenth of the rows ${Math.round(least)} MiB`,
    )
    t.log(`${words[0]}: ${Math.round(performance.now() - started)} ms, ${Math.round(peak)} MiB`)
  }
  t.log(`${Math.round(statSync(archive).size / 2 ** 20)} MiB`)
})

withMariaDb.serial('a backup of MariaDB under load is a moment of it, and is restored into SQLite', async (t) => {
  t.timeout(600_000)
  const settings = { ...newDeployment(await emptyMysqlUrl()), MOORAGE_ADMIN_PASSWORD: adminPassword }
  const service = await startService({ settings })
  t.teardown(() => service.stop())
  const token = service.adminToken
  t.is((await service.send('POST', '/api/v1/orgs', { token, body: { username: 'harbour' } })).status, 201)
  await underLoad(t, { of: service, settings, token, target: newDeployment() })
})
