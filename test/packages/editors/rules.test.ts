import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import {
  clusterAppReleases,
  editorName,
  makeClusterEditorCatalog,
} from '../../../adapters/charts/editors/editor-catalog.ts'
import { builtInEditors, embeddedEditorCharts } from '../../../adapters/charts/editors/embedded-editors.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { objectPath } from '../../../core/packages/editors/api-resources.ts'
import { readEditorChart, withoutDefaults, readSubject } from '../../../core/packages/editors/editor-charts.ts'
import {
  crdFiles,
  crdFilesOf,
  documentsText,
  parseManifest,
  renderedText,
  resourceFiles,
  resourceKey,
} from '../../../core/packages/editors/manifests.ts'
import { YamlAnswer } from '../../../plugins/kit/reply.ts'
import { modelAnswer, printerOf, removalSubject, toModel } from '../../../plugins/packages/editors/codecs.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts } from '../texts.ts'
import { chartOf } from './charts.ts'
import { refusalOf } from './refusal.ts'
import { anyText } from '../../support/any-text.ts'

const hook = (name: string, ...events: readonly string[]): FreeObject => ({
  name,
  path: `c/templates/${name}.yaml`,
  manifest: `kind: Job\nmetadata: {name: ${name}}\napiVersion: batch/v1`,
  events,
})
const manifest = `---
# Source: c/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
---
# Source: c/templates/list.yaml
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: b, namespace: other}
`

test('a rendering as text: hooks before, manifests, hooks after', async (t) => {
  const text = renderedText({
    manifest,
    hooks: [hook('late', 'post-install'), hook('early', 'pre-install', 'pre-upgrade'), hook('never', 'test')],
    notes: '',
    release: undefined,
  })
  t.deepEqual(
    [...text.matchAll(/# Source: (\S+)/g)].map(([, path]) => path),
    ['c/templates/early.yaml', 'c/templates/a.yaml', 'c/templates/list.yaml', 'c/templates/late.yaml'],
  )
  t.deepEqual(
    unwrap(await parseManifest(chartTexts, text)).map(({ kind, name, namespace }) => [kind, name, namespace]),
    [
      ['Job', 'early', ''],
      ['ConfigMap', 'a', ''],
      ['Secret', 'b', 'other'],
      ['Job', 'late', ''],
    ],
  )
  t.is(renderedText({ manifest: '', hooks: [], notes: '', release: undefined }), '')
})

test('a value that is not a Kubernetes object is reported', async (t) => {
  t.is(refusalOf(await parseManifest(chartTexts, 'a: [')).tag, 'EditorUnfit')
  t.is(refusalOf(await parseManifest(chartTexts, 'apiVersion: v1\nkind: Pod\nmetadata: {}\n')).tag, 'EditorUnfit')
  t.deepEqual(unwrap(await parseManifest(chartTexts, '# nothing\n---\n')), [])
})

test('files of objects: sorted, named, keyed, printed', async (t) => {
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  t.deepEqual(await resourceFiles(objects, 'a', printerOf('json', chartTexts)), [
    {
      filename: 'config_map.json',
      key: 'configMap',
      data: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
    },
    {
      filename: 'secret.json',
      key: 'secret_b',
      data: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b","namespace":"other"}}',
    },
  ])
  t.deepEqual(
    (await resourceFiles(objects, 'a', printerOf('anything', chartTexts))).map(({ filename }) => filename),
    ['config_map.yaml', 'secret.yaml'],
  )
})

test('files do not depend on the order of the objects', async (t) => {
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  const more = [
    ...objects,
    ...objects.map((each) => ({ ...each, name: `${each.name}-2`, body: { ...each.body, n: 2 } })),
  ]
  const files = await resourceFiles(more, 'a', printerOf('json', chartTexts))
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(more, { minLength: more.length }),
      async (shuffled) => void t.deepEqual(await resourceFiles(shuffled, 'a', printerOf('json', chartTexts)), files),
    ),
  )
})

