import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ApplyEditorTaskDeps } from '../../../core/packages/editors/editor-tasks.ts'
import { applyEditorKind, deleteEditorKind } from '../../../core/packages/editors/editor-tasks.ts'
import type { ResourceEditor } from '../../../core/packages/editors/types.ts'
import type { TaskRun } from '../../../core/tasks/ports.ts'
import { stage as heldCluster } from '../../cluster-tasks/stage.ts'
import { chartTexts } from '../texts.ts'
import { about, configMaps } from './editor-world.ts'
import { chartOf } from './charts.ts'

const editorChart = chartOf('editor', { metadata: { resource: configMaps }, resources: { configMap: { apiVersion: 'v1', kind: 'ConfigMap' } } }, { 'meta.x-helm.dev/editor': '{"group":"","version":"v1","resource":"configmaps"}' })
const source = { apiGroup: '', kind: 'Embed', namespace: '', name: 'editors' }
const editor: ResourceEditor = { resource: configMaps, options: undefined, editor: { name: 'editor', version: '', source }, instanceLabelPaths: [], origin: 'built-in' }
const ref = { namespace: 'shop', name: 'web', version: 1, status: 'deployed', objectName: 'x', uid: 'u', resourceVersion: '1' }
const release = { name: 'web', namespace: 'shop', version: 1, info: { status: 'deployed' }, chart: {}, manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n' }

/** A cluster that hides the object, and what it was asked to do. */
const stage = (changes: Partial<Record<keyof ApplyEditorTaskDeps, unknown>> = {}) => {
  const asked: string[] = []
  const cluster = {
    request: ({ method, target }: { method: string; target: string }) => {
      asked.push(`${method} ${target}`)
      const isList = target === '/api/v1'
      return Promise.resolve(right({ status: isList ? 200 : 403, json: isList ? { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] } : {}, text: '' }))
    },
  } as unknown as MemberCluster
  const never = new Proxy({}, { get: (_, name) => () => { throw new Error(`helm was asked to ${String(name)}`) } })
  const deps = {
    helm: never,
    chartTexts,
    patches: fastJsonPatches,
    editorCatalog: { find: () => Promise.resolve(right(editor)) },
    chartSource: { fetch: () => Promise.resolve(right({ chart: editorChart, ref: editor.editor, digest: '', size: 1 })) },
    appReleases: { find: () => Promise.resolve(right(undefined)) },
    releases: { index: () => Promise.resolve(right([ref])), read: () => Promise.resolve(right(release)) },
    driverOf: () => Promise.resolve('Secret'),
    clusterTasks: { run: (run: TaskRun, work: (run: TaskRun, opened: unknown) => unknown) => work(run, { cluster }) },
    pause: () => new Promise(() => undefined),
    ...changes,
  } as unknown as ApplyEditorTaskDeps
  return { deps, asked }
}

const runOf = (input: object, failed: (text: string) => void = () => undefined): TaskRun =>
  ({ input: input as FreeObject, progress: { say: () => undefined, step: () => ({ say: () => undefined, done: () => undefined, failed }) }, signal: new AbortController().signal, task: { about: { revision: '1' } } }) as unknown as TaskRun

const input = { release: { name: 'web', namespace: 'shop' }, model: about(configMaps, 'web'), flags: { install: true } }

test('a right that was lost before the start ends both tasks before anything is requested or changed', async (t) => {
  const held = heldCluster()
  await held.minute('denied')
  const { deps, asked } = stage({ clusterTasks: held.deps.clusterTasks })
  for (const kind of [applyEditorKind(deps), deleteEditorKind(deps)]) {
    t.deepEqual(await kind.run(held.run(input as unknown as FreeObject)), { state: 'failed', message: 'Nothing was changed.', error: 'You may no longer connect to this cluster.' })
  }
  t.deepEqual(asked, [])
})

test('a patch is not applied once an object that it must keep is hidden', async (t) => {
  const { deps } = stage()
  const steps: string[] = []
  const end = await applyEditorKind(deps).run(runOf({ ...input, patch: [{ op: 'add', path: '/resources/x', value: {} }] }, (text) => void steps.push(text)))
  t.deepEqual([end.state, end.message], ['failed', 'Nothing was changed.'])
  t.regex(end.error ?? '', /does not let you read ConfigMap web/)
  t.deepEqual(steps, ['The model could not be prepared.'])
})

test('a model that the editor of this moment does not take is not applied', async (t) => {
  const { deps } = stage()
  const end = await applyEditorKind(deps).run(runOf({ ...input, model: { ...about(configMaps, 'web'), resources: { service: {} } } }))
  t.deepEqual([end.state, end.message], ['failed', 'Nothing was changed.'])
  t.regex(end.error ?? '', /resources\.service/)
})
