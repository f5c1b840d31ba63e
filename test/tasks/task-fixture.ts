import { randomUUID } from 'node:crypto'
import type { AccountId, OrgId, UserId } from '../../core/kernel/ids.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import type {
  NewTask,
  TaskChanges,
  TaskOutbox,
  TaskQueue,
  TaskQueues,
  TaskRetention,
  TaskStore,
} from '../../core/tasks/ports.ts'
import { startedEvent, subjectOf, takenOverEvent } from '../../core/tasks/task-rules.ts'
import type { Task } from '../../core/tasks/types.ts'
import { unwrap } from '../support/outcome.ts'

/** The stores of tasks over one database that nobody else uses. */
export interface TaskFixture {
  readonly tasks: TaskStore
  readonly queues: TaskQueues
  readonly retention: TaskRetention
  /** This process, or another one by name. */
  outbox(holder?: string): TaskOutbox
  /** Runs `work` in a transaction; a throw rolls back. */
  change<A>(work: (changes: TaskChanges) => Promise<A>, holder?: string): Promise<A>
  /** A user; its id. */
  account(): Promise<UserId>
  removeAccount(id: AccountId): Promise<void>
  /** An organization with these members; its id. */
  organization(...members: readonly UserId[]): Promise<OrgId>
  leave(orgId: OrgId, userId: UserId): Promise<void>
  /** From now on only who has a second factor is let in. */
  demandSecondFactor(orgId: OrgId): Promise<void>
  /** Leaves so many ended tasks in an account, each a second younger than the one before; their refs. */
  endedTasks(tenantId: AccountId, count: number): Promise<readonly string[]>
  /** How the database finds what the removal of ended tasks asks for: a plan for each statement. */
  planOfSurplus(tenantId: AccountId): Promise<readonly string[]>
  /** Moves everything that is stored into the past. */
  age(seconds: number): Promise<void>
  close(): Promise<void>
}

export const aTask = (tenantId: AccountId, changes: Partial<NewTask> = {}): NewTask => {
  const ref = randomUUID()
  const responseId = randomUUID()
  return {
    ref,
    responseId,
    subject: subjectOf(responseId),
    kind: 'tiny.work',
    title: 'Work',
    tenantId,
    about: { cluster: 'ada/one' },
    message: 'Waits for a worker.',
    actor: { userId: tenantId as UserId, login: 'ada', method: 'token', scopes: fullScope },
    origin: { operation: 'tiny.orderWork', requestId: 'r', sourceIp: '127.0.0.1' },
    lockKey: undefined,
    sealedInput: new Uint8Array([1, 2, 3]),
    digest: new Uint8Array(32).fill(7),
    ...changes,
  }
}

/** Accepts a task as a submission does, the events aside. */
export const accepted = async (
  fixture: TaskFixture,
  tenantId: AccountId,
  changes: Partial<NewTask> = {},
): Promise<Task> =>
  fixture.change(async (tasks) => {
    const task = unwrap(await tasks.insert(aTask(tenantId, changes)))
    await tasks.append(task.id, [{ at: new Date(), id: task.ref, status: 'Pending', step: task.title, msg: 'waits' }])
    return task
  })

export const claimFrom = (queue: TaskQueue, exceptTenant?: AccountId, leaseSeconds = 30) =>
  queue.claim({
    leaseSeconds,
    exceptTenant,
    opening: (task, isTakenOver) => (isTakenOver ? takenOverEvent : startedEvent)(task, new Date()),
  })
