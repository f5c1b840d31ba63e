// process: waiting - uses components
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { chartFrom, chartOf } from '../chart-archive.ts'
import type { EditorFixture } from './editor-fixture.ts'
import {
  about,
  configMaps,
  deployments,
  openEditorFixture,
  putEditorDefinitions,
  putResourceEditor,
  userOf,
} from './editor-fixture.ts'
import { needing } from '../../support/components/needing.ts'

const test = needing('helm')

let fixture: EditorFixture

const chartYaml = (name: string, annotations: object = {}): string =>
  JSON.stringify({ apiVersion: 'v2', name, version: '1.0.0', annotations })
const formEditor = {
  'Chart.yaml': chartYaml('pilot-editor', {
    'meta.x-helm.dev/editor': '{"group":"","version":"v1","resource":"configmaps"}',
    'meta.x-helm.dev/resource-keys': 'configMap',
    'meta.x-helm.dev/form-keys': 'secret_auth',
  }),
  'values.yaml': JSON.stringify({
    metadata: { resource: configMaps },
    form: {},
    resources: { configMap: { apiVersion: 'v1', kind: 'ConfigMap' } },
  }),
  'templates/config.yaml': '{{- with .Values.resources.configMap }}\n{{ toYaml . }}\n{{- end }}\n',
  'templates/auth.yaml':
    '{{- with .Values.form.password }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ $.Release.Name }}-auth\n  namespace: {{ $.Release.Namespace }}\nstringData:\n  password: {{ . | quote }}\n{{- end }}\n',
}
const formOptions = {
  'Chart.yaml': chartYaml('pilot-options'),
  'templates/config.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\ndata:\n  size: {{ .Values.spec.size | quote }}\n',
  'templates/auth.yaml':
    '{{- with .Values.form }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ $.Release.Name }}-auth\nstringData:\n  password: {{ .password | quote }}\n{{- end }}\n',
}
const featureEditor = {
  'Chart.yaml': chartYaml('features-editor', {
    'meta.x-helm.dev/editor': '{"group":"ui.k8s.appscode.com","version":"v1alpha1","resource":"featuresets"}',
  }),
  'values.yaml': JSON.stringify({
    metadata: {
      resource: {
        group: 'ui.k8s.appscode.com',
        version: 'v1alpha1',
        name: 'featuresets',
        kind: 'FeatureSet',
        scope: 'Cluster',
      },
    },
    resources: { configMap_kube_prometheus: { apiVersion: 'v1', kind: 'ConfigMap' } },
  }),
  'templates/all.yaml': '{{- range .Values.resources }}\n---\n{{ toYaml . }}\n{{- end }}\n',
}
const featureSets = { group: 'ui.k8s.appscode.com', version: 'v1alpha1', name: 'featuresets' }

test.before(async () => {
  fixture = await openEditorFixture()
  for (const files of [formEditor, formOptions, featureEditor]) fixture.charts.add(await chartFrom(files))
  fixture.charts.add(await chartOf('berth-editor'))
  putEditorDefinitions(fixture.api)
  const from = (name: string) => ({
    name,
    version: '1.0.0',
    sourceRef: { kind: 'Legacy', name: fixture.charts.url },
  })
  putResourceEditor(fixture.api, fixture.charts, 'core-v1-configmaps', configMaps, {
    editor: from('pilot-editor'),
    options: from('pilot-options'),
  })
  putResourceEditor(fixture.api, fixture.charts, 'apps-v1-deployments', deployments)
  putResourceEditor(fixture.api, fixture.charts, 'ui.k8s.appscode.com-v1alpha1-featuresets', featureSets, {
    editor: from('features-editor'),
  })
})
test.after.always(() => fixture.stop())

const withForm = (name: string) => ({
  ...about(configMaps, name),
  form: { password: 'anchor-4417' },
  spec: { size: 3 },
})

