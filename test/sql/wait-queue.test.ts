import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import fc from 'fast-check'
import { Unavailable } from '../../core/kernel/failure.ts'
import { forEveryone } from '../../adapters/outbound/account-limiter.ts'
import { makeWaitQueue, takePlace } from '../../adapters/sql/engine/wait-queue.ts'

/** Keeps the event loop, as a process that is stopped does. */
const standStill = (milliseconds: number): void =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

test('places are granted in the order of requests, and none is lost', async (t) => {
  const queue = makeWaitQueue(2, 60_000, 'busy')
  const granted: number[] = []
  t.true(queue.tryTake() && queue.tryTake() && !queue.tryTake())
  const waits = [1, 2, 3].map((each) => takePlace(queue).then(() => granted.push(each)))
  t.like(queue.load(), { used: 2, free: 0, waiting: 3 })
  for (let count = 0; count < 3; count += 1) queue.release(undefined)
  await Promise.all(waits)
  t.deepEqual(granted, [1, 2, 3])
  for (let count = 0; count < 2; count += 1) queue.release(undefined)
  t.like(queue.load(), { used: 0, free: 2, waiting: 0, waits: 5 })
})

test('a waiter beyond its limit is refused, and the next one gets its slot', async (t) => {
  const queue = makeWaitQueue(1, 50, 'busy')
  await takePlace(queue)
  await t.throwsAsync(takePlace(queue), { instanceOf: Unavailable, message: 'busy' })
  queue.release(undefined)
  await takePlace(queue)
  const { waits, waitSeconds, ...load } = queue.load()
  t.deepEqual([load, waits], [{ used: 1, free: 0, waiting: 0 }, 3])
  t.true(waitSeconds > 0, 'the wait of the refused one counts')
})

test('the time in which the process stood still is not counted', async (t) => {
  const queue = makeWaitQueue(1, 200, 'busy')
  await takePlace(queue)
  const waiting = takePlace(queue)
  // It is due after the end of the wait, and long before that of the standstill.
  const releasing = sleep(210).then(() => queue.release(undefined))
  standStill(600)
  await t.notThrowsAsync(waiting)
  await releasing
})

test('waiting accounts are served alternately, each in its own order', (t) => {
  const event = fc.oneof(
    fc.record({ take: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }) }),
    fc.constant('release' as const),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (events, perAccount) => {
      let asking: number | undefined
      const queue = makeWaitQueue(4, 60_000, 'busy', { account: () => asking, perAccount })
      const holders: (number | undefined)[] = []
      const waiting: { readonly account: number | undefined; readonly number: number }[] = []
      /** The turns of others since the account waits or had its last one. */
      const overtakenBy = new Map<number | undefined, (number | undefined)[]>()
      const granted = (account: number | undefined, number: number): void => {
        holders.push(account)
        const own = waiting.filter((each) => each.account === account)
        if (own.length === 0) return
        t.is(own[0]?.number, number, 'in the order of requests')
        waiting.splice(waiting.indexOf(own[0]!), 1)
        overtakenBy.set(account, [])
        for (const other of new Set(waiting.map((each) => each.account)))
          if (other !== account) overtakenBy.get(other)?.push(account)
      }
      const isFull = (account: number | undefined): boolean =>
        holders.length === 4 ||
        (account !== undefined && perAccount < 4 && holders.filter((each) => each === account).length >= perAccount)
      for (const [number, each] of events.entries()) {
        if (each !== 'release') {
          asking = each.take
          const waits = isFull(asking)
          if (waits) {
            if (!waiting.some(({ account }) => account === asking)) overtakenBy.set(asking, [])
            waiting.push({ account: asking, number })
          }
          let isGranted = false
          queue.take((error, account) => {
            isGranted = true
            t.is(error, undefined)
            t.is(account, each.take)
            granted(each.take, number)
          })
          t.is(isGranted, !waits)
        } else if (holders.length > 0) {
          queue.release(holders.shift())
        }
        t.like(queue.load(), { used: holders.length, waiting: waiting.length })
        t.true(holders.length <= 4)
        for (const { account } of waiting) t.true(isFull(account), 'who may have a place does not wait')
        // An account whose places are all taken is passed over, and keeps its position.
        if (perAccount >= 4)
          for (const [account, others] of overtakenBy)
            if (waiting.some((one) => one.account === account)) t.is(new Set(others).size, others.length)
      }
      // Ends the timers.
      while (holders.length > 0) queue.release(holders.shift())
      t.is(waiting.length, 0)
    }),
    { numRuns: 300 },
  )
})

test('an account that has as many places as it may have leaves the others to others', (t) => {
  let asking: number | undefined = 1
  const queue = makeWaitQueue(3, 60_000, 'busy', { account: () => asking, perAccount: 2 })
  const granted: string[] = []
  const ask = (name: string) => queue.take(() => granted.push(name))
  for (const name of ['a1', 'a2', 'a3']) ask(name)
  asking = 2
  ask('b1')
  forEveryone(() => ask('everyone'))
  ask('b2')
  t.deepEqual(granted, ['a1', 'a2', 'b1'])
  t.like(queue.load(), { used: 3, waiting: 3 })
  queue.release(2)
  t.deepEqual(granted.slice(3), ['everyone'], 'the first account has all that it may have')
  queue.release(undefined)
  queue.release(1)
  t.deepEqual(granted.slice(4).sort(), ['a3', 'b2'])
})
