import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskRun } from '../tasks/ports.ts'
import { askItems, queryValue } from './ask-objects.ts'
import type { HelmRunner } from './helm-ports.ts'
import { countOf, type ManifestObject } from './manifest-objects.ts'
import { hasPods, podSelectorOf } from './readiness.ts'
import type { ReleaseKey } from './types.ts'
import { asTable } from './value-tables.ts'

/**
 * Deletes the pods that the workloads of a manifest select, so that their controllers make new ones: what `recreate` is
 * with Helm 4, which has no such flag. Each pod that could not be deleted is told.
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
    for (const pod of await askItems(cluster, `/api/v1/namespaces/${namespace}/pods?labelSelector=${queryValue(selector)}`, run.signal)) {
      const name = String(asTable(pod.metadata)?.name ?? '')
      const answer = await cluster.request({ method: 'DELETE', target: `/api/v1/namespaces/${namespace}/pods/${queryValue(name)}` }, run.signal)
      if (!isLeft(answer) && (answer.right.status < 300 || answer.right.status === 404)) deleted += 1
      else step.say(`Pod ${name} could not be deleted`, { level: 'warning' })
    }
  }
  step.done(`Deleted ${countOf(deleted, 'pod')}; the controllers make new ones`)
}
