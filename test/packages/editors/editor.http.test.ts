// process: waiting - uses components
import { randomUUID } from 'node:crypto'
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
import { expectStatus, importCluster } from '../../clusters/cluster-fixture.ts'
import { needing } from '../../support/components/needing.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { chartSource } from '../chart-source.ts'
import { packageClient } from '../package-fixture.ts'
import { recordObject } from '../../helm/records/records.ts'
import { chartTexts } from '../texts.ts'
import { chartOf } from './charts.ts'
import type { EditorFixture } from './editor-fixture.ts'
import { about, configMaps, deployments, openEditorFixture, userOf } from './editor-fixture.ts'

const withHelm = needing('helm')
let fixture: EditorFixture
withHelm.before(async () => {
  fixture = await openEditorFixture()
})
withHelm.after.always(() => fixture.stop())

const modelOf = (name: string, data: Readonly<Record<string, string>>) => ({
  ...about(configMaps, name),
  resources: { configMap: { data } },
})
const dataOf = (name: string): unknown => fixture.api.find('v1', 'ConfigMap', 'shop', name)?.['data']
const records = (name: string): readonly string[] =>
  fixture.api
    .all('v1', 'Secret', 'shop')
    .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm' && metadata.labels['name'] === name)
    .map(({ metadata }) => `${metadata.labels?.['version']} ${metadata.labels?.['status']}`)
const applied = async (name: string, data: Readonly<Record<string, string>>): Promise<void> => {
  const task = await fixture.as(fixture.owner).done('PUT', '/editor', modelOf(name, data))
  if (task.state !== 'succeeded') throw new Error(`${task.message} ${task.error ?? ''}`)
}

withHelm.serial('a model is installed, shown, changed by a patch, and removed', async (t) => {
  const client = fixture.as(fixture.owner)
  const installed = await client.done('PUT', '/editor/', modelOf('tides', { high: '4.1 m above zero', low: '0.3' }))
  t.is(installed.state, 'succeeded', `${installed.message} ${installed.error}`)
  t.deepEqual(dataOf('tides'), { high: '4.1 m above zero', low: '0.3' })
  t.deepEqual(records('tides'), ['1 deployed'])
  t.true(installed.events.some(({ msg }) => msg.includes('core-configmap-editor 1.0.0; resources: configMap')))
  t.false(JSON.stringify(installed).includes('4.1 m above zero'), 'no values in what a task tells')

  const shown = await expectStatus(fixture.put('/editor/model', about(configMaps, 'tides')), 200)
  t.deepEqual(shown.json.metadata, about(configMaps, 'tides').metadata)
  const { configMap } = shown.json.resources
  t.deepEqual(
    [configMap.kind, configMap.metadata.name, configMap.data],
    ['ConfigMap', 'tides', { high: '4.1 m above zero', low: '0.3' }],
  )
  t.false('managedFields' in configMap.metadata || 'missing' in shown.json)

  const patch = [
    { op: 'replace', path: '/resources/configMap/data/low', value: '0.5' },
    { op: 'remove', path: '/resources/configMap/data/none' },
    { op: 'add', path: '/resources/configMap/metadata/namespace', value: 'kube-system' },
  ]
  const patched = await client.done('PUT', '/editor', { ...about(configMaps, 'tides'), patch })
  t.is(patched.state, 'succeeded', `${patched.message} ${patched.error}`)
  t.deepEqual(dataOf('tides'), { high: '4.1 m above zero', low: '0.5' })
  t.is(fixture.api.find('v1', 'ConfigMap', 'kube-system', 'tides'), undefined)

  const removed = await client.done('DELETE', '/editor', {
    group: '',
    version: 'v1',
    name: 'configmaps',
    releaseName: 'tides',
    namespace: 'shop',
  })
  t.is(removed.state, 'succeeded', `${removed.message} ${removed.error}`)
  t.is(dataOf('tides'), undefined)
  t.deepEqual(records('tides'), [])
})

withHelm.serial('installed objects are shown as text and as files', async (t) => {
  await applied('charts', { a: '1' })
  const manifest = await expectStatus(fixture.put('/editor/manifest', about(configMaps, 'charts')), 200)
  t.is(manifest.headers['content-type'], 'text/plain; charset=utf-8')
  t.true(
    manifest.text.startsWith('---\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: "1"\n') ||
      manifest.text.includes('data:\n  a: "1"\n'),
    manifest.text,
  )
  const files = await expectStatus(fixture.put('/editor/resources?format=json', about(configMaps, 'charts')), 200)
  t.deepEqual(
    files.json.resources.map(({ filename, key }: Record<string, string>) => [filename, key]),
    [['config_map.json', 'configMap']],
  )
  // The object itself, not a wrapper around it.
  t.is(JSON.parse(files.json.resources[0].data).kind, 'ConfigMap')
  const yaml = await expectStatus(fixture.put('/editor/model?format=yaml', about(configMaps, 'charts')), 200)
  t.true(yaml.text.includes('resources:\n  configMap:\n    apiVersion: v1\n'))
})

