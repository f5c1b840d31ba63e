// process: own - starts and ends threads
import { copyFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import Database from 'better-sqlite3'
import { copyIntoFile } from '../../adapters/sql/engine/threads/checkpoint-thread.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { CheckpointOptions } from '../../adapters/sql/engine/threads/sqlite-checkpoints.ts'
import { openSnapshot } from '../../adapters/sql/kernel/backup/snapshot.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { makeThings } from './scratch.ts'
import { namesIn, prepareThings, type Things } from './things.ts'

/** How the WAL of a SQLite file is copied into the file while the service changes it. */

const openScratch = async (checkpoints: CheckpointOptions) => {
  const path = await migratedSqlitePath()
  const database = await openDatabase(`sqlite:${path}`, { sqlite: { checkpoints } })
  await makeThings(database)
  return { path, database, things: prepareThings(database) }
}

/** The module of a thread that does this in place of a copy. */
const programOf = (path: string, body: string): URL => {
  const program = join(`${path}.mjs`)
  writeFileSync(program, `export const copyIntoFile = async () => { ${body} }\n`)
  return new URL(`file://${program}`)
}

let names = 0

/** Adds rows, and takes at least one page of the WAL for each. */
const change = async (database: SqlDatabase, things: Things, count: number): Promise<string[]> => {
  const added: string[] = []
  for (let each = 0; each < count; each += 1) {
    names += 1
    const name = `name ${names}`
    await database.run(things.add, { name })
    added.push(name)
  }
  return added
}

/** Another process that looks at the file: the pages in the WAL, and how many of them are in the file. */
const observe = (path: string) => {
  const raw = new Database(path)
  raw.pragma('wal_autocheckpoint = 0')
  return {
    raw,
    wal: () => {
      raw.prepare('select count(*) from things').get()
      const [, written, copied] = raw.prepare('pragma wal_checkpoint(NOOP)').raw().get() as number[]
      return { written: written ?? 0, copied: copied ?? 0 }
    },
  }
}

const walBytes = (path: string): number => statSync(`${path}-wal`).size

test('a thread copies the WAL, and the end leaves none', async (t) => {
  // No commit copies.
  const { path, database, things } = await openScratch({ pages: 60, netPages: 1_000_000 })
  const { raw, wal } = observe(path)
  const added: string[] = []
  for (let round = 0; round < 3; round += 1) {
    added.push(...(await change(database, things, 60)))
    await until('the WAL begins again', async () => {
      added.push(...(await change(database, things, 4)))
      return wal().written < 60 ? true : undefined
    })
  }
  raw.close()
  await database.close()
  t.false(existsSync(`${path}-wal`))
  const later = await openDatabase(`sqlite:${path}`)
  t.teardown(() => later.close())
  t.deepEqual(await namesIn(later, prepareThings(later)), added)
})

for (const [fault, body, bound] of [
  ['fails', "throw new Error('no')", 60],
  ['dies', 'process.exit(1)', 60],
  ['does nothing', '', 4 * 60],
] as const) {
  test(`commits copy the WAL while the thread ${fault}`, async (t) => {
    const path = await migratedSqlitePath()
    const program = programOf(path, body)
    const database = await openDatabase(`sqlite:${path}`, { sqlite: { checkpoints: { pages: 60, program } } })
    t.teardown(() => database.close())
    await makeThings(database)
    const things = prepareThings(database)
    const { raw, wal } = observe(path)
    t.teardown(() => raw.close())
    const added = await change(database, things, 100)
    await until('a commit copies', async () => {
      added.push(...(await change(database, things, 1)))
      const { written } = wal()
      return written < bound ? written : undefined
    })
    for (let round = 0; round < 100; round += 1) {
      added.push(...(await change(database, things, 2)))
      if (wal().written > bound + 20) t.fail(`the WAL has ${wal().written} pages`)
    }
    t.deepEqual(await namesIn(database, things), added)
  })
}

test('a WAL kept by an old reader is copied and cut after it', async (t) => {
  const { path, database, things } = await openScratch({ pages: 60 })
  t.teardown(() => database.close())
  const { raw } = observe(path)
  raw.exec('begin')
  raw.prepare('select count(*) from things').get()
  const added = await change(database, things, 10)
  // Larger than what is kept.
  for (let each = 0; each < 9; each += 1) {
    await database.query((k) => k.raw(`create table filling_${each} as select zeroblob(8000000) as bytes`))
    added.push(...(await change(database, things, 8)))
  }
  t.true(walBytes(path) > 70_000_000)
  t.is(Number(raw.prepare('select count(*) from things').pluck().get()), 0)
  raw.exec('commit')
  await until('the WAL is cut', async () => {
    added.push(...(await change(database, things, 8)))
    return walBytes(path) <= 64 * 1024 * 1024 ? true : undefined
  })
  raw.close()
  t.deepEqual(await namesIn(database, things), added)
})

test('two services and a backup on one file lose nothing', async (t) => {
  const { path, database: first, things } = await openScratch({ pages: 30 })
  const second = await openDatabase(`sqlite:${path}`, { sqlite: { checkpoints: { pages: 30 } } })
  const others = prepareThings(second)
  const snapshots = async (): Promise<void> => {
    for (let each = 0; each < 3; each += 1) {
      const snapshot = await openSnapshot(first, { copy: `${path}.copy-${each}` })
      await snapshot.close()
    }
  }
  const changes = Promise.all([change(first, things, 300), change(second, others, 300)])
  await snapshots()
  const added = (await changes).flat()
  await second.close()
  t.deepEqual((await namesIn(first, things)).sort(), added.sort())
  t.deepEqual(await first.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
  await first.close()
  t.false(existsSync(`${path}-wal`))
})

test('a file that was removed or replaced is not touched', async (t) => {
  const { path, database, things } = await openScratch({ pages: 1_000 })
  const { dev, ino } = statSync(path)
  const file = { path, device: dev, inode: ino }
  await database.run(things.add, { name: 'before' })
  const wal = readFileSync(`${path}-wal`)
  renameSync(path, `${path}.moved`)
  copyIntoFile(file)
  t.false(existsSync(path))
  copyFileSync(`${path}.moved`, path)
  const replaced = readFileSync(path)
  copyIntoFile(file)
  t.true(replaced.equals(readFileSync(path)))
  t.true(wal.equals(readFileSync(`${path}-wal`)))
  renameSync(`${path}.moved`, path)
  copyIntoFile(file)
  t.false(replaced.equals(readFileSync(path)))
  t.deepEqual(await namesIn(database, things), ['before'])
  await database.close()
})
