import test from 'ava'
import fc from 'fast-check'
import type { UnixSeconds, UsageMonth } from '../../../core/usage/types.ts'
import { usageClasses } from '../../../core/usage/types.ts'
import { isFinalDue } from '../../../core/usage/months/close.ts'
import type { UsagePiece } from '../../../core/usage/months/roll-up.ts'
import { DaySums } from '../../../core/usage/months/roll-up.ts'
import { daySeconds, daysOfMonth, monthEnd, monthKey, monthStart } from '../../../core/usage/month.ts'

const month = monthKey(2026, 2)
const kind = { product: 'dbProduct' as const, group: 'kubedb.com', kind: 'MySQL' }
const seconds = daysOfMonth(month) * daySeconds

/** Instants at, and one second beside, the ends of days as well as within them. */
const second = fc.oneof(
  fc.integer({ min: 0, max: seconds }),
  fc
    .tuple(fc.integer({ min: 0, max: daysOfMonth(month) }), fc.integer({ min: -1, max: 1 }))
    .map(([day, beside]) => Math.min(seconds, Math.max(0, day * daySeconds + beside))),
)
const piece: fc.Arbitrary<UsagePiece> = fc
  .record({
    ends: fc.tuple(second, second).filter(([a, b]) => a !== b),
    milliCpu: fc.integer({ min: 0, max: 10 ** 9 }),
    memoryMib: fc.integer({ min: 0, max: 10 ** 9 }),
    use: fc.constantFrom(...usageClasses),
  })
  .map(({ ends: [a, b], ...amounts }) => ({
    ...amounts,
    from: (monthStart(month) + Math.min(a, b)) as UnixSeconds,
    to: (monthStart(month) + Math.max(a, b)) as UnixSeconds,
    contractId: 7,
    termsNumber: 1,
    mode: 'prod' as const,
  }))

test('sums of days equal the use of each piece on each day', (t) => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const days = new DaySums(month)
      const naive = new Map<string, { cpu: bigint; memory: bigint }>()
      for (const each of pieces) {
        days.adderOf(kind)(each)
        for (let day = 0; day < daysOfMonth(month); day += 1) {
          const start = monthStart(month) + day * daySeconds
          const used = Math.min(each.to, start + daySeconds) - Math.max(each.from, start)
          if (used <= 0) continue
          const key = `${each.use} ${day + 1}`
          const { cpu, memory } = naive.get(key) ?? { cpu: 0n, memory: 0n }
          naive.set(key, {
            cpu: cpu + BigInt(each.milliCpu) * BigInt(used),
            memory: memory + BigInt(each.memoryMib) * BigInt(used),
          })
        }
      }
      const summed = days
        .result()
        .map(
          ({ use, day, milliCpuSeconds: cpu, mebibyteSeconds: memory }) => [`${use} ${day}`, { cpu, memory }] as const,
        )
      const expected = [...naive].filter(([, { cpu, memory }]) => cpu > 0n || memory > 0n)
      // ava compares maps in their order.
      t.deepEqual(Object.fromEntries(summed), Object.fromEntries(expected))
    }),
  )
})

const at = (unix: number): Date => new Date(unix * 1000)
const hour = 3600

test('a month becomes final 72 hours after its end, and not before', (t) => {
  t.false(isFinalDue(undefined, month, at(monthEnd(month) + 72 * hour - 1)))
  t.true(isFinalDue(undefined, month, at(monthEnd(month) + 72 * hour)))
})

test('a reopened month becomes final 72 hours after it was computed again', (t) => {
  const reopenedAt = monthEnd(month) + 1000 * hour
  const newest = (revision: number) => ({ revision, generatedAt: at(reopenedAt) }) as UsageMonth
  t.false(isFinalDue(newest(2), month, at(reopenedAt + 72 * hour - 1)))
  t.true(isFinalDue(newest(2), month, at(reopenedAt + 72 * hour)))
  t.true(isFinalDue(newest(1), month, at(reopenedAt)), 'the first revision is no reopening')
})
