import test from 'ava'
import fc from 'fast-check'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { startService } from '../../support/service.ts'
import { clusterUidOf, objectUidOf } from '../product-months.ts'
import {
  type Item,
  type View,
  databaseViews,
  june,
  org,
  otherOrg,
  owner,
  read,
  service,
  stranger,
  summary,
  viewOf,
  views,
} from './views.fixture.ts'
import { declareViewFormatCases } from './view-format-cases.ts'

const objectPath = `/clusters/${clusterUidOf(1)}/objects/${objectUidOf(0)}`
const objectViews = databaseViews.slice(5).map((view) => `dbProduct/views/${view}${objectPath}`)
const everyPath = [
  `${summary}/generated-months`,
  `${summary}/object-quota-history${objectPath}`,
  ...[...views, ...objectViews].map((view) => `${june}/${view}`),
]

test('years and months ascend, and only published months of the account are listed', async (t) => {
  const { yearMonthList, months } = (await expectStatus(read(`${summary}/generated-months`), 200)).json
  t.deepEqual(yearMonthList, { '2025': ['December'], '2026': ['May', 'June'] })
  t.deepEqual(
    months.map(({ month, revision }: { month: string; revision: number }) => [month, revision]),
    [
      ['2025-12', 1],
      ['2026-05', 1],
      ['2026-06', 1],
    ],
  )
  t.deepEqual((await expectStatus(read(`${summary}/generated-months`, { org: otherOrg }), 200)).json.yearMonthList, {
    '2026': ['June'],
  })
  t.deepEqual((await expectStatus(read(`${summary}/generated-months`, { org: 'admin' }), 200)).json, {
    yearMonthList: {},
    months: [],
  })
})

test('every route needs a site admin, an account and an organization', async (t) => {
  for (const path of everyPath) {
    t.is((await read(path)).status, 200, path)
    t.is((await read(path, {}, {}, owner.token)).status, 403, path)
    t.is((await read(path, {}, {}, stranger.token)).status, 403, path)
    t.is((await read(path, { org: 'org-of-nobody' })).status, 404, path)
    t.is((await service.send('GET', `${path}?org=${org}`)).status, 401, path)
    t.is((await service.send('GET', path, { token: service.adminToken })).status, 400, path)
  }
})

test('a view contains only its account', async (t) => {
  for (const path of everyPath) {
    const mine = (await read(path)).text
    const theirs = (await read(path, { org: otherOrg })).text
    t.false(mine.includes('theirs') || theirs.includes('mine'), path)
  }
  const names = (view: View) => view.items.map(({ name }) => name)
  const [mine, theirs] = await Promise.all([
    viewOf(read(`${june}/dbProduct/views/objects-usage-view`)),
    viewOf(read(`${june}/dbProduct/views/objects-usage-view`, { org: otherOrg })),
  ])
  t.deepEqual(
    names(mine).map((name) => name.replace('mine', 'theirs')),
    names(theirs),
  )
})

test('a month is its English name or number, and others are 400', async (t) => {
  const path = (year: string, month: string) =>
    `${summary}/${year}/${month}/usage-report/products/dbProduct/views/gks-usage-view`
  const reference = (await read(path('2026', 'June'))).text
  for (const month of ['june', 'JUNE', 'jUnE', '6', '06'])
    t.is((await read(path('2026', month))).text, reference, month)
  for (const month of ['Jun', 'Junes', '0', '00', '13', '006', '6.0', '-6', '+6', '%D9%A6', 'Juni', '%206'])
    t.is((await read(path('2026', month))).status, 400, month)
  for (const year of ['226', '02026', '20x6', '-2026', '2026.', '%D9%A2%D9%A0%D9%A2%D9%A6'])
    t.is((await read(path(year, '6'))).status, 400, year)
  for (const [year, month] of [
    ['2026', 'April'],
    ['2026', 'July'],
    ['1999', '6'],
    ['9999', '12'],
    ['0000', '1'],
  ] as const)
    t.is((await read(path(year, month))).status, 404, `${year} ${month}`)
})

test('an invalid view type, contract or revision is 400', async (t) => {
  for (const view of views) {
    for (const query of [{ view_type: 'all' }, { view_type: '' }, { view_type: 'Total' }])
      t.is(
        (await read(`${june}/${view}`, query)).status,
        /history|mode/.test(view) ? 200 : 400,
        `${view} ${JSON.stringify(query)}`,
      )
    for (const query of [{ revision: '0' }, { revision: 'x' }, { format: 'xml' }])
      t.is((await read(`${june}/${view}`, query)).status, 400, `${view} ${JSON.stringify(query)}`)
  }
  for (const product of ['dbProduct', 'backupProduct', 'vaultProduct', 'ingressProduct']) {
    for (const contractID of ['0', '-1', '7.0', '1e3', 'x', '', ' 7', '9223372036854775808'])
      t.is(
        (await read(`${june}/${product}/views/clusters-usage-view`, { contractID })).status,
        400,
        `${product} ${contractID}`,
      )
    t.deepEqual(
      (await viewOf(read(`${june}/${product}/views/clusters-usage-view`, { contractID: '9223372036854775807' }))).items,
      [],
    )
  }
})

