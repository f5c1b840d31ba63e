import { createHash } from 'node:crypto'
import {
  appliedManifestWorks,
  manifestWorks,
  type AppliedManifestWork,
  type Condition,
  type Manifest,
  type ManifestWork,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { addFinalizers, isTrue, removeFinalizer, reportStatus } from '../api/object-changes.ts'
import { workCleanupFinalizer } from '../api/ocm-names.ts'
import { watchObjects } from '../api/watched-objects.ts'
import { applyManifest, removeManifest } from './apply-manifests.ts'
import type { AgentFixture } from './spoke-agent.ts'

const appliedFinalizer = 'cluster.open-cluster-management.io/applied-manifest-work-cleanup'

/** Applies the ManifestWorks in the namespace of the cluster, and cleans up after them. */
export const runWorkAgent = (fixture: AgentFixture, client: KubeClient): void => {
  const { cluster, signal, state } = fixture
  const { add } = fixture.reconciler({
    name: `works of ${cluster}`,
    reconcile: async (name) => {
      const work = await client.get(manifestWorks, name, cluster)
      if (work === undefined) return state.applied(name, [])
      if (work.metadata.deletionTimestamp === undefined) return applyWork(fixture, client, work)
      return finishWork(fixture, client, work)
    },
  })
  const watched = watchObjects<ManifestWork>(client, manifestWorks, {
    selection: { namespace: cluster },
    onChange: ({ metadata }) => add(metadata.name),
    signal,
  })
  state.onChange(() => {
    for (const { metadata } of watched.all()) add(metadata.name)
  })
}

/** 'ManifestWork never applied, ...: harness agent that ... writes status feedback via `/status`' (note §12). */
const applyWork = async (
  fixture: AgentFixture,
  client: KubeClient,
  work: ManifestWork,
): Promise<number | undefined> => {
  const { spoke, state } = fixture
  const kept = await addFinalizers(client, manifestWorks, work, workCleanupFinalizer)
  if (kept === undefined) return undefined
  const manifests = work.spec.workload?.manifests ?? []
  if (spoke !== undefined) {
    await spoke.createIfMissing(appliedManifestWorks, {
      metadata: { name: appliedNameOf(fixture, work), finalizers: [appliedFinalizer] },
      spec: { hubHash: hubHashOf(fixture), agentID: agentIdOf(fixture), manifestWorkName: work.metadata.name },
    })
    const applied =
      fixture.appliesManifests === true
        ? await spoke.get(appliedManifestWorks, appliedNameOf(fixture, work))
        : undefined
    for (const manifest of applied === undefined ? [] : manifests) {
      const forbidden = await applyManifest(spoke, manifest, applied as AppliedManifestWork, state)
      if (forbidden !== undefined) return reportForbidden(client, kept, forbidden)
    }
  }
  state.applied(work.metadata.name, manifests)
  const observedGeneration = work.metadata.generation ?? 1
  await reportStatus(
    client,
    manifestWorks,
    kept,
    [
      {
        type: 'Applied',
        status: 'True',
        reason: 'AppliedManifestWorkComplete',
        message: 'Apply manifest work complete',
        observedGeneration,
      },
      {
        type: 'Available',
        status: 'True',
        reason: 'ResourcesAvailable',
        message: 'All resources are available',
        observedGeneration,
      },
    ],
    {
      resourceStatus: {
        manifests: manifests.map((manifest, ordinal) => manifestStatus(fixture, kept, manifest, ordinal)),
      },
    },
  )
  return undefined
}

const againMilliseconds = 500

/**
 * 'Condition `Applied` of a ManifestWork at its current generation decides ...; the feedback is of what was applied
 * before, and stays' (real controllers, 6).
 */
const reportForbidden = async (client: KubeClient, work: ManifestWork, message: string): Promise<number> => {
  const observedGeneration = work.metadata.generation ?? 1
  await reportStatus(client, manifestWorks, work, [
    { type: 'Applied', status: 'False', reason: 'AppliedManifestWorkFailed', message, observedGeneration },
  ])
  return againMilliseconds
}

/**
 * 'ManifestWorks carry a finalizer only the live work agent clears' (note §5, remove-managed-cluster), after the
 * applied objects are gone.
 */
const finishWork = async (fixture: AgentFixture, client: KubeClient, work: ManifestWork): Promise<void> => {
  const { spoke, state } = fixture
  if (!isTrue(work, 'Deleting')) {
    await reportStatus(client, manifestWorks, work, [
      { type: 'Deleting', status: 'True', reason: 'WorkDeleting', message: 'ManifestWork is being deleted' },
    ])
  }
  if (spoke !== undefined) {
    if (fixture.appliesManifests === true)
      for (const manifest of work.spec.workload?.manifests ?? []) await removeManifest(spoke, manifest)
    const applied = await spoke.get(appliedManifestWorks, appliedNameOf(fixture, work))
    if (applied !== undefined) {
      await removeFinalizer(spoke, appliedManifestWorks, applied, appliedFinalizer)
      await spoke.remove(appliedManifestWorks, applied)
    }
  }
  state.applied(work.metadata.name, [])
  const latest = await client.get(manifestWorks, work.metadata.name, fixture.cluster)
  if (latest !== undefined) await removeFinalizer(client, manifestWorks, latest, workCleanupFinalizer)
}

/**
 * OCM takes the hub's URL alone; with the cluster's name in it, the agents of several clusters can share one API
 * server.
 */
const hubHashOf = ({ hub, cluster }: AgentFixture): string =>
  createHash('sha256').update(`${hub.url} ${cluster}`).digest('hex')

/** 'Under a Klusterlet agentID = UID of the Klusterlet'; without one OCM takes the hash of the hub. */
const agentIdOf = ({ agentId, cluster }: AgentFixture): string => agentId ?? cluster

const appliedNameOf = (fixture: AgentFixture, { metadata }: ManifestWork): string =>
  `${hubHashOf(fixture)}-${metadata.name}`

interface ManifestStatus {
  readonly resourceMeta: Readonly<Record<string, string | number>>
  readonly conditions: readonly Condition[]
  readonly statusFeedback: {
    readonly values: readonly {
      readonly name: string
      readonly fieldValue: { readonly type: 'String'; readonly string: string }
    }[]
  }
}

/** 'Feedback rules `Ready` and `Released` per HelmRelease' (note §6). */
const manifestStatus = (
  { state }: AgentFixture,
  work: ManifestWork,
  manifest: Manifest,
  ordinal: number,
): ManifestStatus => {
  const [group = '', version = ''] = (manifest.apiVersion ?? 'v1').includes('/')
    ? (manifest.apiVersion ?? '').split('/')
    : ['', manifest.apiVersion]
  const { name, namespace = '', labels } = manifest.metadata
  const resource = `${(manifest.kind ?? '').toLowerCase()}s`
  const config = (work.spec.manifestConfigs ?? []).find(
    ({ resourceIdentifier: id }) => id.resource === resource && id.name === name && (id.namespace ?? '') === namespace,
  )
  const asked = (config?.feedbackRules ?? []).flatMap(({ jsonPaths = [] }) => jsonPaths).map((path) => path.name)
  const isReady = state.isReady(labels?.['app.kubernetes.io/component'] ?? name)
  // It must not differ between two reports of one state.
  const lastTransitionTime = work.metadata.creationTimestamp ?? ''
  const condition = (type: string, reason: string, message: string): Condition => ({
    type,
    status: 'True',
    reason,
    message,
    lastTransitionTime,
  })
  return {
    resourceMeta: { ordinal, group, version, kind: manifest.kind ?? '', resource, name, namespace },
    conditions: [
      condition('Applied', 'AppliedManifestComplete', 'Apply manifest complete'),
      condition('Available', 'ResourceAvailable', 'Resource is available'),
      ...(asked.length === 0 ? [] : [condition('StatusFeedbackSynced', 'StatusFeedbackSynced', '')]),
    ],
    statusFeedback: {
      values:
        manifest.kind === 'HelmRelease'
          ? asked.map((each) => ({ name: each, fieldValue: { type: 'String', string: isReady ? 'True' : 'False' } }))
          : [],
    },
  }
}
