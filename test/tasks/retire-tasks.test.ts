import test from 'ava'
import { systemClock } from '../../adapters/system/system-clock.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { Log } from '../../core/kernel/log.ts'
import { makeRetireTasks } from '../../core/tasks/retention.ts'
import type { TaskRetention } from '../../core/tasks/ports.ts'

/** Accounts with so many ended tasks each. */
const retentionOf = (counts: Map<AccountId, number>): TaskRetention => ({
  removeEnded: async () => 0,
  abandoned: async () => [],
  tenantsBeyond: async (kept, limit) => [...counts].filter(([, count]) => count > kept).map(([id]) => id).slice(0, limit),
  removeEndedBeyond: async (id, kept, limit) => {
    const count = counts.get(id) ?? 0
    const removed = Math.min(limit, Math.max(0, count - kept))
    counts.set(id, count - removed)
    return removed
  },
})

const retireOver = (retention: TaskRetention) => {
  const lines: object[] = []
  const log = { info: (fields: object) => void lines.push(fields), warn: () => undefined } as unknown as Log
  const unused = (): never => { throw new Error('nothing is abandoned here') }
  const retire = makeRetireTasks({ retention, log, clock: systemClock, ownCall: unused, unitOfWork: { run: unused }, publisher: { kick: unused } })
  return { retire, lines }
}

test('every account is brought down to a thousand ended tasks', async (t) => {
  const counts = new Map([[1, 1_000], [2, 1_001], [3, 2_400], [4, 1_200]].map(([id, count]) => [id as AccountId, count as number]))
  const { retire, lines } = retireOver(retentionOf(counts))
  await retire(new AbortController().signal)
  t.deepEqual([...counts.values()], [1_000, 1_000, 1_000, 1_000])
  t.deepEqual(lines, [{ removed: 1_601, keptEnded: 1_000 }])
})

test('a service that stops removes nothing more', async (t) => {
  const counts = new Map([[1 as AccountId, 5_000]])
  await retireOver(retentionOf(counts)).retire(AbortSignal.abort())
  t.deepEqual([...counts.values()], [5_000])
})
