// process: waiting - uses components
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import {
  clusterRoleBindings,
  clusterRoles,
  managedClusters,
  managedClusterSets,
  namespaces,
} from '../support/hub/api/kinds.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/**
 * Changes of cluster sets on a hub with the webhooks of OCM, which ask for a right on each set that a cluster leaves or
 * joins.
 */
const test = needing('kubernetes')

let server: ControlPlaneAccess
let service: TestService
/** Both have imported the hub, each with a credential of its own. */
let owners: Readonly<Record<'full' | 'limited', Person>>
let hub: TestHub
/** Sets of the hub. The credential of `limited` has no right to join `closed`. */
let [open, closed] = ['', '']

test.before(async () => {
  server = (await kubernetes())!
  hub = await startTestHub(server, { webhooks: true, defaultClusterSet: true })
  ;[open, closed] = [hub.name('open'), hub.name('closed')]
  for (const name of [open, closed]) await hub.client.create(managedClusterSets, { metadata: { name } })
  service = await startService()
  const people = makePeople(service)
  // One owner cannot import a cluster twice.
  owners = { full: await people.person('full'), limited: await people.person('limited') }
  const kubeconfigs = { full: server.kubeconfig(), limited: await limitedKubeconfig() }
  for (const at of ['full', 'limited'] as const) {
    const { login, token } = owners[at]
    // The API server takes a new role into account a moment after it was made.
    await until('the role', async () =>
      (await importCluster(service.send, token, login, 'hub', kubeconfigs[at])).status === 200 ? true : undefined,
    )
  }
})
test.after.always(async () => {
  await service?.stop()
  await hub?.stop()
})

const apiGroup = 'rbac.authorization.k8s.io'
/** The rights on objects that the routes need, and the right to join `open` and `default`. */
const limitedKubeconfig = async (): Promise<string> => {
  const group = 'cluster.open-cluster-management.io'
  const [user, role] = [hub.name('limited'), hub.name('limited')]
  const rules = [
    { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
    { apiGroups: [group], resources: ['managedclusters', 'managedclustersets'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: [group], resources: ['managedclustersetbindings'], verbs: ['get', 'create'] },
    { apiGroups: [group], resources: ['managedclustersets/join'], verbs: ['create'], resourceNames: [open, 'default'] },
  ]
  await hub.client.create(clusterRoles, { metadata: { name: role }, rules })
  await hub.client.create(clusterRoleBindings, {
    metadata: { name: role },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', apiGroup, name: user }],
  })
  return server.createUserKubeconfig(user)
}

const cluster = async (set?: string): Promise<string> => {
  const name = hub.name()
  await hub.client.create(managedClusters, {
    metadata: { name, ...(set === undefined ? {} : { labels: { [clusterSetLabel]: set } }) },
    spec: {},
  })
  return name
}
const setOf = async (name: string): Promise<string | undefined> =>
  (await hub.client.get(managedClusters, name))?.metadata.labels?.[clusterSetLabel]
const change = (as: keyof typeof owners, what: string, body: object): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/clusters/${owners[as].login}/hub/${what}`, { token: owners[as].token, body })

test('clusters come from the default set, and are there again when they leave', async (t) => {
  const [name, a, b] = [hub.name(), await cluster(), await cluster(closed)]
  t.is(await setOf(a), 'default')
  await expectStatus(change('full', 'clustersets/create', { clusterSet: name, clusters: [a, b] }), 200)
  t.deepEqual([await setOf(a), await setOf(b)], [name, name])
  await expectStatus(change('full', 'clustersets/remove', { clusterSet: name, clusters: [a, b] }), 200)
  t.deepEqual([await setOf(a), await setOf(b)], ['default', 'default'])
  await expectStatus(change('full', 'clustersets/delete', { clusterSet: name }), 200)
})

test('a missing right on a set is named, and other clusters are moved', async (t) => {
  const [a, b, c] = [await cluster(), await cluster(closed), await cluster()]
  const denied = await change('limited', 'clustersets/add', { clusterSet: closed, clusters: [c] })
  t.is(denied.status, 500)
  t.is(denied.json.code, 'CredentialRefused')
  t.is(
    denied.json.message,
    `The hub does not let the stored credential patch managedclusters. It needs the right on managedclustersets/join ${closed}.`,
  )
  const partly = await change('limited', 'clustersets/add', { clusterSet: open, clusters: [a, b] })
  t.is(partly.json.code, 'CredentialRefused')
  t.deepEqual(partly.json.errors, [
    `${b}: The hub does not let the stored credential patch managedclusters. It needs the right on managedclustersets/join ${closed}.`,
  ])
  t.deepEqual([await setOf(a), await setOf(b), await setOf(c)], [open, closed, 'default'])
  const both = await change('limited', 'clustersets/add', { clusterSet: open, clusters: [b, 'no-such-spoke'] })
  t.is(both.json.code, 'ClusterSetRefused')
  t.is(both.json.errors.length, 2)
})

test('a set cannot be bound without the right to bind it', async (t) => {
  const namespace = hub.name()
  await hub.client.create(namespaces, { metadata: { name: namespace } })
  const denied = await change('limited', 'bound-namespaces/bind', { clusterSet: open, namespace })
  t.is(denied.json.code, 'CredentialRefused')
  t.is(
    denied.json.message,
    `The hub does not let the stored credential create managedclustersetbindings. It needs the right on managedclustersets/bind ${open}.`,
  )
  await expectStatus(change('full', 'bound-namespaces/bind', { clusterSet: open, namespace }), 200)
})
