// process: waiting - uses components
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusters } from '../support/hub/api/kinds.ts'
import { startClientFixture, type ClientFixture } from './client-fixture.ts'

/** What requests about client organizations are refused, and that they change nothing. */
const test = needing('kubernetes', 'spoke-kubernetes')

let fixture: ClientFixture

test.before(async () => {
  fixture = await startClientFixture()
})
test.after.always(() => fixture?.stop())

const refused = async (body: object): Promise<readonly [number, string, string]> => {
  const { status, json, text } = await fixture.send('POST', 'client/create', body)
  return [status, (json as { readonly code?: string } | undefined)?.code ?? '', text]
}

const admin = (name: string, changes: object) => ({
  userPermission: {
    userName: `admin-of-${name}`,
    email: `admin-of-${name}@example.com`,
    permissions: [{ name: fixture.spoke }],
    ...changes,
  },
})
const permission = (name: string, changes: object) =>
  admin(name, { permissions: [{ name: fixture.spoke, ...changes }] })

test('each refusal of a creation, which makes neither an organization nor a user', async (t) => {
  const { org } = fixture
  const stranger = await fixture.people.person('stranger')
  const strangerOrg = await fixture.people.organization(stranger)
  const waiting = fixture.hub.name()
  await fixture.hub.client.create(managedClusters, { metadata: { name: waiting }, spec: { hubAcceptsClient: false } })
  const unknown = '00000000-0000-4000-8000-000000000000'
  const cases: Readonly<Record<string, (name: string) => readonly [object, number, string]>> = {
    'no fleet manager': (name) => [
      { clientOrg: { orgName: name, provideSyncToken: true } },
      400,
      'fleetManagementClusterEndPoint is missing',
    ],
    'an unknown hub': () => [{ hubClusterUID: unknown }, 400, 'no hub'],
    'the hub of another account': () => [{ hubClusterOwnerName: strangerOrg }, 400, 'no hub'],
    'an unknown account': () => [{ hubClusterOwnerName: 'no-one' }, 400, 'no hub'],
    'a name of an organization': () => [{ clientOrg: { orgName: org } }, 409, 'has the name'],
    'a name of a user': () => [{ clientOrg: { orgName: stranger.login.toLowerCase() } }, 409, 'has the name'],
    'a name of 54 characters': () => [{ clientOrg: { orgName: 'a'.repeat(54) } }, 422, '1 to 40'],
    'a name with capitals': () => [{ clientOrg: { orgName: 'Acme' } }, 422, '1 to 40'],
    'the namespace of another one': () => [{ clientOrg: { orgName: 'acme-gw' } }, 422, 'must not end'],
    'a reserved name': () => [{ clientOrg: { orgName: 'delete' } }, 422, 'reserved'],
    'another type': (name) => [{ clientOrg: { orgName: name, orgType: 'private' } }, 422, 'orgType'],
    'a website that is none': (name) => [{ clientOrg: { orgName: name, website: 'ftp://x' } }, 422, 'website'],
    'an unknown cluster': (name) => [permission(name, { name: 'no-cluster' }), 422, 'no accepted cluster'],
    'a cluster that is not accepted': (name) => [permission(name, { name: waiting }), 422, 'no accepted cluster'],
    'an unknown set': (name) => [permission(name, { isClusterSet: true }), 422, 'no cluster set'],
    'a namespace of others': (name) => [permission(name, { roleRefNamespace: ['kube-system'] }), 422, 'no namespace'],
    'a role that is none': (name) => [permission(name, { roleRefName: 'A role' }), 422, 'roleRefName'],
    'no admin': (name) => [admin(name, { userName: '', email: '' }), 422, 'id or the userName'],
    'a new admin without address': (name) => [admin(name, { email: '' }), 422, 'needs an email'],
    'an address that is none': (name) => [admin(name, { email: 'x' }), 422, 'e-mail'],
    'an address of another user': (name) => [admin(name, { email: `${stranger.login}@example.com` }), 422, 'address'],
    'an organization as admin': (name) => [admin(name, { userName: org }), 422, 'name'],
    'an unknown id': (name) => [admin(name, { id: 999_999, userName: '' }), 422, 'does not exist'],
    'a user with another address': (name) => [
      admin(name, { userName: stranger.login }),
      422,
      'does not have this address',
    ],
    'an annotation of the platform': () => [{ annotations: { 'ace.appscode.com/org-id': '1' } }, 422, 'annotations'],
    'an annotation that is none': () => [{ annotations: { 'a b': '1' } }, 422, 'annotations'],
    'more than is kept': () => [{ gatewayConfig: { infra: { text: 'x'.repeat(60_000) } } }, 422, '48 KiB'],
    'a gateway that is not used': () => [{ useGateway: false, gatewayConfig: { infra: { a: 1 } } }, 422, 'useGateway'],
    'half of a reference': () => [{ gatewayConfigRef: { name: 'x' } }, 422, 'name and a namespace'],
    'no organization': () => [{ clientOrg: undefined }, 422, 'clientOrg'],
  }
  for (const [what, make] of Object.entries(cases)) {
    const name = fixture.name()
    const [changes, status, words] = make(name)
    const [got, code, text] = await refused(fixture.creating(name, changes))
    t.is(got, status, `${what}: ${code} ${text}`)
    t.true(text.includes(words), `${what}: ${text}`)
    const token = fixture.service.adminToken
    t.is((await fixture.service.send('GET', `/api/v1/orgs/${name}`, { token })).status, 404, what)
    t.is((await fixture.service.send('GET', `/api/v1/users/admin-of-${name}`, { token })).status, 404, what)
  }
})

