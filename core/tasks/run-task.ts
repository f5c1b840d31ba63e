import { isLeft, left } from 'fp-ts/lib/Either.js'
import { ActorGone } from '../kernel/principal.ts'
import type { ActorCalls } from '../kernel/principal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { Log } from '../kernel/log.ts'
import type { SecretBox } from '../kernel/secret.ts'
import { fromWireJson, toWireJson } from '../kernel/json.ts'
import { makeJournal } from './journal.ts'
import { keepLease } from './keep-lease.ts'
import type { StopReason, TaskEnd, TaskKind, TaskRun } from './ports.ts'
import { makeProgress } from './progress.ts'
import type { OpenProgress } from './progress.ts'
import type { ClaimedTask, EventPublisher, NewTaskEvent, TaskQueue } from './store-ports.ts'
import { inputPlace } from './submit-task.ts'
import { boundedEnd, endEvent } from './task-rules.ts'

export interface RunTaskDeps {
  readonly queue: Pick<TaskQueue, 'renew' | 'record' | 'end' | 'giveBack'>
  readonly kindOf: (kind: string) => TaskKind | undefined
  readonly secretBox: Pick<SecretBox, 'open'>
  readonly actorCalls: ActorCalls
  readonly publisher: Pick<EventPublisher, 'kick'>
  readonly clock: Clock
  readonly log: Log
  readonly leaseSeconds: number
}

/** A task under way in this process. */
export interface TaskUnderWay {
  readonly claimed: ClaimedTask
  /** Tells the handler to stop, once. */
  abort(reason: StopReason): void
  /** Resolves when nothing of it is left to do here. */
  readonly done: Promise<void>
}

/** Workers that died while they recovered the same task: then it is given up, before it takes down one more. */
const mostRecoveries = 5
const endRetryMs = 1_000

/** Does a claimed task, or finds out what became of it, and writes its end; nothing of that once the lease is lost. */
export const startTask = (deps: RunTaskDeps, claimed: ClaimedTask, takenAtMs: number): TaskUnderWay => {
  const stop = new AbortController()
  const held = { isLost: false }
  const lose = (): void => {
    held.isLost = true
    stop.abort('lease-lost' satisfies StopReason)
  }
  const { task } = claimed
  const journal = makeJournal({ store: (events) => deps.queue.record(claimed, events), onStored: deps.publisher.kick, onLost: lose })
  const progress = makeProgress(task, deps.clock, journal.add)
  const release = keepLease({ renew: () => deps.queue.renew(claimed, deps.leaseSeconds), leaseSeconds: deps.leaseSeconds, takenAtMs, onLost: lose })

  const work = async (): Promise<void> => {
    const end = await endOf(deps, claimed, { progress, signal: stop.signal, held })
    if (end === undefined) progress.closeSteps(false)
    else progress.closeSteps(end.state === 'succeeded')
    const unsaid = await journal.close()
    if (held.isLost) return deps.log.warn({ task: task.ref, kind: task.kind }, 'a task is another worker\'s now; nothing more of it is written here')
    if (end === undefined) return deps.queue.giveBack({ ...claimed, isTakenOver: true })
    await writeEnd(deps, claimed, end, unsaid, held)
  }
  const done = work()
    .catch((error: unknown) => deps.log.error({ task: task.ref, kind: task.kind, error }, 'a task could not be ended here; its lease runs out'))
    .finally(() => {
      release()
      deps.publisher.kick()
    })
  return { claimed, abort: (reason) => stop.abort(reason), done }
}

interface Surroundings {
  readonly progress: OpenProgress
  readonly signal: AbortSignal
  readonly held: { readonly isLost: boolean }
}

/** How it ended; undefined when the handler broke off because the service stops: then somebody finds out later. */
const endOf = async (deps: RunTaskDeps, claimed: ClaimedTask, { progress, signal, held }: Surroundings): Promise<TaskEnd | undefined> => {
  const { task, actor, origin, isTakenOver } = claimed
  if (task.fence > mostRecoveries + 1) {
    return { state: 'unknown', message: `${task.title}: what became of it could not be found out.`, error: `${mostRecoveries} workers ended while they looked.` }
  }
  try {
    const kind = deps.kindOf(task.kind)
    if (kind === undefined) throw new Error(`a task of the kind ${task.kind} was claimed, which nobody declares`)
    const run: TaskRun = {
      task,
      input: fromWireJson((await deps.secretBox.open(claimed.sealedInput, inputPlace(task.ref, task.tenantId))).reveal()) as FreeObject,
      progress,
      signal,
      callNow: async () =>
        held.isLost ? left(ActorGone('This worker has lost the task to another one.')) : deps.actorCalls.callOf(actor, origin, signal),
    }
    if (isTakenOver) return await kind.recover(run)
    const call = await run.callNow()
    if (isLeft(call)) return { state: 'failed', message: `${task.title}: not begun.`, error: call.left.message }
    return await kind.run(run)
  } catch (error) {
    if (signal.reason === 'stopping') return undefined
    deps.log.error({ task: task.ref, kind: task.kind, isTakenOver, error }, 'a task failed unexpectedly')
    return isTakenOver
      ? { state: 'unknown', message: `${task.title}: what became of it could not be found out.`, error: 'The service met an error of its own; its log says more.' }
      : { state: 'failed', message: `${task.title} failed!`, error: 'The service met an error of its own; its log says more.' }
  }
}

/** Tries until the row has it or belongs to somebody else. */
const writeEnd = async (deps: RunTaskDeps, claimed: ClaimedTask, end: TaskEnd, unsaid: readonly NewTaskEvent[], held: { readonly isLost: boolean }): Promise<void> => {
  const bounded = boundedEnd(end, end.result === undefined ? undefined : toWireJson(end.result))
  const events = [...unsaid, endEvent(claimed.task, bounded, deps.clock.now())]
  while (!held.isLost) {
    try {
      if (!(await deps.queue.end(claimed, bounded, events))) deps.log.warn({ task: claimed.task.ref }, 'the end of a task was not written: another worker has it')
      return
    } catch (error) {
      deps.log.warn({ task: claimed.task.ref, error }, 'the end of a task could not be written yet')
      await new Promise((resolve) => setTimeout(resolve, endRetryMs))
    }
  }
}
