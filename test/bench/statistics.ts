/** The middle of the values (the mean of the two middle ones); NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  if (upper === undefined) return Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/**
 * The value that `share` (0..1) of the values do not exceed, by nearest rank: p99 is `percentile(values, 0.99)`. NaN of
 * none.
 */
export function percentile(values: readonly number[] | Float64Array, share: number): number {
  const sorted = Float64Array.from(values).sort()
  if (sorted.length === 0) return Number.NaN
  const rank = Math.max(1, Math.ceil(share * sorted.length))
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN
}

/** The greatest value, or the least where less is better; NaN of none. */
export function best(values: readonly number[], better: 'more' | 'less' = 'more'): number {
  if (values.length === 0) return Number.NaN
  return better === 'more' ? Math.max(...values) : Math.min(...values)
}

/** NaN where the ratio means nothing. */
export function ratio(ours: number, twin: number): number {
  return twin > 0 ? ours / twin : Number.NaN
}

/**
 * The median of each round's own ratio. Slices of one round were measured one after the other, so that what slowed the
 * machine for a while slowed both sides; a ratio of two medians would compare different moments.
 */
export function pairedRatio(ours: readonly number[], twin: readonly number[]): number {
  const rounds = Math.min(ours.length, twin.length)
  return median(Array.from({ length: rounds }, (_, round) => ratio(ours[round] ?? 0, twin[round] ?? 0)))
}
