import test from 'ava'
import { makePublishFinalMonths } from '../../../core/usage/final-months/final-months.ts'
import type { FinalMonthEvent, FinalMonthMessage } from '../../../core/usage/final-months/ports.ts'

const event = (revision: number): FinalMonthEvent =>
  ({
    ownerId: 7,
    accountName: 'acme',
    month: 202611,
    revision,
    generatedAt: new Date('2026-12-04T00:00:00Z'),
  }) as FinalMonthEvent

const outboxOf = (count: number) => {
  let waiting = Array.from({ length: count }, (_, index) => event(index + 1))
  const limits: number[] = []
  return {
    limits,
    left: () => waiting.length,
    add: async (added: FinalMonthEvent) => void waiting.push(added),
    oldest: async (limit: number) => {
      limits.push(limit)
      return waiting.slice(0, limit)
    },
    remove: async (done: FinalMonthEvent) => void (waiting = waiting.filter((each) => each !== done)),
  }
}

test('all waiting events are published in batches of 100 and then removed', async (t) => {
  const outbox = outboxOf(101)
  const batches: (readonly FinalMonthMessage[])[] = []
  await makePublishFinalMonths({ outbox, bus: { publish: async (messages) => void batches.push(messages) } })(
    new AbortController().signal,
  )
  t.deepEqual(
    batches.map(({ length }) => length),
    [100, 1],
  )
  t.deepEqual([outbox.left(), outbox.limits], [0, [100, 100, 100]])
  t.is(batches[1]?.[0]?.id, 'usage-month.7.2026-11.101')
})

test('an aborted run publishes nothing, and a failed one keeps its events', async (t) => {
  const outbox = outboxOf(2)
  const published: unknown[] = []
  const aborted = AbortSignal.abort(new Error('stop'))
  await t.throwsAsync(
    makePublishFinalMonths({ outbox, bus: { publish: async (messages) => void published.push(messages) } })(aborted),
    { message: 'stop' },
  )
  const failing = { publish: () => Promise.reject(new Error('away')) }
  await t.throwsAsync(makePublishFinalMonths({ outbox, bus: failing })(new AbortController().signal), {
    message: 'away',
  })
  t.deepEqual([published, outbox.left()], [[], 2])
})
