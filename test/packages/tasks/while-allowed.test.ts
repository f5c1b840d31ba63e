import test, { type ExecutionContext } from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied, type Authorizer } from '../../../core/authz/ports.ts'
import type { MemberCluster, MemberClusters } from '../../../core/clusters/ports.ts'
import { ActorGone } from '../../../core/kernel/principal.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ChartTaskDeps } from '../../../core/packages/releases/upgrades.ts'
import { installReleaseKind, upgradeReleaseKind } from '../../../core/packages/releases/upgrades.ts'
import type { ApplyEditorTaskDeps } from '../../../core/packages/editors/editor-tasks.ts'
import { applyEditorKind, deleteEditorKind } from '../../../core/packages/editors/editor-tasks.ts'
import { HelmStopped } from '../../../core/packages/releases/ports.ts'
import { rollbackReleaseKind } from '../../../core/packages/releases/rollbacks.ts'
import { makeOpenTaskCluster, whileAllowed } from '../../../core/packages/releases/cluster-tasks.ts'
import type { ReleaseRecordRef } from '../../../core/packages/types.ts'
import { uninstallReleaseKind } from '../../../core/packages/releases/uninstalls.ts'
import type { StopReason, TaskEnd, TaskKind, TaskRun } from '../../../core/tasks/ports.ts'
import { chartTexts } from '../texts.ts'

/** What a task does when its actor loses the right to connect while it runs. */
type Answer = 'yes' | 'denied' | 'another' | 'gone' | 'silent'

const onAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

/** A right that is asked about whenever a minute is let pass. */
const stage = () => {
  let answer: Answer = 'yes'
  let asked = 0
  let pass: () => void = () => undefined
  const said: string[] = []
  const cluster = { id: 7, uid: 'u', ownerId: 3, ownerName: 'o', name: 'prod', request: async () => right({ status: 404, json: {}, text: '' }) } as unknown as MemberCluster
  const openTaskCluster = makeOpenTaskCluster({
    authorizer: {
      authorize: async () => {
        asked += 1
        if (answer === 'silent') throw new Error('the database does not answer')
        return answer === 'denied' ? left(AccessDenied('No.')) : right({ objectId: answer === 'another' ? 8 : 7 })
      },
    } as unknown as Authorizer,
    memberClusters: { open: async () => right(cluster) } as MemberClusters,
  })
  const pause = (milliseconds: number, signal: AbortSignal): Promise<void> => Promise.race([onAbort(signal), milliseconds < 60_000 ? new Promise<void>(() => undefined) : new Promise<void>((resolve) => (pass = resolve))])
  const stop = new AbortController()
  const run = (input: FreeObject = {}): TaskRun => ({
    task: { about: { revision: '1' } } as unknown as TaskRun['task'],
    input: { cluster: { owner: 'o', name: 'prod', id: 7, uid: 'u' }, release: { name: 'web', namespace: 'shop' }, flags: {}, ...input },
    progress: { say: (text) => void said.push(text), step: () => ({ say: () => undefined, done: () => undefined, failed: () => undefined }) },
    callNow: async () => (answer === 'gone' ? left(ActorGone('The account is disabled.')) : right({ principal: {} } as never)),
    signal: stop.signal,
  })
  return {
    deps: { openTaskCluster, pause }, run, said, stop: (reason: StopReason) => stop.abort(reason),
    asked: () => asked,
    minute: async (next: Answer): Promise<void> => {
      answer = next
      pass()
      await new Promise(setImmediate)
    },
  }
}

