// process: own - subscribes to what all pools of a process publish
import { AsyncLocalStorage } from 'node:async_hooks'
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { makeSlots } from '../../adapters/helm/process/limits.ts'
import type { EndedWait } from '../../adapters/outbound/account-limiter.ts'
import { endedWaits, makeAccountLimiter } from '../../adapters/outbound/account-limiter.ts'
import { makeWaitQueue, takePlace } from '../../adapters/sql/engine/wait-queue.ts'

type Run = (work: () => Promise<void>) => Promise<unknown>

/** Pools with one place. */
const pools: Readonly<Record<string, () => Run>> = {
  limiter: () => {
    const limiter = makeAccountLimiter({
      pool: 'limiter',
      inAll: 1,
      perAccount: 1,
      waitingPerAccount: 9,
      waitMilliseconds: 60_000,
    })
    return (work) => limiter.run({ account: 1 }, work)
  },
  slots: () => {
    const slots = makeSlots({ inAll: 1, perTenant: 1, waitingPerTenant: 9 }, 'slots')
    const { signal } = new AbortController()
    return (work) => slots.run(1, signal, async () => right(await work()))
  },
  database: () => {
    const places = makeWaitQueue(1, 60_000, 'busy')
    return async (work) => {
      const account = await takePlace(places)
      await work()
      places.release(account)
    }
  },
}

for (const [pool, make] of Object.entries(pools))
  test(`${pool}: a wait ends in its caller's context, and no wait is none`, async (t) => {
    const context = new AsyncLocalStorage<string>()
    const waits: (readonly [string | undefined, EndedWait])[] = []
    const listener = (message: unknown): void => {
      const wait = message as EndedWait
      if (wait.pool === pool) waits.push([context.getStore(), wait])
    }
    const run = make()
    endedWaits.subscribe(listener)
    t.teardown(() => endedWaits.unsubscribe(listener))
    const gate = Promise.withResolvers<void>()
    const works = ['first', 'second', 'third'].map((name) => context.run(name, () => run(() => gate.promise)))
    gate.resolve()
    await Promise.all(works)
    t.deepEqual(
      waits.map(([name]) => name),
      ['second', 'third'],
    )
    for (const [, { since, until }] of waits) t.true(until >= since && Math.abs(until - Date.now()) < 60_000)
  })
