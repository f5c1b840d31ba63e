import test from 'ava'
import { makeTimeSlices } from '../../../adapters/helm/records/time-slices.ts'

test('work is done in its order, each answered what it made or threw', async (t) => {
  const slices = makeTimeSlices(5)
  const done: number[] = []
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4].map((n) =>
      slices.run(() => {
        done.push(n)
        if (n === 3) throw new Error('three')
        return n * 10
      }),
    ),
  )
  t.deepEqual(done, [1, 2, 3, 4])
  t.deepEqual(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message)), [10, 20, 'three', 40])
  t.is(await slices.run(() => 5), 5)
})

test('once the time is up everything else has its turn', async (t) => {
  const slices = makeTimeSlices(0)
  const story: string[] = []
  const turns = (async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      story.push('other')
    }
  })()
  await Promise.all([turns, ...[1, 2, 3].map((n) => slices.run(() => void story.push(`work ${n}`)))])
  t.deepEqual(story.filter((line) => line !== 'other'), ['work 1', 'work 2', 'work 3'])
  t.true(story.lastIndexOf('work 3') - story.indexOf('work 1') > 2, story.join(', '))
})
