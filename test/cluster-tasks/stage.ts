import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied, type Authorizer } from '../../core/authz/ports.ts'
import { makeClusterTasks } from '../../core/cluster-tasks/cluster-tasks.ts'
import type { MemberCluster, MemberClusters } from '../../core/clusters/ports.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { ActorGone } from '../../core/kernel/principal.ts'
import type { StopReason, SubmitFailure, SubmittedTask, TaskRun, TaskSubmission } from '../../core/tasks/ports.ts'

type Answer = 'yes' | 'denied' | 'another' | 'gone' | 'silent'

/** Resolves when the signal is aborted. */
export const onAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  )

/**
 * A task on a member cluster, whose actor's rights are read again with each minute that the test lets pass. `known` is
 * what the tasks answer before the work is accepted.
 */
export const stage = (known: Either<SubmitFailure, SubmittedTask | undefined> = right(undefined)) => {
  let answer: Answer = 'yes'
  let asked = 0
  let pass: () => void = () => undefined
  const said: string[] = []
  const cluster = {
    id: 7,
    uid: 'u',
    ownerId: 3,
    ownerName: 'o',
    name: 'prod',
    request: async () => right({ status: 404, json: {}, text: '' }),
  } as unknown as MemberCluster
  const submissions: TaskSubmission[] = []
  const clusterTasks = makeClusterTasks({
    tasks: {
      precheck: async () => known,
      prepare: async () => {
        throw new Error('no work of these tests is accepted in a transaction of its own')
      },
      submit: async (_call, submission) => {
        submissions.push(submission)
        return right({ id: 't1', subject: 'natjobs.resp.t1' })
      },
    },
    pause: (milliseconds, signal) => pause(milliseconds, signal),
    authorizer: {
      authorize: async () => {
        asked += 1
        if (answer === 'silent') throw new Error('the database does not answer')
        return answer === 'denied' ? left(AccessDenied('No.')) : right({ objectId: answer === 'another' ? 8 : 7 })
      },
    } as unknown as Authorizer,
    memberClusters: { open: async () => right(cluster) } as MemberClusters,
  })
  const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
    Promise.race([
      onAbort(signal),
      milliseconds < 60_000 ? new Promise<void>(() => undefined) : new Promise<void>((resolve) => (pass = resolve)),
    ])
  const stop = new AbortController()
  const run = (input: FreeObject = {}): TaskRun => ({
    task: { about: { revision: '1' } } as unknown as TaskRun['task'],
    input: {
      cluster: { owner: 'o', name: 'prod', id: 7, uid: 'u' },
      release: { name: 'web', namespace: 'shop' },
      flags: {},
      ...input,
    },
    progress: {
      say: (text) => void said.push(text),
      step: () => ({ say: () => undefined, done: () => undefined, failed: () => undefined }),
    },
    callNow: async () =>
      answer === 'gone' ? left(ActorGone('The account is disabled.')) : right({ principal: {} } as never),
    signal: stop.signal,
  })
  return {
    deps: { clusterTasks, pause },
    cluster,
    submissions,
    run,
    said,
    stop: (reason: StopReason) => stop.abort(reason),
    asked: () => asked,
    minute: async (next: Answer): Promise<void> => {
      answer = next
      pass()
      await new Promise(setImmediate)
    },
  }
}
