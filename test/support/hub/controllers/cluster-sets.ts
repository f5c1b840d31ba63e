import {
  managedClusterSetBindings,
  managedClusterSets,
  type LabelSelector,
  type ManagedCluster,
  type ManagedClusterSet,
  type ManagedClusterSetBinding,
} from '../api/kinds.ts'
import { reportStatus } from '../api/object-changes.ts'
import { clusterSetLabel } from '../api/ocm-names.ts'
import { watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from './hub-fixture.ts'

/**
 * True for the clusters of a set: 'exclusive label = name; LabelSelector incl. matchExpressions; empty = all' (note
 * §6).
 */
export const isInSet = (cluster: ManagedCluster, { metadata, spec }: ManagedClusterSet): boolean => {
  const labels = cluster.metadata.labels ?? {}
  if (spec?.clusterSelector?.selectorType !== 'LabelSelector') return labels[clusterSetLabel] === metadata.name
  return matches(labels, spec.clusterSelector.labelSelector ?? {})
}

const matches = (
  labels: Readonly<Record<string, string>>,
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key]
    if (operator === 'Exists') return value !== undefined
    if (operator === 'DoesNotExist') return value === undefined
    const isListed = value !== undefined && values.includes(value)
    return operator === 'In' ? isListed : !isListed
  })

/**
 * The condition ClusterSetEmpty of the sets, and Bound of their bindings: 'no ... default/global sets, set bindings
 * status' in a bare server (note §12). The sets `default` and `global` have a condition only where one hub owns every
 * name.
 */
export const runClusterSetController = (fixture: HubFixture): void => {
  const { client, owns, signal, clusters } = fixture
  const sets = fixture.reconciler({
    name: 'cluster set',
    reconcile: async (name) => {
      const set = watchedSets.get(name)
      if (set === undefined || set.metadata.deletionTimestamp !== undefined) return
      const count = clusters.all().filter((each) => isInSet(each, set)).length
      await reportStatus(client, managedClusterSets, set, [
        count === 0
          ? {
              type: 'ClusterSetEmpty',
              status: 'True',
              reason: 'NoClusterMatched',
              message: 'No ManagedCluster selected',
            }
          : {
              type: 'ClusterSetEmpty',
              status: 'False',
              reason: 'ClustersSelected',
              message: `${count} ManagedClusters selected`,
            },
      ])
    },
  })
  const bindings = fixture.reconciler({
    name: 'set binding',
    reconcile: async (key) => {
      const [namespace, name = ''] = key.split('/')
      const binding = await client.get(managedClusterSetBindings, name, namespace)
      if (binding === undefined) return
      const isFound = (await client.get(managedClusterSets, binding.spec.clusterSet)) !== undefined
      await reportStatus(client, managedClusterSetBindings, binding, [
        {
          type: 'Bound',
          status: isFound ? 'True' : 'False',
          reason: isFound ? 'ClusterSetBound' : 'ClusterSetNotFound',
          message: '',
        },
      ])
    },
  })
  const watchedSets = watchObjects<ManagedClusterSet>(client, managedClusterSets, {
    keeps: ({ metadata }) => owns(metadata.name),
    onChange: ({ metadata }) => {
      sets.add(metadata.name)
      for (const each of watchedBindings.all())
        if (each.spec.clusterSet === metadata.name)
          bindings.add(`${each.metadata.namespace ?? ''}/${each.metadata.name}`)
    },
    signal,
  })
  const watchedBindings = watchObjects<ManagedClusterSetBinding>(client, managedClusterSetBindings, {
    keeps: ({ spec }) => owns(spec.clusterSet),
    onChange: ({ metadata }, isGone) => {
      if (!isGone) bindings.add(`${metadata.namespace ?? ''}/${metadata.name}`)
    },
    signal,
  })
  fixture.onClusterChange(() => {
    for (const { metadata } of watchedSets.all()) sets.add(metadata.name)
  })
}
