import test from 'ava'
import { monthKey } from '../../../core/usage/month.ts'
import { expectStatus, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { plantInService } from '../planted-months.ts'
import type { ObjectPlan } from '../product-months.ts'
import { monthOfPlans } from '../product-months.ts'

/** The reports of generated months, as site admins read them. */

export const summary = '/api/v1/dashboard/summary'
export const june = `${summary}/2026/June/usage-report/products`

export let service: TestService
export let owner: Person
export let stranger: Person
export let org: string
export let otherOrg: string

export const used = (day: number, use: 'prod' | 'non-prod' | 'trial', contractId: number, core: bigint) => ({
  day,
  use,
  contractId,
  milliCpuSeconds: core * 1_000_003n,
  mebibyteSeconds: core * 7_000_001n,
})
export const plansOf = (tenant: string): readonly ObjectPlan[] => [
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

export const read = (
  path: string,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
  token = service.adminToken,
): Promise<ServiceAnswer> =>
  service.send('GET', `${path}?${new URLSearchParams({ org, ...query }).toString()}`, { token, headers })

export interface Item {
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
export interface View {
  readonly revision: number
  readonly items: readonly Item[]
  readonly totals: Item
}
export const viewOf = async (answer: Promise<ServiceAnswer>): Promise<View> =>
  (await expectStatus(answer, 200)).json as View

export const databaseViews = [
  'objects-usage-view',
  'clusters-usage-view',
  'namespaces-usage-view',
  'gks-usage-view',
  'contracts-usage-view',
  'object-quota-history-summaries-view',
  'objects-cluster-mode-usage-view',
]
export const views = [
  ...databaseViews.map((view) => `dbProduct/views/${view}`),
  ...['backupProduct', 'vaultProduct', 'ingressProduct'].flatMap((product) => [
    `${product}/views/clusters-usage-view`,
    `${product}/views/contracts-usage-view`,
  ]),
]
