import test from 'ava'
import { parse } from 'yaml'
import { expectStatus, importCluster } from '../../clusters/cluster-fixture.ts'
import { ferryFiles } from './view-charts-served.ts'
import type { ViewsFixture } from './views-fixture.ts'
import { startViewsFixture } from './views-fixture.ts'

/** Package views through the whole service, with charts of a repository on loopback. */
let fixture: ViewsFixture
test.before(async () => {
  fixture = await startViewsFixture()
})
test.after.always(() => fixture?.stop())

const sourceRef = () => ({ apiGroup: 'charts.x-helm.dev', kind: 'Legacy', namespace: '', name: fixture.charts.url })
const ferryView = () => ({
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'PackageView',
  type: 'application',
  description: 'The ferry',
  icons: [{ src: 'https://icons.example.com/ferry.svg', type: 'image/svg+xml' }],
  maintainers: [{ name: 'Ann', email: 'ann@example.com' }],
  keywords: ['boat'],
  links: [{ description: 'website', url: 'https://ferry.example.com' }],
  name: 'ferry',
  version: '1.4.0',
  sourceRef: sourceRef(),
  valuesFiles: [
    { filename: 'values.yaml', values: { replicas: 1, image: { tag: 'a', pull: 'Always' }, license: 'none' } },
    { filename: 'values-big.yaml', values: { replicas: 100 } },
  ],
  openAPIV3Schema: { type: 'object', properties: { replicas: { type: 'integer' } } },
})

test('a package view, its chart named in the query, in the body, or in both', async (t) => {
  const byQuery = await expectStatus(
    fixture.ask('GET', '/packageview', { query: fixture.source('ferry', '1.4.0') }),
    200,
  )
  t.deepEqual(byQuery.json, ferryView())
  t.deepEqual(
    (await expectStatus(fixture.ask('GET', '/packageview', { body: fixture.source('ferry') }), 200)).json,
    ferryView(),
    'the newest one',
  )
  const both = await expectStatus(
    fixture.ask('GET', '/packageview', { body: fixture.source('ferry', '1.4.0'), query: { version: '1.3.0' } }),
    200,
  )
  t.is(both.json.version, '1.3.0', 'the query wins')
  t.deepEqual(
    (await expectStatus(fixture.ask('GET', '/packageview/', { query: fixture.source('ferry', '~1.3.0') }), 200)).json
      .version,
    '1.3.0',
  )
  const yaml = await expectStatus(
    fixture.ask('GET', '/packageview', { query: { ...fixture.source('ferry', '1.4.0'), format: 'yaml' } }),
    200,
  )
  t.is(yaml.headers['content-type'], 'application/yaml; charset=utf-8')
  t.deepEqual(parse(yaml.text), ferryView())
})

test('only the repository is requested, never the icon of a chart', async (t) => {
  await expectStatus(fixture.ask('GET', '/packageview', { query: fixture.source('ferry', '1.4.0') }), 200)
  const paths = new Set(fixture.charts.requests.map((line) => line.split(' ')[1]))
  t.true(paths.size > 0)
  for (const path of paths) t.regex(path ?? '', /^\/(?:index\.yaml|[a-z-]+-[0-9.]+\.tgz)$/)
})

test('the files of a chart, those of subcharts among them', async (t) => {
  const { json } = await expectStatus(
    fixture.ask('GET', '/packageview/files', { query: fixture.source('ferry', '1.4.0') }),
    200,
  )
  t.deepEqual(
    json,
    Object.keys(ferryFiles).sort((a, b) => (a < b ? -1 : 1)),
  )
})

const file = (
  path: string,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
) =>
  fixture.ask('GET', `/packageview/files/${path.split('/').map(encodeURIComponent).join('/')}`, {
    query: { ...fixture.source('ferry', '1.4.0'), ...query },
    headers,
  })

