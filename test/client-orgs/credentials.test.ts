// process: waiting - uses components
import { runJob } from '../bus/bus-fixture.ts'
import { ClientOrgStorePort, ClientOrgUnitOfWorkPort } from '../../core/client-orgs/ports.ts'
import { ClusterStorePort, CredentialSealerPort } from '../../core/clusters/ports.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { right } from 'fp-ts/lib/Either.js'
import { operatorCall } from '../../composition/part/operator.ts'
import { expectStatus, type Person } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { configMaps, roleBindings, secrets, serviceAccounts } from '../support/hub/api/kinds.ts'
import { unwrap } from '../support/outcome.ts'
import { until } from '../support/until.ts'
import { startClientFixture, type ClientFixture } from './client-fixture.ts'

/** Which credentials the members of a client organization have on a cluster, on a real API server. */
const test = needing('kubernetes', 'spoke-kubernetes')

const accountsIn = 'moorage-clients'
const job = 'client-orgs.keepAccounts'
const rbac = '/apis/rbac.authorization.k8s.io/v1'

let fixture: ClientFixture

test.before(async () => {
  fixture = await startClientFixture()
})
test.after.always(() => fixture?.stop())

const adminOf = async (name: string): Promise<Person> => {
  const login = `admin-of-${name}`
  return { login, token: await fixture.service.tokenFor(login) }
}
/** Sends a request of a member to the cluster, through the proxy of the service. */
const ask = (name: string, { token }: Person, method: string, path: string, body?: object) =>
  fixture.service.send(method, `/api/v1/clusters/${name}/${fixture.spoke}/proxy${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  })
const userOf = async ({ token }: Person): Promise<number> =>
  (await expectStatus(fixture.service.send('GET', '/api/v1/user', { token }), 200)).json.id as number
const nameOnCluster = async (name: string, person: Person): Promise<string> => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const review = await ask(name, person, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', body)
  return (review.json as { readonly status?: { readonly userInfo: { readonly username: string } } }).status?.userInfo
    .username as string
}
/** Adds a person to the team Owners of a client organization. */
const join = async (name: string, { token }: Person, added: Person): Promise<number> => {
  const teams = (await expectStatus(fixture.service.send('GET', `/api/v1/orgs/${name}/teams`, { token }), 200))
    .json as readonly { readonly id: number; readonly name: string }[]
  const { id } = teams.find((team) => team.name === 'Owners')!
  await expectStatus(fixture.service.send('PUT', `/api/v1/teams/${id}/members/${added.login}`, { token }), 204)
  return id
}
const accountsOf = async (name: string): Promise<readonly string[]> =>
  (await fixture.hub.spoke.list(serviceAccounts, { namespace: accountsIn })).items
    .map(({ metadata }) => metadata.name)
    .filter((each) => each === name || each.startsWith(`${name}.`))
    .sort()
const rightsIn = async (namespace: string): Promise<readonly string[]> =>
  (await fixture.hub.spoke.list(roleBindings, { namespace })).items.map(({ metadata }) => metadata.name).sort()
const binding = (namespace: string, name: string) => ({
  metadata: { name, namespace },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
  subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
})
const tokenSecret = (namespace: string, name: string, account = 'default') => ({
  type: 'kubernetes.io/service-account-token',
  metadata: { name, namespace, annotations: { 'kubernetes.io/service-account.name': account } },
})

test('each member has an account, and the namespaces of the client contain no token', async (t) => {
  const name = fixture.name('accounts')
  await fixture.created(name)
  const [first, second] = [await adminOf(name), await fixture.people.person('second')]
  await join(name, first, second)
  t.deepEqual(await accountsOf(name), [name], 'a member has no account before the first request')
  const [firstId, secondId] = [await userOf(first), await userOf(second)]
  const prefix = `system:serviceaccount:${accountsIn}:${name}`
  t.is(await nameOnCluster(name, first), `${prefix}.${firstId}`)
  t.is(await nameOnCluster(name, second), `${prefix}.${secondId}`)
  t.deepEqual(await accountsOf(name), [name, `${name}.${firstId}`, `${name}.${secondId}`].sort())
  for (const namespace of [name, `${name}-gw`, `${name}-monitoring`])
    t.deepEqual((await fixture.hub.spoke.list(secrets, { namespace })).items, [])
  const made = await ask(name, second, 'POST', `/api/v1/namespaces/${name}/configmaps`, { metadata: { name: 'own' } })
  t.is(made.status, 201, made.text)
})

test('a member cannot make a credential that outlasts the membership', async (t) => {
  const name = fixture.name('lasting')
  await fixture.created(name)
  const person = await adminOf(name)
  const own = `/api/v1/namespaces/${name}`
  await expectStatus(
    ask(name, person, 'POST', `${own}/serviceaccounts`, { metadata: { name: 'mine', namespace: name } }),
    201,
  )
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 315360000 },
  }
  const refused = [
    await ask(name, person, 'POST', `${own}/serviceaccounts/mine/token`, request),
    await ask(name, person, 'POST', `/api/v1/namespaces/${accountsIn}/serviceaccounts/${name}/token`, request),
    await ask(name, person, 'GET', `/api/v1/namespaces/${accountsIn}/secrets`),
    await ask(name, person, 'GET', `/api/v1/namespaces/${accountsIn}/serviceaccounts`),
    await ask(name, person, 'POST', `${rbac}/namespaces/${name}/rolebindings`, binding(name, 'mine')),
    await ask(name, person, 'POST', `${rbac}/namespaces/${name}/roles`, { metadata: { name: 'mine' }, rules: [] }),
    await ask(name, person, 'DELETE', `${rbac}/namespaces/${name}/rolebindings`),
    await ask(name, person, 'PATCH', own, { metadata: { labels: { 'app.kubernetes.io/managed-by': 'me' } } }),
  ]
  t.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 403),
    refused.map(({ text }) => text).join('\n'),
  )
  // A policy takes effect a moment after it was written.
  const secret_ = await until('the policy', async () => {
    const answer = await ask(name, person, 'POST', `${own}/secrets`, tokenSecret(name, 'lasting', 'mine'))
    if (answer.status !== 201) return answer
    await fixture.hub.spoke.remove(secrets, { metadata: { name: 'lasting', namespace: name } })
    return undefined
  })
  t.is(secret_.status, 422, secret_.text)
  t.regex(secret_.text, /Clients may not store tokens of service accounts/)
  const plain = await ask(name, person, 'POST', `${own}/secrets`, {
    metadata: { name: 'plain' },
    stringData: { a: 'b' },
  })
  t.is(plain.status, 201, plain.text)
})

test('a client cannot change objects that the platform writes for the vendor', async (t) => {
  const name = fixture.name('written')
  await fixture.created(name, { gatewayConfig: { envoy: { provisionerType: 'kubernetes' } } })
  const person = await adminOf(name)
  const maps = [
    [`${name}-gw`, 'client-gateway'],
    [`${name}-monitoring`, 'client-telemetry'],
  ] as const
  for (const [namespace, map] of maps) {
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const before = await fixture.hub.spoke.get(configMaps, map, namespace)
    t.truthy(before)
    const change = {
      metadata: { annotations: { 'ace.appscode.com/org-id': '1' }, labels: { 'app.kubernetes.io/managed-by': 'me' } },
      data: { 'reference.json': '{"name":"g","namespace":"other-gw"}' },
    }
    t.is((await ask(name, person, 'GET', `${path}/${map}`)).status, 200)
    t.is((await ask(name, person, 'PATCH', `${path}/${map}`, change)).status, 403)
    t.is((await ask(name, person, 'DELETE', `${path}/${map}`)).status, 403)
    t.is((await ask(name, person, 'POST', path, { metadata: { name: 'other' }, data: {} })).status, 403)
    t.is((await ask(name, person, 'DELETE', path)).status, 403)
    t.deepEqual(await fixture.hub.spoke.get(configMaps, map, namespace), before)
  }
})

test("a former member's account is removed, and other credentials are named", async (t) => {
  const name = fixture.name('former')
  await fixture.created(name)
  const [owner, leaver, disabled] = [
    await adminOf(name),
    await fixture.people.person('leaver'),
    await fixture.people.person('disabled'),
  ]
  const team = await join(name, owner, leaver)
  await join(name, owner, disabled)
  const [ownerId, leaverId, disabledId] = [await userOf(owner), await userOf(leaver), await userOf(disabled)]
  for (const person of [owner, leaver, disabled]) await nameOnCluster(name, person)
  t.is((await accountsOf(name)).length, 4)
  t.is((await rightsIn(name)).length, 3)
  await fixture.hub.spoke.create(roleBindings, binding(name, 'kept'))
  await fixture.hub.spoke.create(secrets, tokenSecret(name, 'kept-token'))

  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/teams/${team}/members/${leaver.login}`, { token: owner.token }),
    204,
  )
  await fixture.service.send('DELETE', `/api/v1/orgs/${name}/members/${leaver.login}`, { token: owner.token })
  await expectStatus(
    fixture.service.send('PATCH', `/api/v1/admin/users/${disabled.login}`, {
      token: fixture.service.adminToken,
      body: { login_name: disabled.login, source_id: 0, active: false },
    }),
    200,
  )
  t.is((await ask(name, leaver, 'GET', `/api/v1/namespaces/${name}/secrets`)).status, 404)
  t.is((await ask(name, disabled, 'GET', `/api/v1/namespaces/${name}/secrets`)).status, 401)
  await runJob(fixture.service, job)
  t.deepEqual(await accountsOf(name), [name, `${name}.${ownerId}`])
  const suffixes = [`:${leaverId}`, `:${disabledId}`]
  for (const namespace of [name, `${name}-gw`, `${name}-monitoring`])
    t.false((await rightsIn(namespace)).some((each) => suffixes.some((suffix) => each.endsWith(suffix))))
  t.is(await nameOnCluster(name, owner), `system:serviceaccount:${accountsIn}:${name}.${ownerId}`)
  const { json } = await expectStatus(fixture.send('GET', `client/${name}/status`), 200)
  const [cluster] = json.clusters as readonly { readonly message: string }[]
  t.regex(cluster!.message, new RegExp(`RoleBinding ${name}/kept \\(admin\\), Secret ${name}/kept-token`))
  t.truthy(await fixture.hub.spoke.get(roleBindings, 'kept', name), 'nothing of others is removed')
})

