import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { OwnCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { TaskEnd, EventPublisher, TaskRetention, TaskStores } from './ports.ts'
import { endEvent, keptEnded } from './task-rules.ts'
import type { TaskId } from './types.ts'
import { isFinal } from './types.ts'

export interface RetireTasksDeps {
  readonly retention: TaskRetention
  readonly unitOfWork: UnitOfWork<TaskStores>
  readonly publisher: Pick<EventPublisher, 'kick'>
  readonly ownCall: OwnCall
  readonly clock: Clock
  readonly log: Log
}

/** Days for which an ended task can be read, with its events. */
const keptDays = 7
const abandonedAfterDays = 1
const atOnce = 200

/** Removes old tasks and those beyond an account's limit, and ends tasks that no process can run, so that they do not hold locks for ever. */
export const makeRetireTasks = (deps: RetireTasksDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const abandoned = await deps.retention.abandoned(abandonedAfterDays, atOnce)
    for (const id of abandoned) await giveUp(deps, id, signal)
    if (abandoned.length > 0) {
      deps.log.warn({ tasks: abandoned.length }, 'tasks were ended that no instance knows how to do')
      deps.publisher.kick()
    }
    let removed = 0
    for (let piece = atOnce; piece === atOnce && !signal.aborted; removed += piece) piece = await deps.retention.removeEnded(keptDays, atOnce)
    if (removed > 0) deps.log.info({ removed, keptDays }, 'tasks that ended long ago were removed')
    await removeSurplus(deps, signal)
  }

/** Accepting a task removes surplus ones; this removes what remains. */
const removeSurplus = async ({ retention, log }: RetireTasksDeps, signal: AbortSignal): Promise<void> => {
  let removed = 0
  for (const tenantId of await retention.tenantsBeyond(keptEnded, atOnce)) {
    for (let piece = atOnce; piece === atOnce && !signal.aborted; removed += piece) piece = await retention.removeEndedBeyond(tenantId, keptEnded, atOnce)
  }
  if (removed > 0) log.info({ removed, keptEnded }, 'ended tasks beyond those that an account keeps were removed')
}

const giveUp = async ({ unitOfWork, ownCall, clock }: RetireTasksDeps, id: TaskId, signal: AbortSignal): Promise<void> => {
  await unitOfWork.run<never, void>(ownCall('tasks.retire', signal), async ({ tasks }) => {
    const task = await tasks.lock(id)
    if (task === undefined || isFinal(task.state)) return right(undefined)
    const end: TaskEnd = {
      state: task.state === 'queued' ? 'failed' : 'unknown',
      message: `${task.title}: this work was not done.`,
      error: 'No instance of the service knows this kind of work.',
    }
    await tasks.append(id, [endEvent(task, end, clock.now())])
    await tasks.endUnattended(id, end)
    return right(undefined)
  })
}
