// process: waiting - uses components
import test from 'ava'
import { needing } from '../../support/components/needing.ts'
import { helm } from '../../support/components/available.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { chartFiles, chartOf } from '../chart-archive.ts'
import { startViewsFixture, type ViewsFixture } from './views-fixture.ts'

/** Bundle views and orders through the whole service, with charts of a repository on loopback. */
let fixture: ViewsFixture
test.before(async () => {
  fixture = await startViewsFixture()
})
test.after.always(() => fixture?.stop())

const sourceRef = () => ({ apiGroup: 'charts.x-helm.dev', kind: 'Legacy', namespace: '', name: fixture.charts.url })
const ferryDescriptor = {
  type: 'application',
  description: 'The ferry',
  icons: [{ src: 'https://icons.example.com/ferry.svg', type: 'image/svg+xml' }],
  maintainers: [{ name: 'Ann', email: 'ann@example.com' }],
  keywords: ['boat'],
  links: [{ description: 'website', url: 'https://ferry.example.com' }],
}
const ferryCard = (changes: object) => ({
  chart: { name: 'ferry', sourceRef: sourceRef(), multiSelect: false, ...changes },
})
const engine = (name: string, namespace: string) => ({
  description: `The ${name}`,
  name,
  version: '1.0.0',
  sourceRef: sourceRef(),
  displayName: 'Engine',
  packages: [
    ferryCard({
      description: 'The ferry',
      namespace,
      versions: [{ version: '1.4.0' }, { version: '1.3.0', selected: true, valuesFile: 'values-big.yaml' }],
      multiSelect: true,
      required: false,
      selected: true,
    }),
  ],
})
const fleetView = () => ({
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'BundleView',
  description: 'The fleet',
  name: 'fleet',
  version: '2.0.0',
  sourceRef: sourceRef(),
  displayName: 'Fleet',
  features: [{ trait: 'Boats', value: '2' }],
  packages: [
    ferryCard({
      ...ferryDescriptor,
      features: ['Two decks'],
      namespace: 'boats',
      versions: [{ version: '1.4.0', selected: true }],
      required: true,
      selected: true,
    }),
    { oneOf: { description: 'An engine', bundles: [engine('diesel', 'engines'), engine('sail', 'sails')] } },
  ],
})

test('a bundle of plain YAML is shown with all that it names, without a helm', async (t) => {
  for (const input of [{ query: fixture.source('fleet') }, { body: fixture.source('fleet', '2.0.0') }]) {
    t.deepEqual((await expectStatus(fixture.ask('GET', '/bundleview', input), 200)).json, fleetView())
  }
})

test('a chart that is no bundle is shown as one of itself', async (t) => {
  const { json } = await expectStatus(
    fixture.ask('GET', '/bundleview', { query: fixture.source('ferry', '1.4.0') }),
    200,
  )
  t.deepEqual(json, {
    apiVersion: 'releases.x-helm.dev/v1alpha1',
    kind: 'BundleView',
    ...ferryDescriptor,
    name: 'ferry',
    version: '1.4.0',
    sourceRef: sourceRef(),
    displayName: 'Ferry',
    packages: [
      ferryCard({
        ...ferryDescriptor,
        features: ['The ferry'],
        namespace: 'default',
        versions: [{ version: '1.4.0', selected: true }],
        required: true,
        selected: true,
      }),
    ],
  })
  const ordered = await expectStatus(fixture.ask('POST', '/bundleview/orders', { body: json }), 200)
  t.like(ordered.json.spec.items, {
    0: {
      chart: {
        releaseName: 'ferry',
        namespace: 'default',
        resources: null,
        waitFors: null,
        bundle: { name: 'ferry', version: '1.4.0', sourceRef: sourceRef() },
      },
    },
    length: 1,
  })
})

