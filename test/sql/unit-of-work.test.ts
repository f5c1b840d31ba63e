import { setTimeout as sleep } from 'node:timers/promises'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AuditTrail, UnitOfWork } from '../../core/kernel/unit-of-work.ts'
import { defineFailure, Overtaken, Unavailable } from '../../core/kernel/failure.ts'
import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { callOf, keyedCall } from './call.ts'
import { onEachDatabase } from './scratch.ts'
import { namesIn, type Things } from './things.ts'

const NoSuchThing = defineFailure('NoSuchThing', 'NotFound', 'A failure of this test.')

interface Stores {
  readonly tx: SqlRunner
  readonly audit: AuditTrail
  add(name: string): Promise<void>
}

const unitOfWork = (database: SqlDatabase, things: Things): UnitOfWork<Stores> =>
  makeSqlUnitOfWork<Stores>(
    database,
    (tx, audit) => ({
      tx,
      audit,
      add: async (name) => {
        await tx.run(things.add, { name })
      },
    }),
    (tx, call) => ({
      record: async ({ action }) => {
        await tx.run(things.add, { name: `${action} by ${call.requestId}` })
      },
    }),
  )

onEachDatabase('Right commits what the work and its audit trail wrote', async (t, database, things) => {
  const outcome = await unitOfWork(database, things).run(callOf(), async ({ add, audit }) => {
    await add('a')
    await audit.record({ action: 'thing.added', objectType: 'thing' })
    return right(42)
  })
  t.deepEqual(outcome, right(42))
  t.deepEqual(await namesIn(database, things), ['a', 'thing.added by req-1'])
})

onEachDatabase('Left rolls back, although its promise resolves', async (t, database, things) => {
  const failure = NoSuchThing('There is no such thing.')
  const outcome = await unitOfWork(database, things).run(callOf(), async ({ add, audit }) => {
    await add('a')
    await audit.record({ action: 'thing.added', objectType: 'thing' })
    return left(failure)
  })
  t.deepEqual(outcome, left(failure))
  t.deepEqual(await namesIn(database, things), [])
})

onEachDatabase('a throw rolls back and reaches the caller as it is', async (t, database, things) => {
  const thrown = new Error('broken')
  const error = await t.throwsAsync(
    unitOfWork(database, things).run(callOf(), async ({ add }) => {
      await add('a')
      throw thrown
    }),
  )
  t.is(error, thrown)
  t.deepEqual(await namesIn(database, things), [])
  await database.run(things.add, { name: 'later' })
  t.deepEqual(await namesIn(database, things), ['later'])
})

onEachDatabase('a statement of another caller does not join an open transaction', async (t, database, things) => {
  const started = Promise.withResolvers<undefined>()
  const go = Promise.withResolvers<undefined>()
  const refused = unitOfWork(database, things).run(callOf(), async ({ add }) => {
    await add('inside')
    started.resolve(undefined)
    await go.promise
    return left(NoSuchThing('no'))
  })
  await started.promise
  const outside = database.run(things.add, { name: 'outside' })
  const seen = namesIn(database, things)
  await sleep(20)
  go.resolve(undefined)
  t.true(isLeft(await refused))
  await outside
  t.false((await seen).includes('inside'))
  t.deepEqual(await namesIn(database, things), ['outside'])
})

onEachDatabase('work that bypasses its transaction is refused', async (t, database, things) => {
  const work = unitOfWork(database, things)
  const attempts: (() => Promise<unknown>)[] = [
    () => database.run(things.add, { name: 'b' }),
    () => database.all(things.names, {}),
    () => database.first(things.names, {}),
    () => database.query((k) => k('things').select('*')),
    () => database.now(),
    () => database.transaction(async () => undefined),
    () => work.run(callOf(), async () => right(1)),
  ]
  for (const attempt of attempts) {
    await t.throwsAsync(
      work.run(callOf(), async ({ add }) => {
        await add('a')
        await attempt()
        return right(1)
      }),
      { message: /bypasses the transaction/ },
    )
  }
  t.deepEqual(await namesIn(database, things), [])
})

onEachDatabase('what outlives its transaction can do no harm', async (t, database, things) => {
  let kept: Stores | undefined
  let late: Promise<unknown> | undefined
  await unitOfWork(database, things).run(callOf(), async (stores) => {
    kept = stores
    // The surroundings end with the transaction: a task started inside may use the database afterwards.
    late = sleep(30).then(() => database.run(things.add, { name: 'late' }))
    return right(1)
  })
  await t.throwsAsync(kept!.add('a'), { message: /has ended/ })
  await late
  t.deepEqual(await namesIn(database, things), ['late'])
})

