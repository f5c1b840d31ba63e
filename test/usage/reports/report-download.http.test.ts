import { createHash, randomUUID } from 'node:crypto'
import test from 'ava'
import { makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { monthKey } from '../../../core/usage/month.ts'
import { MonthReportPort } from '../../../core/usage/months/ports.ts'
import type { MonthKey, UsageMonth, UsageMonthStatus } from '../../../core/usage/types.ts'
import { buildViews } from '../../../core/usage/views/build-views.ts'
import { UsageViewStorePort } from '../../../core/usage/views/ports.ts'
import { expectStatus, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { startService, type TestService } from '../../support/service.ts'
import type { ObjectPlan } from '../product-months.ts'
import { monthOfPlans, readOnce } from '../product-months.ts'
import { readPdf } from './report-values.ts'
import { openPatiently } from '../../support/databases.ts'

/** Reports as site admins download them. */

let service: TestService
let database: SqlDatabase
let owner: Person
let org: string
let ownerId: AccountId
const june = monthKey(2026, 6)

test.before(async () => {
  service = await startService({ settings: { MOORAGE_BILLING_ENABLED: 'true' } })
  database = await openPatiently(service.databaseUrl)
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  ownerId = (await expectStatus(service.send('GET', `/api/v1/orgs/${org}`, { token: owner.token }), 200)).json
    .id as AccountId
})
test.after.always(async () => {
  await database?.close()
  await service?.stop()
})

const day = (used: Partial<ObjectPlan['used'][number]>): ObjectPlan['used'][number] => ({
  day: 3,
  use: 'prod',
  contractId: 7,
  milliCpuSeconds: 2_500_000_000n,
  mebibyteSeconds: 7_777_777_777n,
  ...used,
})
const plans: readonly ObjectPlan[] = [
  {
    cluster: 1,
    kind: 'Postgres',
    namespace: 'shop',
    name: 'orders',
    used: [day({}), day({ day: 30, use: 'non-prod', milliCpuSeconds: 1_111_111_111n })],
  },
  { cluster: 2, kind: 'MySQL', namespace: 'demo', name: 'База', used: [day({ use: 'trial' })] },
  {
    cluster: 3,
    kind: 'Redis',
    namespace: 'ops',
    name: '数据库',
    used: [day({ use: 'free', contractId: 0 }), day({ day: 17 })],
  },
]

/** Adds a revision as a close does, with the report that the service writes. */
const publish = async (
  month: MonthKey,
  revision: number,
  status: UsageMonthStatus,
  given = plans,
): Promise<UsageMonth> => {
  const months = makeSqlMonthStore(database)(database)
  const facts = {
    ownerId,
    month,
    revision,
    status,
    inputHash: createHash('sha256').update(randomUUID()).digest('hex'),
    generatedAt: new Date('2026-07-04T00:30:00Z'),
  }
  const id = await months.begin({ ...facts, watermark: facts.generatedAt, codeVersion: 1 })
  const { container } = service.running
  await buildViews(container.resolve(UsageViewStorePort), id, readOnce(monthOfPlans(given, { month })))
  await container.resolve(MonthReportPort).write({ id, ...facts }, new AbortController().signal)
  await months.publish(id)
  return { id, ...facts }
}

const base = '/api/v1/dashboard/summary'
const pathOf = (month: string, query = ''): string => `${base}/${month}/download?org=${org}${query}`
const fetched = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Response> =>
  fetch(`${service.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${service.adminToken}`, 'accept-encoding': 'identity', ...headers },
  })

test.serial('an object in several rows of a report has its sum below them', async (t) => {
  const month = monthKey(2026, 1)
  await publish(month, 1, 'final')
  const got = await fetched(pathOf('2026/1'))
  const { pages } = await readPdf(new Uint8Array(await got.arrayBuffer()))
  const view = `${base}/2026/1/usage-report/products/dbProduct/views/objects-usage-view?org=${org}&view_type=billable`
  const { json } = await expectStatus(service.send('GET', view, { token: service.adminToken }), 200)
  const items = json.items as readonly { cpu: number; memory: number; uses: readonly { cpu: number }[] }[]
  const spread = items.filter(({ uses }) => uses.length > 1)
  t.true(spread.length > 0 && spread.length < items.length)
  const sums = pages.join(' ').match(/\bSum [\d.,]+ [\d.,]+/g) ?? []
  const shown = (value: number) => value.toLocaleString('en-US', { minimumFractionDigits: 3 })
  t.deepEqual(sums.toSorted(), spread.map(({ cpu, memory }) => `Sum ${shown(cpu)} ${shown(memory)}`).toSorted())
})

