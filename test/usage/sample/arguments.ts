import { parseArgs } from 'node:util'

export interface SampleArguments {
  readonly clusters: number
  readonly months: number
  readonly seed: number
  readonly folder: string
  /** Where to write instead of a new SQLite file in the folder. */
  readonly database: string | undefined
  readonly serves: boolean
}

export type ParsedSampleArguments =
  | { readonly kind: 'run'; readonly run: SampleArguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly reason: string }

const numberOf = (name: string, text: string, least: number, most: number): number => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most))
    throw new Error(`--${name} takes a number from ${least} to ${most}, not "${text}"`)
  return value
}

/** Reads the command line of `npm run usage-sample`. */
export const parseSampleArguments = (args: readonly string[]): ParsedSampleArguments => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        clusters: { type: 'string', default: '20' },
        months: { type: 'string', default: '2' },
        seed: { type: 'string', default: '1' },
        folder: { type: 'string', default: 'data/usage-sample' },
        database: { type: 'string' },
        serve: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { kind: 'help' }
    return {
      kind: 'run',
      run: {
        clusters: numberOf('clusters', values.clusters, 1, 10_000),
        months: numberOf('months', values.months, 1, 12),
        seed: numberOf('seed', values.seed, 0, 999_999_999),
        folder: values.folder,
        database: values.database,
        serves: values.serve,
      },
    }
  } catch (cause) {
    return { kind: 'refused', reason: cause instanceof Error ? cause.message : String(cause) }
  }
}

export const sampleHelpText = `Makes a vendor with customers, contracts, clusters and the events of whole months, closes the months, and writes
the reports as PDF into a folder. Events and closes are those of the service. The same seed gives the same customers and events.

  npm run usage-sample
  npm run usage-sample -- --clusters 100 --months 3
  npm run usage-sample -- --serve

Options
  --clusters N     clusters of all customers together, by default 20
  --months N       months before the present one, by default 2; all but the last are final
  --seed N         another seed gives other customers and events, by default 1
  --folder PATH    for the database and the reports, by default data/usage-sample; it must not exist
  --database URL   an empty database, by default a new SQLite file in the folder
  --serve          keeps the service running, to look at the JSON and CSV too
  --help           this text
`