withHelm.serial('a failure names the object, and no other value', async (t) => {
  const message = 'ConfigMap "tide-tables" is invalid: data[depths]: Invalid value: "unfathomable": must be known'
  const undo = fixture.api.rules.fail(
    { verb: ['create', 'patch'], resource: 'configmaps', name: 'tide-tables' },
    422,
    'Invalid',
    message,
  )
  const undoCreate = fixture.api.rules.fail(
    { verb: 'create', resource: 'configmaps', namespace: 'shop' },
    422,
    'Invalid',
    message,
  )
  const task = await fixture
    .as(fixture.owner)
    .done('PUT', '/editor', modelOf('tide-tables', { depths: 'unfathomable' }))
  undo()
  undoCreate()
  t.is(task.state, 'failed')
  t.regex(task.error ?? '', /ConfigMap "tide-tables" is invalid: data\[depths\]: Invalid value: "\*\*\*"/)
  t.false(JSON.stringify(task).includes('unfathomable'))
})

withHelm.serial('a removal is described in three ways', async (t) => {
  const client = fixture.as(fixture.owner)
  const ways: readonly (readonly [string, string, unknown?])[] = [
    ['way-a', '/editor', { group: 'core', version: 'v1', name: 'configmaps', releaseName: 'way-a', namespace: 'shop' }],
    ['way-b', '/editor/', about(configMaps, 'way-b')],
    ['way-c', '/editor?releaseName=way-c&namespace=shop&group=&version=v1&name=configmaps'],
  ]
  for (const [name, path, body] of ways) {
    await applied(name, { a: '1' })
    const removed = await client.done('DELETE', path, body)
    t.is(removed.state, 'succeeded', `${name}: ${removed.message} ${removed.error}`)
    t.is(dataOf(name), undefined)
  }
})

withHelm.serial('the editor removes only its own objects', async (t) => {
  const client = fixture.as(fixture.owner)
  const other = await client.done('POST', '/v3/releases', {
    ...chartSource(fixture.charts, 'minimal'),
    releaseName: 'plain',
    namespace: 'shop',
  })
  t.is(other.state, 'succeeded', `${other.message} ${other.error}`)
  await applied('kept', { a: '1' })
  const refusals: readonly (readonly [object, number, string])[] = [
    [about(configMaps, 'plain'), 422, 'ModelRefused'],
    [about(deployments, 'kept'), 422, 'ModelRefused'],
    [about(configMaps, 'nowhere'), 404, 'ReleaseMissing'],
    [{ releaseName: 'kept', namespace: 'shop' }, 422, 'ModelRefused'],
    [{}, 422, 'ModelRefused'],
    [{ metadata: 'kept' }, 422, 'InvalidBody'],
    [{ name: 'configmaps', releaseName: '-x' }, 422, 'ModelRefused'],
    [{ name: ['configmaps'], releaseName: 'kept' }, 422, 'InvalidBody'],
  ]
  for (const [body, status, code] of refusals) {
    const answer = await client.send('DELETE', '/editor', body)
    t.deepEqual([answer.status, answer.json.code], [status, code], JSON.stringify(body))
  }
  const over = await fixture.put('/editor', modelOf('plain', { a: '1' }))
  t.deepEqual([over.status, over.json.code], [409, 'ReleaseNameTaken'])
  t.deepEqual([records('plain'), records('kept')], [['1 deployed'], ['1 deployed']])
})

