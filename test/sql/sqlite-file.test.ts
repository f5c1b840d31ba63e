// process: own - ends processes
import { longText, selectedAs, text } from '../../adapters/sql/kit/columns.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import Database from 'better-sqlite3'
import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { makeDatabaseHealth, openDatabase } from '../../adapters/sql/engine/database.ts'
import { databaseOptionsOf } from '../../composition/part/runtime-settings.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { makeThings } from './scratch.ts'
import { namesIn, prepareThings } from './things.ts'

const openScratch = async (options?: DatabaseOptions) => {
  const path = await migratedSqlitePath()
  const database = await openDatabase(`sqlite:${path}`, options)
  await makeThings(database)
  return { path, database, things: prepareThings(database) }
}

test('a process killed between its writes has lost nothing that it acknowledged', async (t) => {
  const { path, database, things } = await openScratch()
  t.teardown(() => database.close())
  const acknowledged: string[] = []
  for (let round = 0; round < 3; round++) {
    const told = `${path}.told-${round}`
    const output = openSync(told, 'w')
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('sqlite-writer.ts', import.meta.url)), `sqlite:${path}`],
      { stdio: ['ignore', output, 'inherit'] },
    )
    closeSync(output)
    const ended = once(child, 'close')
    while (readFileSync(told, 'utf8').split('\n').length < 200 && child.exitCode === null) await sleep(5)
    child.kill('SIGKILL')
    await ended
    acknowledged.push(...readFileSync(told, 'utf8').split('\n').slice(0, -1))
  }
  t.true(acknowledged.length >= 3 * 199)
  const kept = new Set(await namesIn(database, things))
  t.deepEqual(
    acknowledged.filter((name) => !kept.has(name) || !kept.has(`${name} twin`)),
    [],
  )
  t.is(kept.size % 2, 0)
  t.deepEqual(await database.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
})

test('reads continue during a transaction and see committed data', async (t) => {
  const { database, things } = await openScratch()
  t.teardown(() => database.close())
  await database.run(things.add, { name: 'before' })
  const [started, go] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const open = database.transaction(async (tx) => {
    await tx.run(things.add, { name: 'inside' })
    started.resolve(undefined)
    await go.promise
  })
  await started.promise
  t.deepEqual(await namesIn(database, things), ['before'])
  t.deepEqual(await makeDatabaseHealth(database)(), { isHealthy: true })
  go.resolve(undefined)
  await open
  t.deepEqual(await namesIn(database, things), ['before', 'inside'])
})

test('changes queue in order and are refused after their wait', async (t) => {
  const { database, things } = await openScratch({ sqlite: { writerWaitMilliseconds: 100 } })
  t.teardown(() => database.close())
  const [started, go] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const open = database.transaction(async () => {
    started.resolve(undefined)
    await go.promise
  })
  await started.promise
  await t.throwsAsync(database.run(things.add, { name: 'too late' }), { instanceOf: Unavailable, message: /busy/ })
  const waiting = ['a', 'b', 'c'].map((name) => database.run(things.add, { name }))
  go.resolve(undefined)
  await Promise.all([open, ...waiting])
  t.deepEqual(await namesIn(database, things), ['a', 'b', 'c'])
})

test("a file under another process's write is awaited for the set time", async (t) => {
  const { path, database: patient, things } = await openScratch(databaseOptionsOf({ databaseTimeoutSeconds: 60 }))
  const database = await openDatabase(`sqlite:${path}`, databaseOptionsOf({ databaseTimeoutSeconds: 1 }))
  const other = new Database(path)
  t.teardown(async () => {
    other.close()
    await database.close()
    await patient.close()
  })
  other.exec('begin immediate')
  const waiting = patient.run(things.add, { name: 'c' })
  let ticks = 0
  const ticking = setInterval(() => {
    ticks++
  }, 5)
  const busy = { instanceOf: Unavailable, message: /busy/ }
  const refused = [
    t.throwsAsync(database.run(things.add, { name: 'a' }), busy),
    t.throwsAsync(
      database.transaction((tx) => tx.run(things.add, { name: 'b' })),
      busy,
    ),
  ]
  await Promise.all(refused)
  clearInterval(ticking)
  t.true(ticks > 5)
  t.deepEqual(await namesIn(database, things), [])
  other.exec('rollback')
  await waiting
  t.deepEqual(await namesIn(database, things), ['c'])
})

