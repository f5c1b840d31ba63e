import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { onEachDatabase } from './scratch.ts'

const hash = (fill: number) => new Uint8Array(32).fill(fill)
const answer = { status: 201, headers: { Location: '/a' }, body: new Uint8Array([0, 1, 255]) }

const age = async (database: SqlDatabase, id: number, milliseconds: number) => {
  await database.query((k) => k('idempotency_records').where('id', id).decrement('created_at', milliseconds))
}

const fresh = async (database: SqlDatabase, key: number, request = 0): Promise<number> => {
  const begun = await makeSqlIdempotencyStore(database).begin(hash(key), hash(request))
  if (begun.kind !== 'fresh') throw new Error(`The key is ${begun.kind}`)
  return begun.id
}

onEachDatabase('a key is fresh once, then in progress, then answered', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const id = await fresh(database, 1)
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
  await store.answer(id, answer)
  const replay = await store.begin(hash(1), hash(0))
  t.like(replay, { kind: 'answered', answer: { status: 201, headers: { Location: '/a' } } })
  if (replay.kind === 'answered') t.deepEqual([...replay.answer.body!], [0, 1, 255])
  t.is((await fresh(database, 2)) === id, false)
})

onEachDatabase('an answer without a body stays without one', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  await store.answer(await fresh(database, 1), { status: 204, headers: {}, body: undefined })
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'answered', answer: { status: 204, headers: {}, body: undefined } })
})

onEachDatabase('a key with another request is a mismatch in every state', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const id = await fresh(database, 1)
  t.deepEqual(await store.begin(hash(1), hash(9)), { kind: 'mismatch' })
  await store.answer(id, answer)
  t.deepEqual(await store.begin(hash(1), hash(9)), { kind: 'mismatch' })
})

onEachDatabase('of parallel requests with one key exactly one is fresh', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const begun = await Promise.all(Array.from({ length: 20 }, () => store.begin(hash(1), hash(0))))
  t.is(begun.filter(({ kind }) => kind === 'fresh').length, 1)
  t.is(begun.filter(({ kind }) => kind === 'in-progress').length, 19)
})

onEachDatabase('a record whose owner died is taken over once, and its owner can no longer touch it', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const dead = await fresh(database, 1)
  await age(database, dead, 119_000)
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
  await age(database, dead, 2000)
  const begun = await Promise.all(Array.from({ length: 10 }, () => store.begin(hash(1), hash(0))))
  t.is(begun.filter(({ kind }) => kind === 'fresh').length, 1)
  await store.answer(dead, answer)
  await store.forget(dead)
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'in-progress' })
})

onEachDatabase('an applied change is never taken over nor forgotten', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const id = await fresh(database, 1)
  await database.query((k) => k('idempotency_records').where('id', id).update({ state: 'applied' }))
  await age(database, id, 600_000)
  await store.forget(id)
  t.deepEqual(await store.begin(hash(1), hash(0)), { kind: 'applied-without-answer' })
  await store.answer(id, answer)
  t.like(await store.begin(hash(1), hash(0)), { kind: 'answered' })
  await store.forget(id)
  t.like(await store.begin(hash(1), hash(0)), { kind: 'answered' })
})

onEachDatabase('a forgotten record leaves its key fresh', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  await store.forget(await fresh(database, 1))
  t.is(typeof (await fresh(database, 1, 5)), 'number')
})

onEachDatabase('the purge drops what is older than 48 hours, and nothing else', async (t, database) => {
  const store = makeSqlIdempotencyStore(database)
  const rows = Array.from({ length: 2100 }, (_, index) => {
    const key = Buffer.alloc(32)
    key.writeUInt32BE(index)
    return { key_hash: key, request_hash: Buffer.alloc(32), state: 'answered', created_at: Date.now() - 49 * 3600_000 + (index % 50) }
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