test('a member who comes back gets another account', async (t) => {
  const name = fixture.name('returning')
  await fixture.created(name)
  const [owner, member] = [await adminOf(name), await fixture.people.person('member')]
  const team = await join(name, owner, member)
  const before = await nameOnCluster(name, member)
  const path = `/api/v1/teams/${team}/members/${member.login}`
  await expectStatus(fixture.service.send('DELETE', path, { token: owner.token }), 204)
  await fixture.service.send('DELETE', `/api/v1/orgs/${name}/members/${member.login}`, { token: owner.token })
  await runJob(fixture.service, job)
  await join(name, owner, member)
  t.is(await nameOnCluster(name, member), before)
})

test('a shared account of an earlier release is replaced, and its token is refused', async (t) => {
  const name = fixture.name('earlier')
  const id = (await fixture.created(name)) as OrgId
  const { spoke } = fixture.hub
  const { container } = fixture.service.running
  // What an earlier release made: one account, its token in a Secret, and a role binding of which the client has
  // changed the labels.
  await spoke.create(serviceAccounts, { metadata: { name: 'moorage-client', namespace: name } })
  await spoke.create(roleBindings, {
    ...binding(name, 'moorage-client:clusterrole:admin'),
    subjects: [{ kind: 'ServiceAccount', name: 'moorage-client', namespace: name }],
  })
  await spoke.create(secrets, tokenSecret(name, 'moorage-client-token', 'moorage-client'))
  const token = await until('the token', async () => {
    const data = (await spoke.get(secrets, 'moorage-client-token', name))?.data?.['token']
    return data === undefined ? undefined : Buffer.from(data, 'base64').toString()
  })
  const direct = () => fixture.spokeServer.request('GET', `/api/v1/namespaces/${name}/secrets`, undefined, { token })
  t.is((await direct()).status, 200)
  const store = container.resolve(ClusterStorePort)
  const record = (await store.find(id, fixture.spoke))!
  const sealed = await container.resolve(CredentialSealerPort)(id, {
    server: fixture.spokeServer.url,
    authorityPem: fixture.spokeServer.caPem,
    tlsServerName: undefined,
    identity: { kind: 'token', token: secret(token) },
  })
  unwrap(await store.change(record.id, record.version, { sealed }))
  const clientOrgs = container.resolve(ClientOrgStorePort)
  const clientOrg = (await clientOrgs.find(name))!
  const [cluster] = await clientOrgs.clustersOf(clientOrg.id)
  unwrap(
    await container.resolve(ClientOrgUnitOfWorkPort).run(operatorCall('test'), async (stores) => {
      await stores.clientOrgs.setAccountLayout(cluster!.id, 1)
      return right(undefined)
    }),
  )
  const person = await adminOf(name)
  t.is(await nameOnCluster(name, person), `system:serviceaccount:${name}:moorage-client`)

  await runJob(fixture.service, job)
  await until('the end of the token', async () => ((await direct()).status === 401 ? true : undefined))
  t.is(await spoke.get(secrets, 'moorage-client-token', name), undefined)
  t.is(await spoke.get(serviceAccounts, 'moorage-client', name), undefined)
  t.deepEqual(await rightsIn(name), [])
  t.is(await nameOnCluster(name, person), `system:serviceaccount:${accountsIn}:${name}.${await userOf(person)}`)
  t.is((await clientOrgs.clustersOf(clientOrg.id))[0]?.accountLayout, 2)
})
