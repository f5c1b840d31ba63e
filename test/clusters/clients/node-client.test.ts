// process: waiting - uses components
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { V1Status } from '@kubernetes/client-node'
import { CoreV1Api, Exec, KubeConfig, Watch } from '@kubernetes/client-node'
import { kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import type { StubKubelet } from '../../support/components/stub-kubelet.ts'
import { startStubKubelet } from '../../support/components/stub-kubelet.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { clientKubeconfig, expectStatus, importCluster } from '../cluster-fixture.ts'

/** Another client than kubectl, with the service's own kubeconfig: what it sends and expects differs. */
const withKubernetesAndKubelet = needing('kubernetes', 'kubelet')

let cluster: ControlPlaneAccess
let kubelet: StubKubelet
let service: TestService
const config = new KubeConfig()
const endings: (() => void | Promise<void>)[] = []

withKubernetesAndKubelet.before(async () => {
  cluster = (await kubernetes())!
  kubelet = await startStubKubelet(cluster)
  endings.push(() => kubelet.stop())
  service = await startService()
  endings.push(() => service.stop())
  await expectStatus(importCluster(service.send, service.adminToken, 'admin', 'node', cluster.kubeconfig()), 200)
  const file = await clientKubeconfig(service, { login: 'admin', token: service.adminToken }, 'admin', 'node')
  endings.push(file.remove)
  config.loadFromFile(file.path)
})
withKubernetesAndKubelet.after.always(async () => {
  for (const end of endings.toReversed()) await end()
})

withKubernetesAndKubelet('lists, creates and deletes', async (t) => {
  const namespace = await cluster.createNamespace()
  const api = config.makeApiClient(CoreV1Api)
  await api.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' }, data: { k: 'v' } } })
  const listed = await api.listNamespacedConfigMap({ namespace })
  t.deepEqual(listed.items.find((each) => each.metadata?.name === 'a')?.data, { k: 'v' })
  await api.deleteNamespacedConfigMap({ namespace, name: 'a' })
  await t.throwsAsync(api.readNamespacedConfigMap({ namespace, name: 'a' }), { message: /404/ })
})

withKubernetesAndKubelet('watches until it leaves', async (t) => {
  const namespace = await cluster.createNamespace()
  const seen = new PassThrough({ objectMode: true })
  const leaving = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { fieldSelector: 'metadata.name=w' },
    (type: string, object: { metadata: { name: string } }) => void seen.write(`${type} ${object.metadata.name}`),
    () => undefined,
  )
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'w' } })
  t.is((await once(seen, 'data'))[0], 'ADDED w')
  leaving.abort()
})

withKubernetesAndKubelet('executes over WebSocket', async (t) => {
  const namespace = await cluster.createNamespace()
  await kubelet.runPod(namespace, 'web')
  const stdout = new PassThrough()
  const chunks: Buffer[] = []
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config)
      .exec(namespace, 'web', 'main', ['echo', 'high', 'tide'], stdout, null, null, false, resolve)
      .catch(reject)
  })
  t.is(status.status, 'Success')
  t.is(Buffer.concat(chunks).toString(), 'high tide\n')
})
