// process: own - cuts off a component
import { setTimeout as sleep } from 'node:timers/promises'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ExecutionContext } from 'ava'
import { createConnection as openConnection } from 'mysql2'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { CommitOutcomeUnknown, Unavailable } from '../../core/kernel/failure.ts'
import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { openDatabase, makeDatabaseHealth } from '../../adapters/sql/engine/database.ts'
import { makeAbandonedStatements } from '../../adapters/sql/engine/mysql-abandoned.ts'
import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import { makeSqlInstanceRegister } from '../../adapters/sql/kernel/instance-store.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork, unaudited } from '../../adapters/sql/engine/unit-of-work.ts'
import { needing } from '../support/components/needing.ts'
import { borrowMysqlDatabase } from '../support/databases.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { until } from '../support/until.ts'
import { callOf, keyedCall } from './call.ts'
import { isMariaDb } from './server-version.ts'
import { dropThings, makeThings } from './scratch.ts'
import { namesIn, prepareThings, type Things } from './things.ts'

const test = needing('mariadb')

interface Faulty {
  readonly proxy: FaultProxy
  /** Speaks through the proxy. */
  readonly database: SqlDatabase
  readonly things: Things
  /** Speaks to the server itself. */
  readonly direct: SqlDatabase
}

const hasty: DatabaseOptions = {
  mysql: {
    statementTimeoutMilliseconds: 5000,
    acquireTimeoutMilliseconds: 3000,
    connectTimeoutMilliseconds: 3000,
    connectionLimit: 4,
  },
}

const behindProxy = (
  title: string,
  body: (t: ExecutionContext, faulty: Faulty) => Promise<void>,
  options = hasty,
): void => {
  test(title, async (t) => {
    const borrowed = await borrowMysqlDatabase()
    const url = new URL(borrowed.url)
    const direct = await openDatabase(url.href)
    await makeThings(direct)
    const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(proxy.port)
    const database = await openDatabase(url.href, options)
    try {
      await body(t, { proxy, database, direct, things: prepareThings(database) })
    } finally {
      await database.close()
      await dropThings(direct)
      await direct.close()
      await proxy.close()
      await borrowed.giveBack()
    }
  })
}

const adding = (database: SqlDatabase, things: Things) =>
  makeSqlUnitOfWork(
    database,
    (tx: SqlRunner) => ({ tx, add: (name: string) => tx.run(things.add, { name }) }),
    unaudited,
  )

const names = ['a', 'b', 'c', 'd', 'e']
/** Rows that a server searches for hours, and does not find. */
const endless = `${names.map((name) => `information_schema.collations as ${name}`).join(', ')} where ${names.map((name) => `${name}.id`).join(' + ')} < 0`

/** Connections that were being made when the fault ended may hold their places for a moment longer. */
const soon = async <A>(attempt: () => Promise<A>): Promise<A> => {
  for (let left = 200; ; left--) {
    try {
      return await attempt()
    } catch (error) {
      if (left === 0 || !(error instanceof Unavailable)) throw error
    }
    await sleep(50)
  }
}

behindProxy(
  'a half-open link fails every statement in bounded time, and the pool recovers',
  async (t, { proxy, database, things }) => {
    await soon(() => Promise.all(Array.from({ length: 8 }, () => namesIn(database, things))))
    proxy.pause()
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 12 }, () => namesIn(database, things)),
      ...Array.from({ length: 4 }, () => database.transaction((tx) => tx.run(things.add, { name: 'a' }))),
    ])
    t.true(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof Unavailable))
    proxy.resume()
    t.deepEqual(await soon(() => namesIn(database, things)), [])
    await soon(() => database.transaction((tx) => tx.run(things.add, { name: 'b' })))
    t.deepEqual(await namesIn(database, things), ['b'])
  },
)

behindProxy(
  'a server that fell silent is waited for once: what comes after is refused, until it is heard again',
  async (t, { proxy, database, things }) => {
    await soon(() => Promise.all(Array.from({ length: 8 }, () => namesIn(database, things))))
    proxy.pause()
    await t.throwsAsync(namesIn(database, things), { instanceOf: Unavailable, message: /in time|does not answer/ })
    for (const asked of [
      () => namesIn(database, things),
      () => database.transaction((tx) => tx.run(things.add, { name: 'a' })),
    ]) {
      await t.throwsAsync(asked, { instanceOf: Unavailable, message: /has stopped answering/ })
    }
    proxy.resume()
    t.deepEqual(await soon(() => namesIn(database, things)), [])
  },
)

