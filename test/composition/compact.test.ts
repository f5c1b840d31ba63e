import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'ava'
import Database from 'better-sqlite3'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { run } from './command-fixture.ts'

const compact = (path: string, ...words: readonly string[]) =>
  run(['database', 'compact', ...words], { MOORAGE_DATABASE_URL: `sqlite:${path}` })

/** Adds a table of 4 MiB of which an eighth is left. */
const withUnusedSpace = async (): Promise<string> => {
  const path = await migratedSqlitePath()
  const raw = new Database(path)
  raw.exec(`create table ballast (id integer primary key, filler blob);
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 4096)
      insert into ballast select n, randomblob(1024) from numbers;
    delete from ballast where id > 512`)
  raw.close()
  return path
}

test('compact frees the unused space of a stopped service and keeps every row', async (t) => {
  const path = await withUnusedSpace()
  const { size } = statSync(path)
  const dry = await compact(path, '--dry-run', '--json')
  const plan = JSON.parse(dry.out) as { unused: number; needed: number; compacted: boolean }
  t.true(plan.unused > 3 * 1024 ** 2)
  t.like(plan, { size, sizeAfter: size, needed: 2 * size - plan.unused, compacted: false })
  t.is(statSync(path).size, size)
  const { code, out, err } = await compact(path)
  t.is(code, 0, err)
  t.regex(err, /MiB are unused\. To compact it takes up to .* MiB of free space/)
  t.regex(out, /^Freed [34]\.\d MiB: /)
  t.true(statSync(path).size <= size - plan.unused)
  const database = await openDatabase(`sqlite:${path}`)
  t.deepEqual(await database.query((k) => k('ballast').count({ rows: '*' }).max({ last: 'id' })), [
    { rows: 512, last: 512 },
  ])
  await database.close()
  const left = readdirSync(dirname(path)).filter((name) => join(dirname(path), name).startsWith(`${path}-`))
  t.deepEqual(left, [])
})

test('compact refuses a database that is open elsewhere or not SQLite', async (t) => {
  const path = await withUnusedSpace()
  const { size } = statSync(path)
  const database = await openDatabase(`sqlite:${path}`)
  await database.query((k) => k('ballast').count())
  const inUse = await compact(path)
  t.is(inUse.code, 1)
  t.regex(inUse.err, /Another process has the database open\. Stop the service first\. Nothing was changed\./)
  t.is(statSync(path).size, size)
  t.is((await database.query((k) => k('ballast').insert({ id: 9000 }))).length, 0)
  await database.close()
  for (const [url, message] of [
    ['sqlite::memory:', /has no file/],
    [`sqlite:${path}.absent`, /does not exist/],
    ['mysql://u:p@127.0.0.1:1/d', /OPTIMIZE TABLE/],
  ] as const) {
    const { code, err } = await run(['database', 'compact'], { MOORAGE_DATABASE_URL: url })
    t.is(code, 1)
    t.regex(err, message)
  }
})
