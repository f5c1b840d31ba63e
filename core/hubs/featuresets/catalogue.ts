import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubKind, HubObject, HubReadFailure } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { at, isObject, listAt, textAt } from '../../kernel/json.ts'

/** A feature of the catalogue: one chart, and the rules for installing it. */
export interface Feature {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly featureSet: string
  /** Groups features for display. Empty: none. */
  readonly featureBlock: string
  /** At most one feature of a group can be installed. Empty: no group. */
  readonly exclusionGroup: string
  readonly isRecommended: boolean
  /** It cannot be installed, and is not shown. */
  readonly isDisabled: boolean
  /** The names of the features that it needs, sorted. */
  readonly requires: readonly string[]
  /** It runs on the cluster that has this catalogue, installed by a release or by other means. */
  readonly isEnabled: boolean
  /** The chart, values and references to values, as a set profile holds them. */
  readonly content: FreeObject
}

/** A group of features of the catalogue. */
export interface FeatureSet {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRecommended: boolean
  readonly isDisabled: boolean
  readonly requiredFeatures: readonly string[]
}

export interface Catalogue {
  readonly featureSets: ReadonlyMap<string, FeatureSet>
  readonly features: ReadonlyMap<string, Feature>
}

/** A feature set with what is installed of it on a cluster set. */
export interface FeatureSetState extends FeatureSet {
  readonly isInstalled: boolean
  /** Sorted by name. */
  readonly features: readonly (Feature & { readonly isInstalled: boolean })[]
}

const isTrue = (value: unknown): boolean => value === true
const texts = (values: readonly unknown[]): readonly string[] =>
  [...new Set(values.filter((value) => typeof value === 'string' && value !== ''))].map(String).sort()

const contentKeys = ['featureSet', 'chart', 'values', 'valuesFrom'] as const

/** Returns the part of a spec that a set profile holds. */
const contentOf = (spec: unknown): FreeObject =>
  isObject(spec)
    ? Object.fromEntries(contentKeys.flatMap((key) => (spec[key] === undefined ? [] : [[key, spec[key]]])))
    : {}

export const readFeature = ({ name, body }: Pick<HubObject, 'name' | 'body'>): Feature => ({
  name,
  title: textAt(body, 'spec', 'title'),
  description: textAt(body, 'spec', 'description'),
  featureSet: textAt(body, 'spec', 'featureSet'),
  featureBlock: textAt(body, 'spec', 'featureBlock'),
  exclusionGroup: textAt(body, 'spec', 'featureExclusionGroup'),
  isRecommended: isTrue(at(body, 'spec', 'recommended')),
  isDisabled: isTrue(at(body, 'spec', 'disabled')),
  requires: texts(listAt(body, 'spec', 'requirements', 'features')),
  isEnabled: isTrue(at(body, 'status', 'enabled')),
  content: contentOf(body['spec']),
})

const readFeatureSet = ({ name, body }: Pick<HubObject, 'name' | 'body'>): FeatureSet => ({
  name,
  title: textAt(body, 'spec', 'title'),
  description: textAt(body, 'spec', 'description'),
  isRecommended: isTrue(at(body, 'spec', 'recommended')),
  isDisabled: isTrue(at(body, 'spec', 'disabled')),
  requiredFeatures: texts(listAt(body, 'spec', 'requiredFeatures')),
})

const byName = <A extends { readonly name: string }>(items: readonly A[]): ReadonlyMap<string, A> =>
  new Map(items.map((item) => [item.name, item]))

/** @internal */
export const catalogueOf = (featureSets: readonly FeatureSet[], features: readonly Feature[]): Catalogue => ({
  featureSets: byName(featureSets),
  features: byName(features),
})

/** Reads the features of the catalogue of a hub with one list. */
export const readFeatures = async (hub: Hub): Outcome<HubReadFailure, Catalogue['features']> => {
  const features = await hub.list(distribution.kinds.feature)
  return isLeft(features) ? features : right(byName(features.right.map(readFeature)))
}

/** Reads the catalogue of a hub with two lists. */
export const readCatalogue = async (hub: Hub): Outcome<HubReadFailure, Catalogue> => {
  const [featureSets, features] = await Promise.all([hub.list(distribution.kinds.featureSet), readFeatures(hub)])
  if (isLeft(featureSets)) return featureSets
  return isLeft(features)
    ? features
    : right({ featureSets: byName(featureSets.right.map(readFeatureSet)), features: features.right })
}

/** A feature in a set profile, or in the binding of a spoke. */
export interface InstalledFeature {
  readonly name: string
  readonly featureSet: string
  /** The chart version, or a range. Empty: any. */
  readonly version: string
}

export type InstalledFeatures = ReadonlyMap<string, InstalledFeature>

/** Returns the features of a set profile or a binding; none if it does not exist. */
export const installedIn = (profile: Pick<HubObject, 'body'> | undefined): InstalledFeatures => {
  const features = at(profile?.body, 'spec', 'features')
  return byName(
    Object.entries(isObject(features) ? features : {}).map(([name, content]) => ({
      name,
      featureSet: textAt(content, 'featureSet'),
      version: textAt(content, 'chart', 'version'),
    })),
  )
}

const isInstalledSet = (
  requiredFeatures: readonly string[],
  features: readonly string[],
  installed: ReadonlySet<string>,
): boolean =>
  requiredFeatures.length === 0
    ? features.some((name) => installed.has(name))
    : requiredFeatures.every((name) => installed.has(name))

/**
 * Returns what a catalogue shows of a cluster set, sorted by name, without disabled feature sets and features. A
 * feature set is installed if its required features are; one without required features, if any feature of it is.
 */
export const statesOf = (
  { featureSets, features }: Catalogue,
  installed: InstalledFeatures,
): readonly FeatureSetState[] => {
  const names = new Set(installed.keys())
  const sorted = <A extends { readonly name: string }>(items: Iterable<A>): readonly A[] =>
    [...items].sort((a, b) => (a.name < b.name ? -1 : 1))
  const members = Map.groupBy(sorted(features.values()), ({ featureSet }) => featureSet)
  return sorted(featureSets.values())
    .filter(({ isDisabled }) => !isDisabled)
    .map((featureSet) => {
      const own = members.get(featureSet.name) ?? []
      return {
        ...featureSet,
        isInstalled: isInstalledSet(
          featureSet.requiredFeatures,
          own.map(({ name }) => name),
          names,
        ),
        features: own
          .filter(({ isDisabled }) => !isDisabled)
          .map((feature) => ({ ...feature, isInstalled: names.has(feature.name) })),
      }
    })
}

/** A release that Flux installs. */
export const helmReleaseKind: HubKind = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  plural: 'helmreleases',
}
/** The label on a release with the name of its feature. */
export const componentLabel = 'app.kubernetes.io/component'
