// process: waiting - uses components
import { randomBytes } from 'node:crypto'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { installHubCrds } from '../support/hub/install-hub-crds.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

/** The routes of bound namespaces, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

const group = '/apis/cluster.open-cluster-management.io/v1beta2'
const bindingsOf = (namespace: string): string => `${group}/namespaces/${namespace}/managedclustersetbindings`

let cluster: ControlPlaneAccess
let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
let org: string

test.before(async () => {
  cluster = (await kubernetes())!
  await installHubCrds(cluster)
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', cluster.kubeconfig()), 200)
})
test.after.always(() => service?.stop())

const must = async (method: string, path: string, body?: unknown): Promise<void> => {
  const answer = await cluster.request(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
}
const clusterSet = async (): Promise<string> => {
  const name = `set-${randomBytes(6).toString('hex')}`
  await must('POST', `${group}/managedclustersets`, {
    apiVersion: 'cluster.open-cluster-management.io/v1beta2',
    kind: 'ManagedClusterSet',
    metadata: { name },
    spec: {},
  })
  return name
}
const plantBinding = (namespace: string, name: string, set: string): Promise<void> =>
  must('POST', bindingsOf(namespace), {
    apiVersion: 'cluster.open-cluster-management.io/v1beta2',
    kind: 'ManagedClusterSetBinding',
    metadata: { name },
    spec: { clusterSet: set },
  })
const bindings = async (namespace: string): Promise<readonly (readonly [name: string, set: string])[]> =>
  (
    (await cluster.request('GET', bindingsOf(namespace))).body as {
      items: { metadata: { name: string }; spec: { clusterSet: string } }[]
    }
  ).items.map(({ metadata, spec }) => [metadata.name, spec.clusterSet])

const change = (
  verb: 'bind' | 'unbind',
  body: unknown,
  person: Person = owner,
  at = `${org}/hub`,
): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/clusters/${at}/bound-namespaces/${verb}`, { token: person.token, body })
const list = (person: Person = owner, at = `${org}/hub`): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clusters/${at}/bound-namespaces`, { token: person.token })

test('namespaces are listed with their sets, without those of spokes', async (t) => {
  const [bare, full] = [await cluster.createNamespace(), await cluster.createNamespace()]
  const spoke = `spoke-${randomBytes(6).toString('hex')}`
  await must('POST', '/api/v1/namespaces', {
    metadata: { name: spoke, labels: { 'open-cluster-management.io/cluster-name': spoke } },
  })
  const [a, b] = [await clusterSet(), await clusterSet()]
  await plantBinding(full, 'zulu', b)
  await plantBinding(full, 'alpha', b)
  await plantBinding(full, a, a)
  await plantBinding(full, 'gone', 'a-set-that-is-gone')
  const { json } = await expectStatus(list(), 200)
  t.deepEqual(json[bare], [])
  t.deepEqual(json[full], [a, b].sort())
  t.deepEqual(json['kube-system'], [])
  t.false(spoke in json)
})

test('repeated bind and unbind are recorded once each', async (t) => {
  const [namespace, set] = [await cluster.createNamespace(), await clusterSet()]
  for (const _ of [1, 2]) t.is((await expectStatus(change('bind', { clusterSet: set, namespace }), 200)).text, '')
  t.deepEqual(await bindings(namespace), [[set, set]])
  t.deepEqual((await list()).json[namespace], [set])
  for (const _ of [1, 2]) await expectStatus(change('unbind', { clusterSet: set, namespace }), 200)
  t.deepEqual(await bindings(namespace), [])
  const log = await expectStatus(
    service.send('GET', `/api/v1/orgs/${org}/audit?limit=100`, { token: owner.token }),
    200,
  )
  const rows = (log.json as { action: string; object_name?: string; changes?: { namespace?: string } }[]).filter(
    ({ changes }) => changes?.namespace === namespace,
  )
  t.deepEqual(rows.map(({ action }) => action).sort(), ['cluster.namespace_bound', 'cluster.namespace_unbound'])
  t.like(rows[0], { object_name: 'hub', changes: { clusterSet: set, namespace } })
})

test('a repeated request with its Idempotency-Key binds once and gets the same answer', async (t) => {
  const [namespace, set] = [await cluster.createNamespace(), await clusterSet()]
  const send = (): Promise<ServiceAnswer> =>
    service.send('POST', `/api/v1/clusters/${org}/hub/bound-namespaces/bind`, {
      token: owner.token,
      headers: { 'Idempotency-Key': `bind-${namespace}` },
      body: { clusterSet: set, namespace },
    })
  await expectStatus(send(), 200)
  await must('DELETE', `${bindingsOf(namespace)}/${set}`)
  await expectStatus(send(), 200)
  t.deepEqual(await bindings(namespace), [])
})

test('concurrent binds of one pair all succeed and make one binding', async (t) => {
  const [namespace, set] = [await cluster.createNamespace(), await clusterSet()]
  const answers = await Promise.all([1, 2, 3, 4].map(() => change('bind', { clusterSet: set, namespace })))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.deepEqual(await bindings(namespace), [[set, set]])
})

test('a namespace or a set that does not exist, or is being deleted, is 422', async (t) => {
  const [namespace, set] = [await cluster.createNamespace(), await clusterSet()]
  const noNamespace = await change('bind', { clusterSet: set, namespace: 'nowhere-at-all' })
  t.is(noNamespace.status, 422)
  t.regex(noNamespace.json.message, /namespace nowhere-at-all does not exist/)
  const noSet = await change('bind', { clusterSet: 'no-such-set', namespace })
  t.is(noSet.status, 422)
  t.regex(noSet.json.message, /cluster set no-such-set does not exist/)
  // No controller runs, so the namespace keeps its finalizer.
  await must('DELETE', `/api/v1/namespaces/${namespace}`)
  const terminating = await change('bind', { clusterSet: set, namespace })
  t.is(terminating.status, 422)
  t.regex(terminating.json.message, /being deleted/)
})

test('unbind removes all bindings of the set and of no other set', async (t) => {
  const [namespace, set] = [await cluster.createNamespace(), await clusterSet()]
  await plantBinding(namespace, 'other-name', set)
  await plantBinding(namespace, set, 'set-elsewhere')
  const taken = await change('bind', { clusterSet: set, namespace })
  t.is(taken.status, 422)
  t.regex(taken.json.message, /for another cluster set/)
  await expectStatus(change('unbind', { clusterSet: set, namespace }), 200)
  t.deepEqual(await bindings(namespace), [[set, 'set-elsewhere']])
  await expectStatus(change('unbind', { clusterSet: set, namespace: 'nowhere-at-all' }), 200)
})

test("with impersonation the caller's rights on the hub decide", async (t) => {
  await expectStatus(
    importCluster(service.send, owner.token, owner.login, 'own', cluster.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const at = `${owner.login}/own`
  const listed = await list(owner, at)
  t.is(listed.status, 403, listed.text)
  t.is(listed.json.code, 'HubDenied')
  t.is((await change('unbind', { clusterSet: 'a', namespace: 'default' }, owner, at)).status, 403)
})

test('bindings need the right to view hubs or to bind namespaces', async (t) => {
  const [connector, reader, binder, stranger] = [
    await people.person('none'),
    await people.person('reader'),
    await people.person('binder'),
    await people.person('stranger'),
  ]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [connector], held('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [reader], held('view clusters', 'view hubs'))
  await people.teamWithRole(owner, org, [binder], held('view clusters', 'view hubs', 'bind namespaces'))
  await people.organization(stranger)
  const namespace = await cluster.createNamespace()
  const statuses = async (person: Person): Promise<readonly number[]> => {
    const answers = [
      await list(person),
      await change('bind', { clusterSet: 'absent', namespace }, person),
      await change('unbind', { clusterSet: 'absent', namespace }, person),
    ]
    return answers.map(({ status }) => status)
  }
  t.deepEqual(await statuses(connector), [403, 403, 403])
  t.deepEqual(await statuses(reader), [200, 403, 403])
  t.deepEqual(await statuses(binder), [200, 422, 200])
  t.deepEqual(await statuses(stranger), [404, 404, 404])
})
