import { isLeft } from 'fp-ts/lib/Either.js'
import { setTimeout as delay } from 'node:timers/promises'
import * as t from 'io-ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { ResponseIdTaken, TaskLocked, TasksPort, TooManyTasks } from '../../core/tasks/ports.ts'
import type { SubmitFailure, SubmittedTask, TaskEnd, TaskRun, Tasks } from '../../core/tasks/ports.ts'
import { signedIn, write } from '../../plugins/kit/access.ts'
import { ResponseId } from '../../plugins/kit/codecs.ts'
import { defineGroup } from '../../plugins/kit/group.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { definePlugin } from '../../plugins/kit/plugin.ts'
import { json } from '../../plugins/kit/reply.ts'
import { body, defineRoute } from '../../plugins/kit/route.ts'

const Ordered = t.intersection([
  t.type({ title: t.string }),
  t.partial({
    kind: t.string,
    lockKey: t.string,
    responseId: ResponseId,
    lines: t.number,
    waitMs: t.number,
    secret: t.string,
    fails: t.boolean,
    throws: t.boolean,
    untilCancelled: t.boolean,
    ignoresStop: t.boolean,
    tenantId: t.number,
    cluster: t.string,
  }),
])

/** `POST /tiny-work/`: submits a task that says some lines. */
export const orderWork = defineRoute({
  id: 'tiny.orderWork',
  method: 'POST',
  path: '/tiny-work/',
  summary: 'Do something after the answer',
  tag: 'Miscellaneous',
  access: signedIn,
  scope: write('cluster'),
  body: body(Ordered, { title: 'work' }),
  ok: json(200, t.type({ id: t.string, subject: t.string }), { id: 'x', subject: 'y' }),
  failures: [TaskLocked, ResponseIdTaken, TooManyTasks],
})

/** What the handlers did, for tests in the same process. */
export interface Diary {
  readonly runs: string[]
  readonly recoveries: string[]
  readonly reasons: unknown[]
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

const work = async (diary: Diary, { task, input, progress, signal, callNow }: TaskRun): Promise<TaskEnd> => {
  diary.runs.push(task.ref)
  signal.addEventListener('abort', () => diary.reasons.push(signal.reason), { once: true })
  const call = await callNow()
  if (isLeft(call)) return { state: 'failed', message: 'refused', error: call.left.message }
  const step = progress.step('Counting')
  for (let line = 1; line <= Number(input['lines'] ?? 3); line++) step.say(`line ${line}`, { data: { line } })
  if (input['untilCancelled'] === true) await untilAborted(signal)
  else
    await delay(Number(input['waitMs'] ?? 0), undefined, input['ignoresStop'] === true ? {} : { signal }).catch(
      () => undefined,
    )
  if (signal.aborted && signal.reason === 'stopping') throw new Error('broken off')
  if (signal.aborted && signal.reason === 'cancelled')
    return { state: 'cancelled', message: `${task.title} was cancelled.` }
  if (input['throws'] === true) throw new Error('the handler threw')
  if (input['fails'] === true) {
    step.failed('it does not count')
    return { state: 'failed', message: `${task.title} failed!`, error: 'it does not count' }
  }
  step.done()
  return {
    state: 'succeeded',
    message: `${task.title} completed successfully!`,
    result: { counted: Number(input['lines'] ?? 3), by: call.right.principal.login },
  }
}

const makeOrderWork =
  ({ tasks }: { readonly tasks: Tasks }) =>
  (call: SignedInCall<SubmittedTask>, order: t.TypeOf<typeof Ordered>): Outcome<SubmitFailure, SubmittedTask> => {
    const { kind, title, lockKey, responseId, tenantId, cluster = 'ada/one', ...input } = order
    return tasks.submit(call, {
      kind: kind ?? 'tiny.work',
      title,
      tenantId: (tenantId ?? call.principal.userId) as AccountId,
      about: { cluster },
      input: input as never,
      responseId,
      ...(lockKey === undefined ? {} : { lockKey }),
    })
  }

const makeTinyGroup = (diary: Diary) =>
  defineGroup({
    needs: { tasks: TasksPort },
    routes: (given) => [handle(orderWork, makeOrderWork(given), { input: ({ body: order }) => order })],
    tasks: () => [
      {
        kind: 'tiny.work',
        run: (run) => work(diary, run),
        recover: async ({ task }) => {
          diary.recoveries.push(task.ref)
          return { state: 'unknown', message: `${task.title}: its worker ended.` }
        },
      },
    ],
  })

export const makeTinyPlugin = (diary: Diary = { runs: [], recoveries: [], reasons: [] }) =>
  definePlugin({
    id: 'tiny',
    summary: 'Tasks for tests',
    listener: 'api',
    gate: 'always',
    groups: [makeTinyGroup(diary)],
  })
