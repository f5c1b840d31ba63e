import test from 'ava'
import fc from 'fast-check'
import type { PoolConnection } from 'mysql2'
import { openDatabase, parseMysqlUrl, parseSocketUrl } from '../../adapters/sql/engine/database.ts'
import { execute } from '../../adapters/sql/engine/mysql-statement.ts'
import { bindValues, encodeForMysql, makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import {
  isConnectionLost,
  isForeignKeyViolation,
  isRetryable,
  isUnavailable,
  isUniqueViolation,
  toThrown,
} from '../../adapters/sql/kit/driver-errors.ts'

import { int } from '../../adapters/sql/kit/columns.ts'
import { users } from '../../adapters/sql/tables/identity.ts'
import { CommitOutcomeUnknown, Unavailable } from '../../core/kernel/failure.ts'
import { onEachDatabase } from './scratch.ts'
import { namesIn } from './things.ts'
import { anyText } from '../support/any-text.ts'

onEachDatabase('a number never matches the rows of a text column', async (t, database, things) => {
  for (const name of ['bob', 'alice', '0', '1x']) await database.run(things.add, { name })
  const names = async (bind: string | number | boolean) =>
    (await database.all(things.byName, { name: bind })).map(({ name }) => name)
  t.deepEqual(await names('bob'), ['bob'])
  t.false((await names(0)).includes('bob'))
  t.false((await names(1)).includes('1x'))
  t.false((await names(false)).includes('alice'))
})

onEachDatabase('names stay apart by case, accent and trailing space', async (t, database, things) => {
  const all = ['Alice', 'alice', 'bob', 'bob ', 'résumé', 'resume', '😀', '']
  for (const name of all) await database.run(things.add, { name })
  for (const name of all) {
    t.deepEqual(
      (await database.all(things.byName, { name })).map((row) => row.name),
      [name],
    )
  }
})

onEachDatabase('a missing bind is refused, not taken for null', async (t, database, things) => {
  await t.throwsAsync(database.run(things.add, {} as never), { instanceOf: TypeError, message: /bind name is missing/ })
  await t.throwsAsync(database.run(things.add, { name: undefined as never }), { instanceOf: TypeError })
  await t.throwsAsync(database.run(things.add, { name: Number.NaN }), { instanceOf: TypeError })
  await t.throwsAsync(database.run(things.add, { name: new Date() as never }), { instanceOf: TypeError })
  await t.throwsAsync(database.run(things.add, { name: ['a'] as never }), { instanceOf: TypeError })
  t.deepEqual(await namesIn(database, things), [])
})

onEachDatabase('values come back as they went in', async (t, database, things) => {
  const data = new Uint8Array([0, 255, 39, 92])
  const { affected, insertId } = await database.run(things.addAll, {
    name: `'"\\\0%_?`,
    amount: 2 ** 53 - 1,
    data,
    flag: true,
  })
  t.is(affected, 1)
  const row = await database.first(things.byId, { id: insertId })
  t.is(row?.id, insertId)
  t.is(row?.name, `'"\\\0%_?`)
  t.is(row?.amount, 2 ** 53 - 1)
  t.deepEqual([...row!.data!], [...data])
  t.is(row?.flag, 1)
  t.is(await database.first(things.byId, { id: insertId + 1 }), undefined)
})

onEachDatabase('an integer beyond 2^53 is exact with int64 and refused without', async (t, database, things) => {
  await database.run(things.addAll, { name: 'odd', amount: 9007199254740993n, data: null, flag: null })
  t.deepEqual(await database.all(things.exact, { amount: 9007199254740992n }), [])
  t.like(await database.first(things.exact, { amount: 9007199254740993n }), {
    id: 1n,
    amount: 9007199254740993n,
    flag: undefined,
  })
  await t.throwsAsync(database.first(things.byName, { name: 'odd' }), {
    instanceOf: RangeError,
    message: /column amount/,
  })
  await t.throwsAsync(database.all(things.byName, { name: 'odd' }), { instanceOf: RangeError })
})

onEachDatabase('any 64-bit integer survives', async (t, database, things) => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), async (amount) => {
      const { insertId } = await database.run(things.addAll, { name: String(count++), amount, data: null, flag: null })
      const rows = await database.all(things.exact, { amount })
      t.true(rows.some((row) => row.id === BigInt(insertId) && row.amount === amount))
    }),
    { numRuns: 40 },
  )
})

onEachDatabase('any text survives and is found again', async (t, database, things) => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 12 }), async (name) => {
      await database
        .transaction(async (tx) => {
          await tx.run(things.add, { name })
          t.like(await tx.first(things.byName, { name }), { name })
          throw new Error('enough')
        })
        .catch((error: Error) => t.is(error.message, 'enough'))
    }),
    { numRuns: 60 },
  )
})

onEachDatabase('limit and offset take binds', async (t, database, things) => {
  for (const name of ['a', 'b', 'c', 'd']) await database.run(things.add, { name })
  t.deepEqual(await database.all(things.page, { limit: 2, offset: 1 }), [{ name: 'b' }, { name: 'c' }])
  t.deepEqual(await database.all(things.page, { limit: 1, offset: 0 }), [{ name: 'a' }])
})

