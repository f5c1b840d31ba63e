import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import { AccessDenied } from '../authz/ports.ts'
import type { ObjectLocator } from '../kernel/access.ts'
import { entryContext } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import { definedFields } from '../kernel/json.ts'
import type { Log } from '../kernel/log.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { OwnCall, Principal, SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type {
  EventPublisher,
  TaskBus,
  TaskEnd,
  TaskFilter,
  TaskOfAccount,
  TaskRetention,
  TaskStore,
  TaskStores,
} from './ports.ts'
import { TaskMissing } from './ports.ts'
import { auditOf, bounded, cancelDecision, endEvent, keptEnded } from './task-rules.ts'
import type { Task, TaskEvent, TaskId } from './types.ts'
import { isFinal } from './types.ts'

/** The relation on an account that allows seeing all of its tasks. */
const seeTasks = 'can_view_tasks'

export interface ViewDeps {
  readonly tasks: TaskStore
  readonly authorizer: Authorizer
}

export type FindSeenTask = (call: SignedInCall<never>, ref: string) => Outcome<Failure<'TaskMissing'>, TaskOfAccount>
export type ViewTask = (call: SignedInCall, ref: string) => Outcome<Failure<'TaskMissing'>, Task>

const missing = (): Failure<'TaskMissing'> => TaskMissing('The task does not exist, or you may not see it.')

/**
 * Finds a task that the caller submitted, in the own account or as a member of the organization, or one of an account
 * whose tasks the caller may see. One query for a task of the own account, two for others. A token for one organization
 * sees only that organization's tasks.
 */
export const makeFindSeenTask =
  ({ tasks, authorizer }: ViewDeps): FindSeenTask =>
  async ({ principal }, ref) => {
    const found = await tasks.find(ref)
    if (found === undefined || !isWithin(principal, found.task.tenantId)) return left(missing())
    const isOwn = found.task.actorId === principal.userId
    if (isOwn && found.task.tenantId === principal.userId) return right(found)
    const allowed = await authorizer.authorize(
      principal,
      { type: 'account', name: found.tenantName },
      isOwn ? 'member' : seeTasks,
    )
    return isLeft(allowed) ? left(missing()) : right(found)
  }

export const makeViewTask = (deps: ViewDeps): ViewTask => {
  const find = makeFindSeenTask(deps)
  return async (call, ref) => {
    const found = await find(call, ref)
    return isLeft(found) ? found : right(found.right.task)
  }
}

const isWithin = ({ onlyOrgId, scopes }: Principal, tenantId: AccountId): boolean =>
  !scopes.publicOnly && (onlyOrgId === undefined || onlyOrgId === tenantId)

export interface ListTasksInput extends Pick<TaskFilter, 'state' | 'kind' | 'cluster'> {
  /**
   * The name of an account, to list all of its tasks; undefined lists the caller's own tasks in all accounts that the
   * caller still belongs to.
   */
  readonly account: string | undefined
  readonly page: PageRequest
}

export type ListTasks = (call: SignedInCall, input: ListTasksInput) => Outcome<Failure<'TaskMissing'>, Page<Task>>

/** Newest first. */
export const makeListTasks =
  ({ tasks, authorizer, clock }: ViewDeps & { readonly clock: Clock }): ListTasks =>
  async ({ principal }, { account, page, ...filter }) => {
    if (account === undefined) {
      if (principal.scopes.publicOnly) return right({ items: [], total: 0 })
      const within = definedFields({ tenantId: principal.onlyOrgId })
      const belonging = principal.isSiteAdmin ? {} : { entry: entryContext(principal, clock.now()) }
      return right(await tasks.list({ ...filter, ...within, ...belonging, actorId: principal.userId }, page))
    }
    const allowed = await authorizer.authorize(principal, { type: 'account', name: account }, seeTasks)
    if (isLeft(allowed))
      return left(TaskMissing(`The account "${account}" does not exist, or you may not see its tasks.`))
    return right(await tasks.list({ ...filter, tenantId: allowed.right.ownerId }, page))
  }

/** Maximum number of events in one read. */
const eventsAtOnce = 500

