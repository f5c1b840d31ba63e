import test from 'ava'
import fc from 'fast-check'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { withoutDefaults } from '../../../core/packages/editors/editor-charts.ts'
import { objectPath } from '../../../core/packages/editors/api-resources.ts'
import { parseManifest, renderedText, crdFiles, crdFilesOf, documentsText, resourceFiles } from '../../../core/packages/editors/manifests.ts'
import { resourceKey } from '../../../core/packages/editors/resource-keys.ts'
import { readSubject } from '../../../core/packages/editors/subjects.ts'
import { modelAnswer, printerOf, removalSubject, toModel } from '../../../plugins/packages/editors/editor-wire.ts'
import { YamlAnswer } from '../../../plugins/kit/reply.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts } from '../texts.ts'
import { chartOf } from './charts.ts'
import { refusalOf } from './refusal.ts'

const hook = (name: string, ...events: readonly string[]): FreeObject => ({ name, path: `c/templates/${name}.yaml`, manifest: `kind: Job\nmetadata: {name: ${name}}\napiVersion: batch/v1`, events })
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
  const text = renderedText({ manifest, hooks: [hook('late', 'post-install'), hook('early', 'pre-install', 'pre-upgrade'), hook('never', 'test')], notes: '', release: undefined })
  t.deepEqual([...text.matchAll(/# Source: (\S+)/g)].map(([, path]) => path), ['c/templates/early.yaml', 'c/templates/a.yaml', 'c/templates/list.yaml', 'c/templates/late.yaml'])
  t.deepEqual(unwrap(await parseManifest(chartTexts, text)).map(({ kind, name, namespace }) => [kind, name, namespace]), [['Job', 'early', ''], ['ConfigMap', 'a', ''], ['Secret', 'b', 'other'], ['Job', 'late', '']])
  t.is(renderedText({ manifest: '', hooks: [], notes: '', release: undefined }), '')
})

test('what is not an object of Kubernetes is reported', async (t) => {
  t.is(refusalOf(await parseManifest(chartTexts, 'a: [')).tag, 'EditorUnfit')
  t.is(refusalOf(await parseManifest(chartTexts, 'apiVersion: v1\nkind: Pod\nmetadata: {}\n')).tag, 'EditorUnfit')
  t.deepEqual(unwrap(await parseManifest(chartTexts, '# nothing\n---\n')), [])
})

test('files of objects: sorted, named, keyed, printed', async (t) => {
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  t.deepEqual(await resourceFiles(objects, 'a', printerOf('json', chartTexts)), [
    { filename: 'config_map.json', key: 'configMap', data: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}' },
    { filename: 'secret.json', key: 'secret_b', data: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b","namespace":"other"}}' },
  ])
  t.deepEqual((await resourceFiles(objects, 'a', printerOf('anything', chartTexts))).map(({ filename }) => filename), ['config_map.yaml', 'secret.yaml'])
})

test('files do not depend on the order of the objects', async (t) => {
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  const more = [...objects, ...objects.map((each) => ({ ...each, name: `${each.name}-2`, body: { ...each.body, n: 2 } }))]
  const files = await resourceFiles(more, 'a', printerOf('json', chartTexts))
  await fc.assert(fc.asyncProperty(fc.shuffledSubarray(more, { minLength: more.length }), async (shuffled) => void t.deepEqual(await resourceFiles(shuffled, 'a', printerOf('json', chartTexts)), files)))
})

test('definitions come from the folder crds of a chart and its subcharts', async (t) => {
  const chart = chartOf('c', {}, {}, { 'crds/b.yaml': 'b', 'crds/deep/a.yml': 'a', 'charts/sub/crds/c.json': 'c', 'crds/README.md': 'no', 'templates/crds/d.yaml': 'no', 'charts/sub/templates/e.yaml': 'no' })
  t.deepEqual(crdFilesOf(chart).map(({ path }) => path), ['charts/sub/crds/c.json', 'crds/b.yaml', 'crds/deep/a.yml'])
  const objects = unwrap(await parseManifest(chartTexts, manifest))
  t.deepEqual((await crdFiles([{ path: 'crds/x.y.yaml', objects }], printerOf('yaml', chartTexts))).map(({ filename, key }) => [filename, key]), [['x.y.yaml', undefined], ['x.y_2.yaml', undefined]])
})

test('a chart goes to helm without its defaults, and with everything else', (t) => {
  const chart = chartOf('c', { a: 1 }, {}, { 'templates/a.yaml': 'x', 'charts/sub/values.yaml': 'kept: 1' })
  const bare = withoutDefaults(chart)
  t.deepEqual([bare.values, [...bare.files.keys()]], [{}, ['templates/a.yaml', 'charts/sub/values.yaml']])
  t.true(chart.files.has('values.yaml'))
})

test('documents of one text, with what is missing in comments of one line', async (t) => {
  const [first] = unwrap(await parseManifest(chartTexts, manifest))
  const missing = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'x\n---\nkind: Pod', reason: 'not-found' } as const
  const text = await documentsText([first!], [missing, { ...missing, name: 'y', reason: 'forbidden' }], chartTexts)
  t.is(text, '# Not in the cluster: v1 Secret shop/x?---?kind: Pod\n# Not shown to you: v1 Secret shop/y\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n')
})

test('what a model is about', (t) => {
  const model = { metadata: { resource: { group: 'core', version: 'v1', name: 'pods', kind: null }, release: { name: 'web' } } }
  t.deepEqual(unwrap(readSubject(model)), { resource: { group: '', version: 'v1', name: 'pods', kind: '', scope: '' }, release: { name: 'web', namespace: 'default' } })
  t.deepEqual(refusalOf(readSubject({ metadata: { resource: {}, release: {} } })).errors, ['metadata.release.name: a release name is expected'])
  t.deepEqual(refusalOf(readSubject({ metadata: { resource: {}, release: { name: 'a' } } })).errors, ['metadata.resource: the name (plural) or the kind is needed'])
})

test('for any request, the result is valid in a path of the cluster', (t) => {
  const part = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.constantFrom('v1', 'apps', 'pods', '..', '.', 'a/b', '%2e%2e', 'web', 'x'.repeat(300), 'shop'))
  const resource = fc.record({ group: part, version: part, name: part, kind: part, scope: part }, { requiredKeys: [] })
  fc.assert(
    fc.property(fc.oneof(resource, fc.anything()), fc.oneof(fc.record({ name: part, namespace: part }), fc.anything()), (named, release) => {
      const read = readSubject({ metadata: { resource: named, release } } as never)
      if (read._tag === 'Left') return (read.left.errors ?? []).length > 0
      const { resource: of, release: on } = read.right
      return [of.group, of.version, of.name, of.kind, on.name, on.namespace].every((text) => /^[A-Za-z0-9.-]*$/.test(text) && !text.includes('..')) && on.name.length <= 53 && on.namespace !== ''
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

test('paths of objects lead to objects of that kind and namespace alone', (t) => {
  const pods = { plural: 'pods', kind: 'Pod', isNamespaced: true }
  t.is(objectPath('v1', pods, 'shop', 'web'), '/api/v1/namespaces/shop/pods/web')
  t.is(objectPath('apps/v1', { ...pods, isNamespaced: false }, 'shop', 'system:web'), '/apis/apps/v1/pods/system%3Aweb')
  t.is(objectPath('v1', pods, 'shop'), '/api/v1/namespaces/shop/pods')
  for (const [apiVersion, namespace, name] of [['../v1', 'shop', 'a'], ['v1', '..', 'a'], ['v1', 'shop', '..'], ['v1', 'shop', 'a/b'], ['v1', 'shop', 'a?b'], ['v1/../..', 'shop', 'a'], ['v1', '', 'a'], ['v1', 'shop', '']] as const) {
    t.is(objectPath(apiVersion, pods, namespace, name), undefined, `${apiVersion} ${namespace} ${name}`)
  }
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  fc.assert(fc.property(text, text, text, (apiVersion, namespace, name) => /^(\/[A-Za-z0-9._-]+|%3A)+$/.test((objectPath(apiVersion, pods, namespace, name) ?? '/x').replaceAll('%3A', ''))))
})

test('on the wire', async (t) => {
  t.deepEqual(toModel({ a: Object(1), b: [Object(2), { c: Object(3) }] } as never), { a: 1, b: [2, { c: 3 }] })
  t.true((await modelAnswer({ a: 1 }, 'yaml', chartTexts)) instanceof YamlAnswer)
  for (const format of [undefined, 'json', 'xml', '']) t.deepEqual(await modelAnswer({ a: 1 }, format, chartTexts), { a: 1 })
  const flat = { metadata: undefined, group: 'apps', version: 'v1', name: 'deployments', kind: undefined, scope: undefined, releaseName: 'web', namespace: 'shop' }
  const nested = { metadata: { resource: { group: 'apps', version: 'v1', name: 'deployments' }, release: { name: 'web', namespace: 'shop' } } }
  t.deepEqual(removalSubject(flat), nested)
  const none = { group: undefined, version: undefined, name: undefined, kind: undefined, scope: undefined, releaseName: undefined, namespace: undefined }
  t.deepEqual(removalSubject({ ...none, ...nested }), nested)
  t.deepEqual(removalSubject({ ...none, metadata: { resource: 7, release: [] } }), { metadata: { resource: {}, release: {} } })
})

test('a patch that copies a long text over and over is refused before it weighs anything', (t) => {
  const document = { resources: { configMap: { data: { text: 'x'.repeat(200_000) } } } }
  const copies = Array.from({ length: 1000 }, (_, n) => ({ op: 'copy', from: '/resources/configMap', path: `/c${n}` }))
  t.regex(refusalOf(fastJsonPatches.apply(document, copies)).message, /copy too much/)
  const few = unwrap(fastJsonPatches.apply(document, copies.slice(0, 3))) as FreeObject
  t.deepEqual(Object.keys(few), ['resources', 'c0', 'c1', 'c2'])
})

test('a move is a removal and an addition, in that order', (t) => {
  const moved = (document: unknown, from: string, path: string): unknown => unwrap(fastJsonPatches.apply(document as never, [{ op: 'move', from, path }]))
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
  const many = Array.from({ length: 2001 }, (_, n) => `---\napiVersion: v1\nkind: Pod\nmetadata: {name: p${n}}\n`).join('')
  t.regex(refusalOf(await parseManifest(chartTexts, many)).message, /2001 objects/)
  const long = { apiVersion: `${'a'.repeat(1_000_000)}.io/v1`, kind: 'K'.repeat(1_000_000), name: `${'-'.repeat(1_000_000)}x` }
  t.true(resourceKey(long, 'web').length < 2000)
  t.is(objectPath(long.apiVersion, { plural: 'pods', kind: 'Pod', isNamespaced: true }, 'shop', long.name), undefined)
})
