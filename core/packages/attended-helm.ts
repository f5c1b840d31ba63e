import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskRun } from '../tasks/ports.ts'
import { followHelm, type HelmPlan } from './follow-helm.ts'
import type { HelmEvent, HelmFailure } from './helm-ports.ts'
import { hookLogs } from './hook-logs.ts'
import type { Redact } from './redact.ts'
import type { Pause } from './release-task-ports.ts'
import { watchReadiness } from './watch-readiness.ts'

/** One operation of helm's, and what is known about it before. */
export interface Attended {
  readonly cluster: MemberCluster
  readonly plan: HelmPlan
  /** Helm waits until everything is ready. */
  readonly waits: boolean
  /** Helm undoes what it did when it fails, so that a look afterwards would see something else. */
  readonly undoes: boolean
  /** For helm's words and those of a hook. */
  readonly redactAll: Redact
  /** For what the cluster says. */
  readonly redactSecrets: Redact
}

/**
 * Runs one operation of helm's and tells what it does: hooks, objects, what is waited for, the last words of a hook that
 * failed. A failure says first what was not ready.
 */
export const attendHelm = async <A>(
  deps: { readonly pause: Pause; readonly clock: Clock },
  run: Pick<TaskRun, 'progress' | 'signal'>,
  about: Attended,
  operate: (onEvent: (event: HelmEvent) => void) => Promise<Either<HelmFailure, A>>,
): Promise<Either<HelmFailure, A>> => {
  const { cluster, plan, redactAll } = about
  const { progress } = run
  const follower = followHelm(progress, plan, () => deps.clock.now())
  // What a cluster holds is not looked at for somebody who may no longer see it.
  const maySee = (): boolean => run.signal.reason !== 'rights-lost'
  const isApplying = (): boolean => maySee() && follower.isApplying()
  const watch = about.waits ? watchReadiness({ cluster, objects: plan.objects, home: plan.home, progress, pause: deps.pause, redact: about.redactSecrets, isApplying }) : undefined
  let isOk = false
  try {
    const done = await operate(follower.onEvent)
    isOk = !isLeft(done)
    if (!isLeft(done)) return done
    const hook = follower.openHook()
    if (hook !== undefined && maySee()) await hookLogs({ cluster, home: plan.home, hook, progress, redact: redactAll })
    // Whoever cancelled knows why it ended.
    const unready = hook === undefined && !run.signal.aborted ? await watch?.unready(!about.undoes) : undefined
    const words = redactAll(done.left.message)
    return left({ ...done.left, message: unready === undefined ? words : `${unready}\n${words}` })
  } finally {
    follower.end(isOk)
    await watch?.stop(isOk)
  }
}