test('definitions come from the folder crds of a chart and its subcharts', async (t) => {
  const chart = chartOf(
    'c',
    {},
    {},
    {
      'crds/b.yaml': 'b',
      'crds/deep/a.yml': 'a',
      'charts/sub/crds/c.json': 'c',
      'crds/README.md': 'no',
      'templates/crds/d.yaml': 'no',
      'charts/sub/templates/e.yaml': 'no',
    },
  )
  t.deepEqual(
    crdFilesOf(chart).map(({ path }) => path),
    ['charts/sub/crds/c.json', 'crds/b.yaml', 'crds/deep/a.yml'],
  )
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  t.deepEqual(
    (await crdFiles([{ path: 'crds/x.y.yaml', objects }], printerOf('yaml', chartTexts))).map(({ filename, key }) => [
      filename,
      key,
    ]),
    [
      ['x.y.yaml', undefined],
      ['x.y_2.yaml', undefined],
    ],
  )
})

test('a chart goes to helm without its defaults, and with everything else', (t) => {
  const chart = chartOf('c', { a: 1 }, {}, { 'templates/a.yaml': 'x', 'charts/sub/values.yaml': 'kept: 1' })
  const bare = withoutDefaults(chart)
  t.deepEqual([bare.values, [...bare.files.keys()]], [{}, ['templates/a.yaml', 'charts/sub/values.yaml']])
  t.true(chart.files.has('values.yaml'))
})

test('documents of one text have comments for missing ones', async (t) => {
  const [first] = unwrap(await parseManifest(chartTexts, manifest))
  const missing = {
    apiVersion: 'v1',
    kind: 'Secret',
    namespace: 'shop',
    name: 'x\n---\nkind: Pod',
    reason: 'not-found',
  } as const
  const text = await documentsText([first!], [missing, { ...missing, name: 'y', reason: 'forbidden' }], chartTexts)
  t.is(
    text,
    '# Not in the cluster: v1 Secret shop/x?---?kind: Pod\n# Not shown to you: v1 Secret shop/y\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n',
  )
})

test('a model names its object', (t) => {
  const model = {
    metadata: { resource: { group: 'core', version: 'v1', name: 'pods', kind: null }, release: { name: 'web' } },
  }
  t.deepEqual(unwrap(readSubject(model)), {
    resource: { group: '', version: 'v1', name: 'pods', kind: '', scope: '' },
    release: { name: 'web', namespace: 'default' },
  })
  t.deepEqual(refusalOf(readSubject({ metadata: { resource: {}, release: {} } })).errors, [
    'metadata.release.name: a release name is expected',
  ])
  t.deepEqual(refusalOf(readSubject({ metadata: { resource: {}, release: { name: 'a' } } })).errors, [
    'metadata.resource: the name (plural) or the kind is needed',
  ])
})

test('for any request, the result is valid in a path of the cluster', (t) => {
  const part = fc.oneof(
    anyText({ maxLength: 30 }),
    fc.constantFrom('v1', 'apps', 'pods', '..', '.', 'a/b', '%2e%2e', 'web', 'x'.repeat(300), 'shop'),
  )
  const resource = fc.record({ group: part, version: part, name: part, kind: part, scope: part }, { requiredKeys: [] })
  fc.assert(
    fc.property(
      fc.oneof(resource, fc.anything()),
      fc.oneof(fc.record({ name: part, namespace: part }), fc.anything()),
      (named, release) => {
        const read = readSubject({ metadata: { resource: named, release } } as never)
        if (read._tag === 'Left') return (read.left.errors ?? []).length > 0
        const { resource: of, release: on } = read.right
        return (
          [of.group, of.version, of.name, of.kind, on.name, on.namespace].every(
            (text) => /^[A-Za-z0-9.-]*$/.test(text) && !text.includes('..'),
          ) &&
          on.name.length <= 53 &&
          on.namespace !== ''
        )
      },
    ),
    { numRuns: 2000 },
  )
  t.pass()
})

