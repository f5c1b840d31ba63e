import fc from 'fast-check'
import { daysOfMonth, daySeconds, monthEnd, monthKey, monthStart, monthSeconds } from '../../core/usage/month.ts'
import type { Span } from '../../core/usage/months/presence.ts'
import type { CutInterval } from '../../core/usage/usage-types.ts'
import type { Coverage, ModeChange } from '../../core/usage/months/segments.ts'
import type { MonthKey, UnixSeconds, UsageObject } from '../../core/usage/types.ts'

/** Months of all lengths. */
export const someMonth = fc.constantFrom(monthKey(2024, 2), monthKey(2026, 2), monthKey(2026, 11), monthKey(2026, 12))

/** Any second from ten days before a month to ten days after it; often one at an edge of a month, a day or an hour. */
export const secondNear = (month: MonthKey): fc.Arbitrary<UnixSeconds> => {
  const [start, end] = [monthStart(month), monthEnd(month)]
  const edge = fc
    .tuple(
      fc.constantFrom(start, end, start + daySeconds, end - daySeconds, start + 3600),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([at, offset]) => at + offset)
  return fc.oneof(
    edge,
    fc.integer({ min: start - 10 * daySeconds, max: end + 10 * daySeconds }),
  ) as fc.Arbitrary<UnixSeconds>
}

export const someSpan = (month: MonthKey): fc.Arbitrary<Span> =>
  fc.tuple(secondNear(month), secondNear(month)).map(([a, b]) => (a < b ? { from: a, to: b } : { from: b, to: a }))

export const someModes = (month: MonthKey): fc.Arbitrary<readonly ModeChange[]> =>
  fc
    .array(
      fc.record({
        at: secondNear(month),
        eventId: fc.string({ minLength: 1, maxLength: 2 }),
        mode: fc.constantFrom('prod' as const, 'non-prod' as const),
      }),
      { maxLength: 5 },
    )
    .map((changes) => [...new Map(changes.map((change) => [`${change.at} ${change.eventId}`, change])).values()])

export const someCoverages = (month: MonthKey): fc.Arbitrary<readonly Coverage[]> =>
  fc.array(
    fc
      .record({
        span: someSpan(month),
        contractId: fc.integer({ min: 1, max: 3 }),
        termsNumber: fc.integer({ min: 1, max: 2 }),
        boundFrom: secondNear(month),
      })
      .map(({ span, ...rest }) => ({ ...rest, ...span })),
    { maxLength: 3 },
  )

/** Intervals of one object without overlaps, in a month. */
export const someIntervals = (month: MonthKey): fc.Arbitrary<readonly CutInterval[]> =>
  fc
    .tuple(
      fc.uniqueArray(
        secondNear(month).filter((at) => at >= monthStart(month) && at <= monthEnd(month)),
        { maxLength: 6 },
      ),
      fc.array(
        fc.record({
          milliCpu: fc.oneof(fc.integer({ min: 0, max: 8000 }), fc.constant(1_000_000_000)),
          memoryMib: fc.oneof(fc.integer({ min: 0, max: 9000 }), fc.constant(1_000_000_000)),
          cut: fc.nat(),
          isGap: fc.boolean(),
        }),
        { minLength: 6, maxLength: 6 },
      ),
    )
    .map(([cuts, amounts]) => {
      const sorted = cuts.toSorted((a, b) => a - b)
      return amounts.flatMap(({ milliCpu, memoryMib, cut, isGap }, index): readonly CutInterval[] => {
        const [from, to] = [sorted[index], sorted[index + 1]]
        if (from === undefined || to === undefined || isGap) return []
        return [
          {
            from,
            to,
            cutAt: (cut % 3 === 0 ? from + (cut % (to - from + 1)) : to) as UnixSeconds,
            milliCpu,
            memoryMib,
            generation: index + 1,
            replicas: 1,
          },
        ]
      })
    })

export const objectOf = (month: MonthKey, trialEndsAt: UnixSeconds | undefined): UsageObject => ({
  id: 1 as never,
  clusterId: 1 as never,
  uid: 'o',
  product: 'dbProduct',
  group: 'g',
  kind: 'K',
  namespace: 'n',
  namespaceUid: 'u',
  name: 'x',
  createdAt: monthStart(month),
  deletedAt: undefined,
  trialEndsAt,
})

/** For each second of a month: whether the cluster counts, its mode, and its contract. */
export interface Seconds {
  readonly heard: Uint8Array
  readonly prod: Uint8Array
  readonly contract: Uint8Array
}

/** Asks for each second by itself. */
export const secondsOfMonth = (
  month: MonthKey,
  heard: readonly Span[],
  modes: readonly ModeChange[],
  coverages: readonly Coverage[],
): Seconds => {
  const [start, length] = [monthStart(month), monthSeconds(month)]
  const seconds = { heard: new Uint8Array(length), prod: new Uint8Array(length), contract: new Uint8Array(length) }
  const ordered = modes.toSorted((a, b) => a.at - b.at || (a.eventId < b.eventId ? -1 : 1))
  const preferred = coverages.toSorted((a, b) => a.boundFrom - b.boundFrom || a.contractId - b.contractId)
  for (let index = 0; index < length; index += 1) {
    const at = start + index
    for (const { from, to } of heard) if (from <= at && at < to) seconds.heard[index] = 1
    for (const change of ordered) if (change.at <= at) seconds.prod[index] = change.mode === 'prod' ? 1 : 0
    for (const { from, to, contractId } of preferred) {
      if (from > at || at >= to) continue
      seconds.contract[index] = contractId
      break
    }
  }
  return seconds
}

/**
 * Adds up what an object used, second by second. Keys are `contract class` for parts and `day class` for days; values
 * are amounts.
 */
export const usageBySecond = (
  month: MonthKey,
  { heard, prod, contract }: Seconds,
  intervals: readonly CutInterval[],
  trialEndsAt: UnixSeconds | undefined,
) => {
  const [start, length] = [monthStart(month), monthSeconds(month)]
  const [parts, days] = [new Map<string, readonly [bigint, bigint]>(), new Map<string, readonly [bigint, bigint]>()]
  // Seconds are counted for each amount first: millions of additions of bigints would take too long.
  const counts = new Map<string, number>()
  for (let index = 0; index < length; index += 1) {
    const at = start + index
    if (heard[index] === 0) continue
    for (const [number, { from, to, cutAt }] of intervals.entries()) {
      if (at < from || at >= to || at >= cutAt) continue
      const id = contract[index] ?? 0
      const use =
        trialEndsAt !== undefined && at < trialEndsAt
          ? 'trial'
          : id === 0
            ? 'free'
            : prod[index] === 1
              ? 'prod'
              : 'non-prod'
      const key = `${number} ${id} ${use} ${Math.floor(index / daySeconds) + 1}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const add = (sums: Map<string, readonly [bigint, bigint]>, key: string, cpu: bigint, memory: bigint): void => {
    const [a, b] = sums.get(key) ?? [0n, 0n]
    sums.set(key, [a + cpu, b + memory])
  }
  for (const [key, count] of counts) {
    const [number, id, use, day] = key.split(' ')
    const { milliCpu, memoryMib } = intervals[Number(number)]!
    const [cpu, memory] = [BigInt(milliCpu) * BigInt(count), BigInt(memoryMib) * BigInt(count)]
    add(parts, `${id} ${use}`, cpu, memory)
    if (cpu > 0n || memory > 0n) add(days, `${day} ${use}`, cpu, memory)
  }
  return { parts, days, dayCount: daysOfMonth(month) }
}