onEachDatabase('work that deadlocks runs again, at most four times', async (t, database, things) => {
  const deadlock = Object.assign(new Error('Deadlock found'), { errno: 1213 })
  let runs = 0
  const outcome = await unitOfWork(database, things).run(callOf(), async ({ add }) => {
    await add('a')
    if (++runs < 4) throw deadlock
    return right(runs)
  })
  t.deepEqual(outcome, right(4))
  t.deepEqual(await namesIn(database, things), ['a'])
  runs = 0
  const error = await t.throwsAsync(
    unitOfWork(database, things).run(callOf(), async () => {
      runs++
      throw deadlock
    }),
    { instanceOf: Unavailable },
  )
  t.is(error?.cause, deadlock)
  t.is(runs, 4)
})

onEachDatabase('two that lock each other out both succeed', async (t, database, things) => {
  for (const name of ['x', 'y']) await database.run(things.addAll, { name, amount: 0, data: null, flag: null })
  const locked = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const runs = [0, 0]
  // SQLite lets them pass one after the other, so nobody waits there for the other's lock.
  const together = database.dialect === 'mysql'
  const both = (['x', 'y'] as const).map((mine, index) =>
    unitOfWork(database, things).run(callOf(), async ({ tx }) => {
      runs[index]!++
      await tx.first(things.lock, { name: mine })
      locked[index]!.resolve(undefined)
      if (together) await locked[1 - index]!.promise
      await tx.run(things.setAmount, { name: mine === 'x' ? 'y' : 'x', amount: index + 1 })
      return right(mine)
    }),
  )
  t.deepEqual(await Promise.all(both), [right('x'), right('y')])
  t.is(runs[0]! + runs[1]!, together ? 3 : 2)
})

onEachDatabase('a statement outside of a transaction that deadlocks runs again', async (t, database, things) => {
  for (const name of ['x', 'y']) await database.run(things.addAll, { name, amount: 0, data: null, flag: null })
  const setAll = database.prepare({}, (k) => k('things').update({ amount: 7 }))
  const locked = Promise.withResolvers<undefined>()
  const update = locked.promise.then(() => database.run(setAll, {}))
  await database.transaction(async (tx) => {
    // The server ends what has changed less.
    for (let more = 0; more < 5; more += 1) await tx.run(things.add, { name: `more ${more}` })
    await tx.first(things.lock, { name: 'y' })
    locked.resolve(undefined)
    // Soon the update has x, and waits for y.
    await sleep(200)
    await tx.first(things.lock, { name: 'x' })
  })
  await update
  const amounts = await Promise.all(['x', 'y'].map((name) => database.first(things.byName, { name })))
  t.deepEqual(
    amounts.map((row) => row?.amount),
    [7, 7],
  )
})

onEachDatabase(
  'work that swallows its deadlock commits nothing outside of a transaction',
  async (t, database, things) => {
    if (database.dialect === 'sqlite') {
      t.pass('it knows no deadlock')
      return
    }
    for (const name of ['x', 'y']) await database.run(things.addAll, { name, amount: 0, data: null, flag: null })
    const locked = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const both = (['x', 'y'] as const).map((mine, index) => {
      let run = 0
      return unitOfWork(database, things).run(callOf(), async ({ tx, add }) => {
        const attempt = ++run
        await tx.first(things.lock, { name: mine })
        locked[index]!.resolve(undefined)
        await locked[1 - index]!.promise
        const swallowed = await tx
          .run(things.setAmount, { name: mine === 'x' ? 'y' : 'x', amount: 1 })
          .catch(() => 'swallowed')
        await add(`${mine}${attempt}`).catch(() => undefined)
        if (swallowed === 'swallowed') t.is(attempt, 1)
        return right(attempt)
      })
    })
    const answers = (await Promise.all(both)).map((outcome) => (isLeft(outcome) ? 0 : outcome.right))
    t.deepEqual(answers.toSorted(), [1, 2])
    t.deepEqual((await namesIn(database, things)).toSorted(), [`x${answers[0]}`, `y${answers[1]}`, 'x', 'y'].toSorted())
  },
)

onEachDatabase('ten that read, add one and write lose no update', async (t, database, things) => {
  await database.run(things.addAll, { name: 'count', amount: 0, data: null, flag: null })
  const work = unitOfWork(database, things)
  await Promise.all(
    Array.from({ length: 10 }, () =>
      work.run(callOf(), async ({ tx }) => {
        const row = await tx.first(things.lock, { name: 'count' })
        await sleep(Math.random() * 5)
        await tx.run(things.setAmount, { name: 'count', amount: row!.amount! + 1 })
        return right(undefined)
      }),
    ),
  )
  t.like(await database.first(things.byName, { name: 'count' }), { amount: 10 })
})