withHelm.serial('bodies that cannot be applied are refused before a task is made', async (t) => {
  await applied('firm', { a: '1' })
  const tasks = async (): Promise<number> =>
    Number(
      (await expectStatus(fixture.service.send('GET', '/api/v1/tasks', { token: fixture.owner.token }), 200)).headers[
        'x-total-count'
      ],
    )
  const before = await tasks()
  const refusals: readonly (readonly [unknown, number, string])[] = [
    [{}, 422, 'ModelRefused'],
    [{ ...about(configMaps, 'firm'), resources: { secret: {} } }, 422, 'ModelRefused'],
    [{ ...about(configMaps, 'firm'), resources: 7 }, 422, 'ModelRefused'],
    [about(configMaps, 'firm'), 422, 'ModelRefused'],
    [{ ...about({ ...configMaps, name: 'sextants' }, 'firm'), resources: {} }, 422, 'EditorMissing'],
    [{ ...about(configMaps, 'firm'), patch: {} }, 422, 'InvalidBody'],
    [{ ...about(configMaps, 'firm'), patch: [{ op: 'launch', path: '/resources' }] }, 422, 'PatchRefused'],
    [
      { ...about(configMaps, 'firm'), patch: [{ op: 'replace', path: '/nowhere/at/all', value: 1 }] },
      422,
      'PatchRefused',
    ],
    [{ ...about(configMaps, 'firm'), patch: [{ op: 'replace', path: '', value: 7 }] }, 422, 'ModelRefused'],
    [
      { ...about(configMaps, 'firm'), patch: [{ op: 'add', path: '/resources/secret', value: { kind: 'Secret' } }] },
      422,
      'ModelRefused',
    ],
    [{ ...about(configMaps, 'absent'), patch: [] }, 404, 'ReleaseMissing'],
  ]
  for (const [body, status, code] of refusals) {
    const answer = await fixture.put('/editor', body)
    t.deepEqual([answer.status, answer.json.code], [status, code], `${JSON.stringify(body)} ${answer.text}`)
  }
  for (const query of ['wait=perhaps', 'timeout=0', 'timeout=-5', 'timeout=1e9', 'installCRDs=2'])
    t.is((await fixture.put(`/editor?${query}`, modelOf('firm', {}))).status, 400, query)
  const misnamed = await fixture.put('/editor?response-id=a.b', modelOf('firm', {}))
  t.deepEqual([misnamed.status, misnamed.json.code], [400, 'InvalidQuery'])
  t.regex(misnamed.json.message, /response-id/)
  t.is(await tasks(), before)
  t.deepEqual(records('firm'), ['1 deployed'])
})

withHelm.serial('a response-id makes a repetition the same task', async (t) => {
  const id = randomUUID()
  const first = await expectStatus(fixture.put(`/editor?response-id=${id}`, modelOf('echo', { a: '1' })), 200)
  const again = await expectStatus(fixture.put(`/editor?response-id=${id}`, modelOf('echo', { a: '1' })), 200)
  t.deepEqual(again.json, first.json)
  t.true(first.json.subject.endsWith(id))
  t.is((await fixture.as(fixture.owner).follow(first.json.id)).state, 'succeeded')
  t.deepEqual(records('echo'), ['1 deployed'])
  t.is((await fixture.put(`/editor?response-id=${id}`, modelOf('echo', { a: '2' }))).status, 422)
})

withHelm.serial('the cluster sees the caller alone, in the request and in the task', async (t) => {
  const before = fixture.api.calls.length
  const task = await fixture.as(fixture.member).done('PUT', '/editor', modelOf('mine', { a: '1' }))
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  await expectStatus(fixture.put('/editor/model', about(configMaps, 'mine'), fixture.member), 200)
  t.deepEqual([...new Set(fixture.api.calls.slice(before).map(({ user }) => user))], [userOf(fixture.member)])
})

withHelm.serial('an object that the caller may not read is named, and its content is nowhere', async (t) => {
  await applied('shy', { word: 'halyard-7731' })
  const allow = fixture.api.rules.forbid({
    user: userOf(fixture.member),
    verb: 'get',
    resource: 'configmaps',
    name: 'shy',
  })
  const model = await expectStatus(fixture.put('/editor/model', about(configMaps, 'shy'), fixture.member), 200)
  const missing = {
    key: 'configMap',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'shop',
    name: 'shy',
    reason: 'forbidden',
  }
  t.deepEqual([model.json.resources, model.json.missing], [{}, [missing]])
  const manifest = await expectStatus(fixture.put('/editor/manifest', about(configMaps, 'shy'), fixture.member), 200)
  t.is(manifest.text, '# Not shown to you: v1 ConfigMap shop/shy\n')
  const files = await expectStatus(fixture.put('/editor/resources', about(configMaps, 'shy'), fixture.member), 200)
  t.deepEqual(files.json, { crds: [], resources: [], missing: [missing] })
  for (const { text } of [model, manifest, files]) t.false(text.includes('halyard'))
  // A patch would take away what it does not see.
  t.is((await fixture.put('/editor', { ...about(configMaps, 'shy'), patch: [] }, fixture.member)).status, 403)
  allow()
  fixture.api.remove(fixture.api.find('v1', 'ConfigMap', 'shop', 'shy')!)
  const gone = await expectStatus(fixture.put('/editor/model', about(configMaps, 'shy'), fixture.member), 200)
  t.is(gone.json.missing[0].reason, 'not-found')
})