test('a view with its choices becomes an order', async (t) => {
  const { json: view } = await expectStatus(fixture.ask('GET', '/bundleview', { query: fixture.source('fleet') }), 200)
  const chosen = {
    ...view,
    licenseKey: 'ANCHOR-LICENCE-77',
    packages: [{ bundle: view.packages[1].oneOf.bundles[1] }, view.packages[0]],
  }
  const { json } = await expectStatus(fixture.ask('POST', '/bundleview/orders', { body: chosen }), 200)
  t.regex(json.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.deepEqual(json, {
    apiVersion: 'releases.x-helm.dev/v1alpha1',
    kind: 'Order',
    metadata: { name: 'fleet', uid: json.metadata.uid, creationTimestamp: json.metadata.creationTimestamp },
    spec: {
      items: [
        {
          chart: {
            name: 'ferry',
            version: '1.3.0',
            sourceRef: sourceRef(),
            releaseName: 'ferry-1.3.0',
            namespace: 'sails',
            bundle: { name: 'sail', version: '1.0.0', sourceRef: sourceRef() },
            valuesFile: 'values-big.yaml',
            resources: null,
            waitFors: null,
          },
        },
        {
          chart: {
            name: 'ferry',
            version: '1.4.0',
            sourceRef: sourceRef(),
            releaseName: 'ferry',
            namespace: 'boats',
            bundle: { name: 'fleet', version: '2.0.0', sourceRef: sourceRef() },
            valuesPatch: [{ op: 'replace', path: '/license', value: 'ANCHOR-LICENCE-77' }],
            resources: { owned: [{ group: 'sea', version: 'v1', resource: 'boats' }], required: [] },
            waitFors: null,
          },
        },
      ],
    },
    status: {},
  })
  t.false(fixture.service.logText().includes('ANCHOR-LICENCE-77'), 'the key is not logged')
  t.false(
    fixture.api.calls.some(({ method }) => method !== 'GET'),
    'the cluster was not changed',
  )
})

const unmade: readonly (readonly [string, (view: { packages: object[] }) => unknown, string, RegExp])[] = [
  ['an open choice', (view) => view, 'OrderRefused', /Choose one of the bundles diesel, sail in fleet/],
  ['no packages at all', (view) => ({ ...view, packages: [] }), 'OrderRefused', /Nothing is selected/],
  [
    'a package of two kinds',
    (view) => ({ ...view, packages: [{ ...view.packages[0], bundle: engine('sail', 'x') }] }),
    'OrderRefused',
    /one of chart, bundle and oneOf/,
  ],
  ['a package of none', (view) => ({ ...view, packages: [{}] }), 'OrderRefused', /one of chart, bundle and oneOf/],
  [
    'two releases that would be one',
    (view) => ({ ...view, packages: [view.packages[0], view.packages[0]] }),
    'OrderRefused',
    /would both be the release ferry/,
  ],
  ['packages that are a text', (view) => ({ ...view, packages: 'all' }), 'InvalidBody', /packages/],
  [
    'a version that is a number',
    (view) => ({ ...view, packages: [ferryCard({ versions: [{ version: 1 }] })] }),
    'InvalidBody',
    /version/,
  ],
  [
    'a source without a name',
    (view) => ({ ...view, packages: [ferryCard({ sourceRef: {}, versions: [{ version: '1' }] })] }),
    'InvalidBody',
    /sourceRef/,
  ],
  [
    'a patch that is a text',
    (view) => ({ ...view, packages: [ferryCard({ required: true, versions: [{ version: '1', valuesPatch: 'x' }] })] }),
    'OrderRefused',
    /valuesPatch must be a list/,
  ],
  [
    '101 packages',
    (view) => ({ ...view, packages: Array.from({ length: 101 }, () => view.packages[0]) }),
    'InvalidBody',
    /packages/,
  ],
  [
    'bundles seven deep',
    (view) =>
      Array.from({ length: 6 }).reduce<object>(
        (inner, _, at) => ({ name: `b${at}`, version: '1', sourceRef: sourceRef(), packages: [{ bundle: inner }] }),
        { ...view, packages: [view.packages[0]] } as object,
      ),
    'OrderRefused',
    /5 levels/,
  ],
]
for (const [what, change, code, message] of unmade) {
  test(`an order of a bundle is refused for ${what}`, async (t) => {
    const answer = await fixture.ask('POST', '/bundleview/orders', { body: change(fleetView()) })
    t.deepEqual([answer.status, answer.json?.code], [422, code], answer.text)
    t.regex(answer.json.message, message)
  })
}

test('an order of a bundle that is not there, or of a folder, is refused', async (t) => {
  const view = { ...fleetView(), packages: [fleetView().packages[0]] }
  t.is(
    (await fixture.ask('POST', '/bundleview/orders', { body: { ...view, version: '7.7.7' } })).json.code,
    'ChartMissing',
  )
  t.is(
    (await fixture.ask('POST', '/bundleview/orders', { body: { ...view, sourceRef: { kind: 'Local', name: '/etc' } } }))
      .json.code,
    'ChartSourceRefused',
  )
})

test('an unreadable bundle is refused with its position', async (t) => {
  const broken = await fixture.ask('GET', '/bundleview', { query: fixture.source('broken-fleet') })
  t.is(broken.status, 422)
  t.regex(broken.json.message, /spec\.packages\.2: one of chart, bundle and oneOf is expected/)
  const templated = await fixture.ask('GET', '/bundleview', { query: fixture.source('templated') })
  t.deepEqual([templated.status, templated.json.code], [500, 'HelmMissing'], templated.text)
})

needing('helm')('a bundle that is a template is rendered with the capabilities of the cluster', async (t) => {
  const { helm4 } = (await helm())!
  const rendering = await startViewsFixture({ MOORAGE_HELM: helm4 })
  t.teardown(() => rendering.stop())
  const here = (content: unknown): string =>
    String(content).replaceAll('https://charts.example.com', rendering.charts.url)
  for (const name of ['bundle', 'lamp', 'horn']) {
    const files = await chartFiles(name)
    rendering.charts.add(
      await chartOf(name, {
        files: { 'templates/bundle.yaml': here(files['templates/bundle.yaml']) },
        ...(name === 'bundle' ? { version: '1.0.1' } : {}),
      }),
    )
  }
  rendering.charts.add(await chartOf('harbour', { version: '1.1.0' }))
  const answer = await rendering.ask('GET', '/bundleview', { query: rendering.source('bundle', '1.0.1') })
  t.is(answer.status, 200, answer.text)
  t.like(answer.json, {
    name: 'bundle',
    version: '1.0.1',
    displayName: 'The whole harbour',
    description: 'Everything for a harbour',
    features: [{ trait: 'Depth', value: '12 m' }],
    icons: [{ src: 'https://example.com/bundle.svg', type: 'image/svg+xml' }],
  })
  const [minimal, harbour, choice] = answer.json.packages
  t.like(minimal, {
    chart: {
      name: 'minimal',
      namespace: 'harbours',
      required: true,
      selected: true,
      versions: [{ version: '1.0.0', selected: true }],
    },
  })
  t.like(harbour.chart, { name: 'harbour', features: ['piers', 'cranes'], multiSelect: true, required: false })
  t.deepEqual(harbour.chart.versions, [
    { version: '1.0.0', valuesFile: 'values.yaml', valuesPatch: [{ op: 'replace', path: '/greeting', value: 'ahoy' }] },
    { version: '1.1.0' },
  ])
  t.deepEqual(
    choice.oneOf.bundles.map(({ name }: { name: string }) => name),
    ['lamp', 'horn'],
  )
  t.true(
    rendering.api.calls.some(({ url }) => url.startsWith('/version')),
    'helm asked the cluster what it can do',
  )
  const both = {
    ...harbour,
    chart: {
      ...harbour.chart,
      selected: true,
      versions: harbour.chart.versions.map((each: object) => ({ ...each, selected: true })),
    },
  }
  const ordered = await rendering.ask('POST', '/bundleview/orders', {
    body: { ...answer.json, licenseKey: 'KEY', packages: [minimal, both, { bundle: choice.oneOf.bundles[0] }] },
  })
  t.is(ordered.status, 200, ordered.text)
  const items = ordered.json.spec.items.map(({ chart }: { chart: Record<string, unknown> }) => chart)
  t.deepEqual(
    items.slice(0, 3).map(({ releaseName }: { releaseName: string }) => releaseName),
    ['minimal', 'harbour-1.0.0', 'harbour-1.1.0'],
  )
  t.deepEqual(items[1].valuesPatch, [
    { op: 'replace', path: '/greeting', value: 'ahoy' },
    { op: 'replace', path: '/license', value: 'KEY' },
  ])
  t.like(items[2], {
    resources: { owned: [{ group: 'apps', version: 'v1', resource: 'deployments' }] },
    waitFors: [{ resource: 'deployments', all: true, timeout: '2m' }],
  })
})
