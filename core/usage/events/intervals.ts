import type { MonthBounds } from '../month.ts'
import { laterByMonths, monthBounds, monthEnd, monthOf, monthsBetween, secondOf } from '../month.ts'
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
  let earliest: UnixSeconds | undefined
  for (const { type, at } of changes)
    if (type === 'object.deleted' && (earliest === undefined || at < earliest)) earliest = at
  return earliest
}

/** A change that says what an object occupies. */
interface Spec {
  readonly change: ObjectChange
  /** From when it applies. */
  readonly from: UnixSeconds
}

/** Reports whether a change replaces another at an instant at which both apply. */
const replaces = (a: ObjectChange, b: ObjectChange): boolean => {
  if (a.generation !== b.generation) return a.generation > b.generation
  return a.at === b.at ? a.type > b.type : a.at > b.at
}

/** Returns the creation of an object. Of several the one of the lowest generation counts. */
const creationOf = (changes: readonly ObjectChange[]): ObjectChange | undefined => {
  let first: ObjectChange | undefined
  for (const change of changes)
    if (change.type === 'object.created' && (first === undefined || replaces(first, change))) first = change
  return first
}

/**
 * The resources of an object by the second from which they apply, in order. With its creation, the object exists from
 * `createdAt`, at most 35 days before the creation was reported to have been seen; without it, from its earliest
 * change.
 */
const specsOf = (createdAt: UnixSeconds, changes: readonly ObjectChange[]): readonly Spec[] => {
  const created = creationOf(changes)
  const start =
    created === undefined
      ? undefined
      : (Math.max(Math.min(createdAt, created.at), created.at - backfillSeconds) as UnixSeconds)
  const specs: Spec[] = []
  for (const change of changes) {
    if (change.type === 'object.deleted') continue
    specs.push({
      change,
      from:
        change === created && start !== undefined ? start : (Math.max(change.at, start ?? change.at) as UnixSeconds),
    })
  }
  return specs.sort((a, b) => a.from - b.from)
}

interface Span extends Spec {
  readonly to: UnixSeconds
}

/** The times in which the same change applies, in order, until `end`. */
const spansOf = (specs: readonly Spec[], end: UnixSeconds): readonly Span[] => {
  const spans: Span[] = []
  let current: Spec | undefined
  for (const spec of specs) {
    if (spec.from >= end) break
    if (current !== undefined && !replaces(spec.change, current.change)) continue
    const last = spans.pop()
    if (last !== undefined && last.from < spec.from) spans.push({ ...last, to: spec.from })
    spans.push({ ...spec, to: end })
    current = spec
  }
  return spans
}

/**
 * Returns the intervals of an object, in the order of time: a pure function of the set of its changes and the months. A
 * change of a later generation applies from its time, until the object is deleted. The interval of an object that
 * exists ends with the last month, which is later than `horizon.last` only if a change of the next month arrived a few
 * minutes early.
 */
export const intervalsOf = (
  createdAt: UnixSeconds,
  changes: readonly ObjectChange[],
  horizon: Horizon,
): readonly UsageInterval[] => {
  if (changes.length === 0) return []
  let latest = 0 as UnixSeconds
  for (const { at } of changes) if (at > latest) latest = at
  const current = { month: horizon.last, ...monthBounds(horizon.last) }
  const end = Math.min(
    deletionOf(changes) ?? Number.POSITIVE_INFINITY,
    latest < current.to ? current.to : monthEnd(monthOf(latest)),
  ) as UnixSeconds
  const intervals: UsageInterval[] = []
  for (const span of spansOf(specsOf(createdAt, changes), end)) {
    if (span.from >= current.from && span.to <= current.to) intervals.push(partOf(span, current))
    else intervals.push(...cutByMonth(span, horizon.first))
  }
  return intervals
}

interface Month extends MonthBounds {
  readonly month: MonthKey
}

/** The part of a span that is in a month. */
const partOf = (
  { from, to, change: { milliCpu, memoryMib, generation, replicas } }: Span,
  { month, from: start, to: end }: Month,
): UsageInterval => ({
  month,
  from: from > start ? from : start,
  to: to < end ? to : end,
  milliCpu,
  memoryMib,
  generation,
  replicas,
})

const cutByMonth = (span: Span, first: MonthKey): readonly UsageInterval[] => {
  const start = monthOf(span.from)
  return monthsBetween(start > first ? start : first, monthOf((span.to - 1) as UnixSeconds)).map((month) =>
    partOf(span, { month, ...monthBounds(month) }),
  )
}
