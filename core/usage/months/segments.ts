import type { ClusterMode, UnixSeconds, UsageClusterId, UsageProduct, UsageSegment } from '../types.ts'
import type { Span } from './presence.ts'
import { clipped } from './presence.ts'

/** A change of the mode of a cluster. */
export interface ModeChange {
  readonly at: UnixSeconds
  readonly eventId: string
  readonly mode: ClusterMode
}

/** A time in which a contract covers a product on a cluster: while the cluster was bound to it and it was in force. */
export interface Coverage extends Span {
  readonly contractId: number
  /** The version of the terms that is in force. Those of one contract do not overlap. */
  readonly termsNumber: number
  /** The beginning of the binding. */
  readonly boundFrom: UnixSeconds
}

/** Everything that divides the time of a cluster. */
export interface ClusterTimes {
  readonly clusterId: UsageClusterId
  /** In which the cluster counts; ascending, apart from each other. */
  readonly heard: readonly Span[]
  /** In any order; those before the window too. */
  readonly modeChanges: readonly ModeChange[]
}

/** Of changes in the same second the one with the greatest event id is the last. */
const inOrder = (a: ModeChange, b: ModeChange): number =>
  a.at - b.at || (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0)

/** Returns the modes of a cluster in a window, in the order of time and without repetitions. */
export const modesIn = (
  changes: readonly ModeChange[],
  window: Span,
): readonly (Span & { readonly mode: ClusterMode })[] => {
  const modes: (Span & { mode: ClusterMode })[] = []
  let current: Span & { mode: ClusterMode } = { ...window, mode: 'non-prod' }
  for (const { at, mode } of changes.toSorted(inOrder)) {
    if (at >= window.to) break
    if (at <= window.from) current = { ...current, mode }
    else if (mode !== current.mode) {
      if (at > current.from) modes.push({ ...current, to: at })
      current = { ...window, from: at, mode }
    }
  }
  modes.push(current)
  return withoutRepetitions(modes)
}

/** Joins neighbours of the same mode: changes to and fro in one second leave such. */
const withoutRepetitions = (modes: readonly (Span & { readonly mode: ClusterMode })[]) => {
  const joined: (Span & { readonly mode: ClusterMode })[] = []
  for (const mode of modes) {
    const last = joined.at(-1)
    if (last !== undefined && last.mode === mode.mode) joined[joined.length - 1] = { ...last, to: mode.to }
    else joined.push(mode)
  }
  return joined
}

/** The earliest binding wins, then the lowest id. */
const inPrecedence = (a: Coverage, b: Coverage): number => a.boundFrom - b.boundFrom || a.contractId - b.contractId

const uncovered = { contractId: 0, termsNumber: 0 }

/** Returns the contract that covers each second of a window, and the version of its terms; 0 where none does. */
const contractsIn = (
  coverages: readonly Coverage[],
  window: Span,
): readonly (Span & Pick<Coverage, 'contractId' | 'termsNumber'>)[] => {
  const inside = coverages
    .filter(({ from, to }) => from < window.to && to > window.from && from < to)
    .toSorted(inPrecedence)
  const cuts = new Set([window.from, window.to])
  for (const { from, to } of inside) {
    if (from > window.from) cuts.add(from)
    if (to < window.to) cuts.add(to)
  }
  const sorted = [...cuts].toSorted((a, b) => a - b)
  return sorted.slice(0, -1).map((from, index) => {
    const { contractId, termsNumber } = inside.find((each) => each.from <= from && from < each.to) ?? uncovered
    return { from, to: sorted[index + 1] ?? window.to, contractId, termsNumber }
  })
}

/** Returns what covers an instant: as in a segment there. */
export const coverageAt = (coverages: readonly Coverage[], at: UnixSeconds): Coverage | undefined =>
  coverages.toSorted(inPrecedence).find(({ from, to }) => from <= at && at < to)

/**
 * Cuts the time of a cluster in a window into segments of one mode and one version of the terms of a contract of a
 * product, ascending. Seconds in which the cluster does not count are in none of them. Neighbours of the same mode and
 * version are one segment.
 */
export const segmentsOf = (
  { clusterId, heard, modeChanges }: ClusterTimes,
  product: UsageProduct,
  coverages: readonly Coverage[],
  window: Span,
): readonly UsageSegment[] => {
  const segments: UsageSegment[] = []
  const contracts = contractsIn(coverages, window)
  const modes = modesIn(modeChanges, window)
  for (const span of clipped(heard, window)) {
    for (const mode of modes) {
      for (const part of clipped([span], mode)) {
        for (const { contractId, termsNumber, ...time } of contracts) {
          for (const { from, to } of clipped([part], time)) {
            const last = segments.at(-1)
            if (
              last !== undefined &&
              last.to === from &&
              last.mode === mode.mode &&
              last.contractId === contractId &&
              last.termsNumber === termsNumber
            )
              segments[segments.length - 1] = { ...last, to }
            else segments.push({ clusterId, product, from, to, mode: mode.mode, contractId, termsNumber })
          }
        }
      }
    }
  }
  return segments
}
