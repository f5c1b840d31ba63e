import { randomBytes } from 'node:crypto'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import {
  managedClusters,
  managedClusterSetBindings,
  managedClusterSets,
  type Kind,
  type KubeObject,
  type ManagedCluster,
} from '../support/hub/api/kinds.ts'
import { makeKubeClient } from '../support/hub/api/kube-client.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { installHubCrds } from '../support/hub/install-hub-crds.ts'

export const clusterProfiles: Kind<KubeObject & { readonly spec: object }> = {
  apiVersion: 'ui.k8s.appscode.com/v1alpha1',
  kind: 'ClusterProfile',
  plural: 'clusterprofiles',
  isNamespaced: false,
}
export const setProfiles: Kind<KubeObject & { readonly spec: object }> = {
  apiVersion: 'profile.k8s.appscode.com/v1alpha1',
  kind: 'ManagedClusterSetProfile',
  plural: 'managedclustersetprofiles',
  isNamespaced: false,
}
export const setRoleBindings: Kind<
  KubeObject & { readonly clusterSetRef: object; readonly roleRef: object; readonly subjects: readonly object[] }
> = {
  apiVersion: 'authorization.k8s.appscode.com/v1alpha1',
  kind: 'ManagedClusterSetRoleBinding',
  plural: 'managedclustersetrolebindings',
  isNamespaced: false,
}

interface PlantedCluster {
  readonly set?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly isAccepted?: boolean
  readonly uid?: string
  readonly version?: string
  /** The features that the agent reports; nothing is reported without it. */
  readonly features?: readonly string[]
  /** Keeps the object after its deletion. */
  readonly finalizers?: readonly string[]
}

/** Objects of a hub, planted as its controllers and agents would leave them. Their names are random. */
export const hubObjects = async (server: ControlPlaneAccess) => {
  await installHubCrds(server)
  const client = makeKubeClient(server, { token: server.tokenFor('admin') })
  const unique = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`
  return {
    client,
    unique,
    cluster: async ({
      set,
      labels = {},
      isAccepted = true,
      uid,
      version,
      features,
      finalizers = [],
    }: PlantedCluster = {}): Promise<string> => {
      const name = unique('spoke')
      const metadata = {
        name,
        finalizers,
        labels: { ...labels, ...(set === undefined ? {} : { [clusterSetLabel]: set }) },
      }
      await client.create(managedClusters, { metadata, spec: { hubAcceptsClient: isAccepted } })
      const status = {
        conditions: [],
        ...(version === undefined ? {} : { version: { kubernetes: version } }),
        clusterClaims: [
          ...(uid === undefined ? [] : [{ name: 'id.k8s.io', value: uid }]),
          ...(features === undefined
            ? []
            : [{ name: 'features.ace.info', value: `enabledFeatures: [${features.join(', ')}]` }]),
        ],
      }
      if (uid !== undefined || version !== undefined || features !== undefined)
        await client.patch(managedClusters, { metadata }, { status }, { subresource: 'status' })
      return name
    },
    set: async (clusterSelector?: object): Promise<string> => {
      const name = unique('set')
      await client.create(managedClusterSets, {
        metadata: { name },
        spec: clusterSelector === undefined ? {} : { clusterSelector },
      })
      return name
    },
    /** Returns the name of the set of each cluster; undefined for none. */
    setsOf: async (...clusters: readonly string[]): Promise<readonly (string | undefined)[]> => {
      const found = await Promise.all(clusters.map((name) => client.get<ManagedCluster>(managedClusters, name)))
      return found.map((cluster) => cluster?.metadata.labels?.[clusterSetLabel])
    },
    move: (cluster: string, set: string | null) =>
      client.patch(
        managedClusters,
        { metadata: { name: cluster } },
        { metadata: { labels: { [clusterSetLabel]: set } } },
      ),
    bind: (namespace: string, name: string, clusterSet: string) =>
      client.create(managedClusterSetBindings, { metadata: { namespace, name }, spec: { clusterSet } }),
    hasSet: async (name: string): Promise<boolean> => (await client.get(managedClusterSets, name)) !== undefined,
    deleteCluster: (name: string) => client.remove(managedClusters, { metadata: { name } }),
    deleteSet: (name: string) => client.remove(managedClusterSets, { metadata: { name } }),
  }
}
export type HubObjects = Awaited<ReturnType<typeof hubObjects>>
