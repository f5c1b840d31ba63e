import { laterByMonths, monthBounds, monthOf, monthsBetween, secondOf } from '../month.ts'
import type { MonthKey, UnixSeconds, UsageInterval } from '../types.ts'
import { maxAgeDays } from './event-rules.ts'
import type { ObjectChange } from './types.ts'

/** The months whose intervals are kept, the current one included. */
export const keptMonths = 14

/** Which months of an object are derived. */
export interface Horizon {
  readonly first: MonthKey
  readonly last: MonthKey
}

/** Returns the months that are derived at `now`. */
export const horizonAt = (now: Date): Horizon => {
  const last = monthOf(secondOf(now))
  return { first: laterByMonths(last, 1 - keptMonths), last }
}

const backfillSeconds = maxAgeDays * 86_400

/** Returns when an object ended; undefined while it exists. Of several deletions the earliest counts. */
export const deletionOf = (changes: readonly ObjectChange[]): UnixSeconds | undefined => {
  const times = changes.filter(({ type }) => type === 'object.deleted').map(({ at }) => at)
  return times.length === 0 ? undefined : (Math.min(...times) as UnixSeconds)
}

interface Spec extends ObjectChange {
  /** From when it applies. */
  readonly from: UnixSeconds
}

/** Reports whether a spec replaces another at an instant at which both apply. */
const replaces = (a: Spec, b: Spec): boolean => {
  if (a.generation !== b.generation) return a.generation > b.generation
  return a.at === b.at ? a.type > b.type : a.at > b.at
}

/**
 * The resources of an object by the second from which they apply. With its creation, the object exists from `createdAt`, at most 35
 * days before the creation was reported to have been seen; without it, from its earliest change.
 */
const specsOf = (createdAt: UnixSeconds, changes: readonly ObjectChange[]): readonly Spec[] => {
  const specs = changes.filter(({ type }) => type !== 'object.deleted')
  const created = specs.filter(({ type }) => type === 'object.created').sort((a, b) => a.generation - b.generation || a.at - b.at)[0]
  const start = created === undefined ? undefined : (Math.max(Math.min(createdAt, created.at), created.at - backfillSeconds) as UnixSeconds)
  return specs.map((spec) => ({ ...spec, from: spec === created && start !== undefined ? start : (Math.max(spec.at, start ?? spec.at) as UnixSeconds) }))
}

interface Span {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly spec: Spec
}

/** The times in which the same spec applies, in order, until `end`. */
const spansOf = (specs: readonly Spec[], end: UnixSeconds): readonly Span[] => {
  const ordered = [...specs].sort((a, b) => a.from - b.from)
  const spans: Span[] = []
  let current: Spec | undefined
  for (const spec of ordered) {
    if (spec.from >= end) break
    if (current !== undefined && !replaces(spec, current)) continue
    const last = spans.pop()
    if (last !== undefined && last.from < spec.from) spans.push({ ...last, to: spec.from })
    spans.push({ from: spec.from, to: end, spec })
    current = spec
  }
  return spans
}

/**
 * Returns the intervals of an object, in the order of time: a pure function of the set of its changes and the months. A change of a
 * later generation applies from its time, until the object is deleted. The interval of an object that exists ends with the last month,
 * which is later than `horizon.last` only if a change of the next month arrived a few minutes early.
 */
export const intervalsOf = (createdAt: UnixSeconds, changes: readonly ObjectChange[], horizon: Horizon): readonly UsageInterval[] => {
  if (changes.length === 0) return []
  const latest = monthOf(Math.max(...changes.map(({ at }) => at)) as UnixSeconds)
  const last = latest > horizon.last ? latest : horizon.last
  const end = Math.min(deletionOf(changes) ?? Number.POSITIVE_INFINITY, monthBounds(last).to) as UnixSeconds
  return spansOf(specsOf(createdAt, changes), end).flatMap(({ from, to, spec }) => cutByMonth(from, to, spec, horizon.first))
}

const cutByMonth = (from: UnixSeconds, to: UnixSeconds, spec: Spec, first: MonthKey): readonly UsageInterval[] => {
  const start = monthOf(from)
  const { milliCpu, memoryMib, generation, replicas } = spec
  return monthsBetween(start > first ? start : first, monthOf((to - 1) as UnixSeconds)).map((month) => {
    const bounds = monthBounds(month)
    const [lower, upper] = [Math.max(from, bounds.from) as UnixSeconds, Math.min(to, bounds.to) as UnixSeconds]
    return { month, from: lower, to: upper, milliCpu, memoryMib, generation, replicas }
  })
}
