import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskProgress } from '../tasks/ports.ts'
import { askItems, queryValue } from './ask-objects.ts'
import type { Redact } from './redact.ts'
import { asTable } from './value-tables.ts'

const tailLines = 20
const patienceMilliseconds = 5000

/** Tells the last lines of a failed hook's pods, as the caller may read them, without the values. */
export const hookLogs = async (about: {
  readonly cluster: MemberCluster
  readonly home: string
  /** `Hook name`. */
  readonly hook: string
  readonly progress: TaskProgress
  readonly redact: Redact
}): Promise<void> => {
  const { cluster, home, progress, redact } = about
  const name = about.hook.replace(/^Hook /, '')
  // The task may have been told to stop; these lines say why, so they are read all the same.
  const signal = AbortSignal.timeout(patienceMilliseconds)
  const namespace = queryValue(home)
  const pods = await askItems(cluster, `/api/v1/namespaces/${namespace}/pods?labelSelector=${queryValue(`job-name=${name}`)}&limit=3`, signal)
  for (const pod of pods) {
    const podName = String(asTable(pod.metadata)?.name ?? '')
    const log = await cluster.request({ method: 'GET', target: `/api/v1/namespaces/${namespace}/pods/${queryValue(podName)}/log?tailLines=${tailLines}`, limitBytes: 64 * 1024 }, signal)
    if (isLeft(log) || log.right.status !== 200 || log.right.text.trim() === '') continue
    const lines = log.right.text.trimEnd().split('\n').slice(-tailLines).map((line) => redact(line).slice(0, 200))
    progress.say(`Last lines of pod ${podName}:\n${lines.join('\n')}`, { level: 'error' })
  }
}
