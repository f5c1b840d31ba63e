import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { TaskRun } from '../../tasks/ports.ts'
import type { ChartTexts } from '../charts/ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { ReleaseKey } from '../types.ts'
import type { HelmRunner } from './ports.ts'

/** Returns the plural of a kind as used in paths, as API servers form it for nearly every kind. */
export const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase()
  if (word === 'endpoints') return word
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

/** Splits `apps/v1` into group and version. */
export const groupVersionOf = (apiVersion: string): { readonly group: string; readonly version: string } => {
  const [first = '', second] = apiVersion.split('/')
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

/** `/apis/apps/v1` or `/api/v1`. */
export const apiRootOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`

/** One object of a manifest. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  /** As written in the manifest; empty if it names none. */
  readonly namespace: string
  readonly name: string
  readonly body: FreeObject
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const objectOf = (value: Json): readonly ManifestObject[] => {
  const body = asTable(value)
  if (body === undefined) return []
  const kind = textOf(body.kind)
  if (kind.endsWith('List') && Array.isArray(body.items)) return (body.items as readonly Json[]).flatMap(objectOf)
  const metadata = asTable(body.metadata) ?? {}
  return kind === ''
    ? []
    : [
        {
          apiVersion: textOf(body.apiVersion),
          kind,
          namespace: textOf(metadata.namespace),
          name: textOf(metadata.name),
          body,
        },
      ]
}

/** Returns the objects of a manifest, in order; lists are split into their items. */
export const objectsOf = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  manifest: string,
): Outcome<Failure<'TextUnreadable'>, readonly ManifestObject[]> => {
  const documents = await texts.parseAll(new TextEncoder().encode(manifest))
  return isLeft(documents) ? documents : right(documents.right.flatMap(objectOf))
}

/** Returns `Deployment web`, or `Deployment other/web` if the namespace is not the release's own. */
export const labelOf = (object: Pick<ManifestObject, 'kind' | 'namespace' | 'name'>, home: string): string =>
  `${object.kind} ${object.namespace === '' || object.namespace === home ? '' : `${object.namespace}/`}${object.name}`

/** `1 object`, `2 objects`. */
export const countOf = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** Returns counts by kind as text, `ConfigMap 2, Deployment 1`, and as numbers. */
export const countByKind = (
  objects: readonly ManifestObject[],
): { readonly text: string; readonly counts: Readonly<Record<string, number>> } => {
  const counts = new Map<string, number>()
  for (const { kind } of objects) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  return { text: sorted.map(([kind, count]) => `${kind} ${count}`).join(', '), counts: Object.fromEntries(sorted) }
}

/** Maximum size of one response in bytes. */
const limitBytes = 4 * 1024 * 1024

/** Sends a GET to the cluster as the caller; returns undefined unless the response is an object with status 200. */
export const askObject = async (
  cluster: MemberCluster,
  target: string,
  signal: AbortSignal,
): Promise<FreeObject | undefined> => {
  const answer = await cluster.request({ method: 'GET', target, limitBytes }, signal)
  return isLeft(answer) || answer.right.status !== 200 ? undefined : asTable(answer.right.json as Json)
}

/** Returns the `items` of a list; empty if it cannot be read. */
export const askItems = async (
  cluster: MemberCluster,
  target: string,
  signal: AbortSignal,
): Promise<readonly FreeObject[]> => {
  const list = await askObject(cluster, target, signal)
  return Array.isArray(list?.items)
    ? (list.items as readonly Json[]).map(asTable).filter((item) => item !== undefined)
    : []
}

/** Returns the path of an object of a built-in namespaced kind. */
export const pathOf = (
  object: Pick<ManifestObject, 'apiVersion' | 'kind' | 'namespace' | 'name'>,
  home: string,
): string =>
  `${apiRootOf(object.apiVersion)}/namespaces/${encodeURIComponent(object.namespace || home)}/${pluralOf(object.kind)}/${encodeURIComponent(object.name)}`

/** Encodes a query value. */
export const queryValue = encodeURIComponent

/** The readiness of one live object. */
export interface Readiness {
  readonly isReady: boolean
  /** Derived from the object's own conditions; empty if ready. */
  readonly reason: string
}

const ready: Readiness = { isReady: true, reason: '' }
const waits = (reason: string): Readiness => ({ isReady: false, reason })
const numberAt = (table: FreeObject | undefined, key: string, absent = 0): number =>
  typeof table?.[key] === 'number' ? table[key] : absent
const textAt = (table: FreeObject | undefined, key: string): string =>
  typeof table?.[key] === 'string' ? table[key] : ''
const tablesOf = (value: Json | undefined): readonly FreeObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).map(asTable).filter((each) => each !== undefined) : []

const conditionOf = (live: FreeObject, type: string): FreeObject | undefined =>
  tablesOf(asTable(live.status)?.conditions).find((condition) => condition.type === type)

const said = (condition: FreeObject | undefined): string =>
  [textAt(condition, 'reason'), textAt(condition, 'message')].filter((part) => part !== '').join(': ')

const isSeen = (live: FreeObject): boolean =>
  numberAt(asTable(live.status), 'observedGeneration') >= numberAt(asTable(live.metadata), 'generation')

/** Compares a controller's pod counts with the wanted number. */
const counted = (live: FreeObject, wanted: number, ...keys: readonly string[]): Readiness => {
  const status = asTable(live.status)
  const least = Math.min(...keys.map((key) => numberAt(status, key)))
  if (isSeen(live) && least >= wanted) return ready
  const failure = conditionOf(live, 'ReplicaFailure')
  const progress = conditionOf(live, 'Progressing')
  if (failure?.status === 'True') return waits(said(failure))
  if (progress?.status === 'False') return waits(said(progress))
  return waits(`${Math.min(least, wanted)} of ${wanted} pods are ready`)
}

const replicas = (live: FreeObject): number => numberAt(asTable(live.spec), 'replicas', 1)

/** Returns why a pod is not ready, from its containers and conditions. */
const podReadiness = (pod: FreeObject): Readiness => {
  const status = asTable(pod.status)
  if (textAt(status, 'phase') === 'Succeeded' || conditionOf(pod, 'Ready')?.status === 'True') return ready
  const containers = [...tablesOf(status?.initContainerStatuses), ...tablesOf(status?.containerStatuses)]
  for (const container of containers) {
    const state = asTable(container.state)
    const waiting = asTable(state?.waiting)
    if (waiting !== undefined && textAt(waiting, 'reason') !== 'PodInitializing')
      return waits(`container ${textAt(container, 'name')}: ${said(waiting)}`)
    const ended = asTable(state?.terminated)
    if (ended !== undefined && numberAt(ended, 'exitCode') !== 0)
      return waits(`container ${textAt(container, 'name')}: ${said(ended)} (exit code ${numberAt(ended, 'exitCode')})`)
  }
  const scheduled = conditionOf(pod, 'PodScheduled')
  if (scheduled?.status === 'False') return waits(said(scheduled))
  return waits(said(conditionOf(pod, 'Ready')) || textAt(status, 'phase') || 'not started yet')
}

const serviceReadiness = (live: FreeObject): Readiness => {
  if (textAt(asTable(live.spec), 'type') !== 'LoadBalancer') return ready
  return tablesOf(asTable(asTable(live.status)?.loadBalancer)?.ingress).length > 0
    ? ready
    : waits('the load balancer has no address yet')
}

const judges: Readonly<Record<string, (live: FreeObject) => Readiness>> = {
  Deployment: (live) => counted(live, replicas(live), 'updatedReplicas', 'availableReplicas'),
  StatefulSet: (live) => counted(live, replicas(live), 'readyReplicas'),
  ReplicaSet: (live) => counted(live, replicas(live), 'readyReplicas'),
  ReplicationController: (live) => counted(live, replicas(live), 'readyReplicas'),
  DaemonSet: (live) =>
    counted(live, numberAt(asTable(live.status), 'desiredNumberScheduled'), 'numberReady', 'updatedNumberScheduled'),
  Pod: podReadiness,
  PersistentVolumeClaim: (live) =>
    textAt(asTable(live.status), 'phase') === 'Bound'
      ? ready
      : waits(textAt(asTable(live.status), 'phase') || 'not bound'),
  Service: serviceReadiness,
}

/** Reports whether objects of a kind need time to become ready; others are ready once they exist. */
export const takesAWhile = (kind: string): boolean => Object.hasOwn(judges, kind)

/** Reports whether a kind's readiness is that of the pods that it selects. */
export const hasPods = (kind: string): boolean =>
  ['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController', 'DaemonSet'].includes(kind)

/** Returns the readiness of a live object from its own fields; undefined means that the object does not exist. */
export const readinessOf = (kind: string, live: FreeObject | undefined): Readiness => {
  if (live === undefined) return waits('not created yet')
  return Object.hasOwn(judges, kind) ? (judges[kind]?.(live) ?? ready) : ready
}

const selectorPart = (expression: FreeObject): string | undefined => {
  const key = textAt(expression, 'key')
  const values = (Array.isArray(expression.values) ? (expression.values as readonly Json[]) : []).join(',')
  switch (expression.operator) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
    default:
      return undefined
  }
}

/**
 * Returns the label selector of a workload's pods in query form; undefined if it has none, or an empty one.
 *
 * @internal
 */
export const podSelectorOf = (workload: FreeObject): string | undefined => {
  const selector = asTable(asTable(workload.spec)?.selector)
  if (selector === undefined) return undefined
  const isOld = workload.kind === 'ReplicationController'
  const labels = asTable(isOld ? selector : selector.matchLabels) ?? {}
  const equal = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`)
  const parts = [...equal, ...(isOld ? [] : tablesOf(selector.matchExpressions).map(selectorPart))]
  // Omitting a requirement that cannot be expressed would select more pods than the workload does.
  return parts.length === 0 || parts.includes(undefined) ? undefined : parts.join(',')
}