test('each file of a chart is a download that no browser runs', async (t) => {
  for (const [path, content] of Object.entries(ferryFiles)) {
    const answer = await expectStatus(file(path), 200)
    if (typeof content === 'string') t.is(answer.text, content)
    t.regex(
      String(answer.headers['content-disposition']),
      /^attachment; filename="[A-Za-z0-9._-]+"; filename\*=UTF-8''[A-Za-z0-9._~%!-]+$/,
      path,
    )
    t.is(answer.headers['content-security-policy'], "default-src 'none'; sandbox")
    t.is(answer.headers['x-content-type-options'], 'nosniff')
    t.is(answer.headers['cache-control'], 'private, no-cache')
    t.notRegex(String(answer.headers['content-type']), /html|svg|xml|javascript/, path)
  }
  const odd = await expectStatus(file('files/über mich (1).txt'), 200)
  t.is(
    odd.headers['content-disposition'],
    `attachment; filename="_ber_mich__1_.txt"; filename*=UTF-8''%C3%BCber%20mich%20%281%29.txt`,
  )
  t.is(odd.headers['content-type'], 'text/plain; charset=utf-8')
  t.is((await expectStatus(file('files/bytes.bin'), 200)).headers['content-type'], 'application/octet-stream')
  t.is((await expectStatus(file('files/bytes.bin'), 200)).headers['content-length'], '4')
})

test('a file is not sent again to a client that has it', async (t) => {
  const { headers } = await expectStatus(file('README.md'), 200)
  const again = await file('README.md', {}, { 'if-none-match': String(headers['etag']) })
  t.deepEqual([again.status, again.text], [304, ''])
})

test('YAML and JSON convert into one another', async (t) => {
  const json = await expectStatus(file('values-big.yaml', { format: 'json' }), 200)
  t.deepEqual([json.headers['content-type'], json.text], ['application/json; charset=utf-8', '{"replicas":100}'])
  t.regex(String(json.headers['content-disposition']), /filename="values-big\.json"/)
  const yaml = await expectStatus(file('values.schema.json', { format: 'yaml' }), 200)
  t.deepEqual(parse(yaml.text), { type: 'object', properties: { replicas: { type: 'integer' } } })
  t.is((await expectStatus(file('values-big.yaml', { format: 'xml' }), 200)).text, 'replicas: 100\n')
  for (const path of ['README.md', 'templates/deep/object.yaml'])
    t.is((await expectStatus(file(path, { format: 'json' }), 422)).json.code, 'FormatRefused')
})

const missing: readonly string[] = [
  'none.txt',
  'templates',
  'templates/deep/',
  'CHART.YAML',
  'values.yaml/x',
  'ferry/Chart.yaml',
  'x'.repeat(1000),
]
for (const path of missing)
  test(`there is no file ${path.slice(0, 30)}`, async (t) => t.is((await file(path)).status, 404))
test.serial('a path that leads out of the chart is refused before anything is fetched', async (t) => {
  const asked = fixture.charts.requests.length
  for (const path of ['..%2f..%2fetc%2fpasswd', '%2e%2e%5cx', 'a%00b'])
    t.is((await fixture.ask('GET', `/packageview/files/${path}`, { query: fixture.source('harbour') })).status, 400)
  t.is(fixture.charts.requests.length, asked)
})

test('values are the defaults of the chart, as JSON or YAML', async (t) => {
  const values = { replicas: 1, image: { tag: 'a', pull: 'Always' }, license: 'none' }
  t.deepEqual(
    (
      await expectStatus(
        fixture.ask('GET', '/packageview/values', { query: { ...fixture.source('ferry', '1.4.0'), format: 'json' } }),
        200,
      )
    ).json,
    values,
  )
  t.deepEqual(
    (await expectStatus(fixture.ask('GET', '/packageview/values', { body: fixture.source('ferry', '1.4.0') }), 200))
      .json,
    values,
  )
  const yaml = await expectStatus(
    fixture.ask('GET', '/packageview/values', { query: { ...fixture.source('ferry', '1.4.0'), format: 'yaml' } }),
    200,
  )
  t.is(yaml.text, 'replicas: 1\nimage:\n  tag: a\n  pull: Always\nlicense: none\n')
})

