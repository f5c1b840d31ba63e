import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { manifestWorkKind, distribution } from '../clusters/hubs/types.ts'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import { getOrMake } from '../kernel/cache.ts'
import type { TimeSlices } from '../kernel/clock.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import { definedFields, listAt, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Catalogue, InstalledFeature, InstalledFeatures } from './catalogue.ts'
import { installedIn, readFeatures, helmReleaseKind } from './catalogue.ts'
import type { FeatureClaim, FeatureClaims } from './claims.ts'
import type { ClusterSetRef, SetReadFailure } from './cluster-set.ts'
import { findMembers } from './cluster-set.ts'
import type { VersionInRange } from './ports.ts'

/** The feature is neither in the catalogue of the hub nor installed on the cluster set. */
export const FeatureMissing = defineFailure('FeatureMissing', 'NotFound', 'The hub does not have this feature.')

/** The clusters of a set that are in step with it in one feature, and those that are not; sorted by name. */
export interface SyncStatus {
  readonly insyncClusters: readonly string[]
  readonly outOfSyncClusters: readonly string[]
}

/** The status of each feature, by feature set and feature. */
export type SyncStatuses = Readonly<Record<string, Readonly<Record<string, SyncStatus>>>>

/** What is known of one spoke. */
export interface SpokeFeatures {
  /** Undefined: not known. */
  readonly claim: FeatureClaim | undefined
  /** The features whose releases are reported as not ready. */
  readonly unready: ReadonlySet<string>
}

/**
 * Reports whether a spoke is in step with its set in one feature. `wanted` is the feature as installed on the set. A spoke whose
 * features are not known is not in step, nor is one with a feature that is not installed on the set. Undefined: neither has it.
 */
export const isInStep = (name: string, wanted: InstalledFeature | undefined, { claim, unready }: SpokeFeatures, isInRange: VersionInRange): boolean | undefined => {
  if (claim === undefined) return false
  const version = claim.external.has(name) ? undefined : claim.enabled.get(name)
  if (wanted === undefined) return version === undefined ? undefined : false
  if (version === undefined || unready.has(name)) return false
  return version === '' || wanted.version === '' || version === wanted.version || isInRange(version, wanted.version)
}