test('filters combine by AND, and totals are the shown sums', async (t) => {
  const path = `${june}/dbProduct/views/objects-usage-view`
  const { items } = await viewOf(read(path))
  const values = {
    group: ['kubedb.com', 'other'],
    kind: ['Postgres', 'Redis', 'none'],
    clusterUID: [1, 2, 3, 4].map(clusterUidOf),
    namespace: ['shop', 'a', 'x"y'],
    namespaceUID: ['uid-of-a', 'uid-of-shop', '%'],
  }
  const filters = fc.record(
    Object.fromEntries(Object.entries(values).map(([name, some]) => [name, fc.constantFrom(...some)])),
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(filters, fc.constantFrom('total', 'billable'), async (filter, viewType) => {
      const shown = await viewOf(read(path, { ...(filter as Record<string, string>), view_type: viewType }))
      const expected = items.filter((item) =>
        Object.entries(filter).every(([name, value]) => item[name as 'kind'] === value),
      )
      t.deepEqual(
        shown.items.map(({ name }) => name),
        expected.map(({ name }) => name),
      )
      const thousandths = (of: readonly Item[]) => of.reduce((all, { cpu }) => all + Math.round(cpu * 1000), 0)
      t.is(thousandths([shown.totals]), thousandths(expected))
      t.is(shown.totals.objectCount, expected.length)
    }),
    { numRuns: 25 },
  )
  t.is((await viewOf(read(path, { kind: '', group: '' }))).items.length, items.length, 'an empty value is no filter')
  const ofA = items.filter(({ clusterUID, namespace }) => clusterUID === clusterUidOf(3) && namespace === 'a').length
  t.true(ofA > 0)
  t.is(
    (await viewOf(read(path, { clusterUID: clusterUidOf(3).toUpperCase(), namespaceUID: 'UID-OF-A' }))).items.length,
    ofA,
    'UIDs in any case',
  )
})

test("clusters, kinds and namespaces show each other's use", async (t) => {
  const clusters = `${june}/dbProduct/views/clusters-usage-view`
  const objects = (await viewOf(read(`${june}/dbProduct/views/objects-usage-view`))).items
  const postgres = await viewOf(read(clusters, { kind: 'Postgres', view_type: 'billable' }))
  t.deepEqual(
    postgres.items.map(({ clusterUID, objectCount }) => [clusterUID, objectCount]),
    [
      [clusterUidOf(1), 1],
      [clusterUidOf(2), 1],
    ],
  )
  const ofNine = await viewOf(read(clusters, { contractID: '9' }))
  t.deepEqual(
    ofNine.items.map(({ clusterUID, objectCount }) => [clusterUID, objectCount]),
    [
      [clusterUidOf(1), 1],
      [clusterUidOf(2), 1],
    ],
  )
  t.deepEqual(
    (await viewOf(read(clusters, { contractID: '7', kind: 'Postgres' }))).items.map(({ clusterUID }) => clusterUID),
    [clusterUidOf(1)],
  )
  t.deepEqual((await viewOf(read(clusters, { contractID: '8' }))).items, [])
  const kinds = await viewOf(read(`${june}/dbProduct/views/gks-usage-view`, { clusterUID: clusterUidOf(1) }))
  t.deepEqual(
    kinds.items.map(({ kind, objectCount }) => [kind, objectCount]),
    [
      ['MySQL', 1],
      ['Postgres', 1],
    ],
  )
  t.deepEqual(
    Object.keys(kinds.items[0]!),
    Object.keys((await viewOf(read(`${june}/dbProduct/views/gks-usage-view`))).items[0]!),
  )
  const namespaces = await viewOf(
    read(`${june}/dbProduct/views/namespaces-usage-view`, { clusterUID: clusterUidOf(3) }),
  )
  t.deepEqual(
    namespaces.items.map(({ namespace, objectCount }) => [namespace, objectCount]),
    [
      ['a', 150],
      ['b', 150],
    ],
  )
  t.is(kinds.totals.objectCount + namespaces.totals.objectCount, objects.length - 1)
})

test('an object is found by its cluster and UID in any case', async (t) => {
  for (const view of databaseViews.slice(5)) {
    const path = `${june}/dbProduct/views/${view}/clusters`
    const { items, totals } = await viewOf(read(`${path}/${clusterUidOf(3).toUpperCase()}/objects/${objectUidOf(302)}`))
    t.deepEqual([items.map(({ name }) => name), totals.objectCount], [['cache-299-mine'], 1])
    const whole = await viewOf(read(`${june}/dbProduct/views/${view}`))
    t.deepEqual(whole.items.at(-1), items[0])
    for (const missing of [
      `${clusterUidOf(2)}/objects/${objectUidOf(0)}`,
      `${clusterUidOf(1)}/objects/${objectUidOf(999)}`,
      'x/objects/%00',
      `${clusterUidOf(1)}/objects/%25`,
    ])
      t.true([400, 404].includes((await read(`${path}/${missing}`)).status), missing)
    const { json: unknown } = await expectStatus(read(`${path}/${clusterUidOf(1)}/objects/${objectUidOf(999)}`), 404)
    t.like(unknown, { code: 'UsageViewMissing', message: 'The report of June 2026 does not have this object.' })
  }
  const { json } = await expectStatus(read(`${summary}/object-quota-history${objectPath}`), 200)
  t.deepEqual(json.months, ['2026-05', '2026-06'])
  t.is(json.segments.length, 4)
  t.is(
    (await read(`${summary}/object-quota-history/clusters/${clusterUidOf(1)}/objects/${objectUidOf(2)}`)).status,
    404,
  )
})

test('where billing is off, the routes do not exist, with or without a credential', async (t) => {
  const without = await startService()
  try {
    for (const path of [
      ...everyPath,
      '/api/v1/dbaas/billing/reports/namespaces',
      `/api/v1/dbaas/billing/reports/clusters/${clusterUidOf(1)}/namespaces/shop`,
    ]) {
      t.is((await without.send('GET', path)).status, 404, path)
      t.is((await without.send('GET', `${path}?org=admin`, { token: without.adminToken })).status, 404, path)
    }
  } finally {
    await without.stop()
  }
})

declareViewFormatCases()