test.serial('a report has a name, a length and a tag, and is not sent twice', async (t) => {
  await publish(june, 1, 'final')
  const got = await fetched(pathOf('2026/June'))
  t.is(got.status, 200)
  const bytes = new Uint8Array(await got.arrayBuffer())
  t.is(got.headers.get('content-type'), 'application/pdf')
  t.is(got.headers.get('content-length'), String(bytes.length))
  t.true(
    (got.headers.get('content-disposition') ?? '').startsWith(
      `attachment; filename="usage-${org}-2026-06-r1-final.pdf"`,
    ),
  )
  t.is(Buffer.from(bytes.slice(0, 5)).toString(), '%PDF-')
  const etag = got.headers.get('etag') ?? ''
  t.regex(etag, /^"1-final-/)
  const again = await fetched(pathOf('2026/6'), { 'if-none-match': etag })
  t.is(again.status, 304)
  t.is((await again.arrayBuffer()).byteLength, 0)
  const head = await fetched(pathOf('2026/06'), {}, 'HEAD')
  t.is(head.status, 200)
  t.is(head.headers.get('content-length'), String(bytes.length))
  t.is(head.headers.get('etag'), etag)
})

interface View {
  readonly totals: Use
  readonly items: readonly (Use & {
    readonly uses?: readonly { readonly contractID: number; readonly cpu: number; readonly memory: number }[]
  })[]
}
interface Use {
  readonly cpu: number
  readonly memory: number
  readonly prod: Pair
  readonly nonProd: Pair
  readonly free: { readonly trial: Pair; readonly freeContract: Pair }
}
type Pair = Pick<Use, 'cpu' | 'memory'>

const shown = (value: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: 3, maximumFractionDigits: 3 })
const partsOf = ({ prod, nonProd, free, ...all }: Use, measure: 'cpu' | 'memory'): readonly number[] =>
  [prod, nonProd, free.trial, free.freeContract, all].map((part) => part[measure])

test.serial('report, JSON and CSV show the same figures', async (t) => {
  await publish(monthKey(2026, 5), 1, 'final')
  const text = (await readPdf(new Uint8Array(await (await fetched(pathOf('2026/May'))).arrayBuffer()))).pages.join(' ')
  const viewPath = (view: string, query = ''): string =>
    `${base}/2026/May/usage-report/products/dbProduct/views/${view}?org=${org}${query}`
  for (const view of [
    'objects-usage-view',
    'clusters-usage-view',
    'namespaces-usage-view',
    'gks-usage-view',
    'contracts-usage-view',
  ]) {
    const json = (await (await fetched(viewPath(view, '&view_type=billable'))).json()) as View
    const csv = await (await fetched(viewPath(view, '&view_type=billable&format=csv'))).text()
    t.true(json.items.length > 0)
    for (const item of json.items) {
      const { prod, nonProd, free } = item
      // A row has all parts of both measures, and adds up.
      for (const measure of ['cpu', 'memory'] as const) {
        const parts = partsOf(item, measure).map((part) => Math.round(part * 1000))
        t.is(
          parts.slice(0, -1).reduce((sum, part) => sum + part, 0),
          parts.at(-1) ?? -1,
        )
      }
      const all = (['cpu', 'memory'] as const).flatMap((measure) => partsOf(item, measure))
      const lines =
        item.uses === undefined
          ? [all.map(shown).join(' ')]
          : item.uses.map((use) => `${shown(use.cpu)} ${shown(use.memory)}`)
      for (const line of lines) t.true(text.includes(` ${line}`), `${view}: ${line} in ${text}`)
      const inCsv = [item, prod, nonProd, free.trial, free.freeContract]
        .flatMap(({ cpu, memory }) => [cpu, memory])
        .join(',')
      t.true(csv.includes(`,${inCsv}`), `${view}: ${inCsv} in ${csv}`)
      t.true(csv.includes(`\r\n"${org}","2026-05",1,"final",`))
    }
    t.true(text.includes(` ${shown(json.totals.cpu)} `) && text.includes(` ${shown(json.totals.memory)} `))
  }
  for (const name of ['orders', 'База', '数据库', 'Кластер "два"', '=cmd|calc', 'cluster 9', 'Without a contract'])
    t.true(text.includes(name), name)
  t.is(text.split('An object counts once for each contract under which it was used, and once in the total.').length, 2)
})

