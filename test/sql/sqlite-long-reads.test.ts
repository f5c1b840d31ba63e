// process: waiting - starts a thread
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openSqliteDatabase } from '../../adapters/sql/engine/sqlite-database.ts'
import {
  columnsOf,
  fixedBytes,
  id,
  int,
  long,
  nullable,
  pick,
  selectedAs,
  table,
  text,
} from '../../adapters/sql/kit/columns.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-long-reads-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const things = table('long_things', { id: id(), name: nullable(text(40)), amount: long(), bytes: fixedBytes(4) })

const rowCount = 1_000

const openFilled = async (name: string) => {
  const database = openSqliteDatabase(join(folder, name), { account: () => undefined })
  const session = await database.openSchemaSession()
  await session.execute('create table long_things (id integer primary key, name text, amount integer, bytes blob)', [])
  await session.execute(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rowCount}) insert into long_things ` +
      `select i, case when i % 2 = 0 then 'thing ' || i end, i * 1000, x'01020304' from n`,
    [],
  )
  await session.close()
  return database
}

/** Takes far longer than a statement of a request may. */
const steps = 3_000_000
const slowly = `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${steps}) select count(*) from n)`

/** Returns how often the event loop turned until the work was done, and its result. */
const countTurns = async <A>(work: () => Promise<A>): Promise<{ readonly turns: number; readonly result: A }> => {
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const result = await work().finally(() => void (isDone = true))
  return { turns, result }
}

test('a read that took long leaves the main thread, and returns the same rows', async (t) => {
  const database = await openFilled('rows')
  t.teardown(() => database.close())
  const statement = database.prepare({ steps: int() }, columnsOf(things), (k, p) =>
    k('long_things').whereRaw(`${slowly} >= ?`, [p.steps]).orderBy('id'),
  )
  const here = await countTurns(() => database.all(statement, { steps }))
  const there = await countTurns(() => database.all(statement, { steps }))
  t.is(here.result.length, rowCount)
  t.deepEqual(there.result, here.result)
  t.true(Buffer.isBuffer(there.result[0]?.bytes))
  t.true(here.turns < 5, `${here.turns}`)
  t.true(there.turns > 20, `${there.turns}`)
  t.deepEqual(await database.first(statement, { steps }), here.result[0])
  t.deepEqual(await database.all(statement, { steps: steps + 1 }), [])
})

test('a long read sees earlier commits', async (t) => {
  const database = await openFilled('commits')
  t.teardown(() => database.close())
  const count = database.prepare({ steps: int() }, { total: selectedAs(long()) }, (k, p) =>
    k('long_things').whereRaw(`${slowly} >= ?`, [p.steps]).count({ total: '*' }),
  )
  const total = async () => Number((await database.first(count, { steps }))?.total)
  t.is(await total(), rowCount)
  for (let added = 1; added <= 3; added += 1) {
    await database.query((k) => k('long_things').insert({ id: rowCount + added, amount: 1, bytes: new Uint8Array(4) }))
    t.is(await total(), rowCount + added)
  }
})

test('an error of a long read is that of the driver', async (t) => {
  const database = await openFilled('errors')
  t.teardown(() => database.close())
  const rounded = database.prepare({ steps: int() }, pick(things, 'amount'), (k, p) =>
    k('long_things').whereRaw(`${slowly} >= ?`, [p.steps]),
  )
  await database.all(rounded, { steps })
  await database.query((k) =>
    k('long_things')
      .where('id', 1)
      .update({ amount: k.raw('9007199254740993') }),
  )
  await t.throwsAsync(database.all(rounded, { steps }), { instanceOf: RangeError })
  await database.query((k) => k.raw('drop table long_things'))
  const error = await t.throwsAsync(database.all(rounded, { steps }))
  t.is((error as NodeJS.ErrnoException).code, 'SQLITE_ERROR')
  t.regex(error.message, /no such table/)
})
