import test from 'ava'
import { makeWorkQueue } from '../../adapters/security/work-queue.ts'

test('work runs in order, never more at once than allowed', async (t) => {
  const queue = makeWorkQueue({ concurrency: 2, maxWaiting: 10 })
  const order: number[] = []
  let running = 0
  let most = 0
  const work = (id: number) => async () => {
    running += 1
    most = Math.max(most, running)
    order.push(id)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    return id
  }
  const ids = [0, 1, 2, 3, 4, 5]
  t.deepEqual(await Promise.all(ids.map(async (id) => queue.tryRun(work(id)))), ids)
  t.deepEqual(order, ids)
  t.is(most, 2)
})

test('what finds no place is turned away without being started', async (t) => {
  const queue = makeWorkQueue({ concurrency: 1, maxWaiting: 1 })
  let started = 0
  const work = async (): Promise<void> => void (started += 1)
  const first = queue.tryRun(work)
  const second = queue.tryRun(work)
  t.is(queue.tryRun(work), undefined)
  await Promise.all([first, second])
  t.is(started, 2)
})

test('a failing work fails its caller only, and gives its place back', async (t) => {
  const queue = makeWorkQueue({ concurrency: 1, maxWaiting: 5 })
  const failing = queue.tryRun(async () => Promise.reject(new Error('no')))
  const waiting = queue.tryRun(async () => Promise.reject(new Error('neither')))
  const fine = queue.tryRun(async () => 'fine')
  await t.throwsAsync(async () => failing, { message: 'no' })
  await t.throwsAsync(async () => waiting, { message: 'neither' })
  t.is(await fine, 'fine')
  t.is(queue.waiting, 0)
})
