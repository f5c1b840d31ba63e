// process: waiting - uses components
import { expectStatus, importCluster, type Person } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { makeMembers, startSpokeFixture, statusOf, type SpokeFixture } from './spoke-fixture.ts'

/** sync-accounts on a real kube-apiserver. No other file writes Accounts of this service's users to it. */
const test = needing('kubernetes').serial

const api = '/apis/authentication.k8s.appscode.com/v1alpha1/accounts'
let fixture: SpokeFixture
test.before(async () => {
  fixture = await startSpokeFixture()
  await fixture.must('DELETE', api)
})
test.after.always(() => fixture?.service.stop())

interface Account {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly resourceVersion: string
  }
  readonly spec: {
    readonly username: string
    readonly uid: string
    readonly groups?: Readonly<Record<string, readonly string[]>>
    readonly extra?: object
  }
}
const accounts = async (): Promise<readonly Account[]> =>
  ((await fixture.must('GET', api)) as unknown as { items: readonly Account[] }).items
const find = async (name: string): Promise<Account | undefined> =>
  (await accounts()).find(({ metadata }) => metadata.name === name)
const plant = (name: string, labels: object = {}) =>
  fixture.must('POST', api, {
    apiVersion: 'authentication.k8s.appscode.com/v1alpha1',
    kind: 'Account',
    metadata: { name, labels },
    spec: { username: name },
  })
const userOf = async ({ token }: Person): Promise<{ readonly id: number; readonly login: string }> =>
  (await expectStatus(fixture.service.send('GET', '/api/v1/user', { token }), 200)).json as {
    id: number
    login: string
  }
const sync = (person?: Person, at?: string) => fixture.post('sync-accounts', undefined, person, at)
const synced = async () => (await fixture.audited('cluster.accounts_synced')).map(({ changes }) => changes)

