import test, { type ExecutionContext } from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ChartTaskDeps } from '../../../core/packages/releases/upgrades.ts'
import { installReleaseKind, upgradeReleaseKind } from '../../../core/packages/releases/upgrades.ts'
import type { ApplyEditorTaskDeps } from '../../../core/packages/editors/editor-tasks.ts'
import { applyEditorKind, deleteEditorKind } from '../../../core/packages/editors/editor-tasks.ts'
import { HelmStopped } from '../../../core/packages/releases/ports.ts'
import { rollbackReleaseKind } from '../../../core/packages/releases/rollbacks.ts'
import type { ReleaseRecordRef } from '../../../core/packages/types.ts'
import { uninstallReleaseKind } from '../../../core/packages/releases/uninstalls.ts'
import type { TaskHandler } from '../../../core/tasks/ports.ts'
import { onAbort, stage } from '../../cluster-tasks/stage.ts'
import { chartTexts } from '../texts.ts'

const rightsGone = 'The user who requested it may no longer connect to the cluster.'
const refOf = (version: number, status: ReleaseRecordRef['status']): ReleaseRecordRef => ({
  namespace: 'shop',
  name: 'web',
  version,
  status,
  objectName: `web.v${version}`,
  uid: `u${version}`,
  resourceVersion: '1',
})

/** A helm that works until it is stopped, over records that it left pending. */
const fixture = (pending: ReleaseRecordRef['status'] | undefined) => {
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
    ...held.deps,
    chartTexts,
    clock: { now: () => new Date(0) },
    driverOf: async () => 'Secret',
    chartSource: { fetch: (_ref: unknown, _for: unknown, signal: AbortSignal) => work(signal) },
    editorCatalog: { find: (_cluster: unknown, _resource: unknown, signal: AbortSignal) => work(signal) },
    helm: {
      rollback: (_work: unknown, _revision: number, signal: AbortSignal) => work(signal),
      uninstall: (_work: unknown, signal: AbortSignal) => work(signal),
    },
    releases: {
      index: async () => right(refs),
      read: async (_cluster: unknown, _driver: unknown, ref: ReleaseRecordRef) =>
        right({ ...ref, info: { status: ref.status }, chart: {}, manifest: '' }),
      amend: async (
        _cluster: unknown,
        _driver: unknown,
        ref: ReleaseRecordRef,
        { status }: { status: ReleaseRecordRef['status'] },
      ) => {
        reads.push(`${ref.version} ${status}`)
        refs = refs.map((each) => (each.version === ref.version ? { ...each, status } : each))
        return right(undefined)
      },
    },
  }
  return { held, deps, begun: begun.promise, amended: reads }
}

const loseWhile = async (
  t: ExecutionContext,
  make: (deps: never) => TaskHandler,
  pending: ReleaseRecordRef['status'] | undefined,
  input: FreeObject,
) => {
  const { held, deps, begun, amended } = fixture(pending)
  const ended = make(deps as never).run(held.run(input))
  await begun
  await held.minute('denied')
  const end = await ended
  t.like(end, { state: 'failed', error: rightsGone })
  return { end, amended }
}

test('a running rollback ends without a pending revision or disclosure', async (t) => {
  const { end, amended } = await loseWhile(t, (deps) => rollbackReleaseKind(deps), 'pending-rollback', {
    revision: 1,
    description: 'back',
  })
  t.deepEqual(amended, ['3 failed'])
  t.is(
    end.message,
    'Stopped because the right to connect to the cluster was lost. Finished changes are kept, and the state of the release is not shown. No revision was left pending.',
  )
  t.deepEqual(end.result, { release: 'web', namespace: 'shop' })
})

for (const [title, make] of [
  ['an uninstallation', uninstallReleaseKind],
  ['a removal by an editor', deleteEditorKind],
] as const) {
  test(`${title} under way is ended with its remedy`, async (t) => {
    const { end, amended } = await loseWhile(t, (deps) => make(deps), undefined, {})
    t.deepEqual(amended, [])
    t.regex(end.message, /right to connect to the cluster was lost.*uninstalling it again removes the rest/)
  })
}

const order = {
  chart: { name: 'web', version: '', source: { apiGroup: '', kind: 'HelmRepository', namespace: '', name: 'x' } },
  values: {},
}
for (const [title, make] of [
  ['an install', (deps: ChartTaskDeps) => installReleaseKind(deps)],
  ['an upgrade', (deps: ChartTaskDeps) => upgradeReleaseKind(deps)],
] as const) {
  test(`${title} that has not reached the cluster changes nothing any more`, async (t) => {
    const { end, amended } = await loseWhile(t, (deps) => make(deps), undefined, order)
    t.deepEqual([end.message, amended], ['Nothing was changed.', []])
  })
}

test('waiting work of an editor is not applied any more', async (t) => {
  const model = {
    metadata: {
      resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' },
      release: { name: 'web', namespace: 'shop' },
    },
  }
  const { end } = await loseWhile(t, (deps: ApplyEditorTaskDeps) => applyEditorKind(deps), undefined, { model })
  t.is(end.message, 'Nothing was changed.')
})