withHelm.serial('a caller who may not read the records gets a message', async (t) => {
  await applied('sealed', { a: '1' })
  const allow = fixture.api.rules.forbid({ user: userOf(fixture.member), resource: 'secrets' })
  for (const path of ['/editor/model', '/editor/manifest', '/editor/resources'])
    t.is((await fixture.put(path, about(configMaps, 'sealed'), fixture.member)).status, 403, path)
  t.is((await fixture.as(fixture.member).send('DELETE', '/editor', about(configMaps, 'sealed'))).status, 403)
  allow()
  t.deepEqual(records('sealed'), ['1 deployed'])
})

withHelm.serial('outsiders, and who may only look, change and see nothing', async (t) => {
  await applied('walled', { a: '1' })
  const before = fixture.api.calls.length
  const requests: readonly (readonly [string, string])[] = [
    ['PUT', '/editor'],
    ['DELETE', '/editor'],
    ['PUT', '/editor/model'],
    ['PUT', '/editor/manifest'],
    ['PUT', '/editor/resources'],
  ]
  for (const [method, path] of requests) {
    t.is((await fixture.as(fixture.viewer).send(method, path, modelOf('walled', {}))).status, 403, path)
    t.is((await fixture.as(fixture.stranger).send(method, path, modelOf('walled', {}))).status, 404, path)
    t.is(
      (
        await fixture.service.send(method, `/api/v1/clusters/${fixture.org}/prod/helm${path}`, {
          body: modelOf('walled', {}),
        })
      ).status,
      401,
      path,
    )
  }
  const reading = { ...fixture.owner, token: await fixture.service.tokenFor(fixture.owner.login, ['read:cluster']) }
  t.is((await fixture.put('/editor', modelOf('walled', {}), reading)).status, 403)
  t.is((await fixture.as(reading).send('DELETE', '/editor', about(configMaps, 'walled'))).status, 403)
  t.is(fixture.api.calls.length, before)
  await expectStatus(fixture.put('/editor/model', about(configMaps, 'walled'), reading), 200)
})

withHelm.serial("another organization's cluster of the same name has nothing of it", async (t) => {
  await applied('ours', { a: '1' })
  const twin = await startFakeApi()
  t.teardown(() => twin.stop())
  twin.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await expectStatus(
    importCluster(fixture.service.send, fixture.stranger.token, fixture.otherOrg, 'prod', twin.kubeconfig(), {
      impersonateUsers: true,
    }),
    200,
  )
  const theirs = packageClient(fixture.service.send, fixture.stranger.token, `${fixture.otherOrg}/prod`)
  t.is((await theirs.send('PUT', '/editor/model', about(configMaps, 'ours'))).status, 404)
  t.is((await theirs.send('DELETE', '/editor', about(configMaps, 'ours'))).status, 404)
  const made = await theirs.done('PUT', '/editor', modelOf('ours', { a: 'theirs' }))
  t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
  t.deepEqual([dataOf('ours'), twin.find('v1', 'ConfigMap', 'shop', 'ours')?.['data']], [{ a: '1' }, { a: 'theirs' }])
  t.is((await fixture.service.send('GET', `/api/v1/tasks/${made.id}`, { token: fixture.owner.token })).status, 404)
})

const editorChart = chartOf(
  'editor',
  { metadata: { resource: configMaps }, resources: { configMap: { apiVersion: 'v1', kind: 'ConfigMap' } } },
  { 'meta.x-helm.dev/editor': '{"group":"","version":"v1","resource":"configmaps"}' },
)
const source = { apiGroup: '', kind: 'Embed', namespace: '', name: 'editors' }
const editor: ResourceEditor = {
  resource: configMaps,
  options: undefined,
  editor: { name: 'editor', version: '', source },
  instanceLabelPaths: [],
  origin: 'built-in',
}
const ref = {
  namespace: 'shop',
  name: 'web',
  version: 1,
  status: 'deployed',
  objectName: 'x',
  uid: 'u',
  resourceVersion: '1',
}
const release = {
  name: 'web',
  namespace: 'shop',
  version: 1,
  info: { status: 'deployed' },
  chart: {},
  manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n',
}

