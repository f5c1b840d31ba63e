import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import { Unavailable } from '../../core/kernel/failure.ts'
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
  for (let count = 0; count < 3; count += 1) queue.release()
  await Promise.all(waits)
  t.deepEqual(granted, [1, 2, 3])
  for (let count = 0; count < 2; count += 1) queue.release()
  t.like(queue.load(), { used: 0, free: 2, waiting: 0, waits: 5 })
})

test('who waits too long is refused, and the place goes to the next one', async (t) => {
  const queue = makeWaitQueue(1, 50, 'busy')
  await takePlace(queue)
  await t.throwsAsync(takePlace(queue), { instanceOf: Unavailable, message: 'busy' })
  queue.release()
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
  const releasing = sleep(210).then(() => queue.release())
  standStill(600)
  await t.notThrowsAsync(waiting)
  await releasing
})