const nameOf = (object: FreeObject): string => String(asTable(object.metadata)?.name ?? '')
const timeOf = (event: FreeObject): string => String(event.lastTimestamp ?? event.eventTime ?? '')

/** Returns the latest warning about an object, as `reason: message`. */
const warningAbout = async (
  cluster: MemberCluster,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const about = queryValue(`involvedObject.name=${name},type=Warning`)
  const events = await askItems(
    cluster,
    `/api/v1/namespaces/${queryValue(namespace)}/events?fieldSelector=${about}&limit=50`,
    signal,
  )
  const latest = [...events].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0]
  return latest === undefined ? undefined : `${String(latest.reason ?? '')}: ${String(latest.message ?? '')}`
}

/** Reports whether a reason is uninformative by itself, so that an event should be added. */
const isVague = (reason: string): boolean =>
  /^(?:container .*: (?:ContainerCreating|PodInitializing)$|Pending$|ContainersNotReady|not started)/.test(reason)

/**
 * Returns why a workload's pods are not ready: the first unready pod, with its containers, conditions and latest
 * warning. Undefined if no pod gives a reason. Read as the caller; undefined as well if the caller cannot read the
 * pods.
 */
export const podReason = async (
  cluster: MemberCluster,
  namespace: string,
  workload: FreeObject,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const selector = podSelectorOf(workload)
  if (selector === undefined) return undefined
  const pods = await askItems(
    cluster,
    `/api/v1/namespaces/${queryValue(namespace)}/pods?labelSelector=${queryValue(selector)}&limit=20`,
    signal,
  )
  for (const pod of pods) {
    const { isReady, reason } = podReadiness(pod)
    if (isReady) continue
    const warning = isVague(reason) ? await warningAbout(cluster, namespace, nameOf(pod), signal) : undefined
    return `pod ${nameOf(pod)}: ${warning ?? reason}`
  }
  return undefined
}

