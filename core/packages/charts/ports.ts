import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { token } from '../../kernel/token.ts'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { ChartRef } from '../types.ts'

/** The source has no such chart, or not that version. */
export const ChartMissing = defineFailure('ChartMissing', 'NotFound')
/** The source kind, its address or its credentials are not ones that this service uses, or no server answers there; the message says why. */
export const ChartSourceRefused = defineFailure('ChartSourceRefused', 'Unprocessable')
/** The source answered, but not in time or not as a repository does. The caller named it: it is no fault of this service. */
export const ChartSourceUnreachable = defineFailure('ChartSourceUnreachable', 'Unprocessable')
/** The archive breaks a limit or a rule: links, absolute paths, `..`, too large, no Chart.yaml. */
export const ChartRefused = defineFailure('ChartRefused', 'Unprocessable')
/** The values do not fit the chart's schema; `errors` has one line a problem, `path: what`. */
export const ValuesRefused = defineFailure('ValuesRefused', 'Unprocessable')

export type ChartFailure =
  | Failure<'ChartMissing'>
  | Failure<'ChartSourceRefused'>
  | Failure<'ChartSourceUnreachable'>
  | Failure<'ChartRefused'>
  | MemberFailure

/** An unpacked chart, in memory. All paths are relative to the chart's root, with `/`. */
export interface Chart {
  readonly name: string
  readonly version: string
  /** Chart.yaml. */
  readonly metadata: FreeObject
  /** values.yaml, parsed; empty when there is none. */
  readonly values: FreeObject
  /** Raw files, those of subcharts under `charts/…` included. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Charts under `charts/`, unpacked ones and archives alike. */
  readonly subcharts: readonly Chart[]
}

/** A chart as it came from its source. */
export interface FetchedChart {
  readonly chart: Chart
  /** With the version that it resolved to. */
  readonly ref: ChartRef
  /** `sha256:<hex>` of the archive as it came. */
  readonly digest: string
  /** Bytes of that archive. */
  readonly size: number
}

/** Fetches charts. Bytes are bounded, addresses are guarded, archives are checked; never unpacked to a disk. */
export interface ChartSource {
  /**
   * @param cluster holds the Flux objects that a source of kind `HelmRepository` names; read as the caller.
   * @param tenant is whose named repositories `ChartRepository` sources are looked up among.
   */
  fetch(ref: ChartRef, from: { readonly cluster: MemberCluster | undefined; readonly tenantId: number }, signal: AbortSignal): Outcome<ChartFailure, FetchedChart>
}
export const ChartSourceToken = token<ChartSource>('packages.ChartSource')

/** Packs a checked chart for helm, and judges values. */
export interface ChartTools {
  /** A `.tgz` that holds just these files under the chart's name; `Chart.yaml` with these annotations added. The same chart packs to the same bytes. */
  pack(chart: Chart, changes?: { readonly annotations?: Readonly<Record<string, string>> }): Promise<Uint8Array>
  /** Against `values.schema.json` of the chart and of each enabled subchart; a `$ref` that leaves the document is ValuesRefused and fetches nothing. */
  checkValues(chart: Chart, values: FreeObject): Outcome<Failure<'ValuesRefused'>, void>
}
export const ChartToolsToken = token<ChartTools>('packages.ChartTools')

/** YAML and JSON of charts and of what becomes of them, as YamlText has them; long ones are read aside, so that nothing else waits for them. */
export interface ChartTexts {
  /** All documents that are not empty. */
  parseAll(bytes: Uint8Array): Outcome<Failure<'TextUnreadable'>, readonly Json[]>
  /** The one document in another notation; several are TextUnreadable, none is null. */
  convert(bytes: Uint8Array, to: 'json' | 'yaml'): Outcome<Failure<'TextUnreadable'>, string>
  /** Of one JSON object only these members, those that it has. */
  pick(bytes: Uint8Array, keys: readonly string[]): Outcome<Failure<'TextUnreadable'>, FreeObject>
  /** A value as YAML. */
  print(value: Json): Promise<string>
}
export const ChartTextsToken = token<ChartTexts>('packages.ChartTexts')

/** A chart that is part of this service: texts by path, Chart.yaml among them. */
export interface EmbeddedChart {
  readonly name: string
  readonly version: string
  readonly files: Readonly<Record<string, string>>
}

/** What sources of kind `Embed` hold, by the source's name. */
export type EmbeddedCharts = ReadonlyMap<string, readonly EmbeddedChart[]>
export const EmbeddedChartsToken = token<EmbeddedCharts>('packages.EmbeddedCharts')