test('paths of objects lead to objects of that kind and namespace alone', (t) => {
  const pods = { plural: 'pods', kind: 'Pod', isNamespaced: true }
  t.is(objectPath('v1', pods, 'shop', 'web'), '/api/v1/namespaces/shop/pods/web')
  t.is(objectPath('apps/v1', { ...pods, isNamespaced: false }, 'shop', 'system:web'), '/apis/apps/v1/pods/system%3Aweb')
  t.is(objectPath('v1', pods, 'shop'), '/api/v1/namespaces/shop/pods')
  for (const [apiVersion, namespace, name] of [
    ['../v1', 'shop', 'a'],
    ['v1', '..', 'a'],
    ['v1', 'shop', '..'],
    ['v1', 'shop', 'a/b'],
    ['v1', 'shop', 'a?b'],
    ['v1/../..', 'shop', 'a'],
    ['v1', '', 'a'],
    ['v1', 'shop', ''],
  ] as const) {
    t.is(objectPath(apiVersion, pods, namespace, name), undefined, `${apiVersion} ${namespace} ${name}`)
  }
  const text = anyText({ maxLength: 20 })
  fc.assert(
    fc.property(text, text, text, (apiVersion, namespace, name) =>
      /^(\/[A-Za-z0-9._-]+|%3A)+$/.test((objectPath(apiVersion, pods, namespace, name) ?? '/x').replaceAll('%3A', '')),
    ),
  )
})

test('on the wire', async (t) => {
  t.deepEqual(toModel({ a: Object(1), b: [Object(2), { c: Object(3) }] } as never), { a: 1, b: [2, { c: 3 }] })
  t.true((await modelAnswer({ a: 1 }, 'yaml', chartTexts)) instanceof YamlAnswer)
  for (const format of [undefined, 'json', 'xml', ''])
    t.deepEqual(await modelAnswer({ a: 1 }, format, chartTexts), { a: 1 })
  const flat = {
    metadata: undefined,
    group: 'apps',
    version: 'v1',
    name: 'deployments',
    kind: undefined,
    scope: undefined,
    releaseName: 'web',
    namespace: 'shop',
  }
  const nested = {
    metadata: {
      resource: { group: 'apps', version: 'v1', name: 'deployments' },
      release: { name: 'web', namespace: 'shop' },
    },
  }
  t.deepEqual(removalSubject(flat), nested)
  const none = {
    group: undefined,
    version: undefined,
    name: undefined,
    kind: undefined,
    scope: undefined,
    releaseName: undefined,
    namespace: undefined,
  }
  t.deepEqual(removalSubject({ ...none, ...nested }), nested)
  t.deepEqual(removalSubject({ ...none, metadata: { resource: 7, release: [] } }), {
    metadata: { resource: {}, release: {} },
  })
})

test('a patch that multiplies a long text is refused', (t) => {
  const document = { resources: { configMap: { data: { text: 'x'.repeat(200_000) } } } }
  const copies = Array.from({ length: 1000 }, (_, n) => ({ op: 'copy', from: '/resources/configMap', path: `/c${n}` }))
  t.regex(refusalOf(fastJsonPatches.apply(document, copies)).message, /copy too much/)
  const few = unwrap(fastJsonPatches.apply(document, copies.slice(0, 3))) as FreeObject
  t.deepEqual(Object.keys(few), ['resources', 'c0', 'c1', 'c2'])
})

