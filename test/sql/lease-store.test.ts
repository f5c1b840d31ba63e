import type { ExecutionContext } from 'ava'
import { makeSqlLeaseStore } from '../../adapters/sql/kernel/lease-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { onEachDatabase } from './scratch.ts'

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
    const asked = await Promise.all(Array.from({ length: 12 }, (_, index) => store.acquire(name, `holder-${index}`, 60)))
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
