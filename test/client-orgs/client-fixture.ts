import { randomBytes } from 'node:crypto'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { managedClusters, namespaces } from '../support/hub/api/kinds.ts'
import type { KubeClient } from '../support/hub/api/kube-client.ts'
import { issueTokens } from '../support/hub/control-plane/fill-token-secrets.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { SeenTask } from '../tasks/task-client.ts'

/** A vendor with a hub and a spoke, on two real API servers, and the site admin who creates client organizations. */
export interface ClientFixture {
  readonly service: TestService
  readonly people: ReturnType<typeof makePeople>
  readonly hub: TestHub
  readonly hubUid: string
  readonly spokeServer: ControlPlaneAccess
  readonly vendor: Person
  readonly org: string
  /** The spoke, as the hub and the vendor name it. */
  readonly spoke: string
  /** A name for a client organization that no other test has. */
  name(suffix?: string): string
  /**
   * Makes the API server of a hub or of the spokes known as another spoke, by a UID of its own. Returns its name.
   */
  moreSpoke(server: ControlPlaneAccess): Promise<string>
  /** As a site admin. */
  send(method: string, path: string, body?: object): Promise<ServiceAnswer>
  /** The body that creates a client organization on the spoke. */
  creating(name: string, changes?: object): Record<string, unknown>
  /** The body that adds or removes a cluster. */
  cluster(spoke: string, changes?: object): Record<string, unknown>
  status(name: string, cluster?: string): Promise<string>
  /** The tasks about a client organization, the newest first. */
  tasks(name: string): Promise<readonly SeenTask[]>
  /** The end of the newest task about it, when no task is unfinished. */
  settled(name: string): Promise<SeenTask>
  orgId(name: string): Promise<number>
  /** Creates a client organization and waits until it has what it is to have. */
  created(name: string, changes?: object): Promise<number>
  namespacesOf(name: string, client?: KubeClient): Promise<readonly string[]>
  stop(): Promise<void>
}

const uidOf = async (client: KubeClient): Promise<string> =>
  (await client.get(namespaces, 'kube-system'))?.metadata.uid ?? ''

