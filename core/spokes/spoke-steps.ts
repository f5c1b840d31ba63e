import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTasks, TaskCluster } from '../cluster-tasks/ports.ts'
import { whyStoppedBy, wordsOf } from '../cluster-tasks/types.ts'
import type { Hub, Hubs } from '../clusters/hubs/ports.ts'
import type { Pause } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { TaskEnd, TaskHandler, TaskRun, TaskStep } from '../tasks/ports.ts'

/** One part of the work on a spoke. It finds out itself what is done already, so that it may run again. */
export interface SpokeStep {
  readonly title: string
  /** Returns what was done, for people. */
  work(step: TaskStep): Outcome<Failure, string>
}

/** What the step waits for did not happen in time. */
export const SpokeStuck = defineFailure(
  'SpokeStuck',
  'Upstream',
  'The hub or the spoke did not reach the expected state in time.',
)

const stoppedAfter = (run: Pick<TaskRun, 'signal'>, done: string | undefined): TaskEnd => {
  // The worker gives the task back, and another one runs it again.
  if (run.signal.reason === 'stopping') throw new Error('the service stops between two steps')
  const after = done === undefined ? 'before the first step' : `after "${done}"`
  if (run.signal.reason === 'cancelled') return { state: 'cancelled', message: `Stopped ${after}. The same request continues.` }
  return { state: 'failed', message: `Stopped ${after}. The same request continues.`, error: whyStoppedBy(run) }
}

/** Returns the end of a task that could not be opened: its steps so far remain. */
const notOpened = (failure: Failure): TaskEnd => ({ state: 'failed', message: 'Not begun, or not continued. The same request continues.', error: failure.message })

/** Runs the steps in order, and looks between them whether the work should stop. Returns the end only if a step fails or the work stops. */
export const runSteps = async (run: TaskRun, steps: readonly SpokeStep[]): Promise<TaskEnd | undefined> => {
  let done: string | undefined
  for (const { title, work } of steps) {
    if (run.signal.aborted) return stoppedAfter(run, done)
    const step = run.progress.step(title)
    const outcome = await work(step)
    if (isLeft(outcome)) {
      if (run.signal.aborted) return stoppedAfter(run, done)
      step.failed(outcome.left.message)
      return { state: 'failed', message: `${title}: failed. The same request continues.`, error: wordsOf(outcome.left) }
    }
    step.done(outcome.right)
    done = title
  }
  return undefined
}

/** The work of a task on a hub, opened as the actor of the task. */
export interface HubWork extends TaskCluster {
  readonly run: TaskRun
  readonly hub: Hub
}

/** Returns the handler of tasks on hubs whose work finds out itself what is done already. */
export const onHub = (
  { clusterTasks, hubs }: { readonly clusterTasks: ClusterTasks; readonly hubs: Hubs },
  kind: string,
  work: (work: HubWork) => Promise<TaskEnd>,
): TaskHandler => ({
  kind,
  run: (asked) =>
    clusterTasks.run(
      asked,
      async (run, opened): Promise<TaskEnd> => {
        const hub = await hubs.open(opened.call, opened.grant)
        return isLeft(hub) ? notOpened(hub.left) : work({ ...opened, run, hub: hub.right })
      },
      notOpened,
    ),
  recover: 'run-again',
})

/** What a poll found: an answer, or why there is none yet. */
export type Polled<A> = { readonly isOver: true; readonly answer: A } | { readonly isOver: false; readonly why: string }
export const over = <A>(answer: A): Polled<A> => ({ isOver: true, answer })
export const notYet = (why: string): Polled<never> => ({ isOver: false, why })

const firstPauseMs = 200
const longestPauseMs = 5_000
/** When a wait is long enough to say why. */
const silentMs = 2_000

/**
 * Asks until there is an answer, with growing pauses of at most 5 seconds. A failure counts as no answer until the time is over.
 * `say` is called once with why there is none yet, if that takes some seconds.
 * Failures: SpokeStuck with what `why` says, or the last failure.
 */
export const pollUntil = async <A>(
  { pause }: { readonly pause: Pause },
  { signal }: Pick<TaskRun, 'signal'>,
  patienceMs: number,
  ask: () => Outcome<Failure, Polled<A>>,
  say?: (why: string) => void,
): Outcome<Failure, A> => {
  const startMs = performance.now()
  const endMs = startMs + patienceMs
  let isSaid = false
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const asked = await ask()
    const polled = isLeft(asked) ? undefined : asked.right
    if (polled?.isOver === true) return right(polled.answer)
    const failure = isLeft(asked) ? asked.left : SpokeStuck(polled?.why ?? '')
    if (signal.aborted || performance.now() >= endMs) return left(failure)
    if (!isSaid && performance.now() - startMs >= silentMs) {
      say?.(failure.message)
      isSaid = true
    }
    await pause(Math.min(pauseMs, Math.max(1, endMs - performance.now())), signal)
  }
}
