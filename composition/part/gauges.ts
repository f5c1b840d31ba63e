import type { Given, Needs } from '../../plugins/kit/group.ts'
import type { Using } from './binding.ts'
import { using } from './binding.ts'

/** A metric by its name: `moorage_<part>_…`, with its unit at the end. The name of a counter ends in `_total`. */
export interface Gauge {
  readonly help: string
  /** A gauge unless it says otherwise. A summary is a number of events and the seconds that they took in all. */
  readonly type?: 'gauge' | 'counter' | 'summary' | 'histogram'
  /** The label, or labels, that tell the values apart. Without one, there is one value. */
  readonly label?: string | readonly string[]
  /**
   * What is shown where an instance has several processes: the sum of their values, for what each has of its own, or
   * the highest or lowest, for what is the same in all, such as a count of rows. By default the highest of gauges, and
   * the sum of all others.
   */
  readonly ofProcesses?: 'sum' | 'max' | 'min'
}

/** Events and the seconds that they took in all, since the start. */
interface Total {
  readonly count: number
  readonly seconds: number
}

/** Events by duration since the start. `upTo` has the number of events for each bound, each including those before. */
interface Distribution extends Total {
  readonly upTo: readonly (readonly [bound: number, count: number])[]
}

type Value = number | Total | Distribution

/** A value of a metric with several labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: Value
}

/**
 * The values of metrics by their names: a value, a value for each value of the only label, or samples. What is absent
 * is not shown.
 */
export type GaugeValues<Name extends string = string> = {
  readonly [N in Name]?: Value | Readonly<Record<string, Value>> | readonly Sample[]
}

/** Metrics that are read together, when they are scraped and never per request. */
export interface Gauges {
  readonly gauges: Readonly<Record<string, Gauge>>
  readonly read: Using<() => GaugeValues | Promise<GaugeValues>>
}

/** Declares metrics. If `read` rejects, they keep their values. */
export const defineGauges = <G extends Readonly<Record<string, Gauge>>, N extends Needs>(
  gauges: G,
  needs: N,
  read: (given: Given<N>) => () => GaugeValues<keyof G & string> | Promise<GaugeValues<keyof G & string>>,
): Gauges => ({ gauges, read: using(needs, read) as Gauges['read'] })

/**
 * Counts events by key. Beyond the most keys, further ones count as `other`, so that no metric grows without a bound.
 */
export interface Counts {
  add(...labels: readonly string[]): void
  samples(): readonly Sample[]
}

export const otherLabel = 'other'

/**
 * @param names the names of the labels. @param most the number of values of the first label that have series of their
 * own.
 */
export const makeCounts = (names: readonly string[], most: number): Counts => {
  const firsts = new Set<string>()
  const counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  return {
    add(first = '', ...rest) {
      const isKnown = firsts.has(first) || firsts.size < most
      if (isKnown) firsts.add(first)
      const values = [isKnown ? first : otherLabel, ...rest]
      const key = values.join('\n')
      const known = counts.get(key)
      if (known !== undefined) known.value += 1
      else counts.set(key, { labels: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])), value: 1 })
    },
    samples: () => [...counts.values()],
  }
}

/** Records durations for a histogram. */
export interface Durations {
  observe(seconds: number, labels: Readonly<Record<string, string>>): void
  samples(): readonly Sample[]
}

/** @param bounds in seconds, ascending. @param most the number of combinations of labels; further ones are dropped. */
export const makeDurations = (bounds: readonly number[], most: number): Durations => {
  const recorded = new Map<string, { labels: Sample['labels']; counts: number[]; count: number; seconds: number }>()
  return {
    observe(seconds, labels) {
      const key = Object.values(labels).join('\n')
      let found = recorded.get(key)
      if (found === undefined) {
        if (recorded.size >= most) return
        found = { labels, counts: bounds.map(() => 0), count: 0, seconds: 0 }
        recorded.set(key, found)
      }
      found.count += 1
      found.seconds += seconds
      for (const [at, bound] of bounds.entries()) if (seconds <= bound) found.counts[at] = (found.counts[at] ?? 0) + 1
    },
    samples: () =>
      [...recorded.values()].map(({ labels, counts, count, seconds }) => ({
        labels,
        value: { upTo: bounds.map((bound, at) => [bound, counts[at] ?? 0] as const), count, seconds },
      })),
  }
}