export const startClientFixture = async (settings: Readonly<Record<string, string>> = {}): Promise<ClientFixture> => {
  const hubServer = (await kubernetes())!
  const spokeServer = (await spokeKubernetes())!
  const [service, hub] = await Promise.all([
    startService({ settings: { MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback', ...settings } }),
    startTestHub(hubServer, { spokes: spokeServer }),
  ])
  const isOwn = (namespace: string): boolean => namespace.startsWith(hub.prefix)
  const tokens = issueTokens(hub.spoke, isOwn)
  const people = makePeople(service)
  const vendor = await people.person('vendor')
  const org = await people.organization(vendor)
  await expectStatus(importCluster(service.send, vendor.token, org, 'hub', hubServer.kubeconfig()), 200)
  const [hubUid, store] = [await uidOf(hub.client), service.running.container.resolve(ClusterStorePort)]
  const orgId = (await expectStatus(service.send('GET', `/api/v1/orgs/${org}`, { token: vendor.token }), 200)).json
    .id as AccountId

  /**
   * Imports a cluster, and waits for its task: it looks for the hub of the spoke, and would change the link that is
   * planted afterwards where another test has agents on the shared API server.
   */
  const imported = async (name: string, server: ControlPlaneAccess): Promise<void> => {
    await expectStatus(importCluster(service.send, vendor.token, org, name, server.kubeconfig()), 200)
    await until(`the end of the import of ${name}`, async () => {
      const tasks = await expectStatus(
        service.send('GET', `/api/v1/tasks?account=${org}&limit=100`, { token: service.adminToken }),
        200,
      )
      const isEnded = (tasks.json as readonly SeenTask[]).every(
        ({ state }) => state !== 'queued' && state !== 'running',
      )
      return isEnded ? true : undefined
    })
  }

  const manage = async (server: ControlPlaneAccess, uid?: string): Promise<string> => {
    const name = hub.name()
    await hub.client.create(managedClusters, { metadata: { name }, spec: { hubAcceptsClient: true } })
    await until(`the namespace of ${name}: ${hub.problems().join('; ')}`, () => hub.client.get(namespaces, name))
    if (uid !== undefined) {
      // The account has this cluster: for the time of the import, that record has another UID.
      const known = await store.findByUid(orgId, await uidOf(server === hubServer ? hub.client : hub.spoke))
      const { id } = known!
      unwrap(await store.change(id, known!.version, { uid: `${uid}-x` }))
      await imported(name, server)
      const made = await store.find(orgId, name)
      unwrap(await store.change(made!.id, made!.version, { uid, hubClusterUid: hubUid, managedClusterName: name }))
      unwrap(await store.change(id, (await store.get(id))!.version, { uid: known!.uid }))
      return name
    }
    await imported(name, server)
    const made = await store.find(orgId, name)
    unwrap(await store.change(made!.id, made!.version, { hubClusterUid: hubUid, managedClusterName: name }))
    return name
  }
  const spoke = await manage(spokeServer)

  const admin = service.adminToken
  const send: ClientFixture['send'] = (method, path, body) =>
    service.send(method, `/api/v1/user/${path}`, { token: admin, ...(body === undefined ? {} : { body }) })
  const tasks: ClientFixture['tasks'] = async (name) =>
    (
      (await expectStatus(service.send('GET', `/api/v1/tasks?account=${org}&limit=100`, { token: admin }), 200))
        .json as readonly (SeenTask & { readonly about: { readonly clientOrg?: string } })[]
    ).filter(({ about }) => about.clientOrg === name)
  const settled: ClientFixture['settled'] = (name) =>
    until(`the end of the tasks of ${name}`, async () => {
      const all = await tasks(name)
      return all.some(({ state }) => state === 'queued' || state === 'running') ? undefined : all[0]
    })
  const fixture: ClientFixture = {
    service,
    people,
    hub,
    hubUid,
    spokeServer,
    vendor,
    org,
    spoke,
    send,
    tasks,
    settled,
    name: (suffix = randomBytes(3).toString('hex')) => `${hub.prefix}${suffix}`,
    moreSpoke: (server) => manage(server, crypto.randomUUID()),
    creating: (name, changes = {}) => ({
      clientOrg: { orgName: name, orgFullName: 'A client', orgType: 'client' },
      hubClusterUID: hubUid,
      hubClusterOwnerName: org,
      userPermission: {
        userName: `admin-of-${name}`,
        email: `admin-of-${name}@example.com`,
        permissions: [{ name: spoke, roleRefName: 'admin' }],
      },
      useGateway: true,
      ...changes,
    }),
    cluster: (name, changes = {}) => ({
      hubClusterOwnerName: org,
      hubClusterName: 'hub',
      hubClusterUID: hubUid,
      spokeClusterName: name,
      ...changes,
    }),
    status: async (name, cluster) => {
      const path = `client/${name}${cluster === undefined ? '' : `/cluster/${cluster}`}/status`
      return (await expectStatus(send('GET', path), 200)).json.status as string
    },
    orgId: async (name) =>
      (await expectStatus(service.send('GET', `/api/v1/orgs/${name}`, { token: admin }), 200)).json.id as number,
    created: async (name, changes) => {
      await expectStatus(send('POST', 'client/create', fixture.creating(name, changes)), 200)
      const task = await settled(name)
      if (task.state !== 'succeeded') throw new Error(JSON.stringify(task))
      return fixture.orgId(name)
    },
    namespacesOf: async (name, client = hub.spoke) =>
      (await client.list(namespaces)).items
        .map(({ metadata }) => metadata.name)
        .filter((each) => [name, `${name}-gw`, `${name}-monitoring`].includes(each))
        .sort(),
    stop: async () => {
      await service.stop()
      await tokens.stop()
      await hub.stop()
    },
  }
  return fixture
}
