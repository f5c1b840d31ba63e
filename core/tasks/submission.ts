import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { isSameBytes, secret } from '../kernel/secret.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId, UserId } from '../kernel/ids.ts'
import { definedFields, toWireJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { actorOf } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type {
  AcceptedTask,
  EventPublisher,
  InputDigest,
  NewTask,
  PreparedTask,
  SubmitFailure,
  SubmittedTask,
  TaskBus,
  TaskHandler,
  TaskHandlers,
  TaskLookups,
  Tasks,
  TaskStores,
  TaskSubmission,
} from './ports.ts'
import { responseIdForm, ResponseIdTaken, TaskLocked, TooManyTasks } from './ports.ts'
import { auditOf, bounded, keptEnded, pendingEvent, subjectOf } from './task-rules.ts'
import type { Task } from './types.ts'

export const makeTaskKinds = (): TaskHandlers => {
  const known = new Map<string, TaskHandler>()
  return {
    declare: (kinds) => {
      for (const kind of kinds) known.set(kind.kind, kind)
    },
    has: (kind) => known.has(kind),
    all: () => [...known.values()],
  }
}

export interface SubmitDeps {
  readonly unitOfWork: UnitOfWork<TaskStores>
  readonly lookups: TaskLookups
  readonly kinds: Pick<TaskHandlers, 'has'>
  readonly secretBox: SecretBox
  readonly digest: InputDigest
  readonly bus: Pick<TaskBus, 'wake'>
  readonly publisher: Pick<EventPublisher, 'kick'>
  readonly entropy: Entropy
  readonly clock: Clock
  /** Maximum number of unfinished tasks of a tenant. */
  readonly maxUnfinished: number
}

const maxInputCharacters = 2 * 1024 * 1024
/** More than one per accepted task, so that an account over its limit gets back below it. */
const removedAtOnce = 2

/** Returns the place of a task's sealed input. */
export const inputPlace = (ref: string, tenantId: number): SealedPlace => ({
  table: 'tasks',
  column: 'sealed_input',
  tenantId,
  rowRef: ref,
})

/**
 * Returns Tasks over a store. Throws if no plugin declares the kind, the `response-id` is malformed, or the input is
 * too large: these are programming errors of the caller.
 */
export const makeTasks = (deps: SubmitDeps): Tasks => ({
  async precheck(call, submission) {
    check(deps, submission)
    return prechecked(deps, deps.lookups, {
      ...submission,
      actorId: call.principal.userId,
      digest: digestOf(deps, submission),
    })
  },
  async submit(call, submission) {
    const prepared = await prepare(deps, call, submission)
    const accepted = await deps.unitOfWork.run<SubmitFailure, SubmittedTask>(call, async (stores) => {
      const task = await prepared.acceptIn(stores)
      return isLeft(task) ? task : right({ id: task.right.id, subject: task.right.subject })
    })
    if (isRight(accepted)) prepared.announce()
    return accepted
  },
  prepare: (call, submission) => prepare(deps, call, submission),
})

const prepare = async (
  deps: SubmitDeps,
  call: SignedInCall<never>,
  submission: TaskSubmission,
): Promise<PreparedTask> => {
  check(deps, submission)
  const task = await newTask(deps, call, submission)
  const { joinsSameKind } = submission
  return {
    acceptIn: (stores) => accept(deps, { task, ...definedFields({ joinsSameKind }) }, stores),
    announce: () => {
      deps.publisher.kick()
      deps.bus.wake()
    },
  }
}

const check = (deps: SubmitDeps, { kind, responseId }: TaskSubmission): void => {
  if (!deps.kinds.has(kind)) throw new Error(`No plugin declares tasks of the kind ${kind}.`)
  if (responseId !== undefined && !responseIdForm.test(responseId))
    throw new Error('A response-id was not checked by the route that took it.')
}

const digestOf = ({ digest }: SubmitDeps, { kind, tenantId, lockKey, input }: TaskSubmission): Uint8Array =>
  digest.digest(toWireJson(['task', kind, tenantId, lockKey ?? null, input]))

const newTask = async (deps: SubmitDeps, call: SignedInCall<never>, submission: TaskSubmission): Promise<NewTask> => {
  const { kind, tenantId, about, lockKey } = submission
  const text = toWireJson(submission.input)
  if (text.length > maxInputCharacters)
    throw new RangeError(`The input of a task is larger than ${maxInputCharacters} characters.`)
  const ref = deps.entropy.uuid()
  const responseId = submission.responseId ?? deps.entropy.uuid()
  return {
    ref,
    responseId,
    subject: subjectOf(responseId),
    kind,
    title: bounded(submission.title, 255),
    tenantId,
    about,
    message: 'Waits for a worker.',
    actor: actorOf(call.principal),
    origin: {
      operation: call.operation,
      requestId: call.requestId,
      sourceIp: call.sourceIp,
      ...definedFields({ trace: call.trace }),
    },
    lockKey,
    sealedInput: await deps.secretBox.seal(secret(text), inputPlace(ref, tenantId)),
    digest: digestOf(deps, submission),
  }
}

/**
 * Concurrent submissions for the same tenant or the same actor wait for the row locks, so that counts and comparisons
 * are exact.
 */
const accept = async (
  deps: SubmitDeps,
  { task, ...options }: { readonly task: NewTask } & Pick<TaskSubmission, 'joinsSameKind'>,
  { tasks, audit }: TaskStores,
): Outcome<SubmitFailure, AcceptedTask> => {
  const accounts = new Set([task.tenantId, task.actor.userId])
  if ((await tasks.lockAccounts([...accounts])) !== accounts.size)
    return left(TaskLocked('The account of the task was removed during the request.'))
  const known = await prechecked(deps, tasks, { ...task, ...options, actorId: task.actor.userId })
  if (isLeft(known)) return known
  if (known.right !== undefined)
    return right({ ...known.right, isRepetition: true, isJoined: known.right.subject !== task.subject })
  const inserted = await tasks.insert(task)
  if (isLeft(inserted))
    return left(lockedBy(task.lockKey === undefined ? undefined : await tasks.findByLock(task.lockKey), task.tenantId))
  await tasks.append(inserted.right.id, [pendingEvent(task, deps.clock.now())])
  await audit.record(auditOf(task, 'task.submitted', { kind: task.kind, ref: task.ref }))
  // Done under the account's lock, so that every accepted task makes room for itself, at any rate.
  await tasks.removeEndedBeyond(task.tenantId, keptEnded, removedAtOnce)
  return right({ ...answerOf(inserted.right), isRepetition: false, isJoined: false })
}

interface Asked extends Pick<NewTask, 'kind' | 'title' | 'tenantId' | 'digest'>, Pick<TaskSubmission, 'joinsSameKind'> {
  readonly lockKey?: string | undefined
  readonly actorId: UserId
  /** The client's choice, or an unused value. */
  readonly responseId: string | undefined
}

const prechecked = async (
  deps: SubmitDeps,
  lookups: TaskLookups,
  asked: Asked,
): Outcome<SubmitFailure, SubmittedTask | undefined> => {
  const earlier =
    asked.responseId === undefined ? undefined : await lookups.findByResponse(asked.actorId, asked.responseId)
  if (earlier !== undefined)
    return isSameBytes(earlier.digest, asked.digest)
      ? right(answerOf(earlier.task))
      : left(
          ResponseIdTaken('The response-id is already in use: it was used for another request within the last hour.'),
        )
  const holder = asked.lockKey === undefined ? undefined : await lookups.findByLock(asked.lockKey)
  if (
    holder?.kind === asked.kind &&
    holder.title === bounded(asked.title, 255) &&
    holder.tenantId === asked.tenantId &&
    asked.joinsSameKind === true
  )
    return right(answerOf(holder))
  if ((await lookups.countUnfinished(asked.tenantId)) >= deps.maxUnfinished) {
    return left(
      TooManyTasks(`There are ${deps.maxUnfinished} unfinished tasks already. Try again when one has ended.`, {
        retryAfterSeconds: 30,
      }),
    )
  }
  return holder === undefined ? right(undefined) : left(lockedBy(holder, asked.tenantId))
}

const answerOf = ({ ref, subject }: Pick<Task, 'ref' | 'subject'>): SubmittedTask => ({ id: ref, subject })

/** Reveals about another account's task only that it exists. */
const lockedBy = (holder: Task | undefined, tenantId: AccountId): Failure<'TaskLocked'> => {
  if (holder === undefined || holder.tenantId !== tenantId)
    return TaskLocked('Another task works on the same object. Try again.')
  const since = (holder.startedAt ?? holder.createdAt).toISOString()
  const doing = holder.state === 'queued' ? 'waits' : 'is running'
  return TaskLocked(
    `"${holder.title}" of ${holder.actorLogin} (task ${holder.ref}) ${doing} since ${since}. Wait for its ` +
      'end, or cancel it.',
    { retryAfterSeconds: 10 },
  )
}
