import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import { entrantOf } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import type { TaskFilter, TaskOfAccount, TaskStore } from './store-ports.ts'
import { TaskMissing } from './store-ports.ts'
import type { Task, TaskEvent } from './types.ts'

/** The relation on an account that lets see all of its tasks. */
export const seeTasks = 'can_view_tasks'

export interface ViewDeps {
  readonly tasks: TaskStore
  readonly authorizer: Authorizer
}

export type FindSeenTask = (call: SignedInCall<never>, ref: string) => Outcome<Failure<'TaskMissing'>, TaskOfAccount>
export type ViewTask = (call: SignedInCall, ref: string) => Outcome<Failure<'TaskMissing'>, Task>

const missing = (): Failure<'TaskMissing'> => TaskMissing('There is no such task that you may see.')

/**
 * A task that the caller asked for in the own account or as a member of the organization, or of an account whose tasks the
 * caller may see. One query for a task of the own account, two for others. A token for one organization sees that
 * organization's alone.
 */
export const makeFindSeenTask =
  ({ tasks, authorizer }: ViewDeps): FindSeenTask =>
  async ({ principal }, ref) => {
    const found = await tasks.find(ref)
    if (found === undefined || !isWithin(principal, found.task.tenantId)) return left(missing())
    const isOwn = found.task.actorId === principal.userId
    if (isOwn && found.task.tenantId === principal.userId) return right(found)
    const allowed = await authorizer.authorize(principal, { type: 'account', name: found.tenantName }, isOwn ? 'member' : seeTasks)
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
  /** The name of an account whose tasks are wanted, all of them; absent: the caller's own tasks, wherever the caller still belongs. */
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
      const within = principal.onlyOrgId === undefined ? {} : { tenantId: principal.onlyOrgId }
      const belonging = principal.isSiteAdmin ? {} : { entrant: entrantOf(principal, clock.now()) }
      return right(await tasks.list({ ...filter, ...within, ...belonging, actorId: principal.userId }, page))
    }
    const allowed = await authorizer.authorize(principal, { type: 'account', name: account }, seeTasks)
    if (isLeft(allowed)) return left(TaskMissing(`There is no account "${account}" whose tasks you may see.`))
    return right(await tasks.list({ ...filter, tenantId: allowed.right.ownerId }, page))
  }

/** The most events of one read. */
export const eventsAtOnce = 500

export type ReadEvents = (task: Pick<Task, 'id'>, afterSeq: number) => Promise<readonly TaskEvent[]>
export const makeReadEvents =
  ({ tasks }: Pick<ViewDeps, 'tasks'>): ReadEvents =>
  ({ id }, afterSeq) =>
    tasks.events(id, afterSeq, eventsAtOnce)
