import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { ClusterWork } from '../../core/cluster-tasks/ports.ts'
import { inStep } from '../../core/cluster-tasks/types.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { SubmittedTask, TaskEnd } from '../../core/tasks/ports.ts'
import { TaskLocked } from '../../core/tasks/ports.ts'
import { onAbort, stage } from './stage.ts'

for (const [answer, why] of [
  ['denied', 'You may no longer connect to this cluster.'],
  ['another', 'The cluster of that name is another one by now.'],
  ['gone', 'The account is disabled.'],
] as const) {
  test(`work is stopped when the answer is a clear no: ${answer}`, async (t) => {
    const { deps, run, minute, said, asked } = stage()
    const reasons: unknown[] = []
    const begun = Promise.withResolvers<AbortSignal>()
    const ended = deps.clusterTasks.run(run(), async ({ signal }): Promise<TaskEnd> => {
      begun.resolve(signal)
      await onAbort(signal)
      reasons.push(signal.reason)
      return { state: 'failed', message: '' }
    })
    const signal = await begun.promise
    await minute('yes')
    await minute('silent')
    t.false(signal.aborted)
    const before = asked()
    await minute(answer)
    await ended
    t.true(before >= 3, 'it was asked again, and again after no answer came')
    t.deepEqual([reasons, said], [['rights-lost'], [why]])
  })
}

test('no request follows the end of the work, and other stop reasons propagate', async (t) => {
  const done = stage()
  await done.deps.clusterTasks.run(done.run(), async () => ({ state: 'succeeded', message: '' }))
  const before = done.asked()
  await done.minute('denied')
  t.deepEqual([done.asked(), done.said], [before, []])
  const lost = stage()
  const ended = lost.deps.clusterTasks.run(lost.run(), async ({ signal }) => {
    await onAbort(signal)
    return { state: 'failed', message: String(signal.reason) }
  })
  await new Promise(setImmediate)
  lost.stop('lease-lost')
  t.is((await ended).message, 'lease-lost')
})

test('work for a user who may not connect is not started', async (t) => {
  const { deps, run, minute } = stage()
  await minute('denied')
  const end = await deps.clusterTasks.run(run(), () => Promise.reject(new Error('it was begun')))
  t.deepEqual(end, {
    state: 'failed',
    message: 'Nothing was changed.',
    error: 'You may no longer connect to this cluster.',
  })
})

const call = {} as SignedInCall<SubmittedTask>
const work: ClusterWork = {
  kind: 'hubs.join',
  title: 'Join',
  about: { hub: 'main' },
  lock: 'hub',
  input: { mode: 'fast' },
  responseId: 'mine',
}

test('work is submitted for its cluster with the result of the check', async (t) => {
  const { deps, cluster, submissions } = stage()
  t.deepEqual(
    await deps.clusterTasks.submit(call, cluster, work, async () => right({ version: '3' })),
    right({ id: 't1', subject: 'natjobs.resp.t1' }),
  )
  t.deepEqual(submissions, [
    {
      kind: 'hubs.join',
      title: 'Join',
      tenantId: 3,
      lockKey: 'cluster/3/u/hub',
      responseId: 'mine',
      about: { cluster: 'prod', owner: 'o', hub: 'main', version: '3' },
      input: {
        cluster: { owner: 'o', name: 'prod', id: 7, uid: 'u', right: { type: 'cluster', relation: 'can_connect' } },
        mode: 'fast',
      },
    },
  ])
})

test('work that changes nothing takes no lock', async (t) => {
  const { deps, cluster, submissions } = stage()
  await deps.clusterTasks.submit(call, cluster, { ...work, lock: undefined }, async () => right({}))
  t.false('lockKey' in (submissions[0] ?? {}))
})

test('a repeated or blocked request does not read the cluster', async (t) => {
  const never = () => Promise.reject(new Error('the cluster was read'))
  const repeated = stage(right({ id: 'first', subject: 's' }))
  t.deepEqual(
    await repeated.deps.clusterTasks.submit(call, repeated.cluster, work, never),
    right({ id: 'first', subject: 's' }),
  )
  const blocked = stage(left(TaskLocked('Another task works on it.')))
  t.deepEqual(
    await blocked.deps.clusterTasks.submit(call, blocked.cluster, work, never),
    left(TaskLocked('Another task works on it.')),
  )
  t.deepEqual([...repeated.submissions, ...blocked.submissions], [])
})

test('work that the check refuses is not submitted', async (t) => {
  const { deps, cluster, submissions } = stage()
  const refusal = left(ClusterUnreachable('No answer.'))
  t.deepEqual(await deps.clusterTasks.submit(call, cluster, work, async () => refusal), refusal)
  t.deepEqual(submissions, [])
})

test('recovery opens the cluster with the current rights of the actor', async (t) => {
  const { deps, run, minute, cluster } = stage()
  const recovery = {
    find: async (opened: { cluster: unknown }): Promise<TaskEnd> => ({
      state: 'succeeded',
      message: String(opened.cluster === cluster),
    }),
    unknowable: (why: string): TaskEnd => ({ state: 'unknown', message: why }),
  }
  t.deepEqual(await deps.clusterTasks.recover(run(), recovery), { state: 'succeeded', message: 'true' })
  await minute('denied')
  t.deepEqual(await deps.clusterTasks.recover(run(), recovery), {
    state: 'unknown',
    message: 'You may no longer connect to this cluster.',
  })
})

test('a cluster that was replaced under its name is not opened', async (t) => {
  const { deps, run } = stage()
  const end = await deps.clusterTasks.run(run({ cluster: { owner: 'o', name: 'prod', id: 7, uid: 'other' } }), () =>
    Promise.reject(new Error('it was begun')),
  )
  t.deepEqual(end, {
    state: 'failed',
    message: 'Nothing was changed.',
    error: 'The cluster of that name is another one by now.',
  })
})

test('a step ends as its part does, with the text of the part if it has one', async (t) => {
  const ends: string[] = []
  const step = () => {
    let isOpen = true
    const end = (text: string) => {
      if (isOpen) ends.push(text)
      isOpen = false
    }
    return {
      say: () => undefined,
      done: (text = '') => end(`done ${text}`),
      failed: (text: string) => end(`failed ${text}`),
    }
  }
  const run = { progress: { say: () => undefined, step } }
  const texts = { title: 'Look', done: 'It is there.', failed: 'It is not there.' }
  t.deepEqual(await inStep(run, texts, async () => right(1)), right(1))
  t.deepEqual(
    await inStep(run, texts, async () => left(ClusterUnreachable('No answer.'))),
    left(ClusterUnreachable('No answer.')),
  )
  await inStep(run, texts, async (open) => {
    open.failed('It cannot be read.')
    return left(ClusterUnreachable('No answer.'))
  })
  t.deepEqual(ends, ['done It is there.', 'failed It is not there.', 'failed It cannot be read.'])
})
