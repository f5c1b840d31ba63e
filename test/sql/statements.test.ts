// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import type { Knex } from 'knex'
import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { makeDatabaseHealth, openDatabase, parseMysqlUrl, parseSocketUrl } from '../../adapters/sql/engine/database.ts'
import { bindValues, encodeForMysql, makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import {
  isConnectionLost,
  isForeignKeyViolation,
  isRetryable,
  isUnavailable,
  isUniqueViolation,
  toThrown,
} from '../../adapters/sql/kit/driver-errors.ts'
import { databaseOptionsOf } from '../../composition/service/foundation.ts'
import { CommitOutcomeUnknown, Unavailable } from '../../core/kernel/failure.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { makeThings, namesIn, onEachDatabase, prepareThings } from './scratch.ts'
import { anyText } from '../support/any-text.ts'

onEachDatabase('a number never matches the rows of a text column', async (t, database, things) => {
  for (const name of ['bob', 'alice', '0', '1x']) await database.run(things.add, { name })
  const names = async (bind: string | number | boolean) =>
    (await database.all<{ name: string }>(things.byName, { name: bind })).map(({ name }) => name)
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
      (await database.all<{ name: string }>(things.byName, { name })).map((row) => row.name),
      [name],
    )
  }
})

onEachDatabase('a missing bind is refused, not taken for null', async (t, database, things) => {
  await t.throwsAsync(database.run(things.add, {}), { instanceOf: TypeError, message: /bind name is missing/ })
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
  const row = await database.first<{ id: number; name: string; amount: number; data: Uint8Array; flag: number }>(
    things.byId,
    { id: insertId },
  )
  t.is(row?.id, insertId)
  t.is(row?.name, `'"\\\0%_?`)
  t.is(row?.amount, 2 ** 53 - 1)
  t.deepEqual([...row!.data], [...data])
  t.is(row?.flag, 1)
  t.is(await database.first(things.byId, { id: insertId + 1 }), undefined)
})

onEachDatabase('an integer beyond 2^53 is exact with int64 and refused without', async (t, database, things) => {
  await database.run(things.addAll, { name: 'odd', amount: 9007199254740993n, data: null, flag: null })
  t.deepEqual(await database.all(things.exact, { amount: 9007199254740992n }), [])
  t.like(await database.first(things.exact, { amount: 9007199254740993n }), {
    id: 1n,
    amount: 9007199254740993n,
    flag: null,
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
      const rows = await database.all<{ id: bigint; amount: bigint }>(things.exact, { amount })
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
  const statement = makePrepare(makeComposer('mysql'))((k, p) =>
    k('a')
      .where({ kind: 'user', x: p('x') })
      .whereIn('y', [p('y1'), p('y2')])
      .limit(p('limit') as never)
      .offset(7),
  )
  t.deepEqual(statement.order, [{ constant: 'user' }, 'x', 'y1', 'y2', 'limit', { constant: 7 }] as never)
  t.deepEqual(bindValues(statement, { x: 1, y1: true, y2: 10n, limit: 5 }, encodeForMysql), [
    'user',
    '1',
    '1',
    '10',
    '5',
    '7',
  ])
})

test('an object among the values is refused when the statement is composed', (t) => {
  t.throws(() => makePrepare(makeComposer('mysql'))((k) => k('a').where('at', new Date() as never)).sql, {
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

test('which errors mean what', (t) => {
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

test('what is shown to a caller says nothing of the driver', (t) => {
  const thrown = toThrown(Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:3306'), { code: 'ECONNREFUSED' }))
  t.true(thrown instanceof Unavailable)
  t.notRegex((thrown as Error).message, /10\.0|3306|ECONN/)
})

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

test('a file that another process writes is waited for without stopping this one, for the time of the setting', async (t) => {
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
  const plan = database.prepare((k, p: (n: 'hash') => Knex.Value) =>
    k.raw(
      'explain query plan select t.id from access_tokens as t join users as u on u.id = t.user_id where t.token_hash = ?',
      [p('hash')],
    ),
  )
  const steps = (await database.all<{ detail: string }>(plan, { hash: 'a' })).map(({ detail }) => detail)
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

test('a change of a file that was removed or replaced is refused, since it would be lost; the health says so', async (t) => {
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