onEachDatabase('the idempotency record is applied with the change, or not at all', async (t, database, things) => {
  const store = makeSqlIdempotencyStore(database, 'here')
  const begin = async (key: number) => {
    const begun = await store.begin(new Uint8Array(32).fill(key), new Uint8Array(32))
    return begun.kind === 'fresh' ? begun.id : (t.fail() as never)
  }
  const stateOf = async (id: number) =>
    (await database.query<{ state: string }>((k) => k('idempotency_records').where('id', id).select('state')))[0]?.state
  const work = unitOfWork(database, things)
  const applied = await begin(1)
  await work.run(keyedCall(applied), async ({ add }) => right(await add('a')))
  t.is(await stateOf(applied), 'applied')
  const refused = await begin(2)
  await work.run(keyedCall(refused), async ({ add }) => {
    await add('b')
    return left(NoSuchThing('no'))
  })
  t.is(await stateOf(refused), 'started')
  // A second transaction of the same call finds the mark and goes on.
  await work.run(keyedCall(applied), async ({ add }) => right(await add('c')))
  // A call whose record was taken over by another must change nothing.
  await store.forget(refused)
  await t.throwsAsync(
    work.run(keyedCall(refused), async ({ add }) => right(await add('d'))),
    { instanceOf: Unavailable },
  )
  t.deepEqual(await namesIn(database, things), ['a', 'c'])
})

onEachDatabase(
  'the answer is stored with the change, made from what the transaction gave',
  async (t, database, things) => {
    const store = makeSqlIdempotencyStore(database, 'here')
    const work = unitOfWork(database, things)
    const key = (fill: number) => new Uint8Array(32).fill(fill)
    const begin = async (fill: number) => {
      const begun = await store.begin(key(fill), key(0))
      return begun.kind === 'fresh' ? begun.id : (t.fail() as never)
    }
    const told: unknown[] = []
    const answerOf = (status: number) => async (result: unknown) => {
      told.push(result)
      return { status, headers: { ETag: 'W/"1"' }, body: new Uint8Array([status - 200, 255]) }
    }
    const changed = await begin(1)
    await work.run(keyedCall(changed, answerOf(201)), async ({ add }) => {
      await add('a')
      return right('given')
    })
    t.deepEqual(told, ['given'])
    const replay = await store.begin(key(1), key(0))
    t.like(replay, { kind: 'answered', answer: { status: 201, headers: { ETag: 'W/"1"' } } })
    if (replay.kind === 'answered') t.deepEqual([...replay.answer.body!], [1, 255])
    // The last of several transactions has the answer.
    await work.run(keyedCall(changed, answerOf(202)), async ({ add }) => right(await add('b')))
    t.like(await store.find(key(1)), { answer: { status: 202 } })
    const refused = await begin(2)
    await work.run(keyedCall(refused, answerOf(201)), async () => left(NoSuchThing('no')))
    t.is(await store.find(key(2)), undefined)
    await t.throwsAsync(
      work.run(
        keyedCall(refused, async () => {
          throw new Error('no answer can be made')
        }),
        async ({ add }) => right(await add('c')),
      ),
    )
    t.deepEqual(await namesIn(database, things), ['a', 'b'], 'a change without its answer is no change')
  },
)

const followNobody = (tx: SqlRunner): Promise<unknown> =>
  tx.query((k) => k('follows').insert({ user_id: 777, target_id: 778, created_at: 0 }))

onEachDatabase('a row whose parent is gone: the work runs once more and says so', async (t, database, things) => {
  let runs = 0
  const failure = NoSuchThing('There is no such thing.')
  const outcome = await unitOfWork(database, things).run(callOf(), async ({ tx, add }) => {
    runs++
    if (runs === 2) return left(failure)
    await add('a')
    await followNobody(tx)
    return right('never')
  })
  t.deepEqual(outcome, left(failure))
  t.is(runs, 2)
  t.deepEqual(await namesIn(database, things), [])
})

onEachDatabase(
  'a row whose parent is gone, unnoticed by the work: Overtaken, and nothing is left',
  async (t, database, things) => {
    let runs = 0
    const outcome = unitOfWork(database, things).run(callOf(), async ({ tx, add }) => {
      runs++
      await add('a')
      await followNobody(tx)
      return right('never')
    })
    await t.throwsAsync(outcome, { instanceOf: Overtaken })
    t.is(runs, 2)
    t.deepEqual(await namesIn(database, things), [])
  },
)
