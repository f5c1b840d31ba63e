import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel } from '../clusters/hubs/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { at, isObject, textAt } from '../kernel/json.ts'
import type { Labels } from './label-selector.ts'
import { selects } from './label-selector.ts'

/** The sets that a hub makes itself, and makes again if they are deleted. */
export const builtInSets: readonly string[] = ['default', 'global']

/** The cluster set of the path does not exist on the hub. */
export const ClusterSetMissing = defineFailure('ClusterSetMissing', 'NotFound')

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