test('an order of one chart holds changed values and installs nothing', async (t) => {
  const body = {
    ...fixture.source('ferry'),
    releaseName: 'blue',
    namespace: 'shop',
    values: { replicas: 3, image: { tag: 'a', pull: null }, extra: { on: true } },
  }
  const { json } = await expectStatus(fixture.ask('POST', '/packageview/orders', { body }), 200)
  t.regex(json.metadata.uid, /^[0-9a-f-]{36}$/)
  t.regex(json.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  t.deepEqual(json, {
    apiVersion: 'releases.x-helm.dev/v1alpha1',
    kind: 'Order',
    metadata: { name: 'blue', uid: json.metadata.uid, creationTimestamp: json.metadata.creationTimestamp },
    spec: {
      items: [
        {
          chart: {
            name: 'ferry',
            version: '1.4.0',
            sourceRef: sourceRef(),
            releaseName: 'blue',
            namespace: 'shop',
            bundle: null,
            valuesFile: 'values.yaml',
            valuesPatch: [
              { op: 'replace', path: '/replicas', value: 3 },
              { op: 'replace', path: '/image/pull', value: null },
              { op: 'add', path: '/extra', value: { on: true } },
            ],
            resources: null,
            waitFors: null,
          },
        },
      ],
    },
    status: {},
  })
  const plain = await expectStatus(fixture.ask('POST', '/packageview/orders', { body: fixture.source('ferry') }), 200)
  t.like(plain.json.spec.items[0].chart, { releaseName: 'ferry', namespace: 'default', valuesPatch: [] })
  t.false(
    fixture.api.calls.some(({ method }) => method !== 'GET'),
    'the cluster was not changed',
  )
})

const badOrders: readonly (readonly [string, object])[] = [
  ['a release name of 54 characters', { releaseName: 'a'.repeat(54) }],
  ['a release name with capitals', { releaseName: 'Blue' }],
  ['a release name that is an option', { releaseName: '--help' }],
  ['a namespace that is none', { namespace: 'Shop_1' }],
  ['values that are a list', { values: [1] }],
  ['values that are a text', { values: 'a: 1' }],
  ['a version that is a number', { version: 1 }],
  ['no chart', { name: '' }],
]
for (const [what, changes] of badOrders)
  test(`an order is refused for ${what}`, async (t) =>
    t.is(
      (await fixture.ask('POST', '/packageview/orders', { body: { ...fixture.source('ferry'), ...changes } })).status,
      422,
    ))

const views = [
  '/packageview',
  '/packageview/files',
  '/packageview/files/Chart.yaml',
  '/packageview/values',
  '/bundleview',
] as const
const badSources: readonly (readonly [string, () => Readonly<Record<string, string>>, number, string])[] = [
  ['nothing at all', () => ({}), 422, 'InvalidBody'],
  ['no source', () => ({ name: 'ferry' }), 422, 'InvalidBody'],
  ['an unknown chart', () => fixture.source('boat'), 404, 'ChartMissing'],
  ['an unknown version', () => fixture.source('ferry', '9.9.9'), 404, 'ChartMissing'],
  ['a version that is none', () => fixture.source('ferry', '../1.4.0'), 404, 'ChartMissing'],
  ['a name that is a path', () => fixture.source('../index.yaml'), 404, 'ChartMissing'],
  [
    'a folder of the server',
    () => ({ ...fixture.source('ferry'), sourceKind: 'Local', sourceName: '/etc' }),
    422,
    'ChartSourceRefused',
  ],
  [
    'a file of the server',
    () => ({ ...fixture.source('ferry'), sourceName: 'file:///etc' }),
    422,
    'ChartSourceRefused',
  ],
  [
    'a path in place of an address',
    () => ({ ...fixture.source('ferry'), sourceName: '/etc' }),
    422,
    'ChartSourceRefused',
  ],
  [
    'an address inside of the network',
    () => ({ ...fixture.source('ferry'), sourceName: `http://127.0.0.1:${new URL(fixture.service.baseUrl).port}` }),
    422,
    'ChartSourceRefused',
  ],
  [
    'the address of cloud metadata',
    () => ({ ...fixture.source('ferry'), sourceName: 'http://169.254.169.254/latest' }),
    422,
    'ChartSourceRefused',
  ],
  [
    'a kind of source that there is not',
    () => ({ ...fixture.source('ferry'), sourceKind: 'GitRepository' }),
    422,
    'ChartSourceRefused',
  ],
  [
    'a HelmRepository that is not there',
    () => ({ name: 'ferry', sourceName: 'harbour', sourceNamespace: 'kubeops' }),
    404,
    'ChartMissing',
  ],
  [
    'a namespace that is none',
    () => ({ name: 'ferry', sourceName: 'harbour', sourceNamespace: '../x' }),
    422,
    'InvalidBody',
  ],
]
for (const [what, source, status, code] of badSources) {
  test(`each view is refused with ${status} for ${what}`, async (t) => {
    for (const path of views) {
      const answer = await fixture.ask('GET', path, { query: source() })
      t.deepEqual([answer.status, answer.json?.code], [status, code], `${path}: ${answer.text}`)
    }
  })
}

test.serial('a chart of the cluster is hidden from other callers', async (t) => {
  const asked = fixture.charts.requests.length
  const called = fixture.api.calls.length
  for (const path of views)
    t.is(
      (await fixture.ask('GET', path, { query: fixture.source('harbour'), token: fixture.stranger.token })).status,
      404,
      path,
    )
  for (const path of ['/packageview/orders', '/bundleview/orders'])
    t.is(
      (await fixture.ask('POST', path, { body: fixture.source('harbour'), token: fixture.stranger.token })).status,
      404,
      path,
    )
  for (const path of views) t.is((await fixture.service.send('GET', `${fixture.helm}${path}`)).status, 401, path)
  t.deepEqual([fixture.charts.requests.length, fixture.api.calls.length], [asked, called])
})

test('a token that only reads looks, and orders nothing', async (t) => {
  const token = await fixture.service.tokenFor(fixture.owner.login, ['read:cluster'])
  t.is((await fixture.ask('GET', '/packageview', { query: fixture.source('ferry', '1.4.0'), token })).status, 200)
  t.is(
    (await fixture.ask('POST', '/packageview/orders', { body: fixture.source('ferry', '1.4.0'), token })).status,
    403,
  )
  const other = await fixture.service.tokenFor(fixture.owner.login, ['read:user'])
  t.is(
    (await fixture.ask('GET', '/packageview', { query: fixture.source('ferry', '1.4.0'), token: other })).status,
    403,
  )
})

/** Charts of named repositories: whose credentials fetch them, and who never sees them. */
let namedRepositoriesFixture: ViewsFixture
let org: string
test.before(async () => {
  namedRepositoriesFixture = await startViewsFixture()
  org = namedRepositoriesFixture.helm.split('/')[4] ?? ''
  const repository = {
    name: 'private',
    url: namedRepositoriesFixture.charts.url,
    username: 'reader',
    password: 'anchor-and-chain',
  }
  await expectStatus(
    namedRepositoriesFixture.service.send('POST', `/api/v1/orgs/${org}/chartrepositories`, {
      token: namedRepositoriesFixture.owner.token,
      body: repository,
    }),
    201,
  )
})
test.after.always(() => namedRepositoriesFixture?.stop())

const source = { name: 'ferry', version: '1.4.0', sourceKind: 'ChartRepository', sourceName: 'private' }
const namedRepositoriesViews = [
  '/packageview',
  '/packageview/files',
  '/packageview/files/Chart.yaml',
  '/packageview/values',
  '/bundleview',
]

test.serial('a chart of a named repository is fetched with its credentials, once', async (t) => {
  for (const path of namedRepositoriesViews) {
    const answer = await expectStatus(namedRepositoriesFixture.ask('GET', path, { query: source }), 200)
    t.false(answer.text.includes('anchor-and-chain'))
  }
  const expected = `Basic ${Buffer.from('reader:anchor-and-chain').toString('base64')}`
  t.true(namedRepositoriesFixture.charts.authorizations.length > 0)
  t.deepEqual([...new Set(namedRepositoriesFixture.charts.authorizations)], [expected])
  t.is(
    namedRepositoriesFixture.charts.requests.filter((line) => line.endsWith('.tgz')).length,
    1,
    'what was fetched for one view serves the next',
  )
  t.false(namedRepositoriesFixture.service.logText().includes('anchor-and-chain'))
})

test.serial('another organization has no repository of that name, whatever was fetched before', async (t) => {
  await expectStatus(namedRepositoriesFixture.ask('GET', '/packageview', { query: source }), 200)
  const theirs = await namedRepositoriesFixture.people.organization(namedRepositoriesFixture.stranger)
  await expectStatus(
    importCluster(
      namedRepositoriesFixture.service.send,
      namedRepositoriesFixture.stranger.token,
      theirs,
      'own',
      namedRepositoriesFixture.api.kubeconfig(),
    ),
    200,
  )
  const asked = namedRepositoriesFixture.charts.requests.length
  for (const path of namedRepositoriesViews) {
    const query = new URLSearchParams({ ...source, sourceNamespace: org }).toString()
    const answer = await namedRepositoriesFixture.service.send(
      'GET',
      `/api/v1/clusters/${theirs}/own/helm${path}?${query}`,
      { token: namedRepositoriesFixture.stranger.token },
    )
    t.deepEqual([answer.status, answer.json?.code], [404, 'ChartMissing'], answer.text)
  }
  const ordered = await namedRepositoriesFixture.service.send(
    'POST',
    `/api/v1/clusters/${theirs}/own/helm/packageview/orders`,
    { token: namedRepositoriesFixture.stranger.token, body: source },
  )
  t.is(ordered.status, 404)
  t.is(namedRepositoriesFixture.charts.requests.length, asked)
})
