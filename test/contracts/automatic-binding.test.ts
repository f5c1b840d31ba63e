import { randomUUID } from 'node:crypto'
import test from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

/** Newly imported clusters are bound to the contracts that say so. */

const nowSeconds = Math.floor(Date.now() / 1000)
let service: TestService
let owner: Person
let stranger: Person
let org: string
let otherOrg: string

test.before(async () => {
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' } })
  const people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  org = await people.organization(owner)
  otherOrg = await people.organization(stranger)
})
test.after.always(() => service?.stop())

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })
const contract = async (account: string, changes: object): Promise<number> => {
  const terms = {
    orgOrUser: account,
    name: `Contract ${randomUUID()}`,
    products: ['database'],
    features: ['db'],
    start: nowSeconds - 60,
    end: nowSeconds + 86_400,
  }
  return (await expectStatus(admin('POST', '/api/v1/contracts', { ...terms, ...changes }), 201)).json[0].id
}
const boundTo = async (id: number): Promise<readonly object[]> =>
  (await expectStatus(admin('GET', `/api/v1/contracts/${id}/clusters`), 200)).json

test('an import binds the cluster to the active contracts of its owner that say so', async (t) => {
  const kubernetes = await startFakeKubernetes()
  try {
    const automatic = await contract(org, { autoAssignCluster: true })
    const others = [
      await contract(org, {}),
      await contract(org, { autoAssignCluster: true, start: nowSeconds + 3600 }),
      await contract(otherOrg, { autoAssignCluster: true }),
    ]
    await expectStatus(importCluster(service.send, owner.token, org, 'reserved', 'no kubeconfig'), 422)
    t.deepEqual(await boundTo(automatic), [])
    await expectStatus(
      importCluster(service.send, owner.token, org, 'first', kubernetes.kubeconfig(), { displayName: 'The First' }),
      200,
    )
    const bound = await boundTo(automatic)
    t.is(bound.length, 1)
    t.like(bound[0], {
      cluster: kubernetes.uid,
      displayName: 'The First',
      clusterStatus: { isImported: true, name: 'first' },
    })
    for (const id of others) t.deepEqual(await boundTo(id), [])
    const history = (await expectStatus(admin('GET', `/api/v1/contracts/${automatic}/audit`), 200)).json as {
      event: string
      addedBy: string
    }[]
    t.like(history.at(-1), { event: 'cluster.added', addedBy: 'contracts.bindNewClusters' })
    await expectStatus(importCluster(service.send, owner.token, org, 'second', kubernetes.kubeconfig()), 422)
    await expectStatus(
      service.send('POST', `/api/v1/clustersv2/${org}/first/remove`, { token: owner.token, body: {} }),
      200,
    )
    await expectStatus(importCluster(service.send, owner.token, org, 'again', kubernetes.kubeconfig()), 200)
    t.is((await boundTo(automatic)).length, 1, 'a cluster that is bound already stays so')
  } finally {
    await kubernetes.stop()
  }
})
