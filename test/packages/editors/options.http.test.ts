// process: waiting - uses components
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import type { EditorFixture } from './editor-fixture.ts'
import {
  about,
  configMaps,
  deployments,
  openEditorFixture,
  putEditorDefinitions,
  putResourceEditor,
} from './editor-fixture.ts'
import { needing } from '../../support/components/needing.ts'

const test = needing('helm')

let fixture: EditorFixture
test.before(async () => {
  fixture = await openEditorFixture()
})
test.after.always(() => fixture.stop())

const labels = { 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/instance': 'web' }
const webOptions = {
  ...about(deployments, 'web'),
  spec: { image: 'registry.example.com/web:1.4', replicas: 2, port: 8080, expose: true, env: { MODE: 'fast' } },
}
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'registry.example.com/web:1.4',
            env: [{ name: 'MODE', value: 'fast' }],
            ports: [{ name: 'main', containerPort: 8080 }],
          },
        ],
      },
    },
  },
}
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', labels },
  spec: { selector: labels, ports: [{ name: 'main', port: 8080, targetPort: 'main' }] },
}
const webModel = { ...about(deployments, 'web'), resources: { appsDeployment: deployment, service } }

const serviceYaml = `apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/instance: web
    app.kubernetes.io/name: web
  name: web
  namespace: shop
spec:
  ports:
  - name: main
    port: 8080
    targetPort: main
  selector:
    app.kubernetes.io/instance: web
    app.kubernetes.io/name: web
`

test.serial('options become a model, on a cluster without any editor of its own', async (t) => {
  const { json } = await expectStatus(fixture.put('/options/model', webOptions), 200)
  t.deepEqual(json, webModel)
})

test.serial('a model is YAML on request', async (t) => {
  const answer = await expectStatus(
    fixture.put('/options/model?format=yaml', {
      ...about(configMaps, 'web'),
      spec: { data: { on: 'true', size: '3' } },
    }),
    200,
  )
  t.is(answer.headers['content-type'], 'application/yaml; charset=utf-8')
  t.is(
    answer.text,
    `metadata:
  resource:
    group: ""
    version: v1
    name: configmaps
    kind: ConfigMap
    scope: Namespaced
  release:
    name: web
    namespace: shop
resources:
  configMap:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: web
      namespace: shop
      labels:
        app.kubernetes.io/name: web
        app.kubernetes.io/instance: web
    data:
      "on": "true"
      size: "3"
`,
  )
})

test.serial('the body is the whole of the values: defaults of the chart do not come in', async (t) => {
  const { json } = await expectStatus(
    fixture.put('/options/model', { ...about(deployments, 'web'), spec: { image: 'x', replicas: 0 } }),
    200,
  )
  t.is(json.resources.appsDeployment.spec.replicas, 0)
  t.false('ports' in json.resources.appsDeployment.spec.template.spec.containers[0], 'the default port is 8080')
  t.deepEqual(Object.keys(json.resources), ['appsDeployment'])
})

test.serial('a model becomes a manifest', async (t) => {
  const answer = await expectStatus(fixture.put('/options/manifest', webModel), 200)
  t.is(answer.headers['content-type'], 'text/plain; charset=utf-8')
  const parts = answer.text.split('---\n').slice(1)
  t.is(parts.length, 2)
  t.is(parts[0]?.trim(), `# Source: apps-deployment-editor/templates/service.yaml\n${serviceYaml}`.trim())
  t.true(
    parts[1]?.startsWith(
      '# Source: apps-deployment-editor/templates/deployment.yaml\napiVersion: apps/v1\nkind: Deployment\n',
    ),
  )
})

