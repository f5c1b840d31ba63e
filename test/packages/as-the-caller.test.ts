// process: waiting - uses components
import { chartOf } from './chart-archive.ts'
import { chartSource } from './chart-source.ts'
import { packageClient, startCharts } from './package-fixture.ts'
import { startWorkloadController } from './workload-controller.ts'
import { expectStatus, importCluster, makePeople } from '../clusters/cluster-fixture.ts'
import { helm, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const test = needing('helm', 'kubernetes')

const bind = (user: string) => ({
  metadata: { name: 'packages' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
})

test("helm and all reads have only the caller's rights on the cluster", async (t) => {
  const server = (await kubernetes())!
  const [own, foreign] = [await server.createNamespace('own'), await server.createNamespace('foreign')]
  const controller = await startWorkloadController(server, own)
  const { charts, settings } = await startCharts(await chartOf('harbour'), await chartOf('lookup'))
  const service = await startService({ settings: { ...settings, MOORAGE_HELM: (await helm())!.helm4 } })
  t.teardown(async () => {
    await service.stop()
    await charts.stop()
    await controller.stop()
  })
  const owner = await makePeople(service).person('ada')
  await expectStatus(
    importCluster(service.send, owner.token, owner.login, 'prod', server.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const client = packageClient(service.send, owner.token, `${owner.login}/prod`)
  const install = (namespace: string, chart: string, more: object = {}): object => ({
    ...chartSource(charts, chart),
    releaseName: 'web',
    namespace,
    wait: true,
    timeout: '60s',
    ...more,
  })

  const refused = await client.send('POST', '/v3/releases/', install(own, 'harbour'))
  t.is(refused.status, 403, refused.text)
  t.is((await client.send('GET', `/v3/releases/?namespace=${own}`)).status, 403)

  const bound = await server.request(
    'POST',
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${own}/rolebindings`,
    bind(`moorage:${owner.login}`),
  )
  t.is(bound.status, 201)
  await until('the right', async () =>
    (await client.send('GET', `/v3/releases/?namespace=${own}`)).status === 200 ? true : undefined,
  )
  const installed = await client.done('POST', '/v3/releases/', install(own, 'harbour'))
  t.is(installed.state, 'succeeded', `${installed.message} ${installed.error}`)

  t.is((await client.send('POST', '/v3/releases/', install(foreign, 'harbour'))).status, 403)
  t.is((await client.send('GET', '/v3/releases/')).status, 403)
  // A template that looks into another namespace does so as the caller too.
  await server.request('POST', `/api/v1/namespaces/${foreign}/configmaps`, {
    metadata: { name: 'lighthouse' },
    data: { value: 'lit' },
  })
  const looked = await client.done(
    'POST',
    '/v3/releases/',
    install(own, 'lookup', { releaseName: 'spy', values: [`source.namespace=${foreign}`] }),
  )
  t.is(looked.state, 'failed')
  t.regex(`${looked.error}`, /forbidden/)
  t.deepEqual(controller.complaints, [])
})