test('invalid changes of clusters and unknown objects are refused', async (t) => {
  const name = fixture.name()
  const id = await fixture.created(name)
  const change = async (verb: 'add' | 'delete', changes: object, org = name) => {
    const { status, text } = await fixture.send(
      'POST',
      `client/${org}/${verb}-cluster`,
      fixture.cluster(fixture.spoke, changes),
    )
    return [status, text] as const
  }
  for (const verb of ['add', 'delete'] as const) {
    t.is((await change(verb, {}, 'no-client'))[0], 422)
    t.is((await change(verb, {}, fixture.org))[0], 422, 'an ordinary organization')
    t.is((await change(verb, { hubClusterName: 'another' }))[0], 422)
    t.is((await change(verb, { spokeClusterName: 'no-cluster' }))[0], 422)
    t.is((await change(verb, { spokeClusterName: undefined }))[0], 422)
  }
  t.is((await change('add', { hubClusterUID: 'x' }))[0], 400)
  t.is((await change('delete', { hubClusterUID: 'x' }))[0], 422)
  t.is((await change('delete', { hubClusterOwnerName: 'no-one' }))[0], 422)
  t.is(await fixture.status('no-client'), 'NotFound')
  t.is(await fixture.status(fixture.org), 'NotFound', 'an ordinary organization')
  t.is(await fixture.status(name, 'no-cluster'), 'NotFound')
  t.is((await fixture.send('GET', 'client/999999')).status, 404)
  t.is((await fixture.send('GET', `client/${await fixture.orgId(fixture.org)}`)).status, 404)
  t.is((await fixture.send('DELETE', `client/delete/${await fixture.orgId(fixture.org)}`)).status, 404)
  t.deepEqual((await fixture.send('GET', 'clients?org=no-one')).json, [])
  t.is(await fixture.status(name), 'Active')

  const owner = fixture.vendor.token
  const asOwner = async (method: string, path: string, body?: object) =>
    (
      await fixture.service.send(method, `/api/v1/user/${path}`, {
        token: owner,
        ...(body === undefined ? {} : { body }),
      })
    ).status
  t.deepEqual(
    [
      await asOwner('GET', 'clients'),
      await asOwner('GET', `client/${id}`),
      await asOwner('GET', `client/${name}/status`),
      await asOwner('GET', `client/${name}/cluster/${fixture.spoke}/status`),
      await asOwner('POST', 'client/create', fixture.creating(fixture.name())),
      await asOwner('POST', `client/${name}/add-cluster`, fixture.cluster(fixture.spoke)),
      await asOwner('POST', `client/${name}/delete-cluster`, fixture.cluster(fixture.spoke)),
      await asOwner('DELETE', `client/delete/${id}`),
    ],
    Array.from({ length: 8 }, () => 403),
  )
})

test('concurrent creations of one name create one, with an existing user as admin', async (t) => {
  const name = fixture.name()
  const person = await fixture.people.person('owner')
  const body = fixture.creating(name, admin(name, { userName: person.login, email: '' }))
  const answers = await Promise.all([1, 2, 3, 4].map(() => fixture.send('POST', 'client/create', body)))
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
  const task = await fixture.settled(name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  t.is((await fixture.tasks(name)).length, 1)
  const mine = await expectStatus(fixture.service.send('GET', '/api/v1/user/orgs', { token: person.token }), 200)
  t.true((mine.json as readonly { readonly name: string }[]).some((each) => each.name === name))
  const id = await fixture.orgId(name)
  const both = await Promise.all([1, 2, 3].map(() => fixture.send('DELETE', `client/delete/${id}`)))
  t.true(both.every(({ status }) => status === 200 || status === 404))
  await fixture.settled(name)
  t.is(await fixture.status(name), 'Deleted')
})