test.serial('with a form a model holds only the keys that the editor keeps in it', async (t) => {
  const { json } = await expectStatus(fixture.put('/options/model', withForm('pilot')), 200)
  t.deepEqual(Object.keys(json.resources), ['configMap'])
  t.deepEqual(json.form, { password: 'anchor-4417' })
  const plain = await expectStatus(
    fixture.put('/options/model', { ...about(configMaps, 'pilot'), spec: { size: 3 } }),
    200,
  )
  t.false('form' in plain.json)
})

test.serial('values of the form are installed, shown and kept out of the model', async (t) => {
  const client = fixture.as(fixture.owner)
  const model = (await expectStatus(fixture.put('/options/model', withForm('pilot')), 200)).json
  const made = await client.done('PUT', '/editor', model)
  t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
  t.truthy(fixture.api.find('v1', 'Secret', 'shop', 'pilot-auth'))
  t.false(JSON.stringify(made).includes('anchor-4417'))
  t.false(fixture.service.logText().includes('anchor-4417'))
  const shown = await expectStatus(fixture.put('/editor/model', about(configMaps, 'pilot')), 200)
  t.deepEqual([Object.keys(shown.json.resources), shown.json.form], [['configMap'], { password: 'anchor-4417' }])
  const files = await expectStatus(fixture.put('/editor/resources', about(configMaps, 'pilot')), 200)
  t.deepEqual(
    files.json.resources.map(({ key }: { key: string }) => key),
    ['configMap', 'secret_auth'],
  )
  // A client may send back all that it saw: what the form makes is made anew, and nothing else gets in.
  const again = await client.done('PUT', '/editor', {
    ...shown.json,
    resources: {
      ...shown.json.resources,
      secret_auth: { kind: 'ClusterRole' },
      sextant: { kind: 'Pod', metadata: { namespace: 'kube-system' } },
    },
  })
  t.is(again.state, 'succeeded', `${again.message} ${again.error}`)
  t.is(fixture.api.all('v1', 'Pod').length, 0)
  const patched = await client.done('PUT', '/editor', {
    ...about(configMaps, 'pilot'),
    patch: [{ op: 'add', path: '/resources/configMap/data/size', value: '4' }],
  })
  t.is(patched.state, 'succeeded', `${patched.message} ${patched.error}`)
  t.deepEqual(fixture.api.find('v1', 'ConfigMap', 'shop', 'pilot')?.['data'], { size: '4' })
  t.truthy(fixture.api.find('v1', 'Secret', 'shop', 'pilot-auth'), 'the form of the patched model is still there')
})

test.serial('a Secret of a model is shown only to who may read it in the cluster', async (t) => {
  const model = (
    await expectStatus(
      fixture.put('/options/model', {
        ...about(deployments, 'berth'),
        spec: { replicas: 1, image: 'berth:1', mode: 'lantern-9' },
      }),
      200,
    )
  ).json
  const made = await fixture.as(fixture.owner).done('PUT', '/editor?installCRDs=true', model)
  t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
  t.truthy(
    fixture.api.find('apiextensions.k8s.io/v1', 'CustomResourceDefinition', undefined, 'berths.harbour.example.com'),
  )
  const shown = await expectStatus(fixture.put('/editor/model', about(deployments, 'berth')), 200)
  t.is(Buffer.from(shown.json.resources.secret_config.data.mode, 'base64').toString(), 'lantern-9')
  t.false('status' in shown.json.resources.appsDeployment)
  const allow = fixture.api.rules.forbid({
    user: userOf(fixture.member),
    verb: 'get',
    resource: 'secrets',
    name: 'berth-config',
  })
  const half = await expectStatus(fixture.put('/editor/model', about(deployments, 'berth'), fixture.member), 200)
  t.deepEqual(
    [
      Object.keys(half.json.resources),
      half.json.missing.map(({ key, reason }: Record<string, string>) => [key, reason]),
    ],
    [['appsDeployment'], [['secret_config', 'forbidden']]],
  )
  t.false(half.text.includes(Buffer.from('lantern-9').toString('base64')))
  allow()
})

