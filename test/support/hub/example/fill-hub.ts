import { randomUUID } from 'node:crypto'
import { mapWithin } from '../../../../core/kernel/concurrency.ts'
import { managedClusters, managedClusterSets, type Condition } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { acceptedCondition, availableCondition, clusterSetLabel, joinedCondition } from '../api/ocm-names.ts'
import { writeCatalogue, type Catalogue } from './feature-catalogue.ts'

export interface HubSize {
  /** Of all names. */
  readonly prefix: string
  readonly clusters: number
  readonly sets: number
  readonly features: number
}

const [concurrency, featuresOfSet, enabledFeatures] = [16, 10, 5]
const daySeconds = 86_400

/** Fills a hub for measurements: clusters that look as if they had joined, without agents, spread over sets. */
export const fillHub = async (client: KubeClient, { prefix, clusters, sets, features }: HubSize): Promise<void> => {
  const setNames = numbered(`${prefix}set-`, sets)
  await mapWithin(setNames, concurrency, (name) =>
    client.createIfMissing(managedClusterSets, { metadata: { name }, spec: {} }),
  )
  const featureNames = numbered(`${prefix}feature-`, features)
  const catalogue: Catalogue = Object.fromEntries(
    numbered(`${prefix}features-`, Math.ceil(features / featuresOfSet)).map((set, index) => [
      set,
      {
        features: Object.fromEntries(
          featureNames.slice(index * featuresOfSet, (index + 1) * featuresOfSet).map((name) => [name, {}]),
        ),
      },
    ]),
  )
  await writeCatalogue(client, catalogue)
  await mapWithin(numbered(`${prefix}cluster-`, clusters), concurrency, async (name, index) => {
    const set = setNames[index % Math.max(1, sets)]
    await client.createIfMissing(managedClusters, {
      metadata: { name, labels: set === undefined ? {} : { [clusterSetLabel]: set } },
      spec: {
        hubAcceptsClient: true,
        leaseDurationSeconds: daySeconds,
        managedClusterClientConfigs: [{ url: `https://${name}.example.com` }],
      },
    })
    const enabled = Array.from(
      { length: Math.min(enabledFeatures, features) },
      (_, at) => `  ${featureNames[(index + at) % features] ?? ''}: 2026.7.1`,
    )
    await client.patch(
      managedClusters,
      { metadata: { name } },
      {
        status: {
          conditions: [
            condition(acceptedCondition, 'HubClusterAdminAccepted'),
            condition(joinedCondition, 'ManagedClusterJoined'),
            condition(availableCondition, 'ManagedClusterAvailable'),
          ],
          version: { kubernetes: 'v1.34.1' },
          clusterClaims: [
            { name: 'id.k8s.io', value: randomUUID() },
            ...(features === 0
              ? []
              : [{ name: 'features.ace.info', value: `enabledFeatures:\n${enabled.join('\n')}\n` }]),
          ],
        },
      },
      { subresource: 'status' },
    )
  })
}

const numbered = (stem: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${stem}${index + 1}`)

const condition = (type: string, reason: string): Condition => ({
  type,
  status: 'True',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
