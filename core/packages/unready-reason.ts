import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import { askItems, queryValue } from './ask-objects.ts'
import { podReadiness, podSelectorOf } from './readiness.ts'
import { asTable } from './value-tables.ts'

const nameOf = (object: FreeObject): string => String(asTable(object.metadata)?.name ?? '')
const timeOf = (event: FreeObject): string => String(event.lastTimestamp ?? event.eventTime ?? '')

/** The latest warning about an object, as `reason: message`. */
const warningAbout = async (cluster: MemberCluster, namespace: string, name: string, signal: AbortSignal): Promise<string | undefined> => {
  const about = queryValue(`involvedObject.name=${name},type=Warning`)
  const events = await askItems(cluster, `/api/v1/namespaces/${queryValue(namespace)}/events?fieldSelector=${about}&limit=50`, signal)
  const latest = [...events].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0]
  return latest === undefined ? undefined : `${String(latest.reason ?? '')}: ${String(latest.message ?? '')}`
}

/** Reasons that say nothing by themselves: what an event adds is worth more. */
const isVague = (reason: string): boolean => /^(?:container .*: (?:ContainerCreating|PodInitializing)$|Pending$|ContainersNotReady|not started)/.test(reason)

/**
 * Why a workload's pods are not ready: the first unready pod, with what its containers, conditions and latest warning
 * say. Undefined when no pod tells. Read as the caller, who may not be allowed to; then nothing is told.
 */
export const podReason = async (cluster: MemberCluster, namespace: string, workload: FreeObject, signal: AbortSignal): Promise<string | undefined> => {
  const selector = podSelectorOf(workload)
  if (selector === undefined) return undefined
  const pods = await askItems(cluster, `/api/v1/namespaces/${queryValue(namespace)}/pods?labelSelector=${queryValue(selector)}&limit=20`, signal)
  for (const pod of pods) {
    const { isReady, reason } = podReadiness(pod)
    if (isReady) continue
    const warning = isVague(reason) ? await warningAbout(cluster, namespace, nameOf(pod), signal) : undefined
    return `pod ${nameOf(pod)}: ${warning ?? reason}`
  }
  return undefined
}

/** The latest warning about the object itself, for what has no pods. */
export const ownWarning = warningAbout
