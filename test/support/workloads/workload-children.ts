import { createHash, randomBytes } from 'node:crypto'
import type { KubeObject, Tree } from '../fake-api/kube-object.ts'
import { isTree } from '../fake-api/kube-object.ts'
import type { Outcome } from './workload-outcome.ts'

const hashLabel = 'pod-template-hash'

interface Template {
  readonly metadata?: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> }
  readonly spec?: Tree
}

const templateOf = ({ spec }: KubeObject): Template =>
  isTree(spec?.['template']) ? (spec['template'] as Template) : {}

/** Key order does not matter to a server that keeps structures. */
const canonical = (value: unknown): unknown =>
  isTree(value)
    ? Object.fromEntries(
        Object.keys(value)
          .toSorted()
          .map((key) => [key, canonical(value[key])]),
      )
    : Array.isArray(value)
      ? value.map(canonical)
      : value

const withoutHash = (template: Template): string => {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  return JSON.stringify(canonical({ ...template, metadata: { ...template.metadata, labels } }))
}

export const sameTemplate = (one: KubeObject, other: KubeObject): boolean =>
  withoutHash(templateOf(one)) === withoutHash(templateOf(other))

const ownedBy = ({
  apiVersion,
  kind,
  metadata,
}: KubeObject): Pick<KubeObject['metadata'], 'namespace' | 'ownerReferences'> => ({
  ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }],
})

/** The replica set of a deployment's template as it is now. */
export const replicaSetFor = (deployment: KubeObject, revision: number): KubeObject => {
  const template = templateOf(deployment)
  const hash = createHash('sha256').update(withoutHash(template)).digest('hex').slice(0, 9)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      labels,
      annotations: { 'deployment.kubernetes.io/revision': String(revision) },
      ...ownedBy(deployment),
    },
    spec: {
      replicas: deployment.spec?.['replicas'] ?? 1,
      selector: { matchLabels: labels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

/** The next pod of a workload. */
export const podFor = (owner: KubeObject, index: number): KubeObject => {
  const { metadata, spec } = templateOf(owner)
  const suffix = owner.kind === 'StatefulSet' ? String(index) : randomBytes(3).toString('hex').slice(0, 5)
  const jobLabels =
    owner.kind === 'Job' ? { 'job-name': owner.metadata.name, 'batch.kubernetes.io/job-name': owner.metadata.name } : {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${owner.metadata.name}-${suffix}`,
      labels: { ...metadata?.labels, ...jobLabels },
      annotations: { ...metadata?.annotations, ...behaviourOf(owner) },
      ...ownedBy(owner),
    },
    spec: { ...spec },
  }
}

/** What the owner's own annotations say about its pods. */
const behaviourOf = ({ metadata }: KubeObject): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith('moorage.test/')))

interface Container {
  readonly name: string
  readonly image: string
}

const statusOfContainer = ({ name, image }: Container, state: Tree, isReady: boolean): Tree => ({
  name,
  image,
  imageID: '',
  ready: isReady,
  started: isReady,
  restartCount: 0,
  state,
})

/** Pods that end by themselves succeed; the others run. */
export const podStatus = (pod: KubeObject, outcome: Outcome): Tree => {
  const containers = (pod.spec?.['containers'] ?? []) as readonly Container[]
  const at = pod.metadata.creationTimestamp
  const all = (phase: string, state: Tree, isReady: boolean): Tree => ({
    phase,
    startTime: at,
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: at },
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        lastTransitionTime: at,
        ...(isReady ? {} : { reason: phase === 'Succeeded' ? 'PodCompleted' : 'ContainersNotReady' }),
      },
    ],
    containerStatuses: containers.map((container) => statusOfContainer(container, state, isReady)),
  })
  const ended = (exitCode: number): Tree => ({
    terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: at, finishedAt: at },
  })
  const endsItself = pod.spec?.['restartPolicy'] === 'Never' || pod.spec?.['restartPolicy'] === 'OnFailure'
  if (outcome === 'never')
    return all('Pending', { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } }, false)
  if (outcome === 'fail')
    return endsItself
      ? all('Failed', ended(1), false)
      : all(
          'Pending',
          { waiting: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' } },
          false,
        )
  return endsItself ? all('Succeeded', ended(0), false) : all('Running', { running: { startedAt: at } }, true)
}
