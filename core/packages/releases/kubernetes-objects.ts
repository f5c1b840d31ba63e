import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { manifestObjectsOf, countOf, queryValue } from '../../formats/kubernetes/objects.ts'
import { podReadiness, hasPods, podSelectorOf, isVague } from '../../formats/kubernetes/readiness.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { TaskRun } from '../../tasks/ports.ts'
import type { ChartTexts } from '../charts/ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { ReleaseKey } from '../types.ts'
import type { HelmRunner } from './ports.ts'

/** Returns the objects of a manifest, in order; lists are split into their items. */
export const objectsOf = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  manifest: string,
): Outcome<Failure<'TextUnreadable'>, readonly ManifestObject[]> => {
  const documents = await texts.parseAll(new TextEncoder().encode(manifest))
  return isLeft(documents) ? documents : right(documents.right.flatMap(manifestObjectsOf))
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
