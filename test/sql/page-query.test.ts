import { aliased, pick, present } from '../../adapters/sql/kit/columns.ts'
import { idList, rowsOfIds } from '../../adapters/sql/kit/key-lists.ts'
import { filteredRows, typedPage } from '../../adapters/sql/kit/page-query.ts'
import type { Prepared, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { values } from '../../adapters/sql/kit/values.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { onEachDatabase } from './scratch.ts'
import { thingsTable } from './things.ts'

const nameRow = pick(thingsTable, 'name')

onEachDatabase(
  'a page takes one statement with the number of all rows; one after the last takes two',
  async (t, database, things) => {
    for (const name of ['e', 'b', 'a', 'd', 'c'])
      await database.run(things.addAll, { name, amount: name === 'e' ? 2 : 1, data: null, flag: null })
    const ofAmount = typedPage(
      database,
      pick(thingsTable, 'amount'),
      nameRow,
      (k, p) => k('things').where(values(thingsTable, { amount: p.amount })),
      (_, rows, cut) => cut(rows.orderBy('name')),
    )
    const now = (runner: SqlRunner, page: number) =>
      filteredRows(
        runner,
        nameRow,
        (k) => k('things').where('amount', 1),
        (_, rows, cut) => cut(rows.orderBy('name')),
        { page, limit: 3 },
      )
    const runner = countingRunner(database)
    for (const list of [
      (page: number) => ofAmount(runner, { amount: 1n }, { page, limit: 3 }),
      (page: number) => now(runner, page),
    ]) {
      const pages = []
      for (const page of [1, 2, 3]) {
        const { items, ...rest } = await list(page)
        pages.push([items.map(({ name }) => name).join(''), rest, runner.taken()])
      }
      t.deepEqual(pages, [
        ['abc', { total: 4 }, 1],
        ['d', { total: 4 }, 1],
        ['', { total: 4 }, 2],
      ])
    }
    t.deepEqual(await ofAmount(runner, { amount: 3n }, { page: 1, limit: 3 }), { items: [], total: 0 })
    t.is(runner.taken(), 1, 'a first page that is empty shows that there is none')
  },
)

onEachDatabase('the parts of a long list take one statement for each 500 rows', async (t, database, things) => {
  const ids = []
  for (const name of ['a', 'b', 'c']) ids.push((await database.run(things.add, { name })).insertId)
  const named = idList(database, thingsTable.id, {}, nameRow, (k, _, each) =>
    k('things').whereIn('id', each).orderBy('name'),
  )
  const runner = countingRunner(database)
  const others = Array.from({ length: 997 }, (_, index) => 1_000_000 + index)
  t.deepEqual(
    await rowsOfIds(runner, named, [...ids.slice(0, 1), ...others, ...ids.slice(1)], {}),
    ['a', 'b', 'c'].map((name) => ({ name })),
  )
  t.is(runner.taken(), 2)
  t.deepEqual(await rowsOfIds(runner, named, [], {}), [])
  t.is(runner.taken(), 0)
})

onEachDatabase('counting stops at the cap', async (t, database, things) => {
  for (const name of ['a', 'b', 'c', 'd']) await database.run(things.add, { name })
  // Every row once for each combination of four rows: 4 to the power of 8 rows.
  const many = typedPage(
    database,
    {},
    pick(aliased(thingsTable, 'h'), 'name'),
    (k) =>
      ['i', 'j', 'l', 'm', 'n', 'o', 'q'].reduce(
        (query, alias) => query.crossJoin(k.raw(`things as ${alias}`) as never),
        k('things as h'),
      ),
    (_, rows, cut) => cut(rows.orderBy(['h.name', 'i.name'])),
  )
  for (const page of [1, 7000])
    t.like(await many(database, {}, { page, limit: 2 }), { total: 10_000, totalIsCapped: true })
  t.like(await many(database, {}, { page: 40_000, limit: 2 }), { items: [], total: 10_000, totalIsCapped: true })
})

onEachDatabase('the number is computed once, not for each row', async (t, database, things) => {
  for (const name of ['a', 'b', 'c']) await database.run(things.add, { name })
  const asked: [Prepared<object, unknown>, object][] = []
  const runner: SqlRunner = {
    ...countingRunner(database),
    all: (statement, binds) => {
      asked.push([
        { ...statement, sql: statement.sql, order: statement.order, read: undefined } as never,
        binds as object,
      ])
      return database.all(statement, binds)
    },
  }
  const list = typedPage(
    database,
    { from: present(thingsTable.name) },
    nameRow,
    (k, p) => k('things').where('name', '>=', p.from),
    (_, rows, cut) => cut(rows.orderBy('name')),
  )
  await list(runner, { from: 'a' }, { page: 1, limit: 2 })
  for (const [statement, binds] of asked) {
    const explain = database.dialect === 'sqlite' ? 'explain query plan' : 'explain'
    const steps = JSON.stringify(await database.all({ ...statement, sql: `${explain} ${statement.sql}` }, binds))
    // The second is of MySQL.
    t.regex(steps, /SUBQUERY|subquery in projection; run only once/)
    t.notRegex(steps, /CORRELATED|DEPENDENT|dependent/)
  }
  t.is(asked.length, 1)
})