test('each member has an account, and unchanged ones are not recorded', async (t) => {
  const [first, second] = [await fixture.people.person('first'), await fixture.people.person('second')]
  const { teamId } = await fixture.people.teamWithRole(
    fixture.owner,
    fixture.org,
    [first, second],
    [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
  )
  const [own, one, two] = [await userOf(fixture.owner), await userOf(first), await userOf(second)]
  await plant('ace.sa.builder')
  await plant('someone-else', {
    'app.kubernetes.io/managed-by': 'moorage',
    'authentication.k8s.appscode.com/hub-owner': '999999',
  })
  await plant('ace.user.999998', {
    'app.kubernetes.io/managed-by': 'moorage',
    'authentication.k8s.appscode.com/hub-owner': '999999',
  })
  const answered = (await expectStatus(sync(), 200)).json
  t.like(answered, { applied: 3, removed: 0 })
  t.regex(String(answered.message), /no ManagedClusterRoleBinding was made/)
  const team = (
    (await expectStatus(fixture.service.send('GET', `/api/v1/teams/${teamId}`, { token: fixture.owner.token }), 200))
      .json as { name: string }
  ).name
  const account = await find(`ace.user.${one.id}`)
  const orgId = (
    (
      await expectStatus(
        fixture.service.send('GET', `/api/v1/orgs/${fixture.org}`, { token: fixture.owner.token }),
        200,
      )
    ).json as { id: number }
  ).id
  t.like(account?.spec, {
    username: `ace.user.${one.id}`,
    uid: String(one.id),
    groups: { [String(orgId)]: [team] },
    extra: { 'ace.appscode.com/org-id': [String(orgId)] },
  })
  t.deepEqual(
    (await accounts()).map(({ metadata }) => metadata.name).sort(),
    [...[own, one, two].map(({ id }) => `ace.user.${id}`), 'ace.sa.builder', 'someone-else', 'ace.user.999998'].sort(),
  )
  t.deepEqual(await synced(), [{ applied: 3, removed: 0 }])
  await expectStatus(sync(), 200)
  t.deepEqual(await synced(), [{ applied: 3, removed: 0 }])
  t.is((await find(`ace.user.${one.id}`))?.metadata.resourceVersion, account?.metadata.resourceVersion)

  t.is(account?.metadata.annotations?.['moorage/login'], one.login)

  // A new login leaves the name of the account and of its user; a former member loses it.
  await expectStatus(
    fixture.service.send('POST', `/api/v1/admin/users/${one.login}/rename`, {
      token: fixture.service.adminToken,
      body: { new_username: `${one.login}-x` },
    }),
    204,
  )
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/orgs/${fixture.org}/members/${two.login}`, { token: fixture.owner.token }),
    204,
  )
  await expectStatus(sync(), 200)
  t.is(
    (await find(`ace.user.${one.id}`))?.spec.username,
    `ace.user.${one.id}`,
    'the name under which requests through the gateway arrive',
  )
  t.is((await find(`ace.user.${one.id}`))?.metadata.annotations?.['moorage/login'], `${one.login}-x`)
  t.is(await find(`ace.user.${two.id}`), undefined)
  t.truthy(await find('ace.user.999998'))
  t.deepEqual(
    (await synced()).find(({ removed }) => removed === 1),
    { applied: 1, removed: 1 },
  )
})

test('an account of other origin with the name of a member’s is not changed', async (t) => {
  const person = await fixture.people.person('taken')
  await fixture.people.teamWithRole(
    fixture.owner,
    fixture.org,
    [person],
    [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
  )
  const name = `ace.user.${(await userOf(person)).id}`
  await plant(name)
  const { json } = await statusOf(t, sync(), 409, 'HubConflict')
  t.deepEqual(json.errors, [name])
  t.is((await find(name))?.spec.username, name)
  await fixture.must('DELETE', `${api}/${name}`)
  await expectStatus(sync(), 200)
  t.is((await find(name))?.metadata.annotations?.['moorage/login'], person.login)
})

test('members who join and leave during several runs: the last run has the last state', async (t) => {
  const people = await Promise.all(Array.from({ length: 6 }, () => fixture.people.person('moving')))
  const ids = await Promise.all(people.map(async (person) => (await userOf(person)).id))
  const { teamId } = await fixture.people.teamWithRole(
    fixture.owner,
    fixture.org,
    [],
    [{ namespace: 'cluster_mgmt', action: 'view clusters' }],
  )
  const change = (method: string, person: Person) =>
    expectStatus(
      fixture.service.send(method, `/api/v1/teams/${teamId}/members/${person.login}`, { token: fixture.owner.token }),
      204,
    )
  const leave = (person: Person) =>
    expectStatus(
      fixture.service.send('DELETE', `/api/v1/orgs/${fixture.org}/members/${person.login}`, {
        token: fixture.owner.token,
      }),
      204,
    )
  const join = async (some: readonly Person[]): Promise<void> => {
    for (const person of some) await change('PUT', person)
  }
  await Promise.all([join(people), sync(), sync(), sync()])
  const leaving = async (): Promise<void> => {
    for (const person of people.slice(3)) await leave(person)
  }
  await Promise.all([leaving(), sync(), sync()])
  await expectStatus(sync(), 200)
  const names = new Set((await accounts()).map(({ metadata }) => metadata.name))
  t.deepEqual(
    ids.map((id) => names.has(`ace.user.${id}`)),
    [true, true, true, false, false, false],
  )
})

test('in the account of a person, the person is the only member', async (t) => {
  const person = await fixture.people.person('alone')
  await expectStatus(
    importCluster(fixture.service.send, person.token, person.login, 'own', fixture.cluster.kubeconfig()),
    200,
  )
  await expectStatus(sync(person, `${person.login}/own`), 200)
  const { id } = await userOf(person)
  t.like((await find(`ace.user.${id}`))?.spec, {
    username: `ace.user.${id}`,
    uid: String(id),
    extra: { 'ace.appscode.com/org-id': [String(id)] },
  })
})

test('syncing needs its own right', async (t) => {
  const member = await makeMembers(fixture, {
    viewer: ['view clusters', 'view hubs', 'accept spokes'],
    syncer: ['view clusters', 'view hubs', 'sync accounts'],
  })
  for (const [who, status] of [
    ['viewer', 403],
    ['stranger', 404],
    ['syncer', 200],
  ] as const)
    await statusOf(t, sync(member(who)), status)
})
