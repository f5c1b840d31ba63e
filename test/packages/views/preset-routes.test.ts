import test from 'ava'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import type { KubeObject } from '../../support/fake-api/kube-object.ts'
import type { ViewsFixture } from './views-fixture.ts'
import { startViewsFixture } from './views-fixture.ts'

/** Values with the presets of a variant, and charts of a Flux repository: what a cluster holds, read as the caller. */
let fixture: ViewsFixture
test.before(async () => {
  fixture = await startViewsFixture()
  for (const [group, version, plural, kind, scope] of definitions) {
    fixture.api.put({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope,
        names: { plural, kind },
        versions: [{ name: version, served: true, storage: true, schema: {} }],
      },
    } as unknown as KubeObject)
  }
  for (const object of objects()) fixture.api.put(object as unknown as KubeObject)
})
test.after.always(() => fixture?.stop())

const definitions = [
  ['ui.k8s.appscode.com', 'v1alpha1', 'resourceeditors', 'ResourceEditor', 'Cluster'],
  ['charts.x-helm.dev', 'v1alpha1', 'clusterchartpresets', 'ClusterChartPreset', 'Cluster'],
  ['charts.x-helm.dev', 'v1alpha1', 'chartpresets', 'ChartPreset', 'Namespaced'],
  ['source.toolkit.fluxcd.io', 'v1', 'helmrepositories', 'HelmRepository', 'Namespaced'],
] as const

const preset = (kind: string, name: string, namespace: string | undefined, size: string, values: object) => ({
  apiVersion: 'charts.x-helm.dev/v1alpha1',
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { size } },
  spec: { values },
})
const objects = () => [
  {
    apiVersion: 'ui.k8s.appscode.com/v1alpha1',
    kind: 'ResourceEditor',
    metadata: { name: 'apps-v1-deployments' },
    spec: {
      resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' },
      variants: [{ name: 'small', selector: { matchLabels: { size: 'small' } } }, { name: 'empty' }],
    },
  },
  preset('ClusterChartPreset', 'b-replicas', undefined, 'small', { replicas: 2, image: { pull: null } }),
  preset('ClusterChartPreset', 'a-replicas', undefined, 'small', { replicas: 9, image: { tag: 'cluster' } }),
  preset('ClusterChartPreset', 'large', undefined, 'large', { replicas: 50 }),
  preset('ChartPreset', 'a-replicas', 'shop', 'other', { image: { tag: 'shop' } }),
  preset('ChartPreset', 'z-extra', 'shop', 'small', { extra: [1] }),
  preset('ChartPreset', 'y-elsewhere', 'other', 'small', { replicas: 77 }),
  {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'HelmRepository',
    metadata: { name: 'harbour', namespace: 'kubeops' },
    spec: { url: fixture.charts.url },
  },
]

const values = (changes: Readonly<Record<string, string>>) =>
  fixture.ask('GET', '/packageview/values', {
    query: {
      ...fixture.source('ferry', '1.4.0'),
      group: 'apps',
      resource: 'deployments',
      kind: 'Deployment',
      variant: 'small',
      ...changes,
    },
  })

test('presets of the cluster precede those of the namespace', async (t) => {
  t.deepEqual((await expectStatus(values({}), 200)).json, {
    replicas: 2,
    image: { tag: 'cluster', pull: null },
    license: 'none',
  })
  t.deepEqual((await expectStatus(values({ namespace: 'shop' }), 200)).json, {
    replicas: 2,
    image: { tag: 'shop', pull: null },
    license: 'none',
    extra: [1],
  })
  t.deepEqual((await expectStatus(values({ namespace: 'bare' }), 200)).json, {
    replicas: 2,
    image: { tag: 'cluster', pull: null },
    license: 'none',
  })
  t.deepEqual((await expectStatus(values({ resource: '' }), 200)).json.replicas, 2, 'by kind alone')
  t.deepEqual((await expectStatus(values({ variant: 'empty' }), 200)).json, {
    replicas: 1,
    image: { tag: 'a', pull: 'Always' },
    license: 'none',
  })
  const body = {
    ...fixture.source('ferry', '1.4.0'),
    group: 'apps',
    resource: 'deployments',
    variant: 'small',
    namespace: 'shop',
  }
  t.is((await expectStatus(fixture.ask('GET', '/packageview/values', { body }), 200)).json.image.tag, 'shop')
  t.regex((await expectStatus(values({ format: 'yaml' }), 200)).text, /^replicas: 2\n/)
})