for (const [answer, why] of [['denied', 'You may no longer connect to this cluster.'], ['another', 'The cluster of that name is another one by now.'], ['gone', 'The account is disabled.']] as const) {
  test(`work is stopped when the answer is a clear no: ${answer}`, async (t) => {
    const { deps, run, minute, said, asked } = stage()
    const reasons: unknown[] = []
    const begun = Promise.withResolvers<AbortSignal>()
    const ended = whileAllowed(deps, run(), async ({ signal }): Promise<TaskEnd> => {
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

test('nothing is asked once the work has ended, and another reason to stop is passed on', async (t) => {
  const done = stage()
  await whileAllowed(done.deps, done.run(), async () => ({ state: 'succeeded', message: '' }))
  const before = done.asked()
  await done.minute('denied')
  t.deepEqual([done.asked(), done.said], [before, []])
  const lost = stage()
  const ended = whileAllowed(lost.deps, lost.run(), async ({ signal }) => {
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
  const end = await whileAllowed(deps, run(), () => Promise.reject(new Error('it was begun')))
  t.deepEqual(end, { state: 'failed', message: 'Nothing was changed.', error: 'You may no longer connect to this cluster.' })
})

const rightsGone = 'The user who requested it may no longer connect to the cluster.'
const refOf = (version: number, status: ReleaseRecordRef['status']): ReleaseRecordRef => ({
  namespace: 'shop', name: 'web', version, status, objectName: `web.v${version}`, uid: `u${version}`, resourceVersion: '1',
})

/** A helm that works until it is stopped, over records that it left pending. */
const world = (pending: ReleaseRecordRef['status'] | undefined) => {
  const held = stage()
  const begun = Promise.withResolvers<void>()
  let refs = [refOf(1, 'superseded'), refOf(2, 'deployed')]
  const reads: string[] = []
  const work = async (signal: AbortSignal) => {
    if (pending !== undefined) refs = [...refs, refOf(3, pending)]
    begun.resolve()
    await onAbort(signal)
    return left(HelmStopped('Helm was ended.'))
  }
  const deps = {
    ...held.deps, chartTexts, clock: { now: () => new Date(0) },
    driverOf: async () => 'Secret',
    chartSource: { fetch: (_ref: unknown, _for: unknown, signal: AbortSignal) => work(signal) },
    editorCatalog: { find: (_cluster: unknown, _resource: unknown, signal: AbortSignal) => work(signal) },
    helm: { rollback: (_work: unknown, _revision: number, signal: AbortSignal) => work(signal), uninstall: (_work: unknown, signal: AbortSignal) => work(signal) },
    releases: {
      index: async () => right(refs),
      read: async (_cluster: unknown, _driver: unknown, ref: ReleaseRecordRef) => right({ ...ref, info: { status: ref.status }, chart: {}, manifest: '' }),
      amend: async (_cluster: unknown, _driver: unknown, ref: ReleaseRecordRef, { status }: { status: ReleaseRecordRef['status'] }) => {
        reads.push(`${ref.version} ${status}`)
        refs = refs.map((each) => (each.version === ref.version ? { ...each, status } : each))
        return right(undefined)
      },
    },
  }
  return { held, deps, begun: begun.promise, amended: reads }
}

const loseWhile = async (t: ExecutionContext, make: (deps: never) => TaskKind, pending: ReleaseRecordRef['status'] | undefined, input: FreeObject) => {
  const { held, deps, begun, amended } = world(pending)
  const ended = make(deps as never).run(held.run(input))
  await begun
  await held.minute('denied')
  const end = await ended
  t.like(end, { state: 'failed', error: rightsGone })
  return { end, amended }
}

test('a rollback under way is ended, leaves nothing pending, and tells nothing of the release', async (t) => {
  const { end, amended } = await loseWhile(t, (deps) => rollbackReleaseKind(deps), 'pending-rollback', { revision: 1, description: 'back' })
  t.deepEqual(amended, ['3 failed'])
  t.is(end.message, 'Stopped because the right to connect to the cluster was lost. Finished changes are kept, and the state of the release is not shown. No revision was left pending.')
  t.deepEqual(end.result, { release: 'web', namespace: 'shop' })
})

for (const [title, make] of [['an uninstallation', uninstallReleaseKind], ['a removal by an editor', deleteEditorKind]] as const) {
  test(`${title} under way is ended, and says what removes the rest`, async (t) => {
    const { end, amended } = await loseWhile(t, (deps) => make(deps), undefined, {})
    t.deepEqual(amended, [])
    t.regex(end.message, /right to connect to the cluster was lost.*uninstalling it again removes the rest/)
  })
}

const order = { chart: { name: 'web', version: '', source: { apiGroup: '', kind: 'HelmRepository', namespace: '', name: 'x' } }, values: {} }
for (const [title, make] of [['an install', (deps: ChartTaskDeps) => installReleaseKind(deps)], ['an upgrade', (deps: ChartTaskDeps) => upgradeReleaseKind(deps)]] as const) {
  test(`${title} that has not reached the cluster changes nothing any more`, async (t) => {
    const { end, amended } = await loseWhile(t, (deps) => make(deps), undefined, order)
    t.deepEqual([end.message, amended], ['Nothing was changed.', []])
  })
}

test('what an editor is to apply is not applied any more', async (t) => {
  const model = { metadata: { resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' }, release: { name: 'web', namespace: 'shop' } } }
  const { end } = await loseWhile(t, (deps: ApplyEditorTaskDeps) => applyEditorKind(deps), undefined, { model })
  t.is(end.message, 'Nothing was changed.')
})
