import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable } from '../helm/value-tables.ts'

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
export const podReadiness = (pod: FreeObject): Readiness => {
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

/** Reports whether a reason is uninformative by itself, so that an event should be added. */
export const isVague = (reason: string): boolean =>
  /^(?:container .*: (?:ContainerCreating|PodInitializing)$|Pending$|ContainersNotReady|not started)/.test(reason)
