// process: waiting - uses components
import 'reflect-metadata'
import { randomBytes } from 'node:crypto'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { makeSigningRequest } from '../support/hub/agent/client-certificate-request.ts'
import { makeKubeClient } from '../support/hub/api/kube-client.ts'
import { seedHub } from '../support/hub/control-plane/seed-hub.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { clusterApi, makeMembers, signingApi, startSpokeFixture, statusOf, type SpokeFixture } from './spoke-fixture.ts'

/**
 * The lists of a hub's clusters and accept-spoke, on a real kube-apiserver with the definitions of OCM, where no
 * controller signs requests.
 */
const test = needing('kubernetes')

let fixture: SpokeFixture
let bootstrapToken: string
test.before(async () => {
  fixture = await startSpokeFixture()
  const client = makeKubeClient(fixture.cluster, { token: fixture.cluster.tokenFor('admin') })
  await seedHub(client)
  await client.close()
  const made = await fixture.must(
    'POST',
    '/api/v1/namespaces/open-cluster-management/serviceaccounts/agent-registration-bootstrap/token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  )
  bootstrapToken = (made['status'] as { token: string }).token
})
test.after.always(() => fixture?.service.stop())

interface Asked {
  readonly subject?: Parameters<typeof makeSigningRequest>[2]
  readonly labels?: Readonly<Record<string, string>>
  /** Sent by the admin of the hub, not with the bootstrap account. */
  readonly isAdmin?: boolean
}
/** Sends a certificate request as the agent of a cluster does. Returns its name. */
const ask = async (
  cluster: string,
  agent = 'a1b2c',
  { subject, labels = {}, isAdmin = false }: Asked = {},
): Promise<string> => {
  const { object } = await makeSigningRequest(cluster, agent, subject)
  const body = { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } } }
  const answer = await fixture.cluster.request('POST', signingApi, body, isAdmin ? {} : { token: bootstrapToken })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer))
  return object.metadata.name
}
/** A cluster that has registered. */
const registered = async (metadata: object = {}): Promise<string> => {
  const name = fixture.name()
  await fixture.plantCluster(name, { metadata })
  return name
}
const conditions = async (name: string): Promise<readonly string[]> => {
  const { status } = (await fixture.must('GET', `${signingApi}/${name}`)) as {
    status: { conditions?: readonly { type: string }[] }
  }
  return (status.conditions ?? []).map(({ type }) => type)
}
const isAccepted = async (name: string): Promise<boolean> =>
  ((await fixture.must('GET', `${clusterApi}/${name}`)) as { spec: { hubAcceptsClient: boolean } }).spec
    .hubAcceptsClient
const accept = (clusters: unknown, options: object = {}) => fixture.post('accept-spoke', { clusters, ...options })
const reasons = async (clusters: readonly string[], options: object = {}): Promise<readonly string[]> => {
  const answer = await expectStatus(accept(clusters, options), 422)
  if (answer.json.code !== 'SpokesNotAccepted') throw new Error(answer.text)
  return answer.json.errors as readonly string[]
}
const rowsOf = async (spoke: string) =>
  (await fixture.audited('cluster.spoke_accepted')).filter(({ changes }) => changes['spoke'] === spoke)

test('a cluster is accepted, once, however often it is requested', async (t) => {
  const name = await registered()
  const request = await ask(name)
  const addOn = await ask(name, 'a1b2c', { labels: { 'open-cluster-management.io/addon-name': 'work-manager' } })
  t.is((await expectStatus(accept([name, name]), 200)).text, '')
  await expectStatus(accept([name]), 200)
  t.deepEqual([await conditions(request), await conditions(addOn), await isAccepted(name)], [['Approved'], [], true])
  const rows = await rowsOf(name)
  t.is(rows.length, 1)
  t.like(rows[0], { object_name: 'hub', changes: { spoke: name, requests: [request] } })
})