behindProxy('one slow statement among others that are answered is no silence', async (t, { database, things }) => {
  await namesIn(database, things)
  let isOver = false
  // Longer than the limit, and not ended by the server before: MySQL, but not MariaDB, would end the sleep of a select.
  const statement = (await isMariaDb(database))
    ? "select benchmark(1, 1), get_lock('never', 0), sleep(60) from dual"
    : 'do sleep(60)'
  const slow = t
    .throwsAsync(
      database.query((k) => k.raw(statement)),
      { instanceOf: Unavailable },
    )
    .finally(() => {
      isOver = true
    })
  while (!isOver) {
    t.deepEqual(await namesIn(database, things), [])
    await sleep(50)
  }
  await slow
  t.deepEqual(await namesIn(database, things), [])
})

behindProxy('connections cut while idle are replaced without a word', async (t, { proxy, database, things }) => {
  await soon(() => Promise.all(Array.from({ length: 8 }, () => namesIn(database, things))))
  for (let round = 0; round < 3; round++) {
    proxy.cut()
    t.deepEqual(
      await namesIn(database, things),
      Array.from({ length: round }, (_, index) => `row ${index}`),
    )
    proxy.cut()
    await database.transaction((tx) => tx.run(things.add, { name: `row ${round}` }))
  }
})

behindProxy('a link cut inside a transaction leaves nothing of it', async (t, { proxy, database, direct, things }) => {
  const cutting = (swallow: boolean) =>
    adding(database, things).run(callOf(), async ({ add }) => {
      await add('a')
      proxy.cut()
      const lost = add('b')
      await (swallow ? lost.catch(() => undefined) : lost)
      return right('never')
    })
  await t.throwsAsync(cutting(false), { instanceOf: Unavailable, message: /does not answer/ })
  await t.throwsAsync(cutting(true), { instanceOf: Unavailable })
  t.deepEqual(await namesIn(direct, things), [])
  t.deepEqual(await namesIn(database, things), [])
})

behindProxy(
  'a table that is full refuses the change as a whole, and the next one is made',
  async (t, { database, direct, things }) => {
    // Of this engine the server bounds a table; it reports one of InnoDB on a full disk with the same number.
    await direct.query((k) => k.raw('create table small (name varchar(20)) engine = memory max_rows = 2'))
    const fill = adding(database, things).run(callOf(), async ({ add, tx }) => {
      await add('a')
      for (let row = 0; row < 10_000; row += 1) await tx.query((k) => k('small').insert({ name: String(row) }))
      return right('never')
    })
    await t.throwsAsync(fill, { instanceOf: Unavailable, message: 'The database is full and takes no changes.' })
    t.deepEqual(await namesIn(direct, things), [])
    await database.transaction((tx) => tx.run(things.add, { name: 'b' }))
    t.deepEqual(await namesIn(direct, things), ['b'])
  },
)

behindProxy('a lost answer to a commit is reported as unknown', async (t, { proxy, database, direct, things }) => {
  await namesIn(database, things)
  const sprung = proxy.cutAfterClientBytesMatching('commit')
  await t.throwsAsync(
    adding(database, things).run(callOf(), async ({ add }) => right(await add('a'))),
    { instanceOf: CommitOutcomeUnknown },
  )
  await sprung
  t.deepEqual(await namesIn(direct, things), ['a'])
})

behindProxy(
  'a lost answer to a commit is settled by the idempotency record',
  async (t, { proxy, database, direct, things }) => {
    const store = makeSqlIdempotencyStore(database, 'here')
    const begun = await store.begin(new Uint8Array(32), new Uint8Array(32))
    const recordId = begun.kind === 'fresh' ? begun.id : 0
    let runs = 0
    const sprung = proxy.cutAfterClientBytesMatching('commit')
    const outcome = await adding(database, things).run(keyedCall(recordId), async ({ add }) => {
      runs++
      await add('a')
      return right('done')
    })
    await sprung
    t.deepEqual(outcome, right('done'))
    t.is(runs, 1)
    t.deepEqual(await namesIn(direct, things), ['a'])
    t.deepEqual(await store.begin(new Uint8Array(32), new Uint8Array(32)), { kind: 'applied-without-answer' })
  },
)

behindProxy(
  'a second transaction of a call proves nothing by the mark of the first',
  async (t, { proxy, database, things }) => {
    const begun = await makeSqlIdempotencyStore(database, 'here').begin(new Uint8Array(32), new Uint8Array(32))
    const call = keyedCall(begun.kind === 'fresh' ? begun.id : 0)
    const work = adding(database, things)
    await work.run(call, async ({ add }) => right(await add('a')))
    void proxy.cutAfterClientBytesMatching('commit')
    await t.throwsAsync(
      work.run(call, async ({ add }) => right(await add('b'))),
      { instanceOf: CommitOutcomeUnknown },
    )
  },
)