test.serial('a model becomes files, by apiVersion and kind', async (t) => {
  const yaml = await expectStatus(fixture.put('/options/resources', webModel), 200)
  t.deepEqual(yaml.json.crds, [])
  t.deepEqual(
    yaml.json.resources.map(({ filename, key }: Record<string, string>) => [filename, key]),
    [
      ['deployment.yaml', 'appsDeployment'],
      ['service.yaml', 'service'],
    ],
  )
  t.is(yaml.json.resources[1].data, serviceYaml)
  const json = await expectStatus(fixture.put('/options/resources?format=json', webModel), 200)
  t.deepEqual(
    json.json.resources.map(({ filename }: Record<string, string>) => filename),
    ['deployment.json', 'service.json'],
  )
  t.deepEqual(JSON.parse(json.json.resources[0].data), deployment)
})

test.serial('manifest and resources take the options too', async (t) => {
  const [ofModel, ofOptions] = [
    await expectStatus(fixture.put('/options/manifest', webModel), 200),
    await expectStatus(fixture.put('/options/manifest', webOptions), 200),
  ]
  t.is(ofOptions.text, ofModel.text)
  const files = [
    await expectStatus(fixture.put('/options/resources', webModel), 200),
    await expectStatus(fixture.put('/options/resources', webOptions), 200),
  ]
  t.deepEqual(files[1]?.json, files[0]?.json)
  const wrong = await fixture.put('/options/manifest', { ...webOptions, spec: { replicas: 'many' } })
  t.deepEqual([wrong.status, wrong.json.code], [422, 'ValuesRefused'])
  const none = await fixture.put('/options/manifest', {
    ...about({ ...configMaps, name: 'sextants' }, 'web'),
    spec: {},
  })
  t.deepEqual([none.status, none.json.code], [422, 'EditorMissing'])
})

test.serial('whole numbers beyond 2^53 pass through a preview', async (t) => {
  const body = JSON.stringify({
    ...webModel,
    resources: {
      ...webModel.resources,
      appsDeployment: { ...deployment, spec: { ...deployment.spec, minReadySeconds: 'WIDE' } },
    },
  }).replace('"WIDE"', '9007199254740992')
  for (const route of ['manifest', 'resources'])
    t.regex(
      (await expectStatus(fixture.put(`/options/${route}`, body), 200)).text,
      /minReadySeconds: 9(\.)?007199254740992/,
      route,
    )
})

test.serial('kind, name and namespace of a model are ignored', async (t) => {
  const hostile = {
    ...service,
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: {
      ...service.metadata,
      name: 'cluster-admin',
      namespace: 'kube-system',
      labels: { ...labels, 'app.kubernetes.io/instance': 'other' },
    },
  }
  const { json, text } = await expectStatus(
    fixture.put('/options/resources?format=json', { ...webModel, resources: { service: hostile } }),
    200,
  )
  t.deepEqual(JSON.parse(json.resources[0].data), service)
  t.false(/ClusterRoleBinding|kube-system|cluster-admin/.test(text))
})

test.serial('a resource without version and plural is looked up in the cluster', async (t) => {
  const { json } = await expectStatus(
    fixture.put('/options/model', { ...about({ group: 'apps', kind: 'Deployment' }, 'web'), spec: { image: 'x' } }),
    200,
  )
  t.is(json.resources.appsDeployment.kind, 'Deployment')
  t.is((await fixture.put('/options/model', about({ kind: 'Sextant' }, 'web'))).status, 422)
})

test.serial('options that the chart does not take are refused with their places', async (t) => {
  const answer = await expectStatus(
    fixture.put('/options/model', { ...about(deployments, 'web'), spec: { image: 'x', replicas: 'many' } }),
    422,
  )
  t.true(
    answer.json.errors.some((line: string) => line.includes('replicas')),
    answer.text,
  )
  t.is((await fixture.put('/options/model', { ...about(deployments, 'web'), spec: {} })).status, 422)
})