test('each unacceptable cluster has its reason, and the rest is accepted', async (t) => {
  const [good, silent, forged, sentByAdmin, denied, leaving] = await Promise.all([
    registered(),
    registered(),
    registered(),
    registered(),
    registered(),
    registered({ finalizers: ['example.com/stay'] }),
  ])
  const missing = fixture.name()
  const request = await ask(good)
  const mint = await ask(forged, 'x', {
    subject: { organizations: ['platform-admins'], commonName: `system:open-cluster-management:${forged}:x` },
  })
  const other = await ask(sentByAdmin, 'x', { isAdmin: true })
  const refused = await ask(denied)
  await fixture.must('PUT', `${signingApi}/${refused}/approval`, {
    ...(await fixture.must('GET', `${signingApi}/${refused}`)),
    status: { conditions: [{ type: 'Denied', status: 'True', reason: 'Test', message: 'no' }] },
  })
  await ask(leaving)
  await fixture.must('DELETE', `${clusterApi}/${leaving}`)
  const found = await reasons([good, silent, forged, sentByAdmin, denied, leaving, missing])
  const reasonOf = (name: string): string =>
    found.find((reason) => reason.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  t.is(found.length, 6)
  t.is(reasonOf(silent), 'It has no join request.')
  t.regex(reasonOf(forged), /None of its join requests is that of an agent/)
  t.regex(reasonOf(sentByAdmin), /bootstrap identity/)
  t.is(reasonOf(denied), 'Its join request was denied.')
  t.is(reasonOf(leaving), 'It is being deleted.')
  t.is(reasonOf(missing), 'It does not exist on the hub.')
  const alone = await expectStatus(accept([missing]), 422)
  t.true(alone.text.includes(`The cluster cannot be accepted. ${missing}: It does not exist on the hub.`), alone.text)
  t.deepEqual([await isAccepted(good), await conditions(request)], [true, ['Approved']])
  t.deepEqual(await Promise.all([silent, forged, sentByAdmin, denied].map(isAccepted)), [false, false, false, false])
  t.deepEqual([await conditions(mint), await conditions(other)], [[], []])
  t.is((await rowsOf(good)).length, 1)
  await expectStatus(accept([sentByAdmin], { skipApproveCheck: true }), 200)
  t.deepEqual([await conditions(other), await isAccepted(sentByAdmin)], [['Approved'], true])
  t.regex((await reasons([forged], { skipApproveCheck: true }))[0] ?? '', /None of its join requests/)
  t.deepEqual(await conditions(mint), [])
})

test('a cluster whose namespace on the hub is being deleted is not accepted', async (t) => {
  const name = await registered()
  const request = await ask(name)
  // Nothing ends the deletion: this API server has no controller of namespaces.
  await fixture.must('POST', '/api/v1/namespaces', { metadata: { name } })
  await fixture.must('DELETE', `/api/v1/namespaces/${name}`)
  t.deepEqual(await reasons([name]), [`${name}: Its namespace on the hub is being deleted.`])
  t.deepEqual([await conditions(request), await isAccepted(name)], [[], false])
})

test('a partial success is repeated under its key, and a later request completes', async (t) => {
  const [good, late] = [await registered(), await registered()]
  await ask(good)
  const send = () =>
    fixture.service.send('POST', `/api/v1/clusters/${fixture.org}/hub/accept-spoke`, {
      token: fixture.owner.token,
      headers: { 'Idempotency-Key': `accept-${good}` },
      body: { clusters: [good, late] },
    })
  t.is((await expectStatus(send(), 422)).json.errors.length, 1)
  await ask(late)
  t.is((await expectStatus(send(), 422)).json.errors.length, 1)
  await expectStatus(accept([good, late]), 200)
  t.deepEqual([(await rowsOf(good)).length, (await rowsOf(late)).length], [1, 1])
})

test('of two agents with one name the named one is approved', async (t) => {
  const name = await registered()
  const [first, second] = [await ask(name, 'first'), await ask(name, 'second')]
  t.regex((await reasons([name]))[0] ?? '', /Several agents ask to join/)
  t.deepEqual([await conditions(first), await conditions(second), await isAccepted(name)], [[], [], false])
  await expectStatus(accept([name], { requesters: [`system:open-cluster-management:${name}:second`] }), 200)
  t.deepEqual([await conditions(first), await conditions(second), await isAccepted(name)], [[], ['Approved'], true])
})

test('a cluster that registers by the identity of its cloud needs no request', async (t) => {
  const name = await registered({
    annotations: { 'agent.open-cluster-management.io/managed-cluster-arn': 'arn:aws:eks:x' },
  })
  const request = await ask(name)
  await expectStatus(accept([name]), 200)
  t.deepEqual([await isAccepted(name), await conditions(request)], [true, []])
})

test('a spoke whose agent asks again gets a new approval', async (t) => {
  const name = fixture.name()
  await fixture.plantCluster(name, { spec: { hubAcceptsClient: true } })
  await expectStatus(accept([name]), 200)
  const request = await ask(name)
  await expectStatus(accept([name]), 200)
  t.deepEqual(await conditions(request), ['Approved'])
  t.deepEqual(await rowsOf(name), [])
})

test('concurrent requests accept a cluster once', async (t) => {
  const name = await registered()
  const request = await ask(name)
  const answers = await Promise.all(Array.from({ length: 6 }, () => accept([name])))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  )
  t.deepEqual([await conditions(request), await isAccepted(name)], [['Approved'], true])
  t.is((await rowsOf(name)).length, 1)
})

