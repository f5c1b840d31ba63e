import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { startService, type TestService } from '../support/service.ts'
import { startGrafanaStandIn } from './grafana-stand-in.ts'
import { startPersesStandIn } from './perses-stand-in.ts'

const persesToken = 'canary-perses-token'
const grafanaPassword = 'canary-grafana-password'

/** A service with both dashboard systems, and an organization that has a cluster. */
export const startMetricsFixture = async (settings: Readonly<Record<string, string>> = {}) => {
  const grafana = await startGrafanaStandIn('admin', grafanaPassword)
  const perses = await startPersesStandIn(persesToken)
  const service = await startService({
    settings: {
      MOORAGE_METRICS_PROXY_URL: 'http://proxy.internal/metrics',
      MOORAGE_DASH_A_URL: grafana.origin,
      MOORAGE_DASH_A_PASSWORD: grafanaPassword,
      MOORAGE_DASH_B_URL: perses.origin,
      MOORAGE_DASH_B_TOKEN: persesToken,
      MOORAGE_LOG_LEVEL: 'trace',
      ...settings,
    },
  })
  const people = makePeople(service)
  const kubernetes = await startFakeKubernetes()
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  const imported = await expectStatus(
    importCluster(service.send, owner.token, org, 'pier', kubernetes.kubeconfig()),
    200,
  )
  const orgId = await idOf(service, org)
  return {
    grafana,
    perses,
    service,
    people,
    kubernetes,
    owner,
    org,
    orgId,
    uid: imported.json.uid as string,
    register: (dashboard: 'dashA' | 'dashB', token: string, body: object, query = '') =>
      service.send('POST', `${pathOf(dashboard, 'register')}${query}`, { token, body }),
    unregister: (dashboard: 'dashA' | 'dashB', token: string, body: object, query = '') =>
      service.send('POST', `${pathOf(dashboard, 'unregister')}${query}`, { token, body }),
    hook: (token: string, rest: string) => service.send('GET', `/api/v1/tsproxy/auth/${rest}`, { token }),
    /** Imports the same cluster under another account. */
    importAgain: (person: Person, account: string) =>
      expectStatus(importCluster(service.send, person.token, account, 'pier', kubernetes.kubeconfig()), 200),
    stop: async () => {
      await service.stop()
      await Promise.all([grafana.stop(), perses.stop(), kubernetes.stop()])
    },
  }
}
export type MetricsFixture = Awaited<ReturnType<typeof startMetricsFixture>>

const pathOf = (dashboard: 'dashA' | 'dashB', verb: string): string =>
  `/api/v1/tsproxy${dashboard === 'dashA' ? '' : '/dashB'}/${verb}`

/** Returns the id of an organization. */
export const idOf = async (service: TestService, org: string): Promise<number> => {
  const { json } = await expectStatus(service.send('GET', `/api/v1/orgs/${org}`, { token: service.adminToken }), 200)
  return json.id as number
}

/** What a client sends of a cluster's metrics, with secrets that must be nowhere else. */
export const metricsOfPier = {
  service: { scheme: 'http', name: 'prometheus', namespace: 'monitoring', port: '9090', path: '/prom' },
  bearerToken: 'canary-upstream-token',
  tls: { key: 'canary-key', cert: 'canary-cert', ca: '', insecureSkipTLSVerify: false },
}
