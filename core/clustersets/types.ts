import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel } from '../clusters/hubs/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { at, isObject, listAt, textAt } from '../kernel/json.ts'

/** The labels of an object, by key. */
export type Labels = Readonly<Record<string, unknown>>

/** Whether one requirement of `matchExpressions` holds. Kubernetes refuses a selector with an unknown operator, or with In or NotIn without values: it selects nothing. */
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
  const hasLabels = !isObject(wanted) || Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
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

export const labelsOf = ({ body }: HubObject): Labels => {
  const labels = at(body, 'metadata', 'labels')
  return isObject(labels) ? labels : {}
}

/** Returns the name of the cluster set that the label of a managed cluster names; empty if there is none. */
export const namedSetOf = ({ body }: HubObject): string => textAt(body, 'metadata', 'labels', clusterSetLabel)

/** Whether a cluster set selects by its own labels, so that no cluster is added or removed by name. Otherwise the label of a cluster names its set. */
export const selectsByLabels = ({ body }: HubObject): boolean => textAt(body, 'spec', 'clusterSelector', 'selectorType') === 'LabelSelector'

/** Reports whether a cluster set includes a managed cluster, as OCM decides it: by the selector of the set. */
export const includes = (set: HubObject, cluster: HubObject): boolean =>
  selectsByLabels(set) ? selects(at(set.body, 'spec', 'clusterSelector', 'labelSelector'), labelsOf(cluster)) : namedSetOf(cluster) === set.name

/** Finds the cluster set of a path. */
export const findClusterSet = async (hub: Hub, name: string): Outcome<HubReadFailure | Failure<'ClusterSetMissing'>, HubObject> => {
  const found = await hub.get(clusterSetKind, { name })
  if (isLeft(found)) return found
  return found.right === undefined ? left(ClusterSetMissing(`The cluster set ${name} does not exist on the hub.`)) : right(found.right)
}
