import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { distribution, isIdentified, manifestWorkKind } from '../../clusters/hub-types.ts'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { getOrMake } from '../../kernel/cache.ts'
import type { TimeSlices } from '../../kernel/clock.ts'
import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import { at, definedFields, listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Catalogue, InstalledFeature, InstalledFeatures } from './catalogue.ts'
import { installedIn, readFeatures, helmReleaseKind } from './catalogue.ts'
import type { FeatureClaim, FeatureClaims } from './claims.ts'
import type { ClusterSetRef, SetReadFailure } from './cluster-set.ts'
import { findMembers } from './cluster-set.ts'
import type { VersionInRange } from './ports.ts'
import { hasFeaturesClaim, lacksFeaturesClaim, whyNotBootstrapped, whyPinnedInVain, whyRejected } from './unserved.ts'

/** The feature is neither in the catalogue of the hub nor installed on the cluster set. */
export const FeatureMissing = defineFailure('FeatureMissing', 'NotFound', 'The hub does not have this feature.')

/** The clusters of a set that are in step with it in one feature, and those that are not; sorted by name. */
export interface SyncStatus {
  readonly insyncClusters: readonly string[]
  readonly outOfSyncClusters: readonly string[]
  /**
   * Why a cluster is not in step, or the hub cannot serve it, by its name. At most 50 of them; undefined if there are
   * none.
   */
  readonly reasons: Readonly<Record<string, string>> | undefined
}

/** The status of each feature, by feature set and feature. */
export type SyncStatuses = Readonly<Record<string, Readonly<Record<string, SyncStatus>>>>

/** What is known of one spoke. */
export interface SpokeFeatures {
  /** Undefined: not known. */
  readonly claim: FeatureClaim | undefined
  /** Whether the spoke has a claim on its features, readable or not. */
  readonly hasClaim: boolean
  /** The features whose releases are reported as not ready. */
  readonly unready: ReadonlySet<string>
  /** Why nothing that the spoke has reported counts; undefined if its agent reports. */
  readonly silence: string | undefined
  /** Whether the hub knows the identity of the spoke. It serves none that it does not know. */
  readonly isIdentified: boolean
  /** Why the hub gives it nothing further; undefined if it does. */
  readonly pinnedInVain?: string | undefined
  /** Why its work with a feature set is not applied, by the name of the feature set. */
  readonly unapplied: ReadonlyMap<string, string>
}

/** What a spoke is in one feature. Undefined `reason`: in step. */
export interface FeatureStep {
  readonly reason: string | undefined
}
const inStep: FeatureStep = { reason: undefined }
const outOfStep = (reason: string): FeatureStep => ({ reason })

const unreadable = `The claim ${distribution.featuresClaim} of its agent cannot be read.`
const whyUnknown = ({ silence, hasClaim }: Pick<SpokeFeatures, 'silence' | 'hasClaim'>): string =>
  silence ?? (hasClaim ? unreadable : lacksFeaturesClaim)

/**
 * Compares a spoke with its set in one feature. `wanted` is the feature as installed on the set. A spoke of which
 * nothing is known is not in step, nor is one that has not applied the work of the feature set, even if it reported the
 * feature before, nor one with a feature that is not installed on the set. Undefined: neither has it.
 *
 * @internal
 */
export const compareFeature = (
  name: string,
  wanted: InstalledFeature | undefined,
  spoke: SpokeFeatures,
  isInRange: VersionInRange,
): FeatureStep | undefined => {
  const { claim, silence, unapplied, unready } = spoke
  if (silence !== undefined) return outOfStep(silence)
  const notApplied = wanted === undefined ? undefined : unapplied.get(wanted.featureSet)
  if (notApplied !== undefined) return outOfStep(notApplied)
  if (claim === undefined) return outOfStep(whyUnknown(spoke))
  const version = claim.external.has(name) ? undefined : claim.enabled.get(name)
  if (wanted === undefined)
    return version === undefined
      ? undefined
      : outOfStep('It has the feature, which is not installed on the cluster set.')
  if (version === undefined)
    return outOfStep(
      claim.external.has(name) ? 'The feature was installed on it by other means.' : 'It does not have the feature.',
    )
  if (unready.has(name)) return outOfStep('The release of the feature is not ready.')
  const isSame =
    version === '' || wanted.version === '' || version === wanted.version || isInRange(version, wanted.version)
  return isSame ? inStep : outOfStep(`It has version ${version}, and the cluster set ${wanted.version}.`)
}