test.serial('objects of the cluster are read as the caller', async (t) => {
  await expectStatus(values({ namespace: 'shop' }), 200)
  await expectStatus(
    fixture.ask('GET', '/packageview', {
      query: { name: 'ferry', sourceName: 'harbour', sourceNamespace: 'kubeops' },
    }),
    200,
  )
  const users = new Set(
    fixture.api.calls
      .filter(({ resource }) =>
        ['resourceeditors', 'clusterchartpresets', 'chartpresets', 'helmrepositories'].includes(resource),
      )
      .map(({ user }) => user),
  )
  t.deepEqual([...users], [`moorage:${fixture.owner.login}`])
})

const refused: readonly (readonly [string, Readonly<Record<string, string>>, number, string])[] = [
  ['an unknown variant', { variant: 'huge' }, 404, 'VariantMissing'],
  ['an unknown resource', { resource: 'boats', kind: '' }, 404, 'VariantMissing'],
  ['a resource without an editor', { resource: 'statefulsets' }, 404, 'VariantMissing'],
  ['a group that is none', { group: '../../api' }, 422, 'InvalidBody'],
  ['a resource that is a path', { resource: 'pods/log' }, 422, 'InvalidBody'],
  ['a kind that is none', { kind: 'a b' }, 422, 'InvalidBody'],
  ['a namespace that is none', { namespace: 'shop/../x' }, 422, 'InvalidBody'],
]
for (const [what, changes, status, code] of refused) {
  test(`values are refused with ${status} for ${what}`, async (t) => {
    const answer = await values(changes)
    t.deepEqual([answer.status, answer.json?.code], [status, code], answer.text)
  })
}

test('presets that the caller may not read are reported, and not ignored', async (t) => {
  const other = await startViewsFixture()
  t.teardown(() => other.stop())
  for (const object of fixture.api.all('apiextensions.k8s.io/v1', 'CustomResourceDefinition')) other.api.put(object)
  for (const object of objects()) other.api.put(object as unknown as KubeObject)
  const query = {
    ...other.source('ferry'),
    group: 'apps',
    resource: 'deployments',
    variant: 'small',
    namespace: 'shop',
  }
  t.is((await other.ask('GET', '/packageview/values', { query })).status, 200)
  other.api.rules.forbid({ resource: 'chartpresets' })
  const answer = await other.ask('GET', '/packageview/values', { query })
  t.deepEqual([answer.status, answer.json.code], [403, 'PresetsRefused'], answer.text)
})

test('a Flux chart has its defaults, and is refused without the right', async (t) => {
  const query = {
    name: 'ferry',
    version: '1.4.0',
    sourceApiGroup: '',
    sourceKind: '',
    sourceNamespace: 'kubeops',
    sourceName: 'harbour',
  }
  const { json } = await expectStatus(fixture.ask('GET', '/packageview', { query }), 200)
  t.deepEqual(json.sourceRef, {
    apiGroup: 'source.toolkit.fluxcd.io',
    kind: 'HelmRepository',
    namespace: 'kubeops',
    name: 'harbour',
  })
  t.is((await fixture.ask('GET', '/packageview', { query: { ...query, sourceNamespace: 'other' } })).status, 404)
})

test('a chart that one member can read is hidden from another member', async (t) => {
  const colleague = await fixture.people.person('colleague')
  const [, , , , org = ''] = fixture.helm.split('/')
  await fixture.people.teamWithRole(
    fixture.owner,
    org,
    [colleague],
    [
      { namespace: 'cluster_mgmt', action: 'view clusters' },
      { namespace: 'cluster_mgmt', action: 'connect to clusters' },
    ],
  )
  const query = { name: 'ferry', version: '1.3.0', sourceNamespace: 'kubeops', sourceName: 'harbour' }
  fixture.api.rules.forbid({ resource: 'helmrepositories', user: `moorage:${colleague.login}` })
  t.is((await fixture.ask('GET', '/packageview', { query })).status, 200)
  const answer = await fixture.ask('GET', '/packageview', { query, token: colleague.token })
  t.deepEqual([answer.status, answer.json.code], [422, 'ChartSourceRefused'], answer.text)
})
