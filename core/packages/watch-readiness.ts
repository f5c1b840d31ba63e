import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskProgress, TaskStep } from '../tasks/ports.ts'
import { askObject, pathOf } from './ask-objects.ts'
import { labelOf, type ManifestObject } from './manifest-objects.ts'
import { hasPods, readinessOf, takesAWhile } from './readiness.ts'
import type { Redact } from './redact.ts'
import type { Pause } from './release-task-ports.ts'
import { ownWarning, podReason } from './unready-reason.ts'

const lookMilliseconds = 5000
/** An unchanged state is said again after so many looks: half a minute. */
const repeatAfterLooks = 6
/** A release may hold more; then the first ones are watched. */
const maxWatched = 60
const maxNamed = 10
/** For a look after helm has given up. */
const patienceMilliseconds = 5000

interface Unready {
  readonly label: string
  readonly reason: string
}

export interface ReadinessWatch {
  readonly cluster: MemberCluster
  readonly objects: readonly ManifestObject[]
  /** Namespace of the release. */
  readonly home: string
  readonly progress: TaskProgress
  readonly pause: Pause
  readonly redact: Redact
  /** False as long as helm has not touched an object yet. */
  readonly isApplying: () => boolean
}

const lookAt = async (watch: ReadinessWatch, object: ManifestObject, signal: AbortSignal): Promise<Unready | undefined> => {
  const live = await askObject(watch.cluster, pathOf(object, watch.home), signal)
  const own = readinessOf(object.kind, live)
  if (own.isReady) return undefined
  const namespace = object.namespace || watch.home
  const more = live === undefined ? undefined : hasPods(object.kind) ? await podReason(watch.cluster, namespace, live, signal) : await ownWarning(watch.cluster, namespace, object.name, signal)
  return { label: labelOf(object, watch.home), reason: watch.redact(more ?? own.reason).slice(0, 300) }
}

const lookAtAll = async (watch: ReadinessWatch, watched: readonly ManifestObject[], signal: AbortSignal): Promise<readonly Unready[]> => {
  const found: (Unready | undefined)[] = []
  for (const object of watched) found.push(await lookAt(watch, object, signal))
  return found.filter((each) => each !== undefined)
}

const listed = (unready: readonly Unready[]): string => {
  const named = unready.slice(0, maxNamed)
  const rest = unready.length - named.length
  return `${named.map(({ label, reason }) => `${label} (${reason})`).join('; ')}${rest === 0 ? '' : ` and ${rest} more`}`
}

const say = (step: TaskStep, total: number, unready: readonly Unready[]): void => {
  const data = { ready: total - unready.length, total, unready: unready.slice(0, maxNamed).map(({ label, reason }) => ({ object: label, reason })) }
  step.say(`${total - unready.length} of ${total} ready${unready.length === 0 ? '' : `; waiting for ${listed(unready)}`}`, { data })
}

/**
 * Looks every five seconds what is ready and what each other thing waits for, as the caller; tells it when it has changed,
 * else every half minute. What the caller may not read counts as not created.
 */
export const watchReadiness = (watch: ReadinessWatch) => {
  const watched = watch.objects.filter(({ kind }) => takesAWhile(kind)).slice(0, maxWatched)
  const over = new AbortController()
  let step: TaskStep | undefined
  let lastUnready: readonly Unready[] = []

  const run = async (): Promise<void> => {
    let last = ''
    let unchanged = 0
    while (watched.length > 0) {
      await watch.pause(lookMilliseconds, over.signal)
      if (over.signal.aborted) return
      if (!watch.isApplying()) continue
      const unready = await lookAtAll(watch, watched, over.signal)
      if (over.signal.aborted) return
      if (unready.length > 0) lastUnready = unready
      const state = JSON.stringify(unready)
      unchanged = state === last ? unchanged + 1 : 0
      last = state
      step ??= watch.progress.step('Wait until everything is ready')
      if (unchanged % repeatAfterLooks === 0) say(step, watched.length, unready)
    }
  }
  // A look is for people: nothing that fails in one may touch the operation.
  const running = run().catch(() => watch.progress.say('What is waited for cannot be told.', { level: 'warning' }))

  return {
    /** Ends the looks. */
    async stop(isOk: boolean): Promise<void> {
      over.abort()
      await running
      if (isOk) step?.done('Everything is ready')
      else step?.failed('Not everything became ready.')
    },
    /**
     * What was not ready when it was last looked at, in one line; with `looksAgain` it is looked at now where no look was
     * made yet. Undefined when nothing was unready, or helm never came so far.
     */
    async unready(looksAgain: boolean): Promise<string | undefined> {
      if (!watch.isApplying()) return undefined
      const found = lastUnready.length > 0 || !looksAgain ? lastUnready : await lookAtAll(watch, watched, AbortSignal.timeout(patienceMilliseconds))
      return found.length === 0 ? undefined : `Not ready: ${listed(found)}.`
    },
  }
}