/** Returns the features of each cluster whose releases are reported as not ready. */
const unreadyFeatures = (
  works: readonly Pick<HubObject, 'namespace' | 'body'>[],
): ReadonlyMap<string, ReadonlySet<string>> => {
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

/** The longest reason of an agent that is shown. */
const maxReason = 300

/** Returns the condition of an object; undefined if it has none of that type. */
const conditionOf = ({ body }: Pick<HubObject, 'body'>, type: string): unknown =>
  listAt(body, 'status', 'conditions').find((each) => textAt(each, 'type') === type)

/**
 * Returns why the present content of a work is not applied on its spoke; undefined if it is. The feedback of a work is
 * that of the content that was applied last, and stays when a newer one cannot be applied.
 */
export const whyNotApplied = (work: Pick<HubObject, 'body'>): string | undefined => {
  const applied = conditionOf(work, 'Applied')
  const generation = at(work.body, 'metadata', 'generation')
  if (applied === undefined || at(applied, 'observedGeneration') !== generation)
    return 'Its agent has not applied what the hub has sent last.'
  if (textAt(applied, 'status') === 'True') return undefined
  const ofManifests = listAt(work.body, 'status', 'resourceStatus', 'manifests').flatMap((manifest) =>
    listAt(manifest, 'conditions'),
  )
  const failed = ofManifests.find((each) => textAt(each, 'type') === 'Applied' && textAt(each, 'status') === 'False')
  const message = textAt(failed, 'message') || textAt(applied, 'message')
  return `Its agent could not apply what the hub has sent last. ${message.slice(0, maxReason)}`.trim()
}

/** Returns why a spoke of a hub does not report; undefined if it does. */
export const whySilent = (cluster: Pick<HubObject, 'body'>): string | undefined => {
  const condition = conditionOf(cluster, 'ManagedClusterConditionAvailable')
  if (textAt(condition, 'status') === 'True') return undefined
  return `Its state is not known: the hub does not see it as available. ${textAt(condition, 'message').slice(0, maxReason)}`.trim()
}

/** What a spoke lacks that the hub does not know the identity of. */
const unidentified = `The hub gives it no features, since it does not report the claim ${distribution.infoClaim}; those after it in the set may have none either.`

const none: ReadonlySet<string> = new Set()
const noReasons: ReadonlyMap<string, string> = new Map()

const unappliedWorks = (works: readonly HubObject[]): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const found = new Map<string, Map<string, string>>()
  for (const work of works) {
    const reason = whyNotApplied(work)
    if (reason !== undefined) getOrMake(found, work.namespace, () => new Map()).set(work.name, reason)
  }
  return found
}

/** Returns what claims, conditions and works say about a cluster. */
const makeSpokeFeatures = (
  claims: FeatureClaims,
  works: readonly HubObject[],
  bindings: readonly HubObject[],
): ((cluster: HubObject) => SpokeFeatures) => {
  const pinned = new Map(bindings.map((binding) => [binding.namespace, whyPinnedInVain(binding)]))
  const [unready, unapplied] = [unreadyFeatures(works), unappliedWorks(works)]
  return (cluster) => ({
    claim: claims.of(cluster),
    hasClaim: hasFeaturesClaim(cluster),
    unready: unready.get(cluster.name) ?? none,
    silence: whySilent(cluster),
    isIdentified: isIdentified(cluster),
    pinnedInVain: pinned.get(cluster.name),
    unapplied: unapplied.get(cluster.name) ?? noReasons,
  })
}

/**
 * Remembers the answers for each version and range: many spokes have the same versions, and a range is slow to parse.
 *
 * @internal
 */
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

/** How many reasons are given for one feature. */
const maxReasons = 50

/** Collects the clusters of one feature. */
interface Counters {
  readonly insyncClusters: string[]
  readonly outOfSyncClusters: string[]
  readonly reasons: Map<string, string>
}

const newCounters = (): Counters => ({ insyncClusters: [], outOfSyncClusters: [], reasons: new Map() })

const addStep = (
  counters: Counters,
  cluster: string,
  { reason }: FeatureStep,
  { isIdentified: isKnown, pinnedInVain }: SpokeFeatures,
  rejected?: string,
): void => {
  if (reason === undefined) counters.insyncClusters.push(cluster)
  else counters.outOfSyncClusters.push(cluster)
  const reasons = [
    isKnown ? undefined : unidentified,
    ...(reason === undefined ? [] : [rejected, pinnedInVain, reason]),
  ]
  const text = reasons.filter((each) => each !== undefined).join(' ')
  if (text !== '' && counters.reasons.size < maxReasons) counters.reasons.set(cluster, text)
}

const statusOf = ({ insyncClusters, outOfSyncClusters, reasons }: Counters): SyncStatus => ({
  insyncClusters,
  outOfSyncClusters,
  reasons: reasons.size === 0 ? undefined : Object.fromEntries(reasons),
})

