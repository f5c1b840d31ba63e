import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import test from 'ava'
import { Unavailable } from '../../core/kernel/failure.ts'
import { openDatabase, makeDatabaseHealth } from '../../adapters/sql/engine/database.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { makeThings, namesIn, prepareThings } from './scratch.ts'

const openScratch = async (writerWaitMilliseconds = 5000) => {
  const path = await migratedSqlitePath()
  const database = await openDatabase(`sqlite:${path}`, { sqlite: { writerWaitMilliseconds } })
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
    const child = spawn(process.execPath, [fileURLToPath(new URL('sqlite-writer.ts', import.meta.url)), `sqlite:${path}`], { stdio: ['ignore', output, 'inherit'] })
    closeSync(output)
    const ended = once(child, 'close')
    while (readFileSync(told, 'utf8').split('\n').length < 200 && child.exitCode === null) await sleep(5)
    child.kill('SIGKILL')
    await ended
    acknowledged.push(...readFileSync(told, 'utf8').split('\n').slice(0, -1))
  }
  t.true(acknowledged.length >= 3 * 199)
  const kept = new Set(await namesIn(database, things))
  t.deepEqual(acknowledged.filter((name) => !kept.has(name) || !kept.has(`${name} twin`)), [])
  t.is(kept.size % 2, 0)
  t.deepEqual(await database.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
})

test('reads go on while a transaction is open, and see what is committed', async (t) => {
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

test('changes wait for their turn in order, and are refused when it does not come', async (t) => {
  const { database, things } = await openScratch(100)
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

test('a file that another process writes is waited for without stopping this one', async (t) => {
  const { path, database, things } = await openScratch(400)
  const other = new Database(path)
  t.teardown(async () => {
    other.close()
    await database.close()
  })
  other.exec('begin immediate')
  let ticks = 0
  const ticking = setInterval(() => { ticks++ }, 5)
  const busy = { instanceOf: Unavailable, message: /busy/ }
  await t.throwsAsync(database.run(things.add, { name: 'a' }), busy)
  await t.throwsAsync(database.transaction((tx) => tx.run(things.add, { name: 'b' })), busy)
  clearInterval(ticking)
  t.true(ticks > 5)
  t.deepEqual(await namesIn(database, things), [])
  const waiting = database.run(things.add, { name: 'c' })
  await sleep(50)
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
    for (let count = 0; count < 10_000; count++) await tx.run(things.add, { name: `${count}`.padEnd(60, 'x') }).catch(() => undefined)
  })
  await t.throwsAsync(fill, { instanceOf: Unavailable, message: /full/ })
  t.deepEqual(await namesIn(limited, things), [])
  t.deepEqual(await limited.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
  await limited.run(things.add, { name: 'small' })
  t.deepEqual(await namesIn(database, things), ['small'])
  await limited.close()
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
