import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { builtInEditors, embeddedEditorCharts } from '../../../adapters/editors/embedded-editors.ts'
import { clusterAppReleases } from '../../../adapters/editors/app-releases.ts'
import { editorName, makeClusterEditorCatalog } from '../../../adapters/editors/editor-catalog.ts'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import { ClusterUnreachable, type MemberCluster } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { readEditorChart } from '../../../core/packages/editors/editor-charts.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartOf } from './charts.ts'
import { refusalOf } from './refusal.ts'

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
const editorOf = (spec: unknown): unknown => ({ apiVersion: 'ui.k8s.appscode.com/v1alpha1', kind: 'ResourceEditor', metadata: { name: 'apps-v1-deployments' }, spec })

test('editors are named for group, version and plural', (t) => {
  t.deepEqual([editorName(deployments), editorName({ ...deployments, group: '', name: 'pods' })], ['apps-v1-deployments', 'core-v1-pods'])
})

test("the cluster's editor is filled up by the built-in one", async (t) => {
  const own = editorOf({ resource: { version: 'v1', name: 'deployments', group: null }, ui: { editor: { name: 'mine', sourceRef: { name: 'charts', namespace: 'flux' } }, options: null } })
  const asked: string[] = []
  const found = unwrap(await catalog.find(answering(200, own, asked), deployments, signal))
  t.deepEqual(asked, ['/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors/apps-v1-deployments'])
  t.deepEqual([found.origin, found.resource, found.editor], ['cluster', deployments, { name: 'mine', version: '', source: { apiGroup: '', kind: '', namespace: 'flux', name: 'charts' } }])
  t.is(found.options?.name, 'apps-deployment-options')
  t.deepEqual(found.instanceLabelPaths, [['spec', 'selector', 'matchLabels'], ['spec', 'template', 'metadata', 'labels']])
})

test('without one of the cluster the built-in one counts, also for who may not look', async (t) => {
  for (const status of [403, 404]) t.is(unwrap(await catalog.find(answering(status), deployments, signal)).origin, 'built-in')
  for (const status of [403, 404]) t.is(refusalOf(await catalog.find(answering(status), { ...deployments, name: 'sextants' }, signal)).tag, 'EditorMissing')
})

test('an unreachable cluster, and an object of another shape, are reported', async (t) => {
  t.is(refusalOf(await catalog.find(answering(0), deployments, signal)).tag, 'ClusterUnreachable')
  t.is(refusalOf(await catalog.find(answering(500), deployments, signal)).tag, 'ClusterUnreachable')
  for (const spec of [undefined, 7, {}, { resource: { name: 'x' } }, { resource: deployments, ui: { editor: { version: '1' } } }, { resource: deployments, ui: { instanceLabelPaths: [7] } }])
    t.is(refusalOf(await catalog.find(answering(200, editorOf(spec)), deployments, signal)).tag, 'EditorMissing', JSON.stringify(spec))
})

test('what another program recorded, its selector bound to the release', async (t) => {
  const release = { name: 'web', namespace: 'shop' }
  const asked: string[] = []
  const of = (spec: unknown) => clusterAppReleases.find(answering(200, { spec }, asked), release, signal)
  const whole = unwrap(await of({
    release: { form: { a: 1 } }, components: [{ group: 'apps', version: 'v1', kind: 'Deployment' }, { version: 'v1', kind: 'Secret' }], resourceKeys: ['appsDeployment'], formKeys: [],
    selector: { matchLabels: { 'app.kubernetes.io/instance': 'everybody', tier: 'web' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c'] }, { key: 'd', operator: 'DoesNotExist' }] },
  }))
  t.deepEqual(asked, ['/apis/drivers.x-helm.dev/v1alpha1/namespaces/shop/appreleases/web'])
  t.is(whole?.selector, 'app.kubernetes.io/instance=web,tier=web,a in (b,c),!d')
  t.deepEqual([whole?.components[1], whole?.form, [...(whole?.resourceKeys ?? [])]], [{ group: '', version: 'v1', kind: 'Secret' }, { a: 1 }, ['appsDeployment']])
  t.is(unwrap(await of({ release: {} }))?.selector, 'app.kubernetes.io/instance=web')
  t.is(unwrap(await of({ release: {}, selector: { matchExpressions: [{ key: 'a', operator: 'toString' }] } })), undefined)
  t.is(unwrap(await of(7)), undefined)
  for (const status of [403, 404]) t.is(unwrap(await clusterAppReleases.find(answering(status), release, signal)), undefined)
  t.is(refusalOf(await clusterAppReleases.find(answering(500), release, signal)).tag, 'ClusterUnreachable')
})

test('every built-in editor has its charts, and they fit each other', (t) => {
  for (const { resource, options, editor } of builtInEditors) {
    const [optionsChart, editorChart] = [options, editor].map((ref) => embeddedEditorCharts.find(({ name, version }) => name === ref?.name && version === ref.version))
    t.truthy(optionsChart)
    t.truthy(editorChart)
    const metadata = unwrap(kubernetesYamlText.parse(editorChart!.files['Chart.yaml']!)) as { annotations: Record<string, string> }
    const values = unwrap(kubernetesYamlText.parse(editorChart!.files['values.yaml']!)) as FreeObject
    const facts = unwrap(readEditorChart(chartOf(editorChart!.name, values, metadata.annotations)))
    t.deepEqual(facts.resource, { ...resource })
    t.deepEqual([...facts.resourceKeys].toSorted(), [...facts.defaults.keys()].toSorted())
    t.deepEqual(JSON.parse(metadata.annotations['meta.x-helm.dev/editor']!), { group: resource.group, version: resource.version, resource: resource.name })
    t.deepEqual((unwrap(kubernetesYamlText.parse(optionsChart!.files['values.yaml']!)) as { metadata: { resource: unknown } }).metadata.resource, { ...resource })
  }
})
