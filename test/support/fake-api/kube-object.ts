/** Any JSON object. */
export type Tree = Record<string, unknown>

interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

export interface ObjectMeta {
  name: string
  namespace?: string
  generateName?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: readonly OwnerReference[]
  finalizers?: readonly string[]
}

/** An object of a Kubernetes API, of whichever kind. Stored ones are never changed in place. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: Tree
  readonly status?: Tree
  readonly data?: Record<string, string>
  readonly [key: string]: unknown
}

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 3339 to the second, as the real server writes times. */
export const timestamp = (at = new Date()): string => at.toISOString().replace(/\.\d+Z$/, 'Z')