onEachDatabase('a change tells how many rows it matched and the row it inserted', async (t, database, things) => {
  t.deepEqual(await database.run(things.addAll, { name: 'a', amount: 1, data: null, flag: null }), {
    affected: 1,
    insertId: 1,
  })
  // The same value again still counts as matched: compare-and-set rests on it.
  t.deepEqual(await database.run(things.setAmount, { name: 'a', amount: 1 }), { affected: 1, insertId: 0 })
  t.deepEqual(await database.run(things.setAmount, { name: 'b', amount: 1 }), { affected: 0, insertId: 0 })
})

onEachDatabase('a statement composed at run time keeps its values apart from its text', async (t, database, things) => {
  await database.run(things.add, { name: "x' or '1'='1" })
  t.deepEqual(await database.query((k) => k('things').where('name', "x' or '1'='1").select('id')), [{ id: 1 }])
  t.deepEqual(await database.query((k) => k('things').where('name', "y' or '1'='1").select('id')), [])
})

test('a statement knows its names and constants in the order of the driver', (t) => {
  const params = { at: users.createdAt, first: users.id, second: users.id, limit: int() }
  const statement = makePrepare(makeComposer('mysql'))(params, (k, p) =>
    k('users')
      .where('visibility', 'public')
      .where('created_at', p.at)
      .whereIn('id', [p.first, p.second])
      .limit(p.limit)
      .offset(7),
  )
  t.deepEqual(
    statement.order.map((slot) => ('constant' in slot ? slot.constant : { name: slot.name })),
    ['public', { name: 'at' }, { name: 'first' }, { name: 'second' }, { name: 'limit' }, 7],
  )
  t.deepEqual(bindValues(statement, { at: new Date(1), first: 2, second: 10, limit: 5 }, encodeForMysql), [
    'public',
    '1',
    '2',
    '10',
    '5',
    '7',
  ])
})

test('an object among the values is refused when the statement is composed', (t) => {
  t.throws(() => makePrepare(makeComposer('mysql'))({}, (k) => k('a').where('at', new Date() as never)).sql, {
    instanceOf: TypeError,
  })
})

test('the forms of the specification are understood', (t) => {
  t.deepEqual(parseMysqlUrl('mysql://user:password@host:3307/name'), {
    host: 'host',
    port: 3307,
    user: 'user',
    password: 'password',
    database: 'name',
  })
  t.deepEqual(parseMysqlUrl('mysql://user@[::1]/name'), {
    host: '::1',
    port: 3306,
    user: 'user',
    password: '',
    database: 'name',
  })
  t.deepEqual(parseSocketUrl('mysql+unix://user@/name?socket=/run/mysqld/mysqld.sock'), {
    socketPath: '/run/mysqld/mysqld.sock',
    user: 'user',
    password: '',
    database: 'name',
  })
  t.like(parseSocketUrl('mysql+unix://user:p%40ss@/name?socket=%2Frun%2Fa%20b'), {
    socketPath: '/run/a b',
    password: 'p@ss',
  })
})