/** A cluster that hides the object, and what it was asked to do. */
const stage = (changes: Partial<Record<keyof ApplyEditorTaskDeps, unknown>> = {}) => {
  const asked: string[] = []
  const cluster = {
    request: ({ method, target }: { method: string; target: string }) => {
      asked.push(`${method} ${target}`)
      const isList = target === '/api/v1'
      return Promise.resolve(
        right({
          status: isList ? 200 : 403,
          json: isList ? { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] } : {},
          text: '',
        }),
      )
    },
  } as unknown as MemberCluster
  const never = new Proxy(
    {},
    {
      get: (_, name) => () => {
        throw new Error(`helm was asked to ${String(name)}`)
      },
    },
  )
  const deps = {
    helm: never,
    chartTexts,
    patches: fastJsonPatches,
    editorCatalog: { find: () => Promise.resolve(right(editor)) },
    chartSource: {
      fetch: () => Promise.resolve(right({ chart: editorChart, ref: editor.editor, digest: '', size: 1 })),
    },
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
  ({
    input: input as FreeObject,
    progress: { say: () => undefined, step: () => ({ say: () => undefined, done: () => undefined, failed }) },
    signal: new AbortController().signal,
    task: { about: { revision: '1' } },
  }) as unknown as TaskRun

const input = { release: { name: 'web', namespace: 'shop' }, model: about(configMaps, 'web'), flags: { install: true } }

test('a right lost before the start ends both tasks without a request', async (t) => {
  const held = heldCluster()
  await held.minute('denied')
  const { deps, asked } = stage({ clusterTasks: held.deps.clusterTasks })
  for (const kind of [applyEditorKind(deps), deleteEditorKind(deps)]) {
    t.deepEqual(await kind.run(held.run(input as unknown as FreeObject)), {
      state: 'failed',
      message: 'Nothing was changed.',
      error: 'You may no longer connect to this cluster.',
    })
  }
  t.deepEqual(asked, [])
})

test('a patch is not applied once an object that it must keep is hidden', async (t) => {
  const { deps } = stage()
  const steps: string[] = []
  const end = await applyEditorKind(deps).run(
    runOf({ ...input, patch: [{ op: 'add', path: '/resources/x', value: {} }] }, (text) => void steps.push(text)),
  )
  t.deepEqual([end.state, end.message], ['failed', 'Nothing was changed.'])
  t.regex(end.error ?? '', /does not let you read ConfigMap web/)
  t.deepEqual(steps, ['The model could not be prepared.'])
})

test('a model that the editor of this moment does not take is not applied', async (t) => {
  const { deps } = stage()
  const end = await applyEditorKind(deps).run(
    runOf({ ...input, model: { ...about(configMaps, 'web'), resources: { service: {} } } }),
  )
  t.deepEqual([end.state, end.message], ['failed', 'Nothing was changed.'])
  t.regex(end.error ?? '', /resources\.service/)
})

/** A service that may use no helm, and a release that an editor made before. */
const openFixture = async (t: { teardown(end: () => Promise<void>): void }) => {
  const [api, service] = await Promise.all([startFakeApi(), startService({ settings: { MOORAGE_HELM: 'off' } })])
  t.teardown(async () => {
    await service.stop()
    await api.stop()
  })
  const manifest = '---\n# Source: a/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tides\n'
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  api.put(await recordObject('Secret', { name: 'tides', namespace: 'shop', version: 1, manifest }))
  api.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'tides', namespace: 'shop' },
    data: { high: '4.1' },
  })
  await expectStatus(importCluster(service.send, service.adminToken, 'admin', 'prod', api.kubeconfig()), 200)
  return packageClient(service.send, service.adminToken, 'admin/prod')
}

test('without helm installed objects are shown, and the rest is refused', async (t) => {
  const client = await openFixture(t)
  const { json } = await expectStatus(client.send('PUT', '/editor/model', about(configMaps, 'tides')), 200)
  t.deepEqual(json.resources.configMap.data, { high: '4.1' })
  await expectStatus(client.send('PUT', '/editor/manifest', about(configMaps, 'tides')), 200)
  await expectStatus(client.send('PUT', '/editor/resources', about(configMaps, 'tides')), 200)
  const model = { ...about(configMaps, 'new'), resources: { configMap: {} } }
  for (const path of ['/options/model', '/options/manifest', '/options/resources', '/editor']) {
    const refused = await client.send('PUT', path, model)
    t.deepEqual([refused.status, refused.json.code], [500, 'HelmMissing'], `${path} ${refused.text}`)
    t.regex(refused.json.message, /helm/)
  }
})