test('a cluster that is removed at the same time is accepted before, or not at all', async (t) => {
  const names = await Promise.all(Array.from({ length: 4 }, () => registered({ finalizers: ['example.com/stay'] })))
  await Promise.all(names.map((name) => ask(name)))
  const [answer] = await Promise.all([
    accept(names),
    ...names.map((name) => fixture.must('DELETE', `${clusterApi}/${name}`)),
  ])
  const refused = ((answer.json as { errors?: readonly string[] } | undefined)?.errors ?? []).map(
    (reason) => reason.split(':')[0] ?? '',
  )
  t.deepEqual(
    await Promise.all(names.map(isAccepted)),
    names.map((name) => !refused.includes(name)),
  )
})

test('bad bodies of accept-spoke are 422 and change nothing', async (t) => {
  const name = await registered()
  const request = await ask(name)
  const bad = [
    {},
    { clusters: [] },
    { clusters: name },
    { clusters: [name, 7] },
    { clusters: [name, ''] },
    { clusters: [name, 'A'] },
    { clusters: [name, 'a.b'] },
    { clusters: [name, '../x'] },
    { clusters: [name, null] },
    { clusters: Array.from({ length: 501 }, () => name) },
    { clusters: [name], skipApproveCheck: 'yes' },
    { clusters: [name], requesters: 'x' },
    { clusters: [name], requesters: [7] },
    { clusters: [name], requesters: [''] },
  ]
  for (const body of bad) await statusOf(t, fixture.post('accept-spoke', body), 422)
  t.deepEqual([await conditions(request), await isAccepted(name)], [[], false])
})

test('accepting needs its own right', async (t) => {
  const member = await makeMembers(fixture, {
    viewer: ['view clusters', 'view hubs'],
    remover: ['view clusters', 'view hubs', 'remove spokes', 'import spokes'],
    accepter: ['view clusters', 'view hubs', 'accept spokes'],
  })
  const name = await registered()
  const request = await ask(name)
  const body = { clusters: [name] }
  for (const [who, status] of [
    ['viewer', 403],
    ['remover', 403],
    ['stranger', 404],
  ] as const)
    await statusOf(t, fixture.post('accept-spoke', body, member(who)), status)
  t.deepEqual([await conditions(request), await isAccepted(name)], [[], false])
  await statusOf(t, fixture.post('accept-spoke', body, member('accepter')), 200)
  t.true(await isAccepted(name))
})

test('no certificate request is in the log', async (t) => {
  const name = await registered()
  await ask(name, randomBytes(4).toString('hex'))
  await expectStatus(accept([name]), 200)
  t.notRegex(fixture.service.logText(), /BEGIN CERTIFICATE|LS0tLS1CRUdJTi/)
})

const setLabel = 'cluster.open-cluster-management.io/clusterset'
const rolesApi = '/apis/authorization.k8s.appscode.com/v1alpha1'
const routes = ['managed-clusters', 'not-accepted-clusters', 'accepted-clusters', 'available-clusters']
const named = ({ json }: ServiceAnswer, prefix: string): readonly { name: string }[] =>
  (json as { name: string }[]).filter(({ name }) => name.startsWith(prefix))
const namesIn = async (route: string, prefix: string, person = fixture.owner): Promise<readonly string[]> =>
  named(await expectStatus(fixture.get(route, person), 200), prefix).map(({ name }) => name.slice(prefix.length))

test("a cluster is listed by the hub's decision with its own claims", async (t) => {
  const prefix = `${fixture.name()}-`
  await fixture.plantCluster(`${prefix}b`, {
    metadata: { labels: { [setLabel]: 'edge' } },
    spec: {
      hubAcceptsClient: true,
      managedClusterClientConfigs: [{ url: 'https://10.0.0.1:6443' }, { url: 'https://other' }],
    },
  })
  await fixture.plantCluster(`${prefix}a`, { spec: { hubAcceptsClient: true } })
  await fixture.plantCluster(`${prefix}c`)
  await fixture.must(
    'PATCH',
    `${clusterApi}/${prefix}b/status`,
    {
      status: {
        clusterClaims: [
          { name: 'zone', value: 'x' },
          { name: 'id.k8s.io', value: 'uid-b' },
        ],
      },
    },
    'application/merge-patch+json',
  )
  t.deepEqual(named(await fixture.get('accepted-clusters'), prefix), [
    { name: `${prefix}a`, clusterURL: '', clusterUID: '' },
    { name: `${prefix}b`, clusterURL: 'https://10.0.0.1:6443', clusterUID: 'uid-b', clusterSet: 'edge' },
  ])
  t.deepEqual(await namesIn('not-accepted-clusters', prefix), ['c'])
  t.deepEqual(await namesIn('available-clusters', prefix), ['a', 'b'])
})

