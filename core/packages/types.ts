import type { FreeObject } from '../kernel/json.ts'

/** Statuses of a release record, as Helm names them. */
export const releaseStatuses = [
  'unknown',
  'deployed',
  'uninstalled',
  'superseded',
  'failed',
  'uninstalling',
  'pending-install',
  'pending-upgrade',
  'pending-rollback',
] as const
export type ReleaseStatus = (typeof releaseStatuses)[number]

/** Where Helm stores its records in a cluster: in Secrets or in ConfigMaps. */
export const storageDrivers = ['Secret', 'ConfigMap'] as const
export type StorageDriver = (typeof storageDrivers)[number]

/** A release by name: the unit that a task locks and that records belong to. */
export interface ReleaseKey {
  readonly namespace: string
  readonly name: string
}

/** One stored revision as described by its labels, without its content. */
export interface ReleaseRecordRef extends ReleaseKey {
  readonly version: number
  readonly status: ReleaseStatus
  /** Name of the Secret or ConfigMap. */
  readonly objectName: string
  readonly uid: string
  readonly resourceVersion: string
}

/** A stored revision without its large parts: templates, values, manifest, notes. */
export interface ReleaseHeader extends ReleaseKey {
  readonly version: number
  /** Helm's `info` without `notes`. */
  readonly info: FreeObject & { readonly status: ReleaseStatus }
  readonly chartMetadata: FreeObject
}

/** A whole stored revision, with exactly the keys that Helm wrote. */
export interface Release extends ReleaseKey {
  readonly version: number
  readonly info: FreeObject & { readonly status: ReleaseStatus; readonly description?: string; readonly notes?: string }
  readonly chart: FreeObject & {
    readonly metadata?: FreeObject
    readonly templates?: unknown
    readonly values?: FreeObject
  }
  readonly config?: FreeObject
  readonly manifest: string
  readonly hooks?: readonly FreeObject[]
  /** Helm 4: `ssa` or `csa`. */
  readonly apply_method?: string
}

/** `TypedObjectReference`: the source of a chart. */
export interface SourceRef {
  readonly apiGroup: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/**
 * A chart in a source. An empty `version` means the newest stable one; it may be a range. The defaults of packages.md
 * 2.0 are filled in.
 */
export interface ChartRef {
  readonly name: string
  readonly version: string
  readonly source: SourceRef
}

/** Helm operations that change a cluster. */
export type HelmVerb = 'install' | 'upgrade' | 'rollback' | 'uninstall'

const fluxGroup = 'source.toolkit.fluxcd.io'
const ownGroup = 'charts.x-helm.dev'
const ownKinds: ReadonlySet<string> = new Set(['ChartRepository', 'Legacy', 'Local', 'Embed'])

/** A source as written by a client or chart author. */
export type LooseSource = Pick<SourceRef, 'name'> & {
  readonly [K in Exclude<keyof SourceRef, 'name'>]?: string | undefined
}

/**
 * Fills in the defaults of the interface: a Flux `HelmRepository`, unless the kind is one of this platform's own, whose
 * group is fixed.
 */
export const completedSource = ({ apiGroup, kind: given, namespace, name }: LooseSource): SourceRef => {
  const kind = given === undefined || given === '' ? 'HelmRepository' : given
  const group = apiGroup === undefined || apiGroup === '' ? fluxGroup : apiGroup
  return { apiGroup: ownKinds.has(kind) ? ownGroup : group, kind, namespace: namespace ?? '', name }
}

/** Reports whether two references name the same source. */
export const isSameSource = (one: SourceRef, other: SourceRef): boolean =>
  one.kind === other.kind &&
  one.apiGroup === other.apiGroup &&
  one.namespace === other.namespace &&
  one.name === other.name