test('a move is a removal and an addition, in that order', (t) => {
  const moved = (document: unknown, from: string, path: string): unknown =>
    unwrap(fastJsonPatches.apply(document as never, [{ op: 'move', from, path }]))
  t.deepEqual(moved({ l: [1, 2, 3] }, '/l/0', '/l/2'), { l: [2, 3, 1] })
  t.deepEqual(moved({ l: [1, 2, 3] }, '/l/2', '/l/0'), { l: [3, 1, 2] })
  t.deepEqual(moved({ a: null, b: {} }, '/a', '/b/a'), { b: { a: null } })
  t.deepEqual(moved({ a: { b: false } }, '/a/b', '/a'), { a: false })
  t.deepEqual(moved({ a: 1 }, '/a', '/a'), { a: 1 })
  t.deepEqual(moved({ a: { b: 1 } }, '/a', ''), { b: 1 })
  // What the removal takes away is no place for the addition.
  t.is(refusalOf(fastJsonPatches.apply({ l: [1] }, [{ op: 'move', from: '/l/0', path: '/l/1' }])).tag, 'PatchRefused')
})

test('more objects than an editor deals with, and impossible names, end soon', async (t) => {
  const many = Array.from({ length: 2001 }, (_, n) => `---\napiVersion: v1\nkind: Pod\nmetadata: {name: p${n}}\n`).join(
    '',
  )
  t.regex(refusalOf(await parseManifest(chartTexts, many)).message, /2001 objects/)
  const long = {
    apiVersion: `${'a'.repeat(1_000_000)}.io/v1`,
    kind: 'K'.repeat(1_000_000),
    name: `${'-'.repeat(1_000_000)}x`,
  }
  t.true(resourceKey(long, 'web').length < 2000)
  t.is(objectPath(long.apiVersion, { plural: 'pods', kind: 'Pod', isNamespaced: true }, 'shop', long.name), undefined)
})

const { signal } = new AbortController()
/** A cluster that answers the same to everything. */
const answering = (status: number, json: unknown = {}, asked: string[] = []): MemberCluster =>
  ({
    request: ({ target }: { target: string }) => {
      asked.push(target)
      return Promise.resolve(status === 0 ? left(ClusterUnreachable('gone')) : right({ status, json, text: '' }))
    },
  }) as unknown as MemberCluster

