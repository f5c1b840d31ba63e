import type { Given, Needs } from '../../plugins/kit/group.ts'
import type { Using } from '../binding.ts'
import { using } from '../binding.ts'

/** A gauge by its name: `moorage_<part>_…`. */
export interface Gauge {
  readonly help: string
  /** The label that tells the values of the gauge apart. Without one, the gauge has one value. */
  readonly label?: string
  /**
   * What is shown where an instance has several processes: the sum of their values, for what each has of its own, or
   * the highest, for what is the same in all, such as a count of rows. Defaults to the highest.
   */
  readonly ofProcesses?: 'sum' | 'max'
}

/** The values of gauges by their names: a number, or a number for each value of the label. */
export type GaugeValues<Name extends string = string> = {
  readonly [N in Name]?: number | Readonly<Record<string, number>>
}

/** Gauges that are read together, when the metrics are scraped and never per request. */
export interface Gauges {
  readonly gauges: Readonly<Record<string, Gauge>>
  readonly read: Using<() => GaugeValues | Promise<GaugeValues>>
}

/** Declares gauges. If `read` rejects, they keep their values. */
export const defineGauges = <G extends Readonly<Record<string, Gauge>>, N extends Needs>(
  gauges: G,
  needs: N,
  read: (given: Given<N>) => () => GaugeValues<keyof G & string> | Promise<GaugeValues<keyof G & string>>,
): Gauges => ({ gauges, read: using(needs, read) as Gauges['read'] })