test('a cluster under deletion requests nothing, and stays a spoke until its end', async (t) => {
  const prefix = `${fixture.name()}-`
  const metadata = { finalizers: ['example.com/stay'] }
  await fixture.plantCluster(`${prefix}spoke`, { metadata, spec: { hubAcceptsClient: true } })
  await fixture.plantCluster(`${prefix}asks`, { metadata })
  for (const suffix of ['spoke', 'asks']) await fixture.must('DELETE', `${clusterApi}/${prefix}${suffix}`)
  t.deepEqual(
    [await namesIn('accepted-clusters', prefix), await namesIn('not-accepted-clusters', prefix)],
    [['spoke'], []],
  )
})

test('the raw list has the bytes of the hub', async (t) => {
  const name = fixture.name()
  await fixture.plantCluster(name, {
    metadata: { annotations: { 'example.com/odd': '"é\\u0041</\n\u2028', zz: '1', '7': 'seven' } },
  })
  const { text, json, headers } = await expectStatus(fixture.get('managed-clusters'), 200)
  t.regex(String(headers['content-type']), /^application\/json/)
  t.like(json, { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedClusterList' })
  const item = (json as { items: { metadata: { name: string; annotations: object } }[] }).items.find(
    ({ metadata }) => metadata.name === name,
  )
  t.deepEqual(item?.metadata.annotations, { 'example.com/odd': '"é\\u0041</\n\u2028', zz: '1', '7': 'seven' })
  // What a JavaScript object would have written first comes last, as the hub sorts keys.
  t.regex(text, /"annotations":\{"7":"seven","example\.com\/odd":"\\"é\\\\u0041\\u003c\/\\n\\u2028","zz":"1"\}/)
})

test('a user without the hub can use spokes of role bindings', async (t) => {
  const prefix = `${fixture.name()}-`
  const member = await makeMembers(fixture, {
    viewer: ['view clusters', 'view hubs'],
    connector: ['view clusters', 'view hubs', 'connect to clusters'],
  })
  const viewerId = (
    (await expectStatus(fixture.service.send('GET', '/api/v1/user', { token: member('viewer').token }), 200)).json as {
      id: number
    }
  ).id
  for (const suffix of ['by-name', 'by-set', 'other', 'wrong-kind'])
    await fixture.plantCluster(`${prefix}${suffix}`, {
      metadata: suffix === 'by-set' ? { labels: { [setLabel]: `${prefix}set` } } : {},
      spec: { hubAcceptsClient: true },
    })
  const subjects = (kind: string) => [
    { kind: 'User', name: 'ace.user.999999' },
    { kind, name: `ace.user.${viewerId}` },
  ]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
  for (const [suffix, kind] of [
    ['by-name', 'User'],
    ['wrong-kind', 'Group'],
  ] as const) {
    await fixture.must('POST', '/api/v1/namespaces', { metadata: { name: `${prefix}${suffix}` } })
    await fixture.must('POST', `${rolesApi}/namespaces/${prefix}${suffix}/managedclusterrolebindings`, {
      apiVersion: 'authorization.k8s.appscode.com/v1alpha1',
      kind: 'ManagedClusterRoleBinding',
      metadata: { name: 'view' },
      subjects: subjects(kind),
      roleRef,
    })
  }
  await fixture.must('POST', `${rolesApi}/managedclustersetrolebindings`, {
    apiVersion: 'authorization.k8s.appscode.com/v1alpha1',
    kind: 'ManagedClusterSetRoleBinding',
    metadata: { name: `${prefix}set` },
    clusterSetRef: { name: `${prefix}set` },
    subjects: subjects('User'),
    roleRef,
  })
  // A record without a UID, as one that is not surveyed yet, is not that of every spoke that claims none.
  const store = fixture.service.running.container.resolve(ClusterStorePort)
  const { token, login } = member('viewer')
  const { json } = await expectStatus(
    importCluster(fixture.service.send, token, login, 'mine', fixture.cluster.kubeconfig()),
    200,
  )
  unwrap(await store.change(json.id as ClusterId, 1, { uid: '' }))
  t.deepEqual(await namesIn('available-clusters', prefix, member('viewer')), ['by-name', 'by-set'])
  t.deepEqual(await namesIn('accepted-clusters', prefix, member('viewer')), [
    'by-name',
    'by-set',
    'other',
    'wrong-kind',
  ])
  t.deepEqual(await namesIn('available-clusters', prefix, member('connector')), [
    'by-name',
    'by-set',
    'other',
    'wrong-kind',
  ])
})

test('the lists of spokes need the right to view hubs', async (t) => {
  const member = await makeMembers(fixture, {
    connector: ['view clusters', 'connect to clusters'],
    viewer: ['view clusters', 'view hubs'],
  })
  for (const route of routes) {
    await statusOf(t, fixture.get(route, member('connector')), 403)
    await statusOf(t, fixture.get(route, member('viewer')), 200)
    await statusOf(t, fixture.get(route, member('stranger')), 404)
    await statusOf(t, fixture.get(route, fixture.owner, `${fixture.org}/no-such-hub`), 404)
  }
})