const deployments = { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' }
const catalog = makeClusterEditorCatalog(builtInEditors)
const editorOf = (spec: unknown): unknown => ({
  apiVersion: 'ui.k8s.appscode.com/v1alpha1',
  kind: 'ResourceEditor',
  metadata: { name: 'apps-v1-deployments' },
  spec,
})

test('editors are named for group, version and plural', (t) => {
  t.deepEqual(
    [editorName(deployments), editorName({ ...deployments, group: '', name: 'pods' })],
    ['apps-v1-deployments', 'core-v1-pods'],
  )
})

test("the cluster's editor is filled up by the built-in one", async (t) => {
  const own = editorOf({
    resource: { version: 'v1', name: 'deployments', group: null },
    ui: { editor: { name: 'mine', sourceRef: { name: 'charts', namespace: 'flux' } }, options: null },
  })
  const asked: string[] = []
  const found = unwrap(await catalog.find(answering(200, own, asked), deployments, signal))
  t.deepEqual(asked, ['/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors/apps-v1-deployments'])
  t.deepEqual(
    [found.origin, found.resource, found.editor],
    [
      'cluster',
      deployments,
      { name: 'mine', version: '', source: { apiGroup: '', kind: '', namespace: 'flux', name: 'charts' } },
    ],
  )
  t.is(found.options?.name, 'apps-deployment-options')
  t.deepEqual(found.instanceLabelPaths, [
    ['spec', 'selector', 'matchLabels'],
    ['spec', 'template', 'metadata', 'labels'],
  ])
})

test('without one of the cluster the built-in one counts, also for who may not look', async (t) => {
  for (const status of [403, 404])
    t.is(unwrap(await catalog.find(answering(status), deployments, signal)).origin, 'built-in')
  for (const status of [403, 404])
    t.is(
      refusalOf(await catalog.find(answering(status), { ...deployments, name: 'sextants' }, signal)).tag,
      'EditorMissing',
    )
})

test('an unreachable cluster, and an object of another shape, are reported', async (t) => {
  t.is(refusalOf(await catalog.find(answering(0), deployments, signal)).tag, 'ClusterUnreachable')
  t.is(refusalOf(await catalog.find(answering(500), deployments, signal)).tag, 'ClusterUnreachable')
  for (const spec of [
    undefined,
    7,
    {},
    { resource: { name: 'x' } },
    { resource: deployments, ui: { editor: { version: '1' } } },
    { resource: deployments, ui: { instanceLabelPaths: [7] } },
  ])
    t.is(
      refusalOf(await catalog.find(answering(200, editorOf(spec)), deployments, signal)).tag,
      'EditorMissing',
      JSON.stringify(spec),
    )
})

test("another program's record is bound to the release", async (t) => {
  const release = { name: 'web', namespace: 'shop' }
  const asked: string[] = []
  const of = (spec: unknown) => clusterAppReleases.find(answering(200, { spec }, asked), release, signal)
  const whole = unwrap(
    await of({
      release: { form: { a: 1 } },
      components: [
        { group: 'apps', version: 'v1', kind: 'Deployment' },
        { version: 'v1', kind: 'Secret' },
      ],
      resourceKeys: ['appsDeployment'],
      formKeys: [],
      selector: {
        matchLabels: { 'app.kubernetes.io/instance': 'everybody', tier: 'web' },
        matchExpressions: [
          { key: 'a', operator: 'In', values: ['b', 'c'] },
          { key: 'd', operator: 'DoesNotExist' },
        ],
      },
    }),
  )
  t.deepEqual(asked, ['/apis/drivers.x-helm.dev/v1alpha1/namespaces/shop/appreleases/web'])
  t.is(whole?.selector, 'app.kubernetes.io/instance=web,tier=web,a in (b,c),!d')
  t.deepEqual(
    [whole?.components[1], whole?.form, [...(whole?.resourceKeys ?? [])]],
    [{ group: '', version: 'v1', kind: 'Secret' }, { a: 1 }, ['appsDeployment']],
  )
  t.is(unwrap(await of({ release: {} }))?.selector, 'app.kubernetes.io/instance=web')
  t.is(
    unwrap(await of({ release: {}, selector: { matchExpressions: [{ key: 'a', operator: 'toString' }] } })),
    undefined,
  )
  t.is(unwrap(await of(7)), undefined)
  for (const status of [403, 404])
    t.is(unwrap(await clusterAppReleases.find(answering(status), release, signal)), undefined)
  t.is(refusalOf(await clusterAppReleases.find(answering(500), release, signal)).tag, 'ClusterUnreachable')
})

test('every built-in editor has its charts, and they fit each other', (t) => {
  for (const { resource, options, editor } of builtInEditors) {
    const [optionsChart, editorChart] = [options, editor].map((ref) =>
      embeddedEditorCharts.find(({ name, version }) => name === ref?.name && version === ref.version),
    )
    t.truthy(optionsChart)
    t.truthy(editorChart)
    const metadata = unwrap(kubernetesYamlText.parse(editorChart!.files['Chart.yaml']!)) as {
      annotations: Record<string, string>
    }
    const values = unwrap(kubernetesYamlText.parse(editorChart!.files['values.yaml']!)) as FreeObject
    const facts = unwrap(readEditorChart(chartOf(editorChart!.name, values, metadata.annotations)))
    t.deepEqual(facts.resource, { ...resource })
    t.deepEqual([...facts.resourceKeys].toSorted(), [...facts.defaults.keys()].toSorted())
    t.deepEqual(JSON.parse(metadata.annotations['meta.x-helm.dev/editor']!), {
      group: resource.group,
      version: resource.version,
      resource: resource.name,
    })
    t.deepEqual(
      (unwrap(kubernetesYamlText.parse(optionsChart!.files['values.yaml']!)) as { metadata: { resource: unknown } })
        .metadata.resource,
      { ...resource },
    )
  }
})
