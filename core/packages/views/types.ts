import { defineFailure } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { SourceRef } from '../types.ts'

/** API version of views and orders on the wire. */
export const viewsApiVersion = 'releases.x-helm.dev/v1alpha1'

/**
 * `PackageDescriptor`: the description of a chart or bundle, for display. All of it comes from the author and is
 * untrusted.
 */
export interface PackageDescriptor {
  readonly type?: string
  readonly description?: string
  readonly icons?: readonly Icon[]
  readonly maintainers?: readonly Contact[]
  readonly keywords?: readonly string[]
  readonly links?: readonly Link[]
  readonly notes?: string
}

export interface Icon {
  readonly src: string
  readonly size?: string
  /** A media type; absent if the address does not imply one. */
  readonly type?: string
}

export interface Contact {
  readonly name?: string
  readonly url?: string
  readonly email?: string
}

export interface Link {
  readonly description?: string
  readonly url?: string
}

/** A feature of a bundle: `{trait: 'Storage', value: '10Gi'}`. */
export interface Feature {
  readonly trait: string
  readonly value: string
}

/** A selectable version of a chart, with the differences in its values. */
export interface VersionOption {
  readonly version: string
  readonly selected?: boolean
  readonly valuesFile?: string
  /** RFC 6902, on the values of `valuesFile`. */
  readonly valuesPatch?: Json
}

/** A chart in a bundle view. */
export interface ChartCard extends PackageDescriptor {
  readonly name: string
  readonly sourceRef: SourceRef
  readonly features?: readonly string[]
  readonly namespace?: string
  readonly versions: readonly VersionOption[]
  /** Several versions may be installed together. */
  readonly multiSelect?: boolean
  readonly required?: boolean
  readonly selected?: boolean
}

/** One package of a bundle: exactly one of the three is set. */
export type PackageCard =
  | { readonly chart: ChartCard }
  | { readonly bundle: BundleOptionView }
  | { readonly oneOf: { readonly description: string; readonly bundles: readonly BundleOptionView[] } }

/** A bundle with its packages, including nested bundles. */
export interface BundleOptionView extends PackageDescriptor {
  readonly name: string
  readonly version: string
  readonly sourceRef: SourceRef
  readonly displayName: string
  readonly features?: readonly Feature[]
  readonly packages: readonly PackageCard[]
}

/** The values that a file of the chart sets. */
export interface ValuesFile {
  readonly filename: string
  readonly values: FreeObject
}

/** `PackageView`: what the form of one chart needs. */
export interface PackageView extends PackageDescriptor {
  readonly name: string
  readonly version: string
  readonly sourceRef: SourceRef
  readonly valuesFiles?: readonly ValuesFile[]
  readonly openAPIV3Schema?: FreeObject
}

/** `ChartSourceRef` of the interface. */
export interface VersionedRef {
  readonly name: string
  readonly version: string
  readonly sourceRef: SourceRef
}

/** One release to create. */
export interface ChartSelection extends VersionedRef {
  readonly releaseName: string
  readonly namespace: string
  /** The enclosing bundle; null for a single chart. */
  readonly bundle: VersionedRef | null
  readonly valuesFile?: string
  readonly valuesPatch?: Json
  /** Kinds that the chart provides and needs, as declared by its bundle. */
  readonly resources: FreeObject | null
  readonly waitFors: readonly FreeObject[] | null
}

/** The releases to install, in order. Nothing is stored. */
export interface Order {
  readonly name: string
  readonly uid: string
  readonly createdAt: Date
  readonly items: readonly ChartSelection[]
}

/** The choices do not form an order; the message names the missing or excess choice. */
export const OrderRefused = defineFailure('OrderRefused', 'Unprocessable', 'The order of charts is not valid.')
/** The chart does not contain a file of that name. */
export const ChartFileMissing = defineFailure('ChartFileMissing', 'NotFound', 'The file does not exist in the chart.')
/** The file cannot be converted to the requested format. */
export const FormatRefused = defineFailure(
  'FormatRefused',
  'Unprocessable',
  'The file cannot be converted to this format.',
)
/** The resource does not have a variant of that name. */
export const VariantMissing = defineFailure(
  'VariantMissing',
  'NotFound',
  'The cluster does not serve the resource, or does not have this variant.',
)
/** The cluster does not allow the caller to read what the values depend on. */
export const PresetsRefused = defineFailure(
  'PresetsRefused',
  'Forbidden',
  'The cluster does not let the caller read the presets, or has too many of them.',
)
