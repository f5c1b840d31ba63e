// process: own - kills commands, and fills a disk
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import type { ExecutionContext } from 'ava'
import anyTest from 'ava'
import { emptyMysqlUrl, migratedSqlitePath } from '../../support/databases.ts'
import { needing } from '../../support/components/needing.ts'
import { adminPassword, startService } from '../../support/service.ts'
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

anyTest.serial('a backup that is killed leaves no archive, and the next one removes what it left', async (t) => {
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
  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  const expected = await rowsOf(urlOf(settings))
  const target = await makeTarget()
  let refused = 0
  for (let n = 0; n < repeats(5, 25); n += 1) {
    const { code, err } = await runBackup(target, ['restore', archive, ...key], {
      killAfter: 1000 + Math.random() * 4000,
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

anyTest.serial(
  'no service starts on a restore into SQLite that was killed, and the next restore is whole',
  async (t) => {
    t.timeout(900_000)
    await killedRestore(t, async () => newDeployment())
  },
)

withMariaDb.serial('the same into MariaDB', async (t) => {
  t.timeout(900_000)
  await killedRestore(t, async () => newDeployment(await emptyMysqlUrl()))
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
