import type { MemberCluster } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { token } from '../../kernel/token.ts'
import type { Release, ReleaseKey, StorageDriver } from '../types.ts'

/** A release of that name exists, and Helm would not use the name again; the message says what can be done. */
export const ReleaseNameTaken = defineFailure('ReleaseNameTaken', 'Conflict')
/** A helm that is not ours works on the release, or died while it did; the message says what can be done. */
export const ReleasePending = defineFailure('ReleasePending', 'Conflict')
/** Options of a release operation contradict each other, or name what cannot be; the message names the field. */
export const ReleaseOptionsRefused = defineFailure('ReleaseOptionsRefused', 'Unprocessable')

/** Compares texts by lines; long ones aside, so that nothing else waits for them. */
export interface TextDiff {
  /** Changed lines with a few around them, each after `+`, `-` or a space; hunks begin with `@@`. Empty when equal. */
  lines(from: string, to: string): Promise<string>
}
export const TextDiffToken = token<TextDiff>('packages.TextDiff')

/** What a release record holds: JSON, and files that stand in it as base64. */
export interface StoredParts {
  readonly record: FreeObject
  readonly files: ReadonlyMap<string, Uint8Array>
}

/** Foretells how large a release record will be. */
export interface RecordSizes {
  /** Bytes of the stored value: JSON, compressed, in base64. */
  packed(parts: StoredParts): Promise<number>
}
export const RecordSizesToken = token<RecordSizes>('packages.RecordSizes')

/** Waits; resolves early, and never rejects, when the signal is aborted. */
export interface Pause {
  (milliseconds: number, signal: AbortSignal): Promise<void>
}
export const PauseToken = token<Pause>('packages.Pause')

/** No usable helm binary: none was found, or it is older than the floor. Reads work without it. */
export const HelmMissing = defineFailure('HelmMissing', 'Upstream')
/** Helm ended with an error; the message is its own, without the values. */
export const HelmRefused = defineFailure('HelmRefused', 'Unprocessable')
/** Helm was ended: it took too long, wrote too much, was cancelled, or the service stops. */
export const HelmStopped = defineFailure('HelmStopped', 'Upstream')
/** Too many helm processes run for this tenant or in all. */
export const HelmBusy = defineFailure('HelmBusy', 'Backoff')

export type HelmFailure = Failure<'HelmMissing'> | Failure<'HelmRefused'> | Failure<'HelmStopped'> | Failure<'HelmBusy'>

export interface HelmVersion {
  /** `4.1.4`. */
  readonly version: string
  readonly major: 3 | 4
  /** Where it was found: the setting, the PATH, or bundled. */
  readonly origin: 'setting' | 'path' | 'bundled'
}

/** A chart as helm is given it: never a directory, never a URL. */
export interface HelmChart {
  readonly archive: Uint8Array
  /** The complete value set, with `null` for defaults that must go; undefined passes no file at all. */
  readonly values: FreeObject | undefined
}

/** Flags, in the words of the interface; each adapter maps them to what its helm has. Absent is false, or helm's default. */
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
  /** 0: unlimited. */
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
  /** `server` asks the cluster and changes nothing; `client` asks nothing. */
  readonly dryRun?: 'server' | 'client'
}

/** What happens while helm works: from the wire where it says so, from helm's own words as hints only. */
export type HelmEvent =
  /** One answered call of helm's to the cluster that changes something. `target` without query. */
  | { readonly kind: 'call'; readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; readonly target: string; readonly status: number; readonly object: HelmObject | undefined; readonly isDryRun: boolean }
  /** A line of helm's debug output, cleaned; never parse it for control flow. */
  | { readonly kind: 'line'; readonly text: string }

/** What a call's path names. */
export interface HelmObject {
  readonly group: string
  readonly version: string
  /** Plural, as in the path. */
  readonly resource: string
  readonly namespace: string | undefined
  /** Undefined for a create, whose name stands in the body. */
  readonly name: string | undefined
}

/** Where and as whom helm works. */
export interface HelmTarget {
  /** Every call of helm's goes through it: identity and credentials are ours. */
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  /** For the share of processes. */
  readonly tenantId: number
}

export interface HelmWork {
  readonly target: HelmTarget
  readonly release: ReleaseKey
  readonly flags: HelmFlags
  readonly onEvent?: (event: HelmEvent) => void
}

/** What a render gave. */
export interface HelmRendering {
  /** Manifests in install order, each after a `# Source:` comment; hooks are apart. */
  readonly manifest: string
  readonly hooks: readonly FreeObject[]
  readonly notes: string
  /** The record as helm printed it, without its chart, where the operation prints one. */
  readonly release: Omit<Release, 'chart'> | undefined
}

/**
 * The helm program, one process for each operation. Cancellation and the service's stop end a mutation by SIGTERM, which
 * install and upgrade record as failed; rollback and uninstall are let finish. SIGKILL is for renders, and for what
 * outlives its grace.
 */
export interface HelmRunner {
  /** Undefined when there is no usable one. Asked once and kept. */
  version(): Promise<HelmVersion | undefined>
  /** `helm template`: nothing is written; `lookup` and capabilities read the cluster unless `dryRun` is `client`. */
  template(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  install(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  upgrade(work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering>
  /** `revision` 0: the one before. */
  rollback(work: HelmWork, revision: number, signal: AbortSignal): Outcome<HelmFailure, void>
  uninstall(work: HelmWork, signal: AbortSignal): Outcome<HelmFailure, void>
}
export const HelmRunnerToken = token<HelmRunner>('packages.HelmRunner')