export type ReadEvents = (task: Pick<Task, 'id'>, afterSeq: number) => Promise<readonly TaskEvent[]>
export const makeReadEvents =
  ({ tasks }: Pick<ViewDeps, 'tasks'>): ReadEvents =>
  ({ id }, afterSeq) =>
    tasks.events(id, afterSeq, eventsAtOnce)

export interface FollowDeps {
  readonly tasks: TaskStore
  readonly bus: Pick<TaskBus, 'onProgress'>
}

/** Maximum delay of an event if its hint was lost on the bus. */
const pollMs = 5_000
/** Number of polls without events after which the task's existence is checked. */
const pollsUntilLook = 6

/** Reports whether this is the task's own end, which no event follows. */
const isEndOf = ({ ref }: Pick<Task, 'ref'>, { id, status }: TaskEvent): boolean =>
  id === ref && (status === 'Success' || status === 'Failed')

/**
 * Yields the events of a task after a number: the stored ones, then new ones as they arrive, until the task's own end
 * or the signal. Each event is read from the store, so none is missed or repeated, whatever the bus does.
 */
export const makeFollowTask = ({ tasks, bus }: FollowDeps) =>
  async function* (
    task: Pick<Task, 'id' | 'ref'>,
    afterSeq: number,
    signal: AbortSignal,
  ): AsyncGenerator<TaskEvent, void, void> {
    const bell = makeBell(signal)
    const forget = bus.onProgress(task.ref, bell.ring)
    let after = afterSeq
    try {
      for (let empty = 0; !signal.aborted;) {
        const events = await tasks.events(task.id, after, eventsAtOnce)
        for (const event of events) {
          yield event
          after = event.seq
          if (isEndOf(task, event)) return
        }
        if (events.length === eventsAtOnce) continue
        empty = events.length === 0 ? empty + 1 : 0
        if (empty % pollsUntilLook === 1 && (await isOver(tasks, task.ref))) {
          // The last events may have arrived after the previous read.
          yield* await tasks.events(task.id, after, eventsAtOnce)
          return
        }
        await bell.wait(pollMs)
      }
    } finally {
      forget()
    }
  }
export type FollowTask = ReturnType<typeof makeFollowTask>

const isOver = async (tasks: TaskStore, ref: string): Promise<boolean> => {
  const found = await tasks.find(ref)
  return found === undefined || isFinal(found.task.state)
}

/** A ring while there is no waiter is remembered. */
const makeBell = (signal: AbortSignal) => {
  let hasRung = false
  let wake: (() => void) | undefined
  const ring = (): void => {
    hasRung = true
    wake?.()
  }
  return {
    ring,
    wait: async (ms: number): Promise<void> => {
      if (!hasRung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            signal.removeEventListener('abort', ring)
            resolve()
          }
          signal.addEventListener('abort', ring, { once: true })
        })
        signal.removeEventListener('abort', ring)
      }
      hasRung = false
      wake = undefined
    },
  }
}

/** The relation on an account that allows cancelling all of its tasks. */
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
/**
 * Returns the task after the cancel: ended if it had not started; otherwise the worker ends it as soon as the work
 * allows.
 */
export type CancelTask = (call: SignedInCall<Task>, ref: string) => Outcome<CancelFailure, Task>

/**
 * Cancels a task that the caller can see: an own one if the caller may still connect to its object; another's needs
 * more than the right to see it. If a cancel and a claim are concurrent, the first to lock the row wins.
 */
