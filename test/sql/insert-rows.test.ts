import test from 'ava'
import fc from 'fast-check'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { insertAllInto } from '../../adapters/sql/kit/values.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { onEachDatabase } from './scratch.ts'
import { namesIn, thingsTable } from './things.ts'
import { anyText } from '../support/any-text.ts'

const intoThings = (database: Pick<SqlDatabase, 'prepare' | 'dialect'>) =>
  insertAllInto(database, thingsTable, { omitted: ['id', 'data'], fixed: { flag: 1 } })

onEachDatabase('rows are inserted in order, many by few statements and none by none', async (t, database, things) => {
  const insert = intoThings(database)
  const runner = countingRunner(database)
  const names = Array.from({ length: 500 }, (_, index) => `row ${index}`)
  await insert(
    runner,
    names.map((name, amount) => ({ name, amount: BigInt(amount) })),
  )
  t.is(runner.taken(), { sqlite: 6, mysql: 1 }[database.dialect])
  t.deepEqual(await namesIn(database, things), names)
  t.like(await database.first(things.byName, { name: 'row 300' }), { amount: 300, flag: 1 })
  await insert(runner, [])
  t.is(runner.taken(), 0)
  await insert(
    runner,
    Array.from({ length: 1000 }, (_, index) => ({ name: `more ${index}`, amount: BigInt(index) })),
  )
  t.is(runner.taken(), { sqlite: 7, mysql: 1 }[database.dialect])
  t.like(await database.first(things.byName, { name: 'more 999' }), { amount: 999 })
})

onEachDatabase('every text, number and byte is stored as it is given', async (t, database, things) => {
  const insert = insertAllInto(database, thingsTable, { omitted: ['id'] })
  const name = fc.string({
    unit: fc.oneof(
      fc.constantFrom("'", '\\', '"', '`', '?', '%', '\0', '\n', '\u001a', ';', '-', '\u{1f600}', '\u00e9', ' '),
      anyText({ minLength: 1, maxLength: 1 }),
    ),
    maxLength: 20,
  })
  const amount = fc.oneof(
    fc.maxSafeInteger().map(BigInt),
    fc.constant(undefined),
    fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }),
  )
  const row = fc.record({
    name,
    amount,
    data: fc.oneof(fc.uint8Array({ maxLength: 64 }), fc.constant(undefined)),
    flag: fc.nat({ max: 1 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, { selector: (each) => each.name, minLength: 1, maxLength: 40 }),
      async (rows) => {
        await database.query((k) => k('things').delete())
        await insert(database, rows)
        for (const { name, amount, data, flag } of rows) {
          const found = await database.first(things.byName, { name })
          t.is(found?.name, name)
          t.is(found?.amount, amount === undefined ? undefined : Number(amount))
          t.deepEqual(found?.data === undefined ? undefined : new Uint8Array(found.data), data)
          t.is(found?.flag, flag)
        }
      },
    ),
    { numRuns: 30 },
  )
  await t.throwsAsync(
    insert(database, [{ name: 'x', amount: Number.NaN as never, data: undefined, flag: undefined }]),
    {
      instanceOf: TypeError,
    },
  )
  await t.throwsAsync(insert(database, [{ name: 'x', amount: 1n, flag: 1 } as never]), { instanceOf: TypeError })
})

onEachDatabase(
  'rows of more bytes than a server takes at once are inserted by several statements, and messages do not show values',
  async (t, database) => {
    if (database.dialect === 'sqlite') {
      t.pass()
      return
    }
    const insert = insertAllInto(database, thingsTable, { omitted: ['id', 'name', 'amount', 'flag'] })
    const runner = countingRunner(database)
    await insert(
      runner,
      Array.from({ length: 40_000 }, () => ({ data: new Uint8Array(64) })),
    )
    t.is(runner.taken(), 2)
    t.is((await database.query((k) => k('things').select('id'))).length, 40_000)
    const error = await t.throwsAsync(insert(database, [{ data: new Uint8Array(65).fill(0xab) }]))
    t.notRegex(JSON.stringify({ ...error, message: error.message }), /abab/)
  },
)

onEachDatabase('a row that a key refuses fails the whole statement', async (t, database, things) => {
  const insert = intoThings(database)
  const rows = ['a', 'b', 'c', 'a'].map((name) => ({ name, amount: 0n }))
  await t.throwsAsync(insert(database, rows))
  t.deepEqual(await namesIn(database, things), [])
})

test('few statements are composed, each once', (t) => {
  let composed = 0
  const run = async (lengths: readonly number[]) => {
    const insert = intoThings({
      dialect: 'sqlite',
      prepare: (() => ({ sql: String((composed += 1)), order: [], int64: false, change: 'nothing' })) as never,
    })
    const runner = { run: async () => ({ affected: 0, insertId: 0 }) } as never
    for (const length of lengths)
      await insert(
        runner,
        Array.from({ length }, () => ({ name: '', amount: 0n })),
      )
  }
  return run(Array.from({ length: 600 }, (_, index) => index)).then(() => t.is(composed, 9))
})
