import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure } from '../../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import { at, isObject, listAt, textAt } from '../../kernel/json.ts'

/** The labels of an object, by key. */
export type Labels = Readonly<Record<string, unknown>>

/**
 * Whether one requirement of `matchExpressions` holds. Kubernetes refuses a selector with an unknown operator, or with
 * In or NotIn without values: it selects nothing.
 */
const holds = (requirement: unknown, labels: Labels): boolean => {
  const key = textAt(requirement, 'key')
  const values = listAt(requirement, 'values')
  const isPresent = Object.hasOwn(labels, key)
  switch (textAt(requirement, 'operator')) {
    case 'In':
      return isPresent && values.includes(labels[key])
    case 'NotIn':
      return values.length > 0 && !(isPresent && values.includes(labels[key]))
    case 'Exists':
      return isPresent
    case 'DoesNotExist':
      return !isPresent
    default:
      return false
  }
}

/**
 * Reports whether a LabelSelector of Kubernetes selects an object with these labels: all of `matchLabels` and
 * `matchExpressions` must hold. An empty selector selects everything; an absent one selects nothing.
 */
export const selects = (selector: unknown, labels: Labels): boolean => {
  if (!isObject(selector)) return false
  const wanted = at(selector, 'matchLabels')
  const hasLabels =
    !isObject(wanted) ||
    Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
  return hasLabels && listAt(selector, 'matchExpressions').every((requirement) => holds(requirement, labels))
}

/** The sets that a hub makes itself, and makes again if they are deleted. */
export const builtInSets: readonly string[] = ['default', 'global']

/** The cluster set of the path does not exist on the hub. */
export const ClusterSetMissing = defineFailure(
  'ClusterSetMissing',
  'NotFound',
  'The cluster set does not exist on the hub.',
)

const labelsOf = ({ body }: HubObject): Labels => {
  const labels = at(body, 'metadata', 'labels')
  return isObject(labels) ? labels : {}
}

/** Returns the name of the cluster set that the label of a managed cluster names; empty if there is none. */
export const namedSetOf = ({ body }: HubObject): string => textAt(body, 'metadata', 'labels', clusterSetLabel)

/**
 * Whether a cluster set selects by its own labels, so that no cluster is added or removed by name. Otherwise the label
 * of a cluster names its set.
 */
export const selectsByLabels = ({ body }: HubObject): boolean =>
  textAt(body, 'spec', 'clusterSelector', 'selectorType') === 'LabelSelector'

/** Reports whether a cluster set includes a managed cluster, as OCM decides it: by the selector of the set. */
export const includes = (set: HubObject, cluster: HubObject): boolean =>
  selectsByLabels(set)
    ? selects(at(set.body, 'spec', 'clusterSelector', 'labelSelector'), labelsOf(cluster))
    : namedSetOf(cluster) === set.name

/** Finds the cluster set of a path. */
export const findClusterSet = async (
  hub: Hub,
  name: string,
): Outcome<HubReadFailure | Failure<'ClusterSetMissing'>, HubObject> => {
  const found = await hub.get(clusterSetKind, { name })
  if (isLeft(found)) return found
  return found.right === undefined
    ? left(ClusterSetMissing(`The cluster set ${name} does not exist on the hub.`))
    : right(found.right)
}

/**
 * A hub that does not serve profiles has no features, and one that does not show them to these requests is asked about
 * none.
 */
const withoutProfiles = ['NotAHub', 'CredentialRefused', 'HubDenied']

/** Reports whether features are installed on a cluster set. */
const hasFeatures = async (hub: Hub, set: string): Outcome<HubReadFailure, boolean> => {
  const profile = await hub.get(distribution.kinds.setProfile, { name: set })
  if (isLeft(profile)) return withoutProfiles.includes(profile.left.tag) ? right(false) : profile
  const features = at(profile.right?.body, 'spec', 'features')
  return right(isObject(features) && Object.keys(features).length > 0)
}

const keepFeatured = async (hub: Hub, sets: readonly HubObject[]): Outcome<HubReadFailure, readonly HubObject[]> => {
  const found: HubObject[] = []
  for (const set of sets) {
    const featured = await hasFeatures(hub, set.name)
    if (isLeft(featured)) return featured
    if (featured.right) found.push(set)
  }
  return right(found)
}

/**
 * Returns the other cluster sets with features that have one of these clusters. A spoke has one binding to a profile:
 * the controllers of the hub would move that of a cluster in two such sets from one to the other and back.
 */
export const otherFeaturedSets = async (
  hub: Hub,
  name: string,
  members: readonly HubObject[],
): Outcome<HubReadFailure, readonly HubObject[]> => {
  if (members.length === 0) return right([])
  const sets = await hub.list(clusterSetKind)
  return isLeft(sets)
    ? sets
    : keepFeatured(
        hub,
        sets.right.filter((set) => set.name !== name && members.some((member) => includes(set, member))),
      )
}

/**
 * Returns the cluster sets with features that select by labels, if this set has features: they may have a cluster that
 * is added to it.
 */
export const rivalSets = async (hub: Hub, name: string): Outcome<HubReadFailure, readonly HubObject[]> => {
  const featured = await hasFeatures(hub, name)
  if (isLeft(featured)) return featured
  const sets = featured.right ? await hub.list(clusterSetKind) : right([])
  return isLeft(sets)
    ? sets
    : keepFeatured(
        hub,
        sets.right.filter((set) => set.name !== name && selectsByLabels(set)),
      )
}
