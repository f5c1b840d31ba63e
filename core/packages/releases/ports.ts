import type { MemberCluster } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { SchemaChart } from '../charts/ports.ts'
import type { Release, ReleaseKey, StorageDriver } from '../types.ts'

/** A release of that name exists, and Helm would not reuse the name; the message names the remedy. */
export const ReleaseNameTaken = defineFailure(
  'ReleaseNameTaken',
  'Conflict',
  'A release that was not made by this editor has the name.',
)
/** A helm process of another program works on the release, or died during its work; the message names the remedy. */
export const ReleasePending = defineFailure(
  'ReleasePending',
  'Conflict',
  'Another operation on the release is in progress.',
)
/** Options of a release operation contradict each other or are invalid; the message names the field. */
export const ReleaseOptionsRefused = defineFailure(
  'ReleaseOptionsRefused',
  'Unprocessable',
  'An option of the operation is not valid.',
)

/** Compares texts by lines. Long texts are compared in the background, so that other requests do not wait. */
export interface TextDiff {
  /**
   * Returns the changed lines with some context, each prefixed with `+`, `-` or a space; hunks begin with `@@`. Empty
   * if the texts are equal.
   */
  lines(from: string, to: string): Promise<string>
}
export const TextDiffPort = portKey<TextDiff>('packages.TextDiff')

/** The content of a release record: JSON, and files embedded as base64. */
export interface StoredParts {
  readonly record: FreeObject
  readonly files: ReadonlyMap<string, Uint8Array>
}

/** Predicts the size of a release record. */
export interface RecordSizes {
  /** Returns the size of the stored value in bytes: JSON, compressed, in base64. */
  packed(parts: StoredParts): Promise<number>
}
export const RecordSizesPort = portKey<RecordSizes>('packages.RecordSizes')

/** No usable helm binary: none was found, or it is older than the minimum version. Reads do not need it. */
export const HelmMissing = defineFailure('HelmMissing', 'Upstream', 'The installation has no usable helm.')
/** Helm ended with an error; the message is helm's, without the values. */
export const HelmRefused = defineFailure(
  'HelmRefused',
  'Unprocessable',
  'Helm refused the operation; the message has its reason.',
)
/** Helm was terminated: it exceeded its time or output limit, was cancelled, or the service is stopping. */
export const HelmStopped = defineFailure(
  'HelmStopped',
  'Upstream',
  'The operation of helm was ended before it was done.',
)
/** Too many helm processes are running for this tenant or in total. */
export const HelmBusy = defineFailure(
  'HelmBusy',
  'Unavailable',
  'Too many operations of helm run or wait; try again after `Retry-After` seconds.',
)

export type HelmFailure = Failure<'HelmMissing'> | Failure<'HelmRefused'> | Failure<'HelmStopped'> | Failure<'HelmBusy'>

export interface HelmVersion {
  /** `4.1.4`. */
  readonly version: string
  readonly major: 3 | 4
  /** Where the binary was found: the setting, the PATH, or bundled. */
  readonly origin: 'setting' | 'path' | 'bundled'
}

/** A chart in the form that is passed to helm: never a directory, never a URL. */
export interface HelmChart {
  readonly archive: Uint8Array
  /** The complete set of values, with `null` for defaults to remove; undefined passes no values file. */
  readonly values: FreeObject | undefined
}

/**
 * Flags, in the words of the interface; each adapter maps them to those of its helm version. Absent means false, or
 * helm's default.
 */
export interface HelmFlags {
  readonly createNamespace?: boolean
  readonly disableHooks?: boolean
  readonly replace?: boolean
  readonly wait?: boolean
  readonly timeoutSeconds?: number
  readonly atomic?: boolean
  readonly cleanupOnFail?: boolean
  readonly force?: boolean
  /** Helm 3 only; with Helm 4 the caller deletes the pods afterwards. */
  readonly recreate?: boolean
  readonly resetValues?: boolean
  readonly reuseValues?: boolean
  readonly resetThenReuseValues?: boolean
  /** 0 means unlimited. */
  readonly maxHistory?: number
  readonly install?: boolean
  readonly description?: string
  readonly devel?: boolean
  readonly subNotes?: boolean
  readonly skipCrds?: boolean
  readonly includeCrds?: boolean
  readonly disableOpenApiValidation?: boolean
  readonly takeOwnership?: boolean
  readonly keepHistory?: boolean
  /** `server` sends requests to the cluster and changes nothing; `client` sends no requests. */
  readonly dryRun?: 'server' | 'client'
}

/** An event during helm's work: observed in its API calls, or, as a hint only, in its output. */
export type HelmEvent =
  /** One completed call by helm that changes the cluster. `target` excludes the query. */
  | {
      readonly kind: 'call'
      readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
      readonly target: string
      readonly status: number
      readonly object: HelmObject | undefined
      readonly isDryRun: boolean
    }
  /** A cleaned line of helm's debug output; do not parse it for control flow. */
  | { readonly kind: 'line'; readonly text: string }

/** The object that a call's path names. */
export interface HelmObject {
  readonly group: string
  readonly version: string
  /** Plural, as in the path. */
  readonly resource: string
  readonly namespace: string | undefined
  /** Undefined for a create, whose body contains the name. */
  readonly name: string | undefined
}

/** The cluster and identity that helm works with. */
export interface HelmTarget {
  /** All of helm's calls go through it; it adds the identity and credentials. */
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  /** The tenant whose share of processes is used. */
  readonly tenantId: number
}

export interface HelmWork {
  readonly target: HelmTarget
  readonly release: ReleaseKey
  readonly flags: HelmFlags
  readonly onEvent?: (event: HelmEvent) => void
}

/** The output of a rendering. */
export interface HelmRendering {
  /** Manifests in install order, each after a `# Source:` comment; without hooks. */
  readonly manifest: string
  readonly hooks: readonly FreeObject[]
  readonly notes: string
  /** The record as printed by helm, without its chart, if the operation prints one. */
  readonly release: Omit<Release, 'chart'> | undefined
}

/**
 * The helm program, one process per operation. Cancellation and service shutdown end install and upgrade by SIGTERM,
 * which helm records as failed; rollback and uninstall are allowed to finish. SIGKILL is used for renders, and for
 * processes that exceed their grace period.
 */
export interface HelmRunner {
  /** Undefined if there is no usable binary. Determined once and cached. */
  version(): Promise<HelmVersion | undefined>
  /**
   * Runs `helm template`: nothing is written; `lookup` and capabilities read the cluster unless `dryRun` is `client`.
   */
  template(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  /**
   * Runs helm's own check of values against the schemas of a chart of `packSchemas`, without a cluster. ValuesRefused
   * has a line for each problem, `path: what`, with the texts of helm, but no value.
   */
  checkValues(
    work: HelmWork,
    chart: SchemaChart,
    values: FreeObject,
    signal: AbortSignal,
  ): Outcome<HelmFailure | Failure<'ValuesRefused'>, void>
  install(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  upgrade(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  /** `revision` 0 is the previous one. */
  rollback(work: HelmWork, revision: number, signal: AbortSignal): Outcome<HelmFailure, void>
  uninstall(work: HelmWork, signal: AbortSignal): Outcome<HelmFailure, void>
}
export const HelmRunnerPort = portKey<HelmRunner>('packages.HelmRunner')
