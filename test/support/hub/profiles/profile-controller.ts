import { load } from 'js-yaml'
import {
  managedClusterSets,
  profileBindings,
  setProfiles,
  type ManagedCluster,
  type ManagedClusterProfileBinding,
  type ManagedClusterSet,
  type ManagedClusterSetProfile,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { watchObjects } from '../api/watched-objects.ts'
import { isInSet } from '../controllers/cluster-sets.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'
import { writeFeatureWorks } from './feature-works.ts'

const suiteFeature = 'opscenter-features'
const requiredFeatures = [suiteFeature, 'kube-ui-server']
const profileLabel = 'cluster.appscode.com/profile'

/**
 * 'cluster-profile controller: set deleted: profile deleted; for each selected cluster create-or-patch binding (owner =
 * profile); refuses profiles lacking the suite feature and `kube-ui-server`; ... one ManifestWork per feature set'
 * (note §6). A cluster that leaves the set keeps its binding, as there. 'It watches profiles, sets and bindings, not
 * ManagedClusters' (real controllers, 5).
 */
export const runProfileController = (fixture: HubFixture): void => {
  const { client, owns, signal, clusters } = fixture
  const profiles = fixture.reconciler({
    name: 'profile',
    reconcile: async (name) => {
      const profile = await client.get(setProfiles, name)
      if (profile === undefined) return
      const set = await client.get(managedClusterSets, name)
      if (set === undefined) return client.remove(setProfiles, profile)
      for (const cluster of clusters.all().filter((each) => isInSet(each, set)))
        await bindCluster(client, profile, cluster)
    },
  })
  const bindings = fixture.reconciler({
    name: 'profile binding',
    reconcile: async (name) => {
      const binding = await client.get(profileBindings, name, name)
      if (binding === undefined) return
      const profile = await client.get(setProfiles, binding.spec.profileRef.name)
      if (profile === undefined) return client.remove(profileBindings, binding)
      return installFeatures(client, profile, binding, clusters.get(name))
    },
  })
  const watchedProfiles = watchObjects<ManagedClusterSetProfile>(client, setProfiles, {
    keeps: ({ metadata }) => owns(metadata.name),
    onChange: ({ metadata }) => {
      profiles.add(metadata.name)
      for (const each of watchedBindings.all())
        if (each.spec.profileRef.name === metadata.name) bindings.add(each.metadata.name)
    },
    signal,
  })
  const watchedBindings = watchObjects<ManagedClusterProfileBinding>(client, profileBindings, {
    keeps: ({ metadata }) => owns(metadata.namespace ?? ''),
    onChange: ({ metadata }, isGone) => {
      if (!isGone) bindings.add(metadata.name)
    },
    signal,
  })
  watchObjects<ManagedClusterSet>(client, managedClusterSets, {
    keeps: ({ metadata }) => owns(metadata.name),
    onChange: ({ metadata }) => {
      if (watchedProfiles.get(metadata.name) !== undefined) profiles.add(metadata.name)
    },
    signal,
  })
}

/**
 * '`ManagedClusterProfileBinding` (ns = name = cluster; spec{profileRef, clusterMetadata, ...})' (note §6); overrides
 * of one cluster stay.
 */
const bindCluster = async (
  client: KubeClient,
  profile: ManagedClusterSetProfile,
  cluster: ManagedCluster,
): Promise<void> => {
  const { name } = cluster.metadata
  const ownerReferences = [
    {
      apiVersion: setProfiles.apiVersion,
      kind: setProfiles.kind,
      name: profile.metadata.name,
      uid: profile.metadata.uid ?? '',
      controller: true,
    },
  ]
  const wanted = {
    metadata: { name, namespace: name, labels: { [profileLabel]: profile.metadata.name }, ownerReferences },
    spec: { profileRef: { name: profile.metadata.name }, clusterMetadata: metadataOf(cluster) },
  }
  if ((await client.patch(profileBindings, wanted, wanted)) === undefined)
    await client.createIfMissing(profileBindings, wanted)
}

/**
 * From the claim `cluster.ace.info`: '(YAML: clusterMetadata{uid,name,clusterManagers[],capi})' (note §3). 'Without it:
 * cluster info not found, ...; the clusters after the one without it are not served either' (real controllers, 1).
 */
const metadataOf = (cluster: ManagedCluster): ManagedClusterProfileBinding['spec']['clusterMetadata'] => {
  const claim = cluster.status?.clusterClaims?.find(({ name }) => name === 'cluster.ace.info')
  if (claim === undefined) throw new Error('cluster info not found')
  const { clusterMetadata = {} } = load(claim.value) as {
    readonly clusterMetadata?: {
      readonly uid?: string
      readonly name?: string
      readonly clusterManagers?: readonly string[]
    }
  }
  const { uid = '', name = '', clusterManagers = [] } = clusterMetadata
  return { uid, name, clusterManagers }
}

/**
 * '`opscenterFeaturesVersion: ""` (empty = follow the profile)'; 'status{phase InProgress|Current|Failed,
 * observedOpscenterFeaturesVersion}' (note §6).
 */
const installFeatures = async (
  client: KubeClient,
  profile: ManagedClusterSetProfile,
  binding: ManagedClusterProfileBinding,
  cluster: ManagedCluster | undefined,
): Promise<void> => {
  const features = { ...profile.spec?.features, ...binding.spec.features }
  const missing = requiredFeatures.find((each) => profile.spec?.features?.[each] === undefined)
  if (missing !== undefined) throw new Error(`${missing} not found in feature list`)
  const pinned = binding.spec.opscenterFeaturesVersion ?? ''
  const observed = pinned === '' ? (features[suiteFeature]?.chart?.version ?? '') : pinned
  await writeFeatureWorks(client, { profile: profile.metadata.name, binding, features, cluster })
  await report(client, binding, { phase: 'Current', observedOpscenterFeaturesVersion: observed })
}

const report = async (
  client: KubeClient,
  binding: ManagedClusterProfileBinding,
  status: NonNullable<ManagedClusterProfileBinding['status']>,
): Promise<void> => {
  const isSame = Object.entries(status).every(([key, value]) => binding.status?.[key as keyof typeof status] === value)
  if (!isSame) await client.patch(profileBindings, binding, { status }, { subresource: 'status' })
}
