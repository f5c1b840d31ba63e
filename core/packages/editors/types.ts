import type { FreeObject } from '../../kernel/json.ts'
import type { ChartRef, ReleaseKey } from '../types.ts'

/** A resource of the cluster's API. Clients may omit `version` and `name`, which are then read from the cluster. */
export interface ResourceId {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** Plural: `deployments`. */
  readonly name: string
  readonly kind: string
  readonly scope: string
}

/** The resource and release of a model. */
export interface EditorSubject {
  readonly resource: ResourceId
  readonly release: ReleaseKey
}

/** The charts that create and edit objects of one resource. */
export interface ResourceEditor {
  readonly resource: ResourceId
  /** Turns options into a model; undefined if there is none. */
  readonly options: ChartRef | undefined
  /** Turns a model into objects; undefined if there is none. */
  readonly editor: ChartRef | undefined
  /**
   * Paths in objects of the resource to maps whose label `app.kubernetes.io/instance` follows the release: `['spec',
   * 'selector', 'matchLabels']`.
   */
  readonly instanceLabelPaths: readonly (readonly string[])[]
  /** Defined in the cluster, or built into this service. */
  readonly origin: 'cluster' | 'built-in'
}

/** The declarations of an editor chart. */
export interface EditorChart {
  /** `resources` of its values: the keys that a model may have, with the kind of each. */
  readonly defaults: ReadonlyMap<string, FreeObject>
  /** `metadata.resource` of its values, unchanged. */
  readonly resource: FreeObject
  /** Whether its values contain a `form`. */
  readonly usesForm: boolean
  /** Keys of a model: those that the chart declares, or else those of `defaults`. */
  readonly resourceKeys: ReadonlySet<string>
  /** Keys of objects that are made from the form and are not part of a model. */
  readonly formKeys: ReadonlySet<string>
}

/** One file of a preview. */
export interface ResourceFile {
  readonly filename: string
  /** Undefined for CRDs. */
  readonly key: string | undefined
  readonly data: string
}

/** An object of a release that was not read, with the reason. */
export interface MissingObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly reason: 'not-found' | 'forbidden'
}

/** The record of an installation by another program of the same interface; read-only. */
export interface AppRelease {
  readonly components: readonly { readonly group: string; readonly version: string; readonly kind: string }[]
  /** A label selector in query form. */
  readonly selector: string
  readonly resourceKeys: ReadonlySet<string>
  readonly formKeys: ReadonlySet<string>
  readonly form: FreeObject | undefined
}
