import type { ExecutionContext } from 'ava'
import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { onEachDatabase } from './scratch.ts'

const hash = (fill: number) => new Uint8Array(32).fill(fill)
const answer = { status: 201, headers: { Location: '/a' }, body: new Uint8Array([0, 1, 255]) }

const age = async (database: SqlDatabase, id: number, milliseconds: number) => {
  await database.query((k) => k('idempotency_records').where('id', id).decrement('created_at', milliseconds))
}

/** The store of a process that lives. */
const living = async (database: SqlDatabase, instance = 'here') => {
  await makeSqlInstanceRegister(database, instance).beat()
  return makeSqlIdempotencyStore(database, instance)
}

const silence = async (database: SqlDatabase, milliseconds: number, instance = 'here') => {
  await database.query((k) => k('instances').where('id', instance).decrement('beat_at', milliseconds))
}

const fresh = async (database: SqlDatabase, key: number, request = 0, instance = 'here'): Promise<number> => {
  const begun = await makeSqlIdempotencyStore(database, instance).begin(hash(key), hash(request))
  if (begun.kind !== 'fresh') throw new Error(`The key is ${begun.kind}`)
  return begun.id
}

onEachDatabase('a key is fresh once, then in progress, then answered', async (t, database) => {
  const store = await living(database)
  const id = await fresh(database, 1)
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'in-progress', retryAfterSeconds: 1 })
  t.is(await store.find(hash(1)), undefined)
  await store.answer(id, answer)
  const replay = await store.begin(hash(1), hash(0))
  t.like(replay, { kind: 'answered', answer: { status: 201, headers: { Location: '/a' } } })
  if (replay.kind === 'answered') t.deepEqual([...replay.answer.body!], [0, 1, 255])
  t.is((await fresh(database, 2)) === id, false)
})

onEachDatabase('an answer without a body stays without one', async (t, database) => {
  const store = await living(database)
  await store.answer(await fresh(database, 1), { status: 204, headers: {}, body: undefined })
  t.deepEqual(await store.begin(hash(1), hash(0)), {
    kind: 'answered',
    answer: { status: 204, headers: {}, body: undefined },
  })
})

onEachDatabase('a key with another request is a mismatch in every state', async (t, database) => {
  const store = await living(database)
  const id = await fresh(database, 1)
  t.deepEqual(await store.begin(hash(1), hash(9)), { kind: 'mismatch' })
  await store.answer(id, answer)
  t.deepEqual(await store.begin(hash(1), hash(9)), { kind: 'mismatch' })
})

onEachDatabase('of parallel requests with one key exactly one is fresh', async (t, database) => {
  const store = await living(database)
  const begun = await Promise.all(Array.from({ length: 20 }, () => store.begin(hash(1), hash(0))))
  t.is(begun.filter(({ kind }) => kind === 'fresh').length, 1)
  t.is(begun.filter(({ kind }) => kind === 'in-progress').length, 19)
})

