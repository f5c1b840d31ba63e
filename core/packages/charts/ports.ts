import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { ChartRef } from '../types.ts'

/** The source does not contain the chart, or not that version. */
export const ChartMissing = defineFailure(
  'ChartMissing',
  'NotFound',
  'The chart or its version does not exist at the source.',
)
/**
 * The source kind, its address or its credentials are not supported, or no server responds at the address; the message
 * gives the reason.
 */
export const ChartSourceRefused = defineFailure(
  'ChartSourceRefused',
  'Unprocessable',
  'The source of the chart is not valid, or not one that this service may connect to.',
)
/**
 * The source timed out or did not respond as a repository does. The caller chose the source, so this is not an error of
 * this service.
 */
export const ChartSourceUnreachable = defineFailure(
  'ChartSourceUnreachable',
  'Unprocessable',
  'The source of the chart did not answer in time, or not as it should.',
)
/** The archive exceeds a limit or violates a rule: links, absolute paths, `..`, size, missing Chart.yaml. */
export const ChartRefused = defineFailure(
  'ChartRefused',
  'Unprocessable',
  'The chart cannot be read, or it has parts that are not accepted.',
)
/** The values do not match the chart's schema; `errors` has one line per problem, `path: what`. */
export const ValuesRefused = defineFailure(
  'ValuesRefused',
  'Unprocessable',
  'The values do not fit the chart, or cannot be read.',
)

/** Returns the failure for values with these problems, one line each. */
export const valuesRefused = (errors: readonly string[]): Failure<'ValuesRefused'> =>
  ValuesRefused(`The values do not fit the chart: ${errors.slice(0, 3).join('; ')}.`, { errors })

export type ChartFailure =
  | Failure<'ChartMissing'>
  | Failure<'ChartSourceRefused'>
  | Failure<'ChartSourceUnreachable'>
  | Failure<'ChartRefused'>
  | MemberFailure

/** An unpacked chart, in memory. All paths are relative to the chart's root and use `/`. */
export interface Chart {
  readonly name: string
  readonly version: string
  /** Chart.yaml. */
  readonly metadata: FreeObject
  /** Parsed values.yaml; empty if the file does not exist. */
  readonly values: FreeObject
  /** Raw files, including those of subcharts under `charts/…`. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Charts under `charts/`, both unpacked and archived. */
  readonly subcharts: readonly Chart[]
}

/** A chart as fetched from its source. */
export interface FetchedChart {
  readonly chart: Chart
  /** Contains the resolved version. */
  readonly ref: ChartRef
  /** `sha256:<hex>` of the archive as received. */
  readonly digest: string
  /** Size of that archive in bytes. */
  readonly size: number
}

/**
 * Fetches charts. Sizes are limited, addresses are guarded, and archives are checked; they are never unpacked to disk.
 */
export interface ChartSource {
  /**
   * @param from `cluster` holds the Flux objects that a source of kind `HelmRepository` names and is read as the
   * caller; `tenantId` is the account whose named repositories `ChartRepository` sources refer to.
   */
  fetch(
    ref: ChartRef,
    from: { readonly cluster: MemberCluster | undefined; readonly tenantId: number },
    signal: AbortSignal,
  ): Outcome<ChartFailure, FetchedChart>
}
export const ChartSourcePort = portKey<ChartSource>('packages.ChartSource')

/**
 * Begins the scheme of an address that a schema refers to, and ends its path, so that helm can neither fetch it nor open
 * a file: no program has a loader for the scheme, and no file has a NUL in its name.
 */
export const withheldScheme = 'withheld-'
export const withheldEnd = '%00'
/** The address to which a schema refers that is not JSON. */
export const unreadableSchema = 'withheld-not-json:schema'

/** A chart without templates, against whose schemas helm checks values. */
export interface SchemaChart {
  /** `.tgz`. */
  readonly archive: Uint8Array
  /** The name of the chart. */
  readonly root: string
  /** Names or aliases of its enabled subcharts from the root, joined by dots. */
  readonly paths: readonly string[]
}

/** Packs checked charts for helm. */
export interface ChartTools {
  /**
   * Returns a `.tgz` that contains only these files under the chart's name, with these annotations added to
   * `Chart.yaml`. The output is deterministic.
   */
  pack(chart: Chart, changes?: { readonly annotations?: Readonly<Record<string, string>> }): Promise<Uint8Array>
  /**
   * Returns a `.tgz` with the `values.schema.json` of the chart and of each subchart and what decides about their
   * values, without templates: helm checks values against it, and fetches nothing. Undefined if there is no schema.
   * ValuesRefused: the values have no form for the tree of charts.
   */
  packSchemas(chart: Chart, values: FreeObject): Outcome<Failure<'ValuesRefused'>, SchemaChart | undefined>
}
export const ChartToolsPort = portKey<ChartTools>('packages.ChartTools')

/**
 * YAML and JSON of charts and of their renderings, as in YamlText. Long texts are parsed in the background, so that
 * other requests do not wait.
 */
export interface ChartTexts {
  /** Returns all non-empty documents. */
  parseAll(bytes: Uint8Array): Outcome<Failure<'TextUnreadable'>, readonly Json[]>
  /** Converts the single document to another format. Several documents return TextUnreadable; none returns null. */
  convert(bytes: Uint8Array, to: 'json' | 'yaml'): Outcome<Failure<'TextUnreadable'>, string>
  /** Returns only the given members of one JSON object, as far as they exist. */
  pick(bytes: Uint8Array, keys: readonly string[]): Outcome<Failure<'TextUnreadable'>, FreeObject>
  /** Returns a value as YAML. */
  print(value: Json): Promise<string>
}
export const ChartTextsPort = portKey<ChartTexts>('packages.ChartTexts')

/** A chart embedded in this service: texts by path, including Chart.yaml. */
export interface EmbeddedChart {
  readonly name: string
  readonly version: string
  readonly files: Readonly<Record<string, string>>
}

/** Charts of sources of kind `Embed`, by the source's name. */
export type EmbeddedCharts = ReadonlyMap<string, readonly EmbeddedChart[]>
export const EmbeddedChartsPort = portKey<EmbeddedCharts>('packages.EmbeddedCharts')
