// process: waiting - uses components
import test from 'ava'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { startService } from '../../support/service.ts'
import { expectStatus, importCluster, makePeople } from '../cluster-fixture.ts'

test('a hub that does not answer in time is 504 with its name', async (t) => {
  const [service, fake] = await Promise.all([startService(), startFakeKubernetes()])
  t.teardown(() => Promise.all([service.stop(), fake.stop()]))
  const owner = await makePeople(service).person('owner')
  await expectStatus(importCluster(service.send, owner.token, owner.login, 'wharf', fake.kubeconfig()), 200)
  fake.on('/apis/cluster.open-cluster-management.io/', () => undefined)
  const got = await service.send('GET', `/api/v1/clusters/${owner.login}/wharf/clustersets`, { token: owner.token })
  t.deepEqual([got.status, got.json.code], [504, 'ClusterUnreachable'], got.text)
  t.is(got.json.message, 'The hub wharf did not answer in time. Try again later.')
})