interface ContractsView {
  readonly items: readonly {
    readonly contractID: number
    readonly terms: readonly {
      readonly number: number
      readonly from: string
      readonly to: string
      readonly quota: { readonly limit: number } | null
    }[]
  }[]
}

test.serial('report, JSON and CSV show the versions of terms that were in force in the month', async (t) => {
  await publish(monthKey(2025, 12), 1, 'final')
  const text = (await readPdf(new Uint8Array(await (await fetched(pathOf('2025/December'))).arrayBuffer()))).pages.join(
    ' ',
  )
  const viewPath = `${base}/2025/December/usage-report/products/dbProduct/views/contracts-usage-view?org=${org}&view_type=billable`
  const { items } = (await (await fetched(viewPath)).json()) as ContractsView
  const csv = await (await fetched(`${viewPath}&format=csv`)).text()
  t.deepEqual(
    items
      .find(({ contractID }) => contractID === 7)
      ?.terms.map(({ number, from, to, quota }) => [number, from, to, quota?.limit]),
    [
      [3, '2025-12-01T00:00:00Z', '2025-12-15T01:00:00Z', 10.25],
      [4, '2025-12-15T01:00:00Z', '2026-01-01T00:00:00Z', undefined],
    ],
  )
  t.regex(text, /7 Terms, version 3 database, database-enterprise 2025-12-01 2025-12-15 01:00 10\.250 core-months/)
  t.regex(text, /7 Terms, version 4 database, database-enterprise, backup 2025-12-15 01:00 2026-01-01 no limit/)
  // Terms that were the same in the whole month are those of the contract.
  t.is(text.split('Terms, version').length, 3)
  t.true(
    csv.includes(
      ',"terms.number","terms.from","terms.to","terms.product","terms.features","terms.quota.metric","terms.quota.limit",',
    ),
  )
  t.true(
    csv.includes(
      ',"3 4","2025-12-01T00:00:00Z 2025-12-15T01:00:00Z","2025-12-15T01:00:00Z 2026-01-01T00:00:00Z","database database","database-enterprise database-enterprise,backup","cpu_core_month none","10.25 none",',
    ),
    csv,
  )
})

test.serial('each revision keeps its report, and the newest is the one of the month', async (t) => {
  const april = monthKey(2026, 4)
  await publish(april, 1, 'final')
  await publish(april, 2, 'provisional', plans.slice(0, 1))
  const pagesOf = async (query: string): Promise<string> =>
    (await readPdf(new Uint8Array(await (await fetched(pathOf('2026/April', query))).arrayBuffer()))).pages.join(' ')
  t.regex(await pagesOf(''), /revision 2, provisional/)
  t.regex(await pagesOf('&revision=1'), /revision 1, final/)
  t.is((await fetched(pathOf('2026/April', '&revision=3'))).status, 404)
})

test.serial('a missing month is 404, a malformed one 400, and admins download', async (t) => {
  t.is((await fetched(pathOf('2026/March'))).status, 404)
  for (const month of ['26/March', '2026/Marz', '2026/13', '2026/0'])
    t.is((await fetched(pathOf(month))).status, 400, month)
  t.is((await fetched(`${base}/2026/June/download`)).status, 400)
  t.is((await service.send('GET', pathOf('2026/June'), { token: owner.token })).status, 403)
  t.is((await service.send('GET', pathOf('2026/June'), {})).status, 401)
})

test.serial('a revision that is not published has no report', async (t) => {
  const months = makeSqlMonthStore(database)(database)
  const facts = {
    ownerId,
    month: monthKey(2026, 2),
    revision: 1,
    status: 'final' as const,
    inputHash: 'a'.repeat(64),
    generatedAt: new Date(),
  }
  const id = await months.begin({ ...facts, watermark: facts.generatedAt, codeVersion: 1 })
  await service.running.container.resolve(MonthReportPort).write({ id, ...facts }, new AbortController().signal)
  t.is((await fetched(pathOf('2026/February'))).status, 404)
})
