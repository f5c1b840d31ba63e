import { importCluster, expectStatus, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startChartServer, type ChartServer } from '../chart-server.ts'
import { chartOf } from '../chart-archive.ts'
import { bundlesOf, ferry, olderFerry } from './view-charts-served.ts'

/** A service with one cluster that a person may connect to, a stranger who may not, and charts on loopback. */
export interface ViewsFixture {
  readonly service: TestService
  readonly api: FakeApi
  readonly charts: ChartServer
  readonly owner: Person
  readonly stranger: Person
  readonly people: ReturnType<typeof makePeople>
  /** `/api/v1/clusters/<owner>/<name>/helm`. */
  readonly helm: string
  /** One request of the owner. A body of a GET stands in the body; `query` in the query. */
  ask(
    method: string,
    path: string,
    input?: {
      readonly query?: Readonly<Record<string, string>>
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
      readonly token?: string
    },
  ): Promise<ServiceAnswer>
  /** Where a chart of the repository is, flat. */
  source(name: string, version?: string): Readonly<Record<string, string>>
  stop(): Promise<void>
}

export const startViewsFixture = async (settings: Readonly<Record<string, string>> = {}): Promise<ViewsFixture> => {
  const charts = await startChartServer(
    await ferry(),
    await olderFerry(),
    await chartOf('bundle'),
    await chartOf('minimal'),
    await chartOf('harbour'),
  )
  for (const bundle of await bundlesOf(charts.url)) charts.add(bundle)
  const api = await startFakeApi()
  const service = await startService({ settings: { MOORAGE_EGRESS_ALLOW: new URL(charts.url).host, ...settings } })
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await expectStatus(
    importCluster(service.send, owner.token, org, 'prod', api.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const stranger = await people.person('stranger')
  await people.organization(stranger)
  const helm = `/api/v1/clusters/${org}/prod/helm`
  return {
    service,
    api,
    charts,
    owner,
    stranger,
    people,
    helm,
    ask: (method, path, { query = {}, body, headers, token = owner.token } = {}) => {
      const text = new URLSearchParams(query).toString()
      return service.send(method, `${helm}${path}${text === '' ? '' : `?${text}`}`, {
        token,
        ...(body === undefined ? {} : { body }),
        ...(headers === undefined ? {} : { headers }),
      })
    },
    source: (name, version = '') => ({ name, version, sourceKind: 'Legacy', sourceName: charts.url }),
    stop: async () => {
      await service.stop()
      await api.stop()
      await charts.stop()
    },
  }
}