test('any user and password survive', (t) => {
  const text = anyText({ minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(text, text, (user, password) => {
      const [first, second] = [encodeURIComponent(user), encodeURIComponent(password)]
      t.like(parseMysqlUrl(`mysql://${first}:${second}@host/name`), { user, password })
      t.like(parseSocketUrl(`mysql+unix://${first}:${second}@/name?socket=/s`), { user, password })
    }),
  )
})

test('other forms are refused without repeating the password', async (t) => {
  const wrong = [
    '',
    'sqlite:',
    'postgres://u:s3cret@h/n',
    'mysql://u:s3cret@h',
    'mysql://u:s3cret@h/',
    'mysql://:s3cret@h/n',
    'mysql://u:s3cret@h:99999/n',
    'mysql://u:s3cret%zz@h/n',
    'mysql://u:s3cret@h/n?ssl=1',
    'mysql://u:s3cret@h/n?tls=on',
    'mysql://u:s3cret@h/n?ca=/a',
    'mysql://u:s3cret@h/n?tls=required&ca=',
    'mysql://u:s3cret@h/n?tls=required&ca=%zz',
    'mysql://u:s3cret@h/n?tls=required&',
    'mysql+unix://u:s3cret@/n?socket=/s&tls=required',
    'mysql+unix://u:s3cret@/n',
    'mysql+unix://u:s3cret@/n?socket=',
    'mysql+unix://u:s3cret@host/n?socket=/s',
  ]
  for (const url of wrong) {
    const error = await t.throwsAsync(openDatabase(url), { message: /database URL is not understood/ }, url)
    t.false(`${error?.message} ${error?.stack}`.includes('s3cret'))
  }
})

test('a file that cannot be opened is named', async (t) => {
  await t.throwsAsync(openDatabase('sqlite:/nonexistent/folder/a.sqlite'), {
    message: /\/nonexistent\/folder\/a\.sqlite/,
  })
})

onEachDatabase('a unique violation names its key by a column', async (t, database, things) => {
  await database.run(things.add, { name: 'a' })
  const error = await t.throwsAsync(database.run(things.add, { name: 'a' }))
  t.true(isUniqueViolation(error))
  t.true(isUniqueViolation(error, 'name'))
  t.false(isUniqueViolation(error, 'lower_email'))
  t.false(isForeignKeyViolation(error) || isUnavailable(error) || isRetryable(error))
  const inside = await t.throwsAsync(database.transaction((tx) => tx.run(things.add, { name: 'a' })))
  t.true(isUniqueViolation(inside, 'name'))
})

onEachDatabase('a value cannot pass for the name of a key', async (t, database, things) => {
  for (const name of ["x' for key 'lower_email", 'lower_email', 'things.lower_email']) {
    await database.run(things.add, { name })
    const error = await t.throwsAsync(database.run(things.add, { name }))
    t.true(isUniqueViolation(error, 'things_name') || isUniqueViolation(error, 'things.name'))
    t.false(isUniqueViolation(error, 'lower_email'), name)
  }
})

onEachDatabase('a refused statement leaves its transaction usable', async (t, database, things) => {
  await database.run(things.add, { name: 'a' })
  await database.transaction(async (tx) => {
    await t.throwsAsync(tx.run(things.add, { name: 'a' }))
    await tx.run(things.add, { name: 'b' })
  })
  t.like(await database.first(things.byName, { name: 'b' }), { name: 'b' })
})

onEachDatabase('a foreign key is distinguished from a unique key', async (t, database) => {
  const error = await t.throwsAsync(
    database.query((k) => k('follows').insert({ user_id: 998, target_id: 999, created_at: 1 })),
  )
  t.true(isForeignKeyViolation(error))
  t.false(isUniqueViolation(error))
})

test('errors are classified by their meaning', (t) => {
  const of = (fields: { readonly errno?: number; readonly code?: string }) => Object.assign(new Error('x'), fields)
  for (const errno of [1213, 1020]) {
    t.true(isRetryable(of({ errno })))
    t.is(toThrown(of({ errno })) instanceof Unavailable, false)
  }
  const lost = [
    { code: 'ECONNRESET' },
    { code: 'EPIPE' },
    { code: 'PROTOCOL_CONNECTION_LOST' },
    { errno: 2013 },
    { errno: 1927 },
  ]
  const away = [
    { code: 'ECONNREFUSED' },
    { errno: 1040 },
    { errno: 1045 },
    { errno: 1130 },
    { errno: 1205 },
    { errno: 1290 },
    { code: 'SQLITE_FULL' },
    { code: 'SQLITE_BUSY' },
    { code: 'SQLITE_IOERR_WRITE' },
  ]
  for (const fields of [...lost, ...away]) {
    t.true(isUnavailable(of(fields)), JSON.stringify(fields))
    const thrown = toThrown(of(fields))
    t.true(thrown instanceof Unavailable && !(thrown instanceof CommitOutcomeUnknown))
    t.is(isConnectionLost(thrown), lost.includes(fields), JSON.stringify(fields))
    t.false(isRetryable(thrown))
  }
  const wrong = of({ errno: 1054, code: 'ER_BAD_FIELD_ERROR' })
  t.is(toThrown(wrong), wrong)
  for (const odd of [undefined, null, 'text', 5])
    t.false(isUniqueViolation(odd) || isUnavailable(odd) || isRetryable(odd))
})

test('a statement that the server evicted is prepared again a few times', async (t) => {
  const { sql } = makePrepare(makeComposer('mysql'))({}, (k) => k.raw('select 1 as one'))
  const again = Object.assign(new Error('x'), { errno: 1615 })
  const answerAfter = (failures: number) => {
    const events: string[] = []
    const connection = {
      execute: (text: string, _: unknown, done: (error: unknown, rows?: unknown, fields?: unknown) => void) => {
        events.push(`execute ${text}`)
        if (events.filter((event) => event.startsWith('execute')).length <= failures) done(again)
        else done(null, [{ one: 1 }], [])
      },
      unprepare: (text: string) => events.push(`unprepare ${text}`),
    } as unknown as PoolConnection
    return new Promise<readonly [unknown, unknown, readonly string[]]>((resolve) =>
      execute(connection, { sql, order: [], int64: false, change: 'nothing' }, {}, (error, answer) =>
        resolve([error, answer, events]),
      ),
    )
  }
  t.deepEqual(await answerAfter(1), [undefined, [{ one: 1 }], [`execute ${sql}`, `unprepare ${sql}`, `execute ${sql}`]])
  const [error] = await answerAfter(100)
  t.is(error, again)
  t.true(isUnavailable(error))
})

test('errors for callers contain nothing of the driver', (t) => {
  const thrown = toThrown(Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:3306'), { code: 'ECONNREFUSED' }))
  t.true(thrown instanceof Unavailable)
  t.notRegex((thrown as Error).message, /10\.0|3306|ECONN/)
})