test.serial('hostile bodies are refused, and nothing of them is rendered', async (t) => {
  const nested = (depth: number): string => `{"metadata":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
  const odd: readonly (readonly [string, unknown, number])[] = [
    ['/options/model', [], 422],
    ['/options/model', 'text', 400],
    ['/options/model', {}, 422],
    ['/options/model', { metadata: 7 }, 422],
    ['/options/model', { metadata: { resource: deployments } }, 422],
    ['/options/model', { metadata: { resource: { ...deployments, name: 7 }, release: { name: 'web' } } }, 422],
    [
      '/options/model',
      { metadata: { resource: { ...deployments, name: '../secrets' }, release: { name: 'web' } } },
      422,
    ],
    ['/options/model', { metadata: { resource: deployments, release: { name: '--help' } } }, 422],
    ['/options/model', { metadata: { resource: deployments, release: { name: 'web', namespace: 'a/b' } } }, 422],
    ['/options/model', { metadata: { resource: deployments, release: { name: 'w'.repeat(54) } } }, 422],
    ['/options/manifest', { ...webModel, resources: [] }, 422],
    ['/options/manifest', { ...webModel, resources: { sextant: {} } }, 422],
    [
      '/options/manifest',
      '{"metadata":{"resource":{"group":"apps","version":"v1","name":"deployments"},"release":{"name":"web"}},"resources":{"__proto__":{"kind":"Pod"}}}',
      422,
    ],
    ['/options/resources', { ...webModel, resources: { service: { ...service, metadata: [] } } }, 422],
    ['/options/resources', about({ ...deployments, name: 'sextants' }, 'web'), 422],
    ['/options/resources', nested(70), 400],
    ['/options/manifest', { ...webModel, spec: 'x'.repeat(1024 * 1024) }, 413],
  ]
  const changes = () => fixture.api.calls.filter(({ method }) => method !== 'GET').length
  const before = changes()
  for (const [path, body, status] of odd) {
    const answer = await fixture.put(path, body)
    t.is(answer.status, status, `${path} ${JSON.stringify(body).slice(0, 200)} ${answer.text}`)
    t.is(typeof answer.json.message, 'string')
  }
  t.is(changes(), before)
})

test.serial('a caller without the right to connect is refused before the cluster', async (t) => {
  const before = fixture.api.calls.length
  for (const path of ['/options/model', '/options/manifest', '/options/resources']) {
    t.is((await fixture.put(path, webModel, fixture.viewer)).status, 403, path)
    t.is((await fixture.put(path, webModel, fixture.stranger)).status, 404, path)
    t.is(
      (await fixture.service.send('PUT', `/api/v1/clusters/${fixture.org}/prod/helm${path}`, { body: webModel }))
        .status,
      401,
      path,
    )
  }
  t.is(fixture.api.calls.length, before)
  await expectStatus(fixture.put('/options/manifest', webModel, fixture.member), 200)
  const users = new Set(fixture.api.calls.slice(before).map(({ user }) => user))
  t.deepEqual([...users], [`moorage:${fixture.member.login}`])
  const reading = await fixture.service.tokenFor(fixture.owner.login, ['read:cluster'])
  await expectStatus(fixture.put('/options/manifest', webModel, { ...fixture.owner, token: reading }), 200)
})

test.serial("the cluster's own editor wins, and its charts come from its repository", async (t) => {
  putEditorDefinitions(fixture.api)
  putResourceEditor(fixture.api, fixture.charts, 'apps-v1-deployments', deployments)
  const model = await expectStatus(
    fixture.put('/options/model', {
      ...about(deployments, 'web'),
      spec: { replicas: 1, image: 'berth:2', mode: 'cluster' },
    }),
    200,
  )
  t.deepEqual(Object.keys(model.json.resources), ['secret_config', 'appsDeployment'])
  t.is(model.json.resources.secret_config.metadata.name, 'web-config')
  const whole = await expectStatus(fixture.put('/options/resources', model.json), 200)
  t.deepEqual(
    whole.json.crds.map(({ filename }: Record<string, string>) => filename),
    ['berths.yaml'],
  )
  t.deepEqual(
    whole.json.resources.map(({ filename }: Record<string, string>) => filename),
    ['deployment.yaml', 'secret.yaml'],
  )
  t.deepEqual((await expectStatus(fixture.put('/options/resources?skipCRDs=true', model.json), 200)).json.crds, [])
  const renamed = { ...model.json, metadata: { resource: deployments, release: { name: 'other', namespace: 'shop' } } }
  const { json } = await expectStatus(fixture.put('/options/resources?format=json', renamed), 200)
  const moved = JSON.parse(json.resources[0].data)
  t.is(moved.metadata.name, 'other')
  t.deepEqual(moved.spec.selector.matchLabels, { 'app.kubernetes.io/instance': 'other' })
  t.deepEqual(moved.spec.template.metadata.labels, { 'app.kubernetes.io/instance': 'other' })
  t.is(JSON.parse(json.resources[1].data).metadata.name, 'other-config')
})

test.serial('charts of an editor are fetched once for each person', async (t) => {
  const fetched = (): number => fixture.charts.requests.filter((request) => request.includes('berth-')).length
  const options = { ...about(deployments, 'web'), spec: { replicas: 1, image: 'berth:2', mode: 'cluster' } }
  await expectStatus(fixture.put('/options/model', options), 200)
  const before = fetched()
  await expectStatus(fixture.put('/options/model', options), 200)
  t.is(fetched(), before)
  await expectStatus(fixture.put('/options/model', options, fixture.member), 200)
  t.true(fetched() > before)
})

test.serial('a caller whom the cluster does not show its editors gets the built-in one', async (t) => {
  const allow = fixture.api.rules.forbid({ user: `moorage:${fixture.member.login}`, resource: 'resourceeditors' })
  const { json } = await expectStatus(fixture.put('/options/model', webOptions, fixture.member), 200)
  t.deepEqual(Object.keys(json.resources).toSorted(), ['appsDeployment', 'service'])
  allow()
  const broken = fixture.api.rules.fail({ resource: 'resourceeditors' }, 500, 'InternalError', 'etcd is gone')
  t.is((await fixture.put('/options/model', webOptions, fixture.member)).status, 500)
  broken()
})

test.serial('an editor of a wrong shape, or without its chart, is reported', async (t) => {
  fixture.api.put({
    apiVersion: 'ui.k8s.appscode.com/v1alpha1',
    kind: 'ResourceEditor',
    metadata: { name: 'core-v1-secrets' },
    spec: { resource: 7 },
  })
  const secrets = { group: '', version: 'v1', name: 'secrets' }
  t.is((await expectStatus(fixture.put('/options/manifest', about(secrets, 'web')), 422)).json.code, 'EditorMissing')
  putResourceEditor(
    fixture.api,
    fixture.charts,
    'core-v1-services',
    { group: '', version: 'v1', name: 'services' },
    { editor: { name: 'nowhere', version: '9.9.9', sourceRef: { kind: 'Legacy', name: fixture.charts.url } } },
  )
  t.is(
    (
      await expectStatus(
        fixture.put('/options/manifest', { ...about({ version: 'v1', name: 'services' }, 'web'), resources: {} }),
        422,
      )
    ).json.code,
    'ChartMissing',
  )
  putResourceEditor(
    fixture.api,
    fixture.charts,
    'core-v1-pods',
    { group: '', version: 'v1', name: 'pods' },
    { editor: { name: 'minimal', sourceRef: { kind: 'Legacy', name: fixture.charts.url } }, options: null },
  )
  t.is(
    (
      await expectStatus(
        fixture.put('/options/manifest', { ...about({ version: 'v1', name: 'pods' }, 'web'), resources: {} }),
        422,
      )
    ).json.code,
    'EditorUnfit',
  )
  t.is(
    (await expectStatus(fixture.put('/options/model', about({ version: 'v1', name: 'pods' }, 'web')), 422)).json.code,
    'EditorMissing',
  )
})