behindProxy(
  'a commit that never arrived is unknown, and the record tells afterwards that it did not happen',
  async (t, { proxy, database, direct, things }) => {
    const store = makeSqlIdempotencyStore(direct, 'here')
    const begun = await store.begin(new Uint8Array(32), new Uint8Array(32))
    const call = keyedCall(begun.kind === 'fresh' ? begun.id : 0)
    // Paused after the last statement of the work and before its commit.
    const pausing: SqlDatabase = {
      ...database,
      transaction: (work) =>
        database.transaction(async (tx) => {
          const result = await work(tx)
          proxy.pause()
          return result
        }),
    }
    await t.throwsAsync(
      adding(pausing, things).run(call, async ({ add }) => right(await add('a'))),
      { instanceOf: CommitOutcomeUnknown },
    )
    proxy.resume()
    t.deepEqual(await namesIn(direct, things), [])
    await makeSqlInstanceRegister(direct, 'here').beat()
    t.like(await store.begin(new Uint8Array(32), new Uint8Array(32)), { kind: 'in-progress' })
  },
)

behindProxy(
  'a commit that is proven not to have happened is made again',
  async (t, { proxy, database, direct, things }) => {
    const begun = await makeSqlIdempotencyStore(database, 'here').begin(new Uint8Array(32), new Uint8Array(32))
    const call = keyedCall(begun.kind === 'fresh' ? begun.id : 0)
    let isFirst = true
    const cuttingFirst: SqlDatabase = {
      ...database,
      transaction: (work) =>
        database.transaction(async (tx) => {
          const result = await work(tx)
          if (isFirst) proxy.cut()
          isFirst = false
          return result
        }),
    }
    t.deepEqual(
      await adding(cuttingFirst, things).run(call, async ({ add }) => {
        await add('a')
        return right('done')
      }),
      right('done'),
    )
    t.deepEqual(await namesIn(direct, things), ['a'])
  },
)

behindProxy(
  'a caller who waits too long for a connection gets a failure, and the others are not disturbed',
  async (t, { database, things }) => {
    const go = Promise.withResolvers<undefined>()
    const started: Promise<void>[] = []
    const open = Array.from({ length: 4 }, (_, index) => {
      const begun = Promise.withResolvers<void>()
      started.push(begun.promise)
      return database.transaction(async (tx) => {
        await tx.run(things.add, { name: `held ${index}` })
        begun.resolve()
        await go.promise
      })
    })
    // Where one could not even begin, that is what went wrong.
    await Promise.race([Promise.all(started), Promise.all(open)])
    await t.throwsAsync(namesIn(database, things), { instanceOf: Unavailable, message: /no connection came free/ })
    const waiting = namesIn(database, things)
    go.resolve(undefined)
    await Promise.all(open)
    t.true(Array.isArray(await waiting))
    t.is((await namesIn(database, things)).length, 4)
  },
)

behindProxy(
  'a slow statement is ended by the server, and its connection stays',
  async (t, { proxy, database, things }) => {
    await namesIn(database, things)
    const before = proxy.connections()
    await t.throwsAsync(
      database.query((k) => k.raw(`select count(*) from ${endless}`)),
      { instanceOf: Unavailable },
    )
    t.is(proxy.connections(), before)
    t.deepEqual(await namesIn(database, things), [])
  },
)

behindProxy(
  'a change that is refused because it takes too long is ended on the server, with its transaction',
  async (t, { database, direct, things }) => {
    await direct.run(things.add, { name: 'x' })
    // It takes hours. MariaDB would end it by itself.
    const unlimited = (await isMariaDb(direct)) ? 'set statement max_statement_time = 0 for ' : ''
    const slow = `${unlimited}insert into things (name) select 'y' from ${endless}`
    await t.throwsAsync(
      adding(database, things).run(callOf(), async ({ tx }) => {
        await tx.first(things.lock, { name: 'x' })
        return right(await tx.query((k) => k.raw(slow)))
      }),
      { instanceOf: Unavailable, message: /in time|does not answer/ },
    )
    await soon(() => direct.transaction((tx) => tx.first(things.lock, { name: 'x' })))
    await t.throwsAsync(
      database.query((k) => k.raw(slow)),
      { instanceOf: Unavailable },
    )
    await until('the server executes neither statement', async () => {
      const executed = await direct.query<{ info: string | null }>((k) =>
        k.raw('select info as info from information_schema.processlist'),
      )
      return executed.some(({ info }) => info === slow) ? undefined : true
    })
    t.deepEqual(await namesIn(database, things), ['x'])
  },
)

