// process: own - stands still, and changes the driver
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import test from 'ava'
import Database from 'better-sqlite3'
import { openDatabase, type DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { makeThings } from './scratch.ts'
import { namesIn, prepareThings } from './things.ts'

/** What waits for the lock of a SQLite file, and how long. */
const openScratch = async (options: DatabaseOptions = {}) => {
  const path = await migratedSqlitePath()
  const database = await openDatabase(`sqlite:${path}`, options)
  await makeThings(database)
  return { path, database, things: prepareThings(database) }
}

/** Locks a database file in a thread, as a process that recovers the file does, for a third of a second. */
const lockForAMoment = async (path: string): Promise<Worker> => {
  const locking = `
    const { workerData, parentPort } = require('node:worker_threads')
    const file = new (require('better-sqlite3'))(workerData)
    file.pragma('locking_mode = EXCLUSIVE')
    file.exec('begin exclusive')
    parentPort.postMessage('locked')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    file.close()
  `
  const worker = new Worker(locking, { eval: true, workerData: path, env: {} })
  await once(worker, 'message')
  return worker
}

test('a file that another process has locked whole is waited for while it is opened', async (t) => {
  const { path, database: first, things } = await openScratch()
  await first.run(things.add, { name: 'a' })
  await first.close()
  const locking = await lockForAMoment(path)
  const database = await openDatabase(`sqlite:${path}`)
  t.teardown(() => database.close())
  t.deepEqual(await namesIn(database, things), ['a'])
  await once(locking, 'exit')
})

// A file that is open here cannot be locked whole by a process that lives: the driver is made to say what it says while
// one recovers the file.
test.serial("a read waits for another process's recovery within the limit", async (t) => {
  const { path, database } = await openScratch()
  const hasty = await openDatabase(`sqlite:${path}`, { sqlite: { writerWaitMilliseconds: 50 } })
  t.teardown(async () => {
    await hasty.close()
    await database.close()
  })
  const file = new Database(path)
  const statements = Object.getPrototypeOf(file.prepare('select 1')) as Database.Statement
  const { all } = statements
  let refusals = 0
  statements.all = function (this: Database.Statement, ...binds) {
    if (!this.source.includes('while_recovering') || refusals === 0) return all.apply(this, binds)
    refusals -= 1
    throw new Database.SqliteError('database is locked', 'SQLITE_BUSY_RECOVERY')
  }
  t.teardown(() => {
    statements.all = all
    file.close()
  })
  refusals = 3
  t.deepEqual(await database.query((k) => k.raw('select 1 as while_recovering')), [{ while_recovering: 1 }])
  t.is(refusals, 0)
  refusals = Infinity
  await t.throwsAsync(
    hasty.query((k) => k.raw('select 1 as while_recovering')),
    { instanceOf: Unavailable, message: /busy/ },
  )
})

test.serial('time in which the process is stopped does not count', async (t) => {
  const { path, database, things } = await openScratch({ sqlite: { writerWaitMilliseconds: 300 } })
  const other = new Database(path)
  t.teardown(async () => {
    other.close()
    await database.close()
  })
  other.exec('begin immediate')
  const waiting = database.run(things.add, { name: 'a' })
  await sleep(30)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  await sleep(100)
  other.exec('rollback')
  await waiting
  t.deepEqual(await namesIn(database, things), ['a'])
})

test('an account whose changes waited gets the turn again', async (t) => {
  const account = () => 3
  const { database, things } = await openScratch({ sqlite: { account, writerWaitMilliseconds: 2_000 } })
  t.teardown(() => database.close())
  for (const round of ['a', 'b'])
    await Promise.all(
      [1, 2, 3].map((at) => database.transaction((tx) => tx.run(things.add, { name: `${round}${at}` }))),
    )
  t.is((await namesIn(database, things)).length, 6)
})