export const makeCancelTask =
  (deps: CancelDeps): CancelTask =>
  async (call, ref) => {
    const seen = await deps.find(call, ref)
    if (isLeft(seen)) return seen
    if (!(await mayCancel(deps.authorizer, call.principal, seen.right))) return left(denied(seen.right.task))
    const outcome = await deps.unitOfWork.run<CancelFailure, Task>(call, async ({ tasks, audit }) => {
      const task = await tasks.lock(seen.right.task.id)
      if (task === undefined) return left(TaskMissing('The task does not exist.'))
      const decision = cancelDecision(task.state)
      if (isLeft(decision)) return decision
      // A repeated cancel gets the same response, and nothing is written twice.
      if (task.isCancelRequested) return right(task)
      await audit.record(auditOf(task, 'task.cancelled', { ref: task.ref }))
      await tasks.requestCancel(task.id)
      const by = call.principal.login
      const at = deps.clock.now()
      if (decision.right === 'end-now') {
        const end = cancelledBefore(task, by)
        await tasks.append(task.id, [endEvent(task, end, at)])
        await tasks.endUnattended(task.id, end)
      } else
        await tasks.append(task.id, [
          { at, id: task.ref, status: 'Running', level: 'warning', msg: `${by} asked for the end of this task.` },
        ])
      const cancelled = await tasks.lock(task.id)
      return cancelled === undefined ? left(TaskMissing('The task does not exist.')) : right(cancelled)
    })
    if (isRight(outcome)) {
      deps.publisher.kick()
      deps.bus.wake()
    }
    return outcome
  }

/** Any of these is sufficient; the most common one is checked first. */
const waysToCancel = (
  { task: { about }, tenantName }: TaskOfAccount,
  isOwn: boolean,
): readonly (readonly [ObjectLocator, string])[] => {
  const account = { type: 'account', name: tenantName } as const
  const cluster = about['cluster']
  if (!isOwn) return [[account, cancelTasks]]
  const single =
    cluster === undefined ? [] : [[{ type: 'cluster', account: tenantName, name: cluster }, 'can_connect'] as const]
  return [[account, seeTasks], ...single, [account, cancelTasks]]
}

const mayCancel = async (authorizer: Authorizer, principal: Principal, found: TaskOfAccount): Promise<boolean> => {
  for (const [object, relation] of waysToCancel(found, found.task.actorId === principal.userId)) {
    if (isRight(await authorizer.authorize(principal, object, relation))) return true
  }
  return false
}

const denied = ({ id, title, tenantId }: Task): Failure<'AccessDenied'> =>
  AccessDenied(
    `You may see this task, but you need "${cancelTasks}" on its account to end it; for a task of your own ` +
      'it is enough that you may connect to its cluster.',
    {
      about: { tenantId, objectType: 'task', objectId: id, objectName: title },
    },
  )

const cancelledBefore = (task: Task, by: string): TaskEnd => ({
  state: 'cancelled',
  message: bounded(`${task.title}: ${by} cancelled it before it began. None of its work was done.`, 1000),
})

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

/**
 * Removes old tasks and those beyond an account's limit, and ends tasks that no process can run, so that they do not
 * hold locks for ever.
 */
export const makeRetireTasks =
  (deps: RetireTasksDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const abandoned = await deps.retention.abandoned(abandonedAfterDays, atOnce)
    for (const id of abandoned) await giveUp(deps, id, signal)
    if (abandoned.length > 0) {
      deps.log.warn({ tasks: abandoned.length }, 'tasks were ended that no instance knows how to do')
      deps.publisher.kick()
    }
    let removed = 0
    for (let piece = atOnce; piece === atOnce && !signal.aborted; removed += piece)
      piece = await deps.retention.removeEnded(keptDays, atOnce)
    if (removed > 0) deps.log.info({ removed, keptDays }, 'tasks that ended long ago were removed')
    await removeSurplus(deps, signal)
  }

/** Accepting a task removes surplus ones; this removes what remains. */
const removeSurplus = async ({ retention, log }: RetireTasksDeps, signal: AbortSignal): Promise<void> => {
  let removed = 0
  for (const tenantId of await retention.tenantsBeyond(keptEnded, atOnce)) {
    for (let piece = atOnce; piece === atOnce && !signal.aborted; removed += piece)
      piece = await retention.removeEndedBeyond(tenantId, keptEnded, atOnce)
  }
  if (removed > 0) log.info({ removed, keptEnded }, 'ended tasks beyond those that an account keeps were removed')
}

const giveUp = async (
  { unitOfWork, ownCall, clock }: RetireTasksDeps,
  id: TaskId,
  signal: AbortSignal,
): Promise<void> => {
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