test('a connection number of an earlier server ends no present connection', async (t) => {
  const borrowed = await borrowMysqlDatabase()
  const connect = () => createConnection(borrowed.url)
  const [[old, other, current], watcher] = [[await connect(), await connect(), await connect()], await connect()]
  t.teardown(async () => {
    for (const each of [old, other, current, watcher]) each.destroy()
    await borrowed.giveBack()
  })
  for (const each of [old, other, current]) each.on('error', () => undefined)
  const [rows] = await watcher.query<RowDataPacket[]>('select @@hostname as host')
  const host = String(rows[0]?.['host'])
  const abandoned = makeAbandonedStatements({ open: async () => openConnection(borrowed.url), waitMilliseconds: 5000 })
  const yearAgo = performance.now() - 365 * 86_400_000
  abandoned.end({ id: old.threadId, server: { host, at: yearAgo } })
  abandoned.end({ id: other.threadId, server: { host: `not-${host}`, at: performance.now() } })
  abandoned.end({ id: current.threadId, server: { host, at: performance.now() } })
  const isThere = async (id: number) =>
    (await watcher.query<RowDataPacket[]>('select id from information_schema.processlist where id = ?', [id]))[0]
      .length === 1
  await until('the connection of today is ended', async () => ((await isThere(current.threadId)) ? undefined : true))
  t.true(await isThere(old.threadId))
  t.true(await isThere(other.threadId))
})

behindProxy(
  'the locks of a client whose machine fails are freed',
  async (t, { proxy, database, direct, things }) => {
    await direct.run(things.add, { name: 'x' })
    const outcome = adding(database, things).run(callOf(), async ({ tx }) => {
      await tx.first(things.lock, { name: 'x' })
      // From here on nothing reaches the server, not even the end of the connection.
      proxy.pause()
      return right(await tx.first(things.lock, { name: 'x' }))
    })
    await t.throwsAsync(outcome, { instanceOf: Unavailable })
    await until('the row can be locked', () =>
      direct
        .transaction((tx) => tx.first(things.lock, { name: 'x' }))
        .catch((error: unknown) => {
          if (error instanceof Unavailable) return undefined
          throw error
        }),
    )
    t.pass()
  },
  { mysql: { ...hasty.mysql, idleTimeoutMilliseconds: 1000 } },
)

behindProxy(
  'a change that waits too long for a lock fails with a request to try again',
  async (t, { database, direct, things }) => {
    await direct.run(things.add, { name: 'x' })
    await direct.transaction(async (other) => {
      await other.first(things.lock, { name: 'x' })
      await t.throwsAsync(
        adding(database, things).run(callOf(), async ({ tx }) => right(await tx.first(things.lock, { name: 'x' }))),
        {
          instanceOf: Unavailable,
          message: /busy with another change/,
        },
      )
    })
  },
)

behindProxy('health is reported within its bound, and recovers', async (t, { proxy, database, things }) => {
  const health = makeDatabaseHealth(database)
  await namesIn(database, things)
  t.deepEqual(await health(), { isHealthy: true })
  proxy.pause()
  t.false((await health()).isHealthy)
  proxy.resume()
  t.true(await until('it is healthy', async () => ((await health()).isHealthy ? true : undefined)))
})

behindProxy('a database that refuses connections is unavailable', async (t, { proxy, database, things }) => {
  await proxy.close()
  await t.throwsAsync(namesIn(database, things), { instanceOf: Unavailable })
  await t.throwsAsync(database.openSchemaSession(), { instanceOf: Unavailable })
  const outcome = adding(database, things).run(callOf(), async ({ add }) => right(await add('a')))
  await t.throwsAsync(outcome.then(isLeft), { instanceOf: Unavailable })
})

behindProxy('the session has our settings, whatever the server defaults to', async (t, { database }) => {
  const isolation = (await isMariaDb(database)) ? '@@tx_isolation' : '@@transaction_isolation'
  const [row] = await database.query<Record<string, unknown>>((k) =>
    k.raw(
      `select ${isolation} as isolation, @@time_zone as zone, @@sql_mode as mode, @@autocommit as autocommit, @@collation_connection as collation`,
    ),
  )
  t.like(row, { isolation: 'READ-COMMITTED', zone: '+00:00', autocommit: 1, collation: 'utf8mb4_bin' })
  t.regex(String(row!['mode']), /STRICT_ALL_TABLES/)
  t.true(Math.abs((await database.now()) - Date.now()) < 5000)
  if (await isMariaDb(database)) return
  const [statistics] = await database.query((k) => k.raw('select @@information_schema_stats_expiry as seconds'))
  t.like(statistics, { seconds: 0 })
})
