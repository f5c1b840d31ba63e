import type { KubeObject, Tree } from '../fake-api/kube-object.ts'
import { timestamp } from '../fake-api/kube-object.ts'
import { outcomeOf } from './workload-outcome.ts'
import { podFor, podStatus, replicaSetFor, sameTemplate } from './workload-children.ts'

/** What a controller would do next. */
export type Effect =
  | { readonly do: 'create'; readonly object: KubeObject }
  | { readonly do: 'remove'; readonly object: KubeObject }
  | { readonly do: 'scale'; readonly object: KubeObject; readonly replicas: number }
  | { readonly do: 'status'; readonly object: KubeObject; readonly status: Tree }

/** Kinds that `reconcile` knows, as `apiVersion` and plural. */
export const workloadResources = [
  ['apps/v1', 'deployments'],
  ['apps/v1', 'replicasets'],
  ['apps/v1', 'statefulsets'],
  ['apps/v1', 'daemonsets'],
  ['batch/v1', 'jobs'],
  ['v1', 'pods'],
  ['v1', 'persistentvolumeclaims'],
] as const

/** Once all is as it should be, nothing. `fixture` holds the workloads of the object's namespace. */
export const reconcile = (object: KubeObject, fixture: readonly KubeObject[], now: number): readonly Effect[] => {
  if (object.metadata.deletionTimestamp !== undefined) return []
  const own = fixture.filter(
    ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true,
  )
  const effects = reconcilers[object.kind]?.(object, own, now) ?? []
  return effects.filter((effect) => effect.do !== 'status' || !isSubset(effect.status, effect.object.status))
}

type Reconcile = (object: KubeObject, own: readonly KubeObject[], now: number) => readonly Effect[]

const replicasOf = ({ spec }: KubeObject): number => Number(spec?.['replicas'] ?? 1)
const ready = (pods: readonly KubeObject[]): number =>
  pods.filter(({ status }) => status?.['phase'] === 'Running').length
const status = (object: KubeObject, value: Tree): Effect => ({
  do: 'status',
  object,
  status: { observedGeneration: object.metadata.generation ?? 1, ...value },
})

