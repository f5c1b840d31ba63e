import type { FreeObject } from '../../kernel/json.ts'
import type { ChartRef, ReleaseKey } from '../types.ts'

/** Names a resource of the cluster's API. `version` and `name` may be left out by clients and are then asked from the cluster. */
export interface ResourceId {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  /** Plural: `deployments`. */
  readonly name: string
  readonly kind: string
  readonly scope: string
}

/** What a model is about. */
export interface EditorSubject {
  readonly resource: ResourceId
  readonly release: ReleaseKey
}

/** How objects of one resource are made and edited. */
export interface ResourceEditor {
  readonly resource: ResourceId
  /** Turns options into a model; undefined where there is none. */
  readonly options: ChartRef | undefined
  /** Turns a model into objects; undefined where there is none. */
  readonly editor: ChartRef | undefined
  /** Maps in objects of the resource whose label `app.kubernetes.io/instance` follows the release: `['spec', 'selector', 'matchLabels']`. */
  readonly instanceLabelPaths: readonly (readonly string[])[]
  /** Defined in the cluster, or shipped with this service. */
  readonly origin: 'cluster' | 'built-in'
}

/** What an editor chart says of itself. */
export interface EditorChart {
  /** `resources` of its values: which keys a model may have, and what kind each of them is. */
  readonly defaults: ReadonlyMap<string, FreeObject>
  /** `metadata.resource` of its values, as it stands. */
  readonly resource: FreeObject
  /** Its values have a `form`. */
  readonly usesForm: boolean
  /** Keys of a model: those that the chart declares, else those of `defaults`. */
  readonly resourceKeys: ReadonlySet<string>
  /** Keys of objects that are made from the form and do not stand in a model. */
  readonly formKeys: ReadonlySet<string>
}

/** One file of a preview. */
export interface ResourceFile {
  readonly filename: string
  /** Definitions have none. */
  readonly key: string | undefined
  readonly data: string
}
/** ResourceOutput of the interface. */
export interface ResourceOutput {
  readonly crds: readonly ResourceFile[]
  readonly resources: readonly ResourceFile[]
}

/** An object of a release that was not read, and why. */
export interface MissingObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly reason: 'not-found' | 'forbidden'
}

/** How an installation was recorded by other programs of the same interface; only read. */
export interface AppRelease {
  readonly components: readonly { readonly group: string; readonly version: string; readonly kind: string }[]
  /** A label selector in the form of a query. */
  readonly selector: string
  readonly resourceKeys: ReadonlySet<string>
  readonly formKeys: ReadonlySet<string>
  readonly form: FreeObject | undefined
}