/** @internal */
export const makeSyncComparison = (
  installed: InstalledFeatures,
  { features }: Pick<Catalogue, 'features'>,
  isInRange: VersionInRange,
  notBootstrapped?: string,
): SyncComparison => {
  const rejected = notBootstrapped ?? whyRejected(installed.keys())
  const counterSets = new Map([...installed.keys()].map((name) => [name, newCounters()]))
  const unknown: (readonly [cluster: string, spoke: SpokeFeatures])[] = []

  const count = (name: string, wanted: InstalledFeature | undefined, cluster: string, spoke: SpokeFeatures): void => {
    const step = compareFeature(name, wanted, spoke, isInRange)
    const reject = wanted === undefined ? undefined : rejected
    if (step !== undefined) addStep(getOrMake(counterSets, name, newCounters), cluster, step, spoke, reject)
  }
  /** A cluster whose features are not known may have a feature that the set does not have. */
  const withUnknown = (name: string, counters: Counters): SyncStatus => {
    if (installed.has(name)) return statusOf(counters)
    for (const [cluster, spoke] of unknown) addStep(counters, cluster, { reason: whyUnknown(spoke) }, spoke)
    return statusOf({ ...counters, outOfSyncClusters: counters.outOfSyncClusters.sort() })
  }
  const featureSetOf = (name: string): string =>
    installed.get(name)?.featureSet || (features.get(name)?.featureSet ?? '')

  return {
    add: (cluster, spoke) => {
      const isUnknown = spoke.silence !== undefined || spoke.claim === undefined
      if (isUnknown) unknown.push([cluster, spoke])
      for (const wanted of installed.values()) count(wanted.name, wanted, cluster, spoke)
      const enabled = isUnknown ? [] : [...(spoke.claim?.enabled.keys() ?? [])]
      for (const name of enabled) if (!installed.has(name) && features.has(name)) count(name, undefined, cluster, spoke)
    },
    statuses: () => {
      const sorted = [...counterSets].sort(([a], [b]) => (a < b ? -1 : 1))
      const sets = Map.groupBy(sorted, ([name]) => featureSetOf(name))
      return Object.fromEntries(
        [...sets].map(([featureSet, own]) => [
          featureSet,
          Object.fromEntries(own.map(([name, counters]) => [name, withUnknown(name, counters)])),
        ]),
      )
    },
  }
}

/** Objects of this kind contain all manifests of a feature set. */
const worksPageSize = 100

/** Lists the works of a cluster set, or those with one feature set. */
export const listWorks = (
  hub: Hub,
  clusterSet: string,
  featureSet?: string,
): Outcome<HubReadFailure, readonly HubObject[]> =>
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
export const makeListSyncStatuses =
  ({ hubs, claims, isInRange, slices }: SyncDeps) =>
  async (call: SignedInCall<never>, { grant, clusterSet }: ClusterSetRef): Outcome<SetReadFailure, SyncStatuses> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [clusters, works, profile, features, bindings, notBootstrapped] = await Promise.all([
      findMembers(hub, clusterSet),
      listWorks(hub, clusterSet),
      hub.get(distribution.kinds.setProfile, { name: clusterSet }),
      readFeatures(hub),
      hub.list(distribution.kinds.profileBinding),
      whyNotBootstrapped(hub),
    ])
    if (isLeft(clusters)) return clusters
    if (isLeft(works)) return works
    if (isLeft(profile)) return profile
    if (isLeft(features)) return features
    if (isLeft(bindings)) return bindings
    const featuresOf = makeSpokeFeatures(claims, works.right, bindings.right)
    const comparison = makeSyncComparison(
      installedIn(profile.right),
      { features: features.right },
      rememberedRanges(isInRange),
      notBootstrapped,
    )
    await Promise.all(
      clusters.right.map((cluster) => slices.run(() => comparison.add(cluster.name, featuresOf(cluster)))),
    )
    return right(comparison.statuses())
  }

/** Compares one feature of a cluster set. */
export const makeGetSyncStatus =
  ({ hubs, claims, isInRange, slices }: SyncDeps) =>
  async (
    call: SignedInCall<never>,
    { feature: name, grant, clusterSet }: ClusterSetRef & { readonly feature: string },
  ): Outcome<SetReadFailure | Failure<'FeatureMissing'>, SyncStatus> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [clusters, profile, feature, bindings, notBootstrapped] = await Promise.all([
      findMembers(hub, clusterSet),
      hub.get(distribution.kinds.setProfile, { name: clusterSet }),
      hub.get(distribution.kinds.feature, { name }),
      hub.list(distribution.kinds.profileBinding),
      whyNotBootstrapped(hub),
    ])
    if (isLeft(clusters)) return clusters
    if (isLeft(profile)) return profile
    if (isLeft(feature)) return feature
    if (isLeft(bindings)) return bindings
    const installed = installedIn(profile.right)
    const wanted = installed.get(name)
    if (wanted === undefined && feature.right === undefined)
      return left(FeatureMissing(`The hub has no feature ${name}.`))
    const works = wanted === undefined ? right([]) : await listWorks(hub, clusterSet, wanted.featureSet)
    if (isLeft(works)) return works
    const featuresOf = makeSpokeFeatures(claims, works.right, bindings.right)
    const inRange = rememberedRanges(isInRange)
    const counters = newCounters()
    const rejected = wanted === undefined ? undefined : (notBootstrapped ?? whyRejected(installed.keys()))
    await Promise.all(
      clusters.right.map((cluster) =>
        slices.run(() => {
          const spoke = featuresOf(cluster)
          const step = compareFeature(name, wanted, spoke, inRange)
          if (step !== undefined) addStep(counters, cluster.name, step, spoke, rejected)
        }),
      ),
    )
    return right(statusOf(counters))
  }