test.serial('definitions stay unless requested', async (t) => {
  const definition = fixture.api.find(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    undefined,
    'berths.harbour.example.com',
  )
  if (definition !== undefined) fixture.api.remove(definition)
  const model = (
    await expectStatus(
      fixture.put('/options/model', {
        ...about(deployments, 'bare'),
        spec: { replicas: 1, image: 'berth:1', mode: 'cluster' },
      }),
      200,
    )
  ).json
  const made = await fixture.as(fixture.owner).done('PUT', '/editor', model)
  t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
  t.is(
    fixture.api.find('apiextensions.k8s.io/v1', 'CustomResourceDefinition', undefined, 'berths.harbour.example.com'),
    undefined,
  )
})

test.serial('a namespace that is not there is made', async (t) => {
  const body = {
    metadata: { resource: configMaps, release: { name: 'pilot', namespace: 'annex' } },
    form: {},
    resources: { configMap: { data: { a: '1' } } },
  }
  const made = await fixture.as(fixture.owner).done('PUT', '/editor', body)
  t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
  t.truthy(fixture.api.find('v1', 'Namespace', undefined, 'annex'))
  t.truthy(fixture.api.find('v1', 'ConfigMap', 'annex', 'pilot'))
})

test.serial('objects of a feature set have names of their own, which belong to their keys', async (t) => {
  const of = (name: string) => ({
    ...about(featureSets, 'monitoring'),
    resources: { configMap_kube_prometheus: { metadata: { name, namespace: 'kube-system' } } },
  })
  const { json } = await expectStatus(fixture.put('/options/resources?format=json', of('kube-prometheus')), 200)
  t.is(json.resources[0].key, 'configMap_kube_prometheus')
  t.deepEqual(JSON.parse(json.resources[0].data).metadata, { name: 'kube-prometheus', namespace: 'shop' })
  t.is((await fixture.put('/options/resources', of('coredns'))).status, 422)
})

test.serial('an installation that another program recorded is shown from its objects', async (t) => {
  const labels = { 'app.kubernetes.io/instance': 'legacy', 'app.kubernetes.io/name': 'configmaps' }
  const put = (name: string, more: object = {}) =>
    fixture.api.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'shop', labels, ...more },
      data: { from: name },
    })
  put('legacy')
  put('legacy-other')
  fixture.api.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'foreign', namespace: 'shop', labels: { ...labels, 'app.kubernetes.io/instance': 'else' } },
  })
  fixture.api.put({
    apiVersion: 'drivers.x-helm.dev/v1alpha1',
    kind: 'AppRelease',
    metadata: { name: 'legacy', namespace: 'shop' },
    spec: {
      release: { name: 'legacy', form: { size: 5 } },
      components: [
        { version: 'v1', kind: 'ConfigMap' },
        { group: 'harbour.example.com', version: 'v9', kind: 'Sextant' },
      ],
      selector: {
        matchLabels: { 'app.kubernetes.io/name': 'configmaps' },
        matchExpressions: [{ key: 'app.kubernetes.io/instance', operator: 'Exists' }],
      },
      resourceKeys: ['configMap'],
      formKeys: ['secret_auth'],
    },
  })
  const { json } = await expectStatus(fixture.put('/editor/model', about(configMaps, 'legacy')), 200)
  t.deepEqual(
    [Object.keys(json.resources), json.resources.configMap.data, json.form],
    [['configMap'], { from: 'legacy' }, { size: 5 }],
  )
  const files = await expectStatus(fixture.put('/editor/resources', about(configMaps, 'legacy')), 200)
  t.deepEqual(
    files.json.resources.map(({ key }: { key: string }) => key),
    ['configMap'],
  )
  const allow = fixture.api.rules.forbid({
    user: userOf(fixture.member),
    verb: 'list',
    resource: 'configmaps',
  })
  t.is((await fixture.put('/editor/model', about(configMaps, 'legacy'), fixture.member)).status, 403)
  allow()
  t.is((await fixture.put('/editor/model', about(configMaps, 'nobody'))).status, 404)
})