/** Returns the features of each cluster whose releases are reported as not ready. */
export const unreadyFeatures = (works: readonly Pick<HubObject, 'namespace' | 'body'>[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  for (const { namespace, body } of works) {
    for (const manifest of listAt(body, 'status', 'resourceStatus', 'manifests')) {
      if (textAt(manifest, 'resourceMeta', 'kind') !== helmReleaseKind.kind) continue
      const ready = listAt(manifest, 'statusFeedback', 'values').find((each) => textAt(each, 'name') === 'Ready')
      if (textAt(ready, 'fieldValue', 'string') !== 'False') continue
      getOrMake(found, namespace, () => new Set()).add(textAt(manifest, 'resourceMeta', 'name'))
    }
  }
  return found
}

const none: ReadonlySet<string> = new Set()

/** Returns what claims and works say about a cluster. */
const makeSpokeFeatures = (claims: FeatureClaims, works: readonly HubObject[]): ((cluster: HubObject) => SpokeFeatures) => {
  const unready = unreadyFeatures(works)
  return (cluster) => ({ claim: claims.of(cluster), unready: unready.get(cluster.name) ?? none })
}

/** Remembers the answers for each version and range: many spokes have the same versions, and a range is slow to parse. */
export const rememberedRanges = (isInRange: VersionInRange): VersionInRange => {
  const known = new Map<string, boolean>()
  return (version, range) => getOrMake(known, `${version}\n${range}`, () => isInRange(version, range))
}

/** Compares the clusters of a set with it, one after the other. */
export interface SyncComparison {
  /** Adds a cluster. The clusters are added in the order of their names. */
  add(cluster: string, spoke: SpokeFeatures): void
  /** Returns the features of the set, and those of the catalogue that any added cluster has enabled. */
  statuses(): SyncStatuses
}

interface Tally {
  readonly insyncClusters: string[]
  readonly outOfSyncClusters: string[]
}

export const makeSyncComparison = (installed: InstalledFeatures, { features }: Pick<Catalogue, 'features'>, isInRange: VersionInRange): SyncComparison => {
  const newTally = (): Tally => ({ insyncClusters: [], outOfSyncClusters: [] })
  const tallies = new Map([...installed.keys()].map((name) => [name, newTally()]))
  const unknown: string[] = []

  const count = (name: string, wanted: InstalledFeature | undefined, cluster: string, spoke: SpokeFeatures): void => {
    const inStep = isInStep(name, wanted, spoke, isInRange)
    if (inStep === undefined) return
    const tally = getOrMake(tallies, name, newTally)
    if (inStep) tally.insyncClusters.push(cluster)
    else tally.outOfSyncClusters.push(cluster)
  }
  /** A cluster whose features are not known may have a feature that the set does not have. */
  const statusOf = (name: string, tally: Tally): SyncStatus =>
    installed.has(name) ? tally : { ...tally, outOfSyncClusters: [...tally.outOfSyncClusters, ...unknown].sort() }
  const featureSetOf = (name: string): string => installed.get(name)?.featureSet || (features.get(name)?.featureSet ?? '')

  return {
    add: (cluster, spoke) => {
      if (spoke.claim === undefined) unknown.push(cluster)
      for (const wanted of installed.values()) count(wanted.name, wanted, cluster, spoke)
      for (const name of spoke.claim?.enabled.keys() ?? []) if (!installed.has(name) && features.has(name)) count(name, undefined, cluster, spoke)
    },
    statuses: () => {
      const sorted = [...tallies].sort(([a], [b]) => (a < b ? -1 : 1))
      const sets = Map.groupBy(sorted, ([name]) => featureSetOf(name))
      return Object.fromEntries([...sets].map(([featureSet, own]) => [featureSet, Object.fromEntries(own.map(([name, tally]) => [name, statusOf(name, tally)]))]))
    },
  }
}

/** Objects of this kind contain all manifests of a feature set. */
const worksPageSize = 100

const listWorks = (hub: Hub, clusterSet: string, featureSet?: string): Outcome<HubReadFailure, readonly HubObject[]> =>
  hub.list(manifestWorkKind, {
    labelSelector: `${distribution.profileLabel}=${clusterSet}`,
    pageSize: worksPageSize,
    ...definedFields({ fieldSelector: featureSet === undefined ? undefined : `metadata.name=${featureSet}` }),
  })

interface SyncDeps {
  readonly hubs: Hubs
  readonly claims: FeatureClaims
  readonly isInRange: VersionInRange
  readonly slices: TimeSlices
}

/** Compares all features of a cluster set. */
export const makeListSyncStatuses = ({ hubs, claims, isInRange, slices }: SyncDeps) =>
  async (call: SignedInCall<never>, { grant, clusterSet }: ClusterSetRef): Outcome<SetReadFailure, SyncStatuses> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [clusters, works, profile, features] = await Promise.all([
      findMembers(hub, clusterSet),
      listWorks(hub, clusterSet),
      hub.get(distribution.kinds.setProfile, { name: clusterSet }),
      readFeatures(hub),
    ])
    if (isLeft(clusters)) return clusters
    if (isLeft(works)) return works
    if (isLeft(profile)) return profile
    if (isLeft(features)) return features
    const featuresOf = makeSpokeFeatures(claims, works.right)
    const comparison = makeSyncComparison(installedIn(profile.right), { features: features.right }, rememberedRanges(isInRange))
    await Promise.all(clusters.right.map((cluster) => slices.run(() => comparison.add(cluster.name, featuresOf(cluster)))))
    return right(comparison.statuses())
  }

/** Compares one feature of a cluster set. */
export const makeGetSyncStatus = ({ hubs, claims, isInRange, slices }: SyncDeps) =>
  async (call: SignedInCall<never>, { feature: name, grant, clusterSet }: ClusterSetRef & { readonly feature: string }): Outcome<SetReadFailure | Failure<'FeatureMissing'>, SyncStatus> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [clusters, profile, feature] = await Promise.all([
      findMembers(hub, clusterSet),
      hub.get(distribution.kinds.setProfile, { name: clusterSet }),
      hub.get(distribution.kinds.feature, { name }),
    ])
    if (isLeft(clusters)) return clusters
    if (isLeft(profile)) return profile
    if (isLeft(feature)) return feature
    const wanted = installedIn(profile.right).get(name)
    if (wanted === undefined && feature.right === undefined) return left(FeatureMissing(`The hub has no feature ${name}.`))
    const works = wanted === undefined ? right([]) : await listWorks(hub, clusterSet, wanted.featureSet)
    if (isLeft(works)) return works
    const featuresOf = makeSpokeFeatures(claims, works.right)
    const inRange = rememberedRanges(isInRange)
    const compared = await Promise.all(clusters.right.map((cluster) => slices.run(() => [cluster.name, isInStep(name, wanted, featuresOf(cluster), inRange)] as const)))
    const where = (wantedStep: boolean): readonly string[] => compared.flatMap(([cluster, inStep]) => (inStep === wantedStep ? [cluster] : []))
    return right({ insyncClusters: where(true), outOfSyncClusters: where(false) })
  }
