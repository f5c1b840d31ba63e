import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied } from '../authz/ports.ts'
import type { Authorizer } from '../authz/ports.ts'
import type { ObjectLocator } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { TaskBus, TaskEnd } from './ports.ts'
import type { EventPublisher, TaskOfAccount, TaskStores } from './store-ports.ts'
import { TaskMissing } from './store-ports.ts'
import { bounded, cancelDecision, endEvent } from './task-rules.ts'
import type { Task } from './types.ts'
import { seeTasks } from './view-task.ts'
import type { FindSeenTask } from './view-task.ts'

/** The relation on an account that lets end all of its tasks. */
const cancelTasks = 'can_cancel_tasks'

export interface CancelDeps {
  readonly unitOfWork: UnitOfWork<TaskStores>
  readonly find: FindSeenTask
  readonly authorizer: Authorizer
  readonly bus: Pick<TaskBus, 'wake'>
  readonly publisher: Pick<EventPublisher, 'kick'>
  readonly clock: Clock
}

export type CancelFailure = Failure<'AccessDenied'> | Failure<'TaskMissing'> | Failure<'TaskEnded'>
/** Answers the task as it is then: ended when it had not begun, else the worker ends it as soon as the work allows. */
export type CancelTask = (call: SignedInCall<Task>, ref: string) => Outcome<CancelFailure, Task>

/**
 * Ends a task of the caller's sight: an own one while its caller may still connect to what it is about, another's by more
 * than the right to look. Of a cancel and a claim at once, whoever has the row first decides.
 */
export const makeCancelTask =
  (deps: CancelDeps): CancelTask =>
  async (call, ref) => {
    const seen = await deps.find(call, ref)
    if (isLeft(seen)) return seen
    if (!(await mayCancel(deps.authorizer, call.principal, seen.right))) return left(denied(seen.right.task))
    const outcome = await deps.unitOfWork.run<CancelFailure, Task>(call, async ({ tasks, audit }) => {
      const task = await tasks.lock(seen.right.task.id)
      if (task === undefined) return left(TaskMissing('There is no such task.'))
      const decision = cancelDecision(task.state)
      if (isLeft(decision)) return decision
      // Whoever repeats the wish is answered alike, and nothing is written twice.
      if (task.isCancelRequested) return right(task)
      await audit.record({ action: 'task.cancelled', objectType: 'task', objectId: task.id, objectName: task.title, tenantId: task.tenantId, changes: { ref: task.ref } })
      await tasks.requestCancel(task.id)
      const by = call.principal.login
      const at = deps.clock.now()
      if (decision.right === 'end-now') {
        const end = cancelledBefore(task, by)
        await tasks.append(task.id, [endEvent(task, end, at)])
        await tasks.endUnattended(task.id, end)
      } else await tasks.append(task.id, [{ at, id: task.ref, status: 'Running', level: 'warning', msg: `${by} asked for the end of this task.` }])
      const cancelled = await tasks.lock(task.id)
      return cancelled === undefined ? left(TaskMissing('There is no such task.')) : right(cancelled)
    })
    if (isRight(outcome)) {
      deps.publisher.kick()
      deps.bus.wake()
    }
    return outcome
  }

/** Any of these is enough; the usual one is asked for first. */
const waysToCancel = ({ task: { about }, tenantName }: TaskOfAccount, isOwn: boolean): readonly (readonly [ObjectLocator, string])[] => {
  const account = { type: 'account', name: tenantName } as const
  const cluster = about['cluster']
  if (!isOwn) return [[account, cancelTasks]]
  const single = cluster === undefined ? [] : [[{ type: 'cluster', owner: tenantName, name: cluster }, 'can_connect'] as const]
  return [[account, seeTasks], ...single, [account, cancelTasks]]
}

const mayCancel = async (authorizer: Authorizer, principal: Principal, found: TaskOfAccount): Promise<boolean> => {
  for (const [object, relation] of waysToCancel(found, found.task.actorId === principal.userId)) {
    if (isRight(await authorizer.authorize(principal, object, relation))) return true
  }
  return false
}

const denied = ({ id, title, tenantId }: Task): Failure<'AccessDenied'> =>
  AccessDenied(`You may see this task, but you need "${cancelTasks}" on its account to end it; for a task of your own it is enough that you may connect to its cluster.`, {
    about: { tenantId, objectType: 'task', objectId: id, objectName: title },
  })

const cancelledBefore = (task: Task, by: string): TaskEnd => ({
  state: 'cancelled',
  message: bounded(`${task.title}: ${by} cancelled it before it began. Nothing was changed.`, 1000),
})
