import { randomUUID } from 'node:crypto'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { hubObjects, type HubObjects } from './hub-objects.ts'

/** Changes of cluster sets, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

export let server: ControlPlaneAccess
export let service: TestService
export let people: ReturnType<typeof makePeople>
export let owner: Person
export let org: string
export let hubId: number
export let objects: HubObjects

test.before(async () => {
  server = (await kubernetes())!
  objects = await hubObjects(server)
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  hubId = (await expectStatus(importCluster(service.send, owner.token, org, 'hub', server.kubeconfig()), 200)).json.id
})
test.after.always(async () => {
  await service?.stop()
  await objects?.client.close()
})

type Verb = 'create' | 'delete' | 'add' | 'remove'
export const change = (
  verb: Verb,
  clusterSet: unknown,
  clusters?: unknown,
  person: Person = owner,
): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/clusters/${org}/hub/clustersets/${verb}`, {
    token: person.token,
    body: { clusterSet, ...(clusters === undefined ? {} : { clusters }) },
  })

interface Row {
  readonly action: string
  readonly object_name: string
  readonly changes: {
    readonly clusterSet?: string
    readonly from?: string
    readonly to?: string
    readonly clusters?: readonly string[]
  }
}
/** The audit rows about a set, oldest first. */
export const rowsOf = async (set: string): Promise<readonly unknown[]> => {
  const { json } = await expectStatus(
    service.send('GET', `/api/v1/orgs/${org}/audit?limit=200`, { token: owner.token }),
    200,
  )
  const rows = (json as Row[]).filter(({ changes }) => [changes.clusterSet, changes.from, changes.to].includes(set))
  return rows
    .map(({ action, changes: { clusterSet, from, to, clusters } }) =>
      action === 'cluster.spokes_moved' ? [from, to, clusters] : [action, clusterSet],
    )
    .reverse()
}

/** A record of a cluster that the hub manages under a name. */
export const recordOf = async (t: { teardown(end: () => unknown): void }, managedClusterName: string) => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  fake.uid = randomUUID()
  const name = objects.unique('record')
  const { ownerID } = (await expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200))
    .json
  const store = service.running.container.resolve(ClusterStorePort)
  const record = (await store.find(ownerID, name))!
  const hub = (await store.get(hubId as Cluster['id']))!
  unwrap(await store.change(record.id, record.version, { hubClusterUid: hub.uid, managedClusterName }))
  const read = async (path: string): Promise<string> =>
    (await expectStatus(service.send('GET', `/api/v1/${path}`, { token: owner.token }), 200)).json.clusterSetName
  return {
    /** Reads the set from the hub: as if the record was not observed for long. */
    refresh: async (): Promise<string> => (
      await store.observe(record.id, record.status, undefined, new Date(0)),
      read(`clustersv2/${org}/${name}/status`)
    ),
    shown: () => read(`clusters/${org}/${name}`),
    listed: async (): Promise<unknown> =>
      (
        (await expectStatus(service.send('GET', `/api/v1/clustersv2/${org}`, { token: owner.token }), 200)).json as {
          name: string
          clusterSetName: string
        }[]
      ).find((each) => each.name === name)?.clusterSetName,
  }
}
