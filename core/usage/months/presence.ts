import type { UnixSeconds } from '../types.ts'

const hour = 3600
/**
 * How long a cluster counts after the last hour in which it was heard, while it is not known whether it will be heard
 * again.
 */
const graceSeconds = 24 * hour
/**
 * How long a silence may last that counts because the cluster was heard again. Events may be that old when they arrive.
 */
export const longestSilenceSeconds = 35 * 24 * hour

/** A time: `from` is in it, `to` is just after it. */
export interface Span {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
}

/** When a cluster was heard. */
export interface Presence {
  /** The first seconds of the hours in which the cluster was heard, ascending. */
  readonly hours: readonly UnixSeconds[]
  /** Times in which nothing was heard for a reason on our side; in any order, they may overlap. */
  readonly outages: readonly Span[]
  /** Up to when events are considered. */
  readonly asOf: UnixSeconds
}

/**
 * Returns the times in which a cluster counts, ascending and apart from each other. A cluster counts
 * - in each hour in which it was heard,
 * - in each outage that begins while it counts, or at most 24 hours after that,
 * - between two such times if they are at most 35 days apart,
 * - after the last of them until `asOf`, unless that is more than 24 hours later.
 * An outage by itself does not prove that a cluster still exists, so another outage does not count.
 */
export const heardSpans = ({ hours, outages, asOf }: Presence): readonly Span[] => {
  let known = hours.filter((from) => from < asOf).map((from): Span => ({ from, to: (from + hour) as UnixSeconds }))
  let waiting = outages.filter(({ from, to }) => from < to && from < asOf)
  for (;;) {
    const spans = joined(known)
    const counting = waiting.filter(({ from }) =>
      spans.some((span) => span.from <= from && from - span.to <= graceSeconds),
    )
    if (counting.length === 0) return untilNow(spans, asOf)
    // What an outage adds can make another one count.
    known = [...spans, ...counting]
    waiting = waiting.filter((outage) => !counting.includes(outage))
  }
}

/** Joins times that overlap or are at most 35 days apart. */
const joined = (spans: readonly Span[]): readonly Span[] => {
  const result: Span[] = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last !== undefined && from - last.to <= longestSilenceSeconds)
      result[result.length - 1] = { from: last.from, to: later(last.to, to) }
    else result.push({ from, to })
  }
  return result
}

const untilNow = (spans: readonly Span[], asOf: UnixSeconds): readonly Span[] => {
  const last = spans.at(-1)
  return last !== undefined && asOf - last.to <= graceSeconds
    ? [...spans.slice(0, -1), { from: last.from, to: asOf }]
    : spans
}

const later = (a: UnixSeconds, b: UnixSeconds): UnixSeconds => (a > b ? a : b)

/** Returns the parts of spans that are in a window. */
export const clipped = (spans: readonly Span[], { from, to }: Span): readonly Span[] =>
  spans.flatMap((span) => {
    const part = { from: later(span.from, from), to: span.to < to ? span.to : to }
    return part.from < part.to ? [part] : []
  })
