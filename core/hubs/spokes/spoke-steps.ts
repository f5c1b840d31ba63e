import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterTasks, TaskCluster } from '../../cluster-tasks/ports.ts'
import { whyStoppedBy, wordsOf } from '../../cluster-tasks/types.ts'
import type { Hub, Hubs } from '../../clusters/hubs/ports.ts'
import type { Pause } from '../../kernel/clock.ts'
import type { Polled } from '../../kernel/concurrency.ts'
import { pollWithin } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { TaskEnd, TaskHandler, TaskRun, TaskStep } from '../../tasks/ports.ts'

/** One part of the work on a spoke. It finds out itself what is done already, so that it may run again. */
export interface SpokeStep {
  readonly title: string
  /** Returns what was done, for people. */
  work(step: TaskStep): Outcome<Failure, string>
  /**
   * Takes back what was done so far, after the work has failed. Returns what was taken back and what remains, for
   * people.
   */
  undo?(): Promise<string>
}

/** Returns what is true on the hub at this moment, in sentences for people. Never rejects. */
export type DescribeStatus = () => Promise<string>

/** What the step waits for did not happen in time. */
export const SpokeStuck = defineFailure(
  'SpokeStuck',
  'Upstream',
  'The hub or the spoke did not reach the expected state in time.',
)

const stoppedIn = async (run: Pick<TaskRun, 'signal'>, where: string, standing: DescribeStatus): Promise<TaskEnd> => {
  // The worker gives the task back, and another one runs it again.
  if (run.signal.reason === 'stopping') throw new Error('the service stops between two steps')
  const message = sentences(`Stopped ${where}.`, await standing(), 'The same request continues.')
  return run.signal.reason === 'cancelled'
    ? { state: 'cancelled', message }
    : { state: 'failed', message, error: whyStoppedBy(run) }
}

/** Joins sentences that may be empty. */
export const sentences = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ')

/** Returns the end of a task that could not be opened: its steps so far remain. */
const notOpened = (failure: Failure): TaskEnd => ({
  state: 'failed',
  message: 'Not begun, or not continued. The same request continues.',
  error: failure.message,
})

/**
 * Runs the steps in order, and looks between them whether the work should stop. Returns the end only if a step fails or
 * the work stops: its message says what is true on the hub then.
 */
export const runSteps = async (
  run: TaskRun,
  steps: readonly SpokeStep[],
  standing: DescribeStatus,
): Promise<TaskEnd | undefined> => {
  for (const { title, work, undo } of steps) {
    if (run.signal.aborted) return stoppedIn(run, `before "${title}"`, standing)
    const step = run.progress.step(title)
    const outcome = await work(step)
    if (isLeft(outcome)) {
      step.failed(outcome.left.message)
      if (run.signal.aborted) return stoppedIn(run, `in "${title}"`, standing)
      const undone = undo === undefined ? '' : await undo()
      return {
        state: 'failed',
        message: sentences(`${title}: failed.`, undone, await standing(), 'The same request continues.'),
        error: wordsOf(outcome.left),
      }
    }
    step.done(outcome.right)
  }
  return undefined
}

/** How long a hub may take to say what is true there, after the work has ended. */
const statusMs = 5_000

/**
 * Opens the hub again, for reads after the work was stopped: its signal would end them. Returns undefined if it cannot
 * be opened.
 */
export const openStopped = async (
  { hubs }: { readonly hubs: Hubs },
  { call, grant }: Pick<HubWork, 'call' | 'grant'>,
): Promise<Hub | undefined> => {
  const opened = await hubs.open({ ...call, signal: AbortSignal.timeout(statusMs) }, grant)
  return isLeft(opened) ? undefined : opened.right
}

/** What is said if the hub does not answer. */
export const unknownStatus = 'The hub does not respond, so what it has of the cluster is not known.'

/** The work of a task on a hub, opened as the actor of the task. */
export interface HubWork extends TaskCluster {
  readonly run: TaskRun
  readonly hub: Hub
}

/**
 * Returns the handler of tasks on hubs whose work finds out itself what is done already. `tell` is called with the end
 * of a task that has not succeeded, also of one that could not be opened.
 */
export const onHub = (
  { clusterTasks, hubs }: { readonly clusterTasks: ClusterTasks; readonly hubs: Hubs },
  kind: string,
  work: (work: HubWork) => Promise<TaskEnd>,
  tell: (run: TaskRun, end: TaskEnd) => Promise<void>,
): TaskHandler => ({
  kind,
  run: async (asked) => {
    const end = await clusterTasks.run(
      asked,
      async (run, opened): Promise<TaskEnd> => {
        const hub = await hubs.open(opened.call, opened.grant)
        return isLeft(hub) ? notOpened(hub.left) : work({ ...opened, run, hub: hub.right })
      },
      notOpened,
    )
    // A task that another worker has taken over has not ended.
    if (end.state !== 'succeeded' && asked.signal.reason !== 'lease-lost') await tell(asked, end)
    return end
  },
  recover: 'run-again',
})

/** Polls as `pollWithin` of the kernel. Failures: SpokeStuck with what `why` says, or the last failure. */
export const pollUntil = <A>(
  deps: { readonly pause: Pause },
  run: Pick<TaskRun, 'signal'>,
  patienceMs: number,
  ask: () => Outcome<Failure, Polled<A>>,
  say?: (why: string) => void,
): Outcome<Failure, A> => pollWithin(deps, run, { patienceMs, stuck: SpokeStuck, say }, ask)