onEachDatabase(
  'a record whose process is dead is taken over once, and that process can no longer touch it',
  async (t, database) => {
    const from = await database.now()
    await living(database, 'there')
    const dead = await fresh(database, 1, 0, 'there')
    const store = await living(database)
    await silence(database, 5000, 'there')
    const waiting = await store.begin(hash(1), hash(0))
    const passed = Math.ceil(((await database.now()) - from) / 1000)
    t.is(waiting.kind, 'in-progress')
    // It counts as dead ten seconds after its last beat.
    if (waiting.kind === 'in-progress')
      t.true(
        waiting.retryAfterSeconds >= Math.max(1, 5 - passed) && waiting.retryAfterSeconds <= 6,
        String(waiting.retryAfterSeconds),
      )
    await silence(database, 6000, 'there')
    const begun = await Promise.all(Array.from({ length: 10 }, () => store.begin(hash(1), hash(0))))
    t.is(begun.filter(({ kind }) => kind === 'fresh').length, 1)
    const late = makeSqlIdempotencyStore(database, 'there')
    await late.answer(dead, answer)
    await late.forget(dead)
    t.like(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
  },
)

onEachDatabase(
  'a record of a process that has left, or was never on the register, is taken over at once',
  async (t, database) => {
    const store = await living(database)
    const there = makeSqlInstanceRegister(database, 'there')
    await there.beat()
    await there.beat()
    await fresh(database, 1, 0, 'there')
    t.like(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
    await there.leave()
    t.like(await store.begin(hash(1), hash(0)), { kind: 'fresh' })
    await fresh(database, 2, 0, 'nowhere')
    t.like(await store.begin(hash(2), hash(0)), { kind: 'fresh' })
  },
)

onEachDatabase(
  'a process that was silent for a day is off the register, and comes back by its next beat',
  async (t, database) => {
    const [here, there] = [makeSqlInstanceRegister(database, 'here'), makeSqlInstanceRegister(database, 'there')]
    await there.beat()
    await silence(database, 25 * 3600_000, 'there')
    await here.beat()
    const registered = async () =>
      (await database.query<{ id: string }>((k) => k('instances').select('id').orderBy('id'))).map(({ id }) => id)
    t.deepEqual(await registered(), ['here'])
    await there.beat()
    t.deepEqual(await registered(), ['here', 'there'])
  },
)

onEachDatabase('what a process could not take back is swept away, what it works on is not', async (t, database) => {
  await living(database)
  let isAway = false
  const store = makeSqlIdempotencyStore(
    {
      ...database,
      run: (statement, binds) =>
        isAway ? Promise.reject(new Error('The database is away')) : database.run(statement, binds),
    },
    'here',
  )
  const begin = async (key: number) => {
    const begun = await store.begin(hash(key), hash(0))
    return begun.kind === 'fresh' ? begun.id : (t.fail() as never)
  }
  const [abandoned, worked] = [await begin(1), await begin(2)]
  await fresh(database, 3, 0, 'there')
  isAway = true
  await t.throwsAsync(store.forget(abandoned))
  isAway = false
  const kept = async () =>
    (await database.query<{ id: number }>((k) => k('idempotency_records').select('id').orderBy('id'))).length
  await store.sweep()
  t.is(await kept(), 3, 'an insert may still be on its way')
  await database.query((k) => k('idempotency_records').decrement('created_at', 7_000))
  await store.sweep()
  t.is(await kept(), 2)
  t.like(await store.begin(hash(1), hash(0)), { kind: 'fresh' })
  await store.answer(worked, answer)
  t.like(await store.begin(hash(2), hash(0)), { kind: 'answered' })
})

onEachDatabase(
  'an applied change is never taken over nor forgotten; without a response it is recognized once its process is dead',
  async (t, database) => {
    const store = await living(database)
    const id = await fresh(database, 1)
    await database.query((k) => k('idempotency_records').where('id', id).update({ state: 'applied' }))
    await store.forget(id)
    t.like(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
    await silence(database, 600_000)
    t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'applied-without-answer' })
    await store.answer(id, answer)
    t.like(await store.begin(hash(1), hash(0)), { kind: 'answered' })
    await store.forget(id)
    t.like(await store.begin(hash(1), hash(0)), { kind: 'answered' })
  },
)

onEachDatabase('a forgotten record leaves its key fresh', async (t, database) => {
  const store = await living(database)
  await store.forget(await fresh(database, 1))
  t.is(typeof (await fresh(database, 1, 5)), 'number')
})

onEachDatabase('the purge drops what is older than 48 hours, and nothing else', async (t, database) => {
  const store = await living(database)
  const rows = Array.from({ length: 2100 }, (_, index) => {
    const key = Buffer.alloc(32)
    key.writeUInt32BE(index)
    return {
      key_hash: key,
      request_hash: Buffer.alloc(32),
      state: 'answered',
      created_at: Date.now() - 49 * 3600_000 + (index % 50),
    }
  })
  for (let start = 0; start < rows.length; start += 300) {
    const slice = rows.slice(start, start + 300)
    await database.query((k) => k('idempotency_records').insert(slice))
  }
  const kept = await fresh(database, 255)
  await age(database, kept, 47 * 3600_000)
  t.is(await store.purge(), 2100)
  t.deepEqual(await database.query((k) => k('idempotency_records').select('id')), [{ id: kept }])
  t.is(await store.purge(), 0)
})

/** Lets the lease run out without waiting for it. */
const expire = async (database: SqlDatabase, name: string) => {
  await database.query((k) => k('leases').where('name', name).update({ until: 1 }))
}

onEachDatabase('of many who ask at once one gets the lease', async (t, database) => {
  const store = makeSqlLeaseStore(database)
  for (const name of ['fresh', 'again']) {
    if (name === 'again') {
      await store.acquire(name, 'before', 60)
      await expire(database, name)
    }
    const asked = await Promise.all(
      Array.from({ length: 12 }, (_, index) => store.acquire(name, `holder-${index}`, 60)),
    )
    t.is(asked.filter((lease) => lease !== undefined).length, 1, name)
  }
})

onEachDatabase('a lease is renewed and released by its holder only', async (t, database) => {
  const store = makeSqlLeaseStore(database)
  const lease = await acquired(t, database, 'job', 'a')
  t.is(lease.fence, 1)
  t.is(await store.acquire('job', 'b', 60), undefined)
  t.true(await store.renew(lease, 60))
  const forged = { ...lease, holder: 'b' }
  t.false(await store.renew(forged, 60))
  await store.release(forged)
  t.is(await store.acquire('job', 'b', 60), undefined)
  await store.release(lease)
  t.false(await store.renew(lease, 60))
  t.is((await acquired(t, database, 'job', 'b')).fence, 2)
})

onEachDatabase('a lease that ran out goes to another with a higher fence and never comes back', async (t, database) => {
  const store = makeSqlLeaseStore(database)
  const old = await acquired(t, database, 'job', 'a')
  await expire(database, 'job')
  t.false(await store.renew(old, 60))
  const next = await acquired(t, database, 'job', 'b')
  t.true(next.fence > old.fence)
  t.false(await store.renew(old, 60))
  await store.release(old)
  t.true(await store.renew(next, 60))
  // The same process takes it again: its first lease stays lost.
  await expire(database, 'job')
  const third = await acquired(t, database, 'job', 'a')
  t.false(await store.renew(old, 60))
  t.true(await store.renew(third, 60))
})

onEachDatabase(
  'a lease from a clock that was ahead is free; one that ends a little late is held',
  async (t, database) => {
    const store = makeSqlLeaseStore(database)
    const old = await acquired(t, database, 'job', 'a', 3600)
    const setBack = (seconds: number) =>
      database.query((k) =>
        k('leases')
          .where('name', 'job')
          .increment('until', seconds * 1000),
      )
    await setBack(30)
    t.is(await store.acquire('job', 'b', 30, 3600), undefined)
    t.true(await store.renew(old, 3600))
    await setBack(90)
    const next = await store.acquire('job', 'b', 30, 3600)
    t.true((next?.fence ?? 0) > old.fence)
    t.false(await store.renew(old, 3600))
    t.is(await store.acquire('job', 'c', 30, 3600), undefined)
  },
)

onEachDatabase('a lease lasts as long as was asked, by the clock of the database', async (t, database) => {
  const before = await database.now()
  await acquired(t, database, 'job', 'a', 30.5)
  const after = await database.now()
  const [row] = await database.query<{ until: number }>((k) => k('leases').where('name', 'job').select('until'))
  t.true(row!.until >= before + 30_500 && row!.until <= after + 30_500)
})

const acquired = async (t: ExecutionContext, database: SqlDatabase, name: string, holder: string, ttlSeconds = 60) => {
  const lease = await makeSqlLeaseStore(database).acquire(name, holder, ttlSeconds)
  if (lease === undefined) throw new Error(`${holder} did not get ${name}`)
  t.like(lease, { name, holder })
  return lease
}