const reconcileDeployment: Reconcile = (object, own) => {
  const current = own.find((each) => sameTemplate(each, object))
  const wanted = replicasOf(object)
  if (current === undefined) return [{ do: 'create', object: replicaSetFor(object, own.length + 1) }]
  const scaled = [current, ...own.filter((each) => each !== current)]
    .filter((each) => replicasOf(each) !== (each === current ? wanted : 0))
    .map((each): Effect => ({ do: 'scale', object: each, replicas: each === current ? wanted : 0 }))
  const readyReplicas = Math.min(Number(current.status?.['readyReplicas'] ?? 0), wanted)
  const isReady = readyReplicas >= wanted
  return [
    ...scaled,
    status(object, {
      replicas: wanted,
      updatedReplicas: wanted,
      readyReplicas,
      availableReplicas: readyReplicas,
      unavailableReplicas: Math.max(0, wanted - readyReplicas),
      conditions: [
        condition('Available', isReady, isReady ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable', object),
        condition('Progressing', true, isReady ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated', object),
      ],
    }),
  ]
}

const condition = (type: string, isTrue: boolean, reason: string, { metadata }: KubeObject): Tree => ({
  type,
  status: isTrue ? 'True' : 'False',
  reason,
  message: `${reason} of ${metadata.name}`,
  lastUpdateTime: metadata.creationTimestamp,
  lastTransitionTime: metadata.creationTimestamp,
})

const podsTo = (object: KubeObject, own: readonly KubeObject[], wanted: number): readonly Effect[] => [
  ...Array.from({ length: Math.max(0, wanted - own.length) }, (_, index): Effect => ({
    do: 'create',
    object: podFor(object, own.length + index),
  })),
  ...own.slice(wanted).map((pod): Effect => ({ do: 'remove', object: pod })),
]

const reconcileReplicaSet: Reconcile = (object, own) => {
  const wanted = replicasOf(object)
  const isReady = Math.min(ready(own), wanted)
  return [
    ...podsTo(object, own, wanted),
    status(object, {
      replicas: wanted,
      fullyLabeledReplicas: wanted,
      readyReplicas: isReady,
      availableReplicas: isReady,
    }),
  ]
}

const reconcileStatefulSet: Reconcile = (object, own) => {
  const wanted = replicasOf(object)
  const [isReady, revision] = [
    Math.min(ready(own), wanted),
    `${object.metadata.name}-${object.metadata.generation ?? 1}`,
  ]
  return [
    ...podsTo(object, own, wanted),
    status(object, {
      replicas: wanted,
      readyReplicas: isReady,
      availableReplicas: isReady,
      currentReplicas: wanted,
      updatedReplicas: wanted,
      currentRevision: revision,
      updateRevision: revision,
    }),
  ]
}

const reconcileDaemonSet: Reconcile = (object, own) => {
  const isReady = Math.min(ready(own), 1)
  return [
    ...podsTo(object, own, 1),
    status(object, {
      desiredNumberScheduled: 1,
      currentNumberScheduled: 1,
      updatedNumberScheduled: 1,
      numberReady: isReady,
      numberAvailable: isReady,
      numberMisscheduled: 0,
      numberUnavailable: 1 - isReady,
    }),
  ]
}

const reconcileJob: Reconcile = (object, own, now) => {
  if (Array.isArray(object.status?.['conditions']) && object.status['conditions'].length > 0) return []
  const [pod] = own
  if (pod === undefined) return [{ do: 'create', object: podFor(object, 0) }]
  const phase = pod.status?.['phase']
  const startTime = object.metadata.creationTimestamp
  if (phase !== 'Succeeded' && phase !== 'Failed') {
    return [{ do: 'status', object, status: { startTime, active: 1, ready: 0, terminating: 0 } }]
  }
  const isDone = phase === 'Succeeded'
  const at = timestamp(new Date(now))
  const told = (type: string): Tree => ({
    type,
    status: 'True',
    lastProbeTime: at,
    lastTransitionTime: at,
    ...(isDone
      ? { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
      : { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' }),
  })
  return [
    {
      do: 'status',
      object,
      status: {
        startTime,
        active: 0,
        ready: 0,
        terminating: 0,
        ...(isDone ? { succeeded: 1, completionTime: at } : { failed: 1 }),
        conditions: isDone ? [told('SuccessCriteriaMet'), told('Complete')] : [told('FailureTarget'), told('Failed')],
      },
    },
  ]
}

const reconcilePod: Reconcile = (object, _own, now) => [
  { do: 'status', object, status: podStatus(object, outcomeOf(object, now)) },
]

const reconcileClaim: Reconcile = (object, _own, now) => {
  const isBound = outcomeOf(object, now) === 'succeed' && object.spec?.['storageClassName'] !== 'never'
  const resources = object.spec?.['resources'] as { readonly requests?: Tree } | undefined
  return [
    {
      do: 'status',
      object,
      status: isBound
        ? { phase: 'Bound', accessModes: object.spec?.['accessModes'] ?? [], capacity: resources?.requests ?? {} }
        : { phase: 'Pending' },
    },
  ]
}

const reconcilers: Readonly<Record<string, Reconcile>> = {
  Deployment: reconcileDeployment,
  ReplicaSet: reconcileReplicaSet,
  StatefulSet: reconcileStatefulSet,
  DaemonSet: reconcileDaemonSet,
  Job: reconcileJob,
  Pod: reconcilePod,
  PersistentVolumeClaim: reconcileClaim,
}

/** Returns whether `whole` contains every value of `part`; absent counts as 0, as servers drop what is zero. */
const isSubset = (part: unknown, whole: unknown): boolean => {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      part.length === whole.length &&
      part.every((each, index) => isSubset(each, (whole as unknown[])[index]))
    )
  if (typeof part === 'object' && part !== null)
    return Object.entries(part).every(([key, value]) => isSubset(value, (whole as Tree | undefined)?.[key]))
  return part === whole || (whole === undefined && (part === 0 || part === undefined))
}
