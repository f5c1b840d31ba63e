import test from 'ava'
import { insertRows } from '../../adapters/sql/kit/insert-rows.ts'
import type { Params, SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { namesIn, onEachDatabase } from './scratch.ts'

const intoThings = (database: Pick<SqlDatabase, 'prepare' | 'dialect'>) =>
  insertRows(database, 'things', (p: Params<'name' | 'amount' | 'flag'>, k) => ({ name: p('name'), amount: k.raw('? + 1', [p('amount')]), flag: p('flag') }))

onEachDatabase('rows are inserted in order, 500 by six statements, 1,000 by few and none by none', async (t, database, things) => {
  const insert = intoThings(database)
  const runner = countingRunner(database)
  const names = Array.from({ length: 500 }, (_, index) => `row ${index}`)
  await insert(runner, names.map((name, amount) => ({ name, amount, flag: amount % 2 === 0 })))
  t.is(runner.taken(), 6)
  t.deepEqual(await namesIn(database, things), names)
  t.like(await database.first(things.byName, { name: 'row 300' }), { amount: 301, flag: 1 })
  await insert(runner, [])
  t.is(runner.taken(), 0)
  await insert(runner, Array.from({ length: 1000 }, (_, index) => ({ name: `more ${index}`, amount: index, flag: null })))
  t.is(runner.taken(), { sqlite: 7, mysql: 1 }[database.dialect])
  t.like(await database.first(things.byName, { name: 'more 999' }), { amount: 1000 })
})

onEachDatabase('a row that a key refuses fails the whole statement', async (t, database, things) => {
  const insert = intoThings(database)
  const rows = ['a', 'b', 'c', 'a'].map((name) => ({ name, amount: 0, flag: null }))
  await t.throwsAsync(insert(database, rows))
  t.deepEqual(await namesIn(database, things), [])
})

test('few statements are composed, each once', (t) => {
  let composed = 0
  const run = async (lengths: readonly number[]) => {
    const insert = intoThings({ dialect: 'sqlite', prepare: () => ({ sql: String((composed += 1)), order: [], int64: false }) })
    const runner = { run: async () => ({ affected: 0, insertId: 0 }) } as never
    for (const length of lengths) await insert(runner, Array.from({ length }, () => ({ name: '', amount: 0, flag: 0 })))
  }
  return run(Array.from({ length: 600 }, (_, index) => index)).then(() => t.is(composed, 9))
})