/** Returns the latest warning about the object itself, for kinds without pods. */
export const ownWarning = warningAbout

/**
 * Deletes the pods that the workloads of a manifest select, so that their controllers create new ones. This implements
 * `recreate` with Helm 4, which has no such flag. Reports each pod that could not be deleted.
 */
export const recreatePods = async (
  helm: Pick<HelmRunner, 'version'>,
  run: Pick<TaskRun, 'progress' | 'signal'>,
  { cluster, release }: { readonly cluster: MemberCluster; readonly release: ReleaseKey },
  objects: readonly ManifestObject[],
): Promise<void> => {
  if ((await helm.version())?.major === 3) return
  const step = run.progress.step('Recreate the pods')
  let deleted = 0
  for (const object of objects.filter(({ kind }) => hasPods(kind))) {
    const selector = podSelectorOf(object.body)
    const namespace = queryValue(object.namespace || release.namespace)
    if (selector === undefined) continue
    for (const pod of await askItems(
      cluster,
      `/api/v1/namespaces/${namespace}/pods?labelSelector=${queryValue(selector)}`,
      run.signal,
    )) {
      const name = String(asTable(pod.metadata)?.name ?? '')
      const answer = await cluster.request(
        { method: 'DELETE', target: `/api/v1/namespaces/${namespace}/pods/${queryValue(name)}` },
        run.signal,
      )
      if (!isLeft(answer) && (answer.right.status < 300 || answer.right.status === 404)) deleted += 1
      else step.say(`Pod ${name} could not be deleted`, { level: 'warning' })
    }
  }
  step.done(`Deleted ${countOf(deleted, 'pod')}; the controllers make new ones`)
}
