import { gunzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { monthKey } from '../../core/usage/month.ts'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-world.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { plantInService } from './planted-months.ts'
import type { ObjectPlan } from './product-months.ts'
import { clusterUidOf, monthOfPlans, objectUidOf } from './product-months.ts'

/** The reports of generated months, as site admins read them. */

const summary = '/api/v1/dashboard/summary'
const june = `${summary}/2026/June/usage-report/products`

let service: TestService
let owner: Person
let stranger: Person
let org: string
let otherOrg: string

const used = (day: number, use: 'prod' | 'non-prod' | 'trial', contractId: number, core: bigint) => ({
  day,
  use,
  contractId,
  milliCpuSeconds: core * 1_000_003n,
  mebibyteSeconds: core * 7_000_001n,
})
const plansOf = (tenant: string): readonly ObjectPlan[] => [
  {
    cluster: 1,
    kind: 'Postgres',
    namespace: 'shop',
    name: `=HYPERLINK("x")${tenant}`,
    used: [used(1, 'prod', 7, 500n), used(2, 'non-prod', 9, 333n)],
  },
  { cluster: 1, kind: 'MySQL', namespace: 'shop', name: `orders, ${tenant}`, used: [used(1, 'trial', 7, 41n)] },
  { cluster: 2, kind: 'Postgres', namespace: 'demo', name: `"База" ${tenant}`, used: [used(30, 'prod', 9, 77n)] },
  ...Array.from({ length: 300 }, (_, n): ObjectPlan => ({
    cluster: 3,
    kind: 'Redis',
    namespace: n % 2 === 0 ? 'a' : 'b',
    name: `cache-${n}-${tenant}`,
    used: [used(3, 'prod', 7, BigInt(n))],
  })),
]

const everyProduct = (tenant: string, month = monthKey(2026, 6)) => [
  monthOfPlans(plansOf(tenant), { month }),
  ...(['backupProduct', 'vaultProduct', 'ingressProduct'] as const).map((product) =>
    monthOfPlans(plansOf(tenant), { month, product }),
  ),
]

test.before(async () => {
  service = await startService({ settings: { MOORAGE_BILLING_ENABLED: 'true' } })
  const people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  org = await people.organization(owner)
  otherOrg = await people.organization(stranger)
  const idOf = async (name: string): Promise<number> =>
    (await expectStatus(service.send('GET', `/api/v1/orgs/${name}`, { token: service.adminToken }), 200)).json
      .id as number
  await plantInService(service.databaseUrl, await idOf(org), everyProduct('mine'))
  await plantInService(
    service.databaseUrl,
    await idOf(org),
    [monthOfPlans(plansOf('may'), { month: monthKey(2026, 5) })],
    { status: 'provisional' },
  )
  await plantInService(service.databaseUrl, await idOf(org), [monthOfPlans([], { month: monthKey(2025, 12) })])
  await plantInService(
    service.databaseUrl,
    await idOf(org),
    [monthOfPlans(plansOf('hidden'), { month: monthKey(2026, 7) })],
    { isHidden: true },
  )
  await plantInService(service.databaseUrl, await idOf(otherOrg), everyProduct('theirs'))
})
test.after.always(() => service?.stop())

const read = (
  path: string,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
  token = service.adminToken,
): Promise<ServiceAnswer> =>
  service.send('GET', `${path}?${new URLSearchParams({ org, ...query }).toString()}`, { token, headers })

interface Item {
  readonly name: string
  readonly group: string
  readonly kind: string
  readonly clusterUID: string
  readonly namespace: string
  readonly contractID: number
  readonly cpu: number
  readonly memory: number
  readonly objectCount: number
}
interface View {
  readonly revision: number
  readonly items: readonly Item[]
  readonly totals: Item
}
const viewOf = async (answer: Promise<ServiceAnswer>): Promise<View> => (await expectStatus(answer, 200)).json as View

const databaseViews = [
  'objects-usage-view',
  'clusters-usage-view',
  'namespaces-usage-view',
  'gks-usage-view',
  'contracts-usage-view',
  'object-quota-history-summaries-view',
  'objects-cluster-mode-usage-view',
]
const views = [
  ...databaseViews.map((view) => `dbProduct/views/${view}`),
  ...['backupProduct', 'vaultProduct', 'ingressProduct'].flatMap((product) => [
    `${product}/views/clusters-usage-view`,
    `${product}/views/contracts-usage-view`,
  ]),
]
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

test('every route is for site admins: 403 to members and strangers, 404 without such an account, 401 without a token, 400 without org', async (t) => {
  for (const path of everyPath) {
    t.is((await read(path)).status, 200, path)
    t.is((await read(path, {}, {}, owner.token)).status, 403, path)
    t.is((await read(path, {}, {}, stranger.token)).status, 403, path)
    t.is((await read(path, { org: 'org-of-nobody' })).status, 404, path)
    t.is((await service.send('GET', `${path}?org=${org}`)).status, 401, path)
    t.is((await service.send('GET', path, { token: service.adminToken })).status, 400, path)
  }
})

test('a view has only what belongs to the account', async (t) => {
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

test('a month is its English name in any case or its number; others, and other years, are 400; months without a report are 404', async (t) => {
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

test('an unknown view type, a contract that is no positive integer and a revision that is none are 400', async (t) => {
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

test('filters are combined by AND, and the totals are the sums of what is shown', async (t) => {
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

test('clusters show what was used of a kind or for a contract; kinds and namespaces what was used in a cluster', async (t) => {
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

test('one object is found by its cluster and its UID, in any case, and not by those of another account or view', async (t) => {
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

test('a revision has a strong ETag: 304 with it or since its time, in each form of its own', async (t) => {
  for (const view of views) {
    const path = `${june}/${view}`
    const { headers } = await expectStatus(read(path), 200)
    const etag = String(headers['etag'])
    t.regex(etag, /^"1-final-[^"]+"$/)
    t.is(headers['last-modified'], 'Sat, 04 Jul 2026 00:30:00 GMT')
    for (const held of [
      { 'if-none-match': etag },
      { 'if-none-match': `"x", W/${etag}` },
      { 'if-modified-since': 'Sat, 04 Jul 2026 00:30:00 GMT' },
    ]) {
      const unchanged = await read(path, {}, held)
      t.deepEqual([unchanged.status, unchanged.text], [304, ''], JSON.stringify(held))
    }
    const others: readonly Readonly<Record<string, string>>[] = [
      { accept: 'text/csv' },
      { 'accept-encoding': 'gzip' },
      { 'if-modified-since': 'Sat, 04 Jul 2026 00:29:59 GMT' },
      { 'if-none-match': '"x"', 'if-modified-since': 'Sat, 04 Jul 2026 00:30:00 GMT' },
    ]
    for (const other of others)
      t.is(
        (await read(path, {}, { 'if-none-match': other['if-modified-since'] === undefined ? etag : '"y"', ...other }))
          .status,
        200,
        JSON.stringify(other),
      )
  }
})

test('gzip has the same bytes, and is sent only to clients that accept it', async (t) => {
  for (const view of views) {
    const plain = await read(`${june}/${view}`)
    const packed = await fetchBytes(`${june}/${view}?org=${org}`, 'gzip, br')
    t.is(packed.encoding, 'gzip')
    t.is(gunzipSync(packed.bytes).toString(), plain.text)
    t.is(plain.headers['content-encoding'], undefined)
    t.is((await fetchBytes(`${june}/${view}?org=${org}`, 'gzip;q=0')).encoding, undefined)
  }
})

const fetchBytes = async (path: string, acceptEncoding: string) => {
  const { request } = await import('undici')
  const answer = await request(service.baseUrl + path, {
    headers: { authorization: `token ${service.adminToken}`, 'accept-encoding': acceptEncoding },
  })
  return { encoding: answer.headers['content-encoding'], bytes: new Uint8Array(await answer.body.arrayBuffer()) }
}

/** Cells of RFC 4180. */
const cellsOf = (csv: string): readonly (readonly string[])[] => {
  const rows: string[][] = [[]]
  for (const [, quoted, bare, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted === undefined ? bare! : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

test('CSV has the figures of JSON, by Accept or format, whole or filtered, and no name is a formula', async (t) => {
  for (const view of views) {
    const query = /history|mode/.test(view) ? {} : { view_type: 'billable' }
    const { items } = await viewOf(read(`${june}/${view}`, query))
    const csv = await expectStatus(read(`${june}/${view}`, query, { accept: 'text/csv, application/json;q=0.9' }), 200)
    t.regex(String(csv.headers['content-type']), /^text\/csv/)
    t.true(
      String(csv.headers['content-disposition']).startsWith(`attachment; filename="usage-${org}-2026-06-r1-final-`),
    )
    t.is((await read(`${june}/${view}`, { ...query, format: 'csv' })).text, csv.text)
    t.regex(
      String(
        (await read(`${june}/${view}`, { ...query, format: 'json' }, { accept: 'text/csv' })).headers['content-type'],
      ),
      /json/,
    )
    const [head, ...rows] = cellsOf(csv.text)
    const elements = items.flatMap((item) =>
      'segments' in item ? (item.segments as Item[]).map((segment) => ({ ...item, ...segment })) : [item],
    )
    t.is(rows.length, elements.length, view)
    for (const [index, row] of rows.entries()) {
      t.is(row.length, head!.length)
      for (const [column, cell] of row.entries()) {
        t.notRegex(cell, /^[=+\-@\t\r]/, view)
        const name = head![column]!
        const value = name
          .split('.')
          .reduce<unknown>((from, key) => (from as Record<string, unknown> | null | undefined)?.[key], elements[index])
        if (typeof value === 'number') t.is(cell, String(value), `${view} ${name}`)
      }
    }
  }
  const filtered = await read(`${june}/dbProduct/views/objects-usage-view`, { kind: 'MySQL', format: 'csv' })
  t.deepEqual(
    cellsOf(filtered.text)
      .slice(1)
      .map((row) => [...row.slice(0, 4), row[10]]),
    [[org, '2026-06', '1', 'final', 'orders, mine']],
  )
})

test('old revisions remain readable, and the newest is the default', async (t) => {
  const ownerId = (
    await expectStatus(service.send('GET', `/api/v1/orgs/${otherOrg}`, { token: service.adminToken }), 200)
  ).json.id as number
  const month = monthKey(2026, 3)
  const path = `${summary}/2026/3/usage-report/products/dbProduct/views/objects-usage-view`
  await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plansOf('one').slice(0, 1), { month })])
  const first = await expectStatus(read(path, { org: otherOrg }), 200)
  await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plansOf('two').slice(0, 2), { month })], {
    revision: 2,
  })
  const changed = await expectStatus(
    read(path, { org: otherOrg }, { 'if-none-match': String(first.headers['etag']) }),
    200,
  )
  t.deepEqual([changed.json.revision, changed.json.items.length], [2, 2])
  t.is((await read(path, { org: otherOrg, revision: '1' })).text, first.text)
  // As a provisional month that another version of the code computes again from equal events.
  const db = await openDatabase(service.databaseUrl)
  await db.query((k) => k('usage_months').where({ owner_id: ownerId, revision: 2 }).increment('generated_at', 1))
  await db.close()
  t.is((await read(path, { org: otherOrg }, { 'if-none-match': String(changed.headers['etag']) })).status, 200)
  t.is((await read(path, { org: otherOrg, revision: '3' })).status, 404)
  t.is((await read(path, { revision: '1' })).status, 404)
})

test('HEAD has the headers without a body, and a client that leaves ends the answer', async (t) => {
  const head = await service.send('HEAD', `${june}/dbProduct/views/objects-usage-view?org=${org}`, {
    token: service.adminToken,
  })
  t.deepEqual([head.status, head.text], [200, ''])
  t.truthy(head.headers['etag'])
})

test('a long view is sent in pieces; a client that leaves disturbs nothing, and a damaged piece cuts the connection', async (t) => {
  const ownerId = (
    await expectStatus(service.send('GET', `/api/v1/orgs/${otherOrg}`, { token: service.adminToken }), 200)
  ).json.id as number
  const count = 1600
  const plans = Array.from({ length: count }, (_, n): ObjectPlan => ({
    cluster: 1 + (n % 4),
    kind: 'Redis',
    namespace: 'a',
    name: `long ${n}`,
    used: [used(3, 'prod', 7, BigInt(n))],
  }))
  await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plans, { month: monthKey(2024, 1) })])
  const path = `${summary}/2024/1/usage-report/products/dbProduct/views/objects-usage-view?org=${otherOrg}`
  const whole = await expectStatus(service.send('GET', path, { token: service.adminToken }), 200)
  t.deepEqual(
    [whole.json.items.length, whole.headers['transfer-encoding'], whole.headers['content-length']],
    [count, 'chunked', undefined],
  )
  t.is(gunzipSync((await fetchBytes(path, 'gzip')).bytes).toString(), whole.text)
  const { request } = await import('undici')
  const left = await request(service.baseUrl + path, { headers: { authorization: `token ${service.adminToken}` } })
  for await (const _ of left.body) break
  t.is((await service.send('GET', path, { token: service.adminToken })).text, whole.text)
  const db = await openDatabase(service.databaseUrl)
  await db.query((k) => k('usage_view_pieces').where('piece', 6).update({ crc32: 1 }))
  await db.close()
  await t.throwsAsync(service.send('GET', path, { token: service.adminToken }))
  t.true(service.logText().includes('its checksum differs'))
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