test('a full disk ends the transaction, keeps the file whole, and passes', async (t) => {
  const { path, database, things } = await openScratch()
  t.teardown(() => database.close())
  const pages = new Database(path)
  const limit = Number(pages.pragma('page_count', { simple: true })) + 4
  pages.close()
  // The limit holds for the connection on which it is set: that of the changes.
  const limited = await openDatabase(`sqlite:${path}`)
  await limited.transaction((tx) => tx.query((k) => k.raw(`pragma max_page_count = ${limit}`)))
  const fill = limited.transaction(async (tx) => {
    for (let count = 0; count < 10_000; count++)
      await tx.run(things.add, { name: `${count}`.padEnd(60, 'x') }).catch(() => undefined)
  })
  await t.throwsAsync(fill, { instanceOf: Unavailable, message: /full/ })
  t.deepEqual(await namesIn(limited, things), [])
  t.deepEqual(await limited.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
  await limited.run(things.add, { name: 'small' })
  t.deepEqual(await namesIn(database, things), ['small'])
  await limited.close()
})

test('a join by a bind reads by index', async (t) => {
  const database = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  t.teardown(() => database.close())
  const plan = database.prepare({ hash: text(64) }, { detail: selectedAs(longText()) }, (k, p) =>
    k.raw(
      'explain query plan select t.id from access_tokens as t join users as u on u.id = t.user_id where t.token_hash = ?',
      [p.hash],
    ),
  )
  const steps = (await database.all(plan, { hash: 'a' })).map(({ detail }) => detail)
  t.is(steps.length, 2)
  for (const step of steps) t.regex(step, /^SEARCH [tu] USING/)
})

test('the lock on the file remains when another connection is opened and closed', async (t) => {
  const { path, database, things } = await openScratch()
  t.teardown(() => database.close())
  const locks = () =>
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .filter(
        (line) => line.includes(`POSIX  ADVISORY  READ ${process.pid} `) && line.includes(`:${statSync(path).ino} `),
      )
  await namesIn(database, things)
  t.is(locks().length, 1)
  // As a start does, which migrates the database that it has read.
  const session = await database.openSchemaSession()
  t.is(locks().length, 1, 'without it, a process with an older SQLite removes the WAL when it closes the file')
  await session.close()
  t.is(locks().length, 1)
})

test('a change of a removed file is refused, and the health reports it', async (t) => {
  for (const fault of ['removed', 'replaced']) {
    const { path, database, things } = await openScratch()
    const health = makeDatabaseHealth(database)
    await database.run(things.add, { name: 'before' })
    t.deepEqual(await health(), { isHealthy: true })
    renameSync(path, `${path}.moved`)
    if (fault === 'replaced') copyFileSync(`${path}.moved`, path)
    const refused = {
      instanceOf: Unavailable,
      message: new RegExp(`^The file of the database was ${fault} while it was open`),
    }
    await t.throwsAsync(() => database.run(things.add, { name: 'after' }), refused)
    await t.throwsAsync(() => database.transaction((tx) => tx.run(things.add, { name: 'after' })), refused)
    t.false((await health()).isHealthy)
    t.deepEqual(await namesIn(database, things), ['before'])
    renameSync(`${path}.moved`, path)
    await database.run(things.add, { name: 'restored' })
    t.deepEqual([await health(), await namesIn(database, things)], [{ isHealthy: true }, ['before', 'restored']])
    await database.close()
  }
})

test('the file is for its owner alone', async (t) => {
  const { path, database } = await openScratch()
  await database.close()
  const fresh = `${path}.fresh`
  const made = await openDatabase(`sqlite:${fresh}`)
  await made.query((k) => k.raw('create table a (id integer)'))
  for (const suffix of ['', '-wal', '-shm']) t.is(statSync(`${fresh}${suffix}`).mode & 0o077, 0, suffix)
  await made.close()
})
