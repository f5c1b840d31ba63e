import type { ExecutionContext } from 'ava'
import { needing } from '../support/components/needing.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { must, personPassword, startTwoInstances, type Person, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

/** What is given on one instance holds on the other, and what is taken away is gone on both at the very next request. */
let world: TwoInstances
let ada: Person
test.before(async () => {
  world = await startTwoInstances()
  ada = await world.person('ada')
})
test.after.always(() => world?.stop())

let named = 0
const name = (word: string): string => `${word}-${(named += 1)}`
const as = ({ token }: Pick<Person, 'token'>, body?: unknown): SendOptions => ({ token, ...(body === undefined ? {} : { body }) })
const isDone = ({ status }: ServiceAnswer): boolean => status >= 200 && status < 300

const cookieOf = (signedIn: ServiceAnswer): SendOptions => ({
  headers: { Cookie: [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]).join('; ') },
})
const signIn = async (login: string, instance: 0 | 1 = 0, password = personPassword): Promise<SendOptions> =>
  cookieOf(await must(200, world.instances[instance].send('POST', '/api/v1/user/signin', { body: { username: login, password } })))

/** Each use works on both instances (asked twice, so that whatever keeps answers has them), `revoke` succeeds, and none works any more. */
const endsAtOnce = async (t: ExecutionContext, uses: readonly (readonly [path: string, credential: SendOptions])[], revoke: () => Promise<ServiceAnswer>): Promise<void> => {
  for (const [path, credential] of [...uses, ...uses]) for (const answer of await world.both('GET', path, credential)) t.true(isDone(answer), `before: ${path} ${answer.status} ${answer.text}`)
  const revoked = await revoke()
  t.true(isDone(revoked), `${revoked.status} ${revoked.text}`)
  for (const [path, credential] of uses) for (const answer of await world.both('GET', path, credential)) t.true([401, 403, 404].includes(answer.status), `after: ${path} ${answer.status} ${answer.text}`)
}

const me = '/api/v1/user'
const everyCredential = async (person: Person): Promise<readonly (readonly [string, SendOptions])[]> => [
  [me, as(person)], [me, await signIn(person.login, 0)], [me, await signIn(person.login, 1)], [me, { basic: [person.login, personPassword] }], [me, { basic: [person.login, person.token] }],
]

test('a token that is deleted', async (t) => {
  const person = await world.person(name('tok'))
  const made = await must(201, world.instances[0].send('POST', `/api/v1/users/${person.login}/tokens`, { basic: [person.login, personPassword], body: { name: 'one', scopes: ['all'] } }))
  await endsAtOnce(t, [[me, { token: made.json.sha1 }]], () => world.instances[1].send('DELETE', `/api/v1/users/${person.login}/tokens/${made.json.id}`, { basic: [person.login, personPassword] }))
})

test('a session that is revoked, and one that is signed out', async (t) => {
  const person = await world.person(name('ses'))
  const revoked = await signIn(person.login, 0)
  const [listed] = (await must(200, world.instances[1].send('GET', '/api/v1/user/settings/security/sessions', as(person)))).json as { id: number }[]
  await endsAtOnce(t, [[me, revoked]], () => world.instances[1].send('DELETE', `/api/v1/user/settings/security/sessions/${listed?.id}/revoke`, as(person)))
  const signedOut = await signIn(person.login, 1)
  await endsAtOnce(t, [[me, signedOut]], () => world.instances[0].send('GET', '/api/v1/user/signout', signedOut))
})

const switchedOff: readonly (readonly [string, (person: Person) => Promise<ServiceAnswer>])[] = [
  ['inactive', ({ login }) => world.instances[0].send('PATCH', `/api/v1/admin/users/${login}`, { token: world.adminToken, body: { active: false } })],
  ['prohibited', ({ login }) => world.instances[1].send('PATCH', `/api/v1/admin/users/${login}`, { token: world.adminToken, body: { prohibit_login: true } })],
  ['self-deleted', (person) => world.instances[1].send('POST', '/api/v1/user/settings/account/delete', { ...as(person), body: { password: personPassword } })],
  ['deleted', ({ login }) => world.instances[0].send('DELETE', `/api/v1/admin/users/${login}`, { token: world.adminToken })],
]
for (const [what, switchOff] of switchedOff) {
  test(`a user who is ${what}: every credential, also after trying to sign in again`, async (t) => {
    const person = await world.person(name(what))
    const uses = await everyCredential(person)
    await endsAtOnce(t, uses, () => switchOff(person))
    for (const answer of await world.both('POST', '/api/v1/user/signin', { body: { username: person.login, password: personPassword } })) t.true([404, 405].includes(answer.status), answer.text)
    for (const [path, credential] of uses) for (const answer of await world.both('GET', path, credential)) t.is(answer.status, 401)
  })
}

test('a password that is changed: the old one and every other session, and with it the tokens when asked to', async (t) => {
  const person = await world.person(name('pass'))
  const [own, other] = [await signIn(person.login, 0), await signIn(person.login, 1)]
  const token = (own.headers?.['Cookie'] ?? '').split('; ').find((each) => each.startsWith('_csrf='))?.slice('_csrf='.length) ?? ''
  const changing: SendOptions = { headers: { ...own.headers, 'X-Csrf-Token': decodeURIComponent(token) }, body: { old_password: personPassword, password: 'another-lantern-over-water-18', retype: 'another-lantern-over-water-18', revoke_tokens: true } }
  await endsAtOnce(t, [[me, other], [me, as(person)], [me, { basic: [person.login, personPassword] }]], () => world.instances[1].send('POST', '/api/v1/user/settings/account/password', changing))
  for (const answer of await world.both('GET', me, own)) t.is(answer.status, 200, 'the session that changed it stays')
  for (const answer of await world.both('GET', me, { basic: [person.login, 'another-lantern-over-water-18'] })) t.is(answer.status, 200)
})

test('a former site admin', async (t) => {
  const person = await world.person(name('adm'))
  const admin = (body: object) => world.instances[0].send('PATCH', `/api/v1/admin/users/${person.login}`, { token: world.adminToken, body })
  await must(200, admin({ admin: true }))
  await endsAtOnce(t, [['/api/v1/admin/users', as(person)], ['/api/v1/admin/audit', as(person)], [`/api/v1/user?sudo=${ada.login}`, as(person)]], () => admin({ admin: false }))
})

const rights = [{ namespace: 'cluster_mgmt', action: 'view clusters' }, { namespace: 'org_mgmt', action: 'view teams' }]

/** An organization with a member whose only rights come from a role. */
const makeOrganization = async () => {
  const org = name('org')
  const member = await world.person(name('mem'))
  const [a] = world.instances
  const orgId = await world.organization(ada, org)
  const role = (await must(201, a.send('POST', `/api/v1/authz/roles?org=${org}`, as(ada, { name: 'looker', permissions: rights })))).json.id as number
  const team = (await must(201, a.send('POST', `/api/v1/orgs/${org}/teams`, as(ada, { name: 'lookers', permission: 'custom', assignedRoleIDs: [role] })))).json.id as number
  await must(204, a.send('PUT', `/api/v1/teams/${team}/members/${member.login}`, as(ada)))
  const uses: readonly (readonly [string, SendOptions])[] = [[`/api/v1/clustersv2/${org}`, as(member)], [`/api/v1/orgs/${org}/teams`, as(member)]]
  return { org, orgId, role, team, member, uses }
}

type Organization = Awaited<ReturnType<typeof makeOrganization>>
const takenAway: readonly (readonly [string, (organization: Organization) => Promise<ServiceAnswer>])[] = [
  ['a role that is deleted', ({ org, role }) => world.instances[1].send('DELETE', `/api/v1/authz/roles/${role}?org=${org}`, as(ada))],
  ['a role that is detached', ({ org, role }) => world.instances[0].send('PUT', `/api/v1/authz/roles/${role}?org=${org}`, as(ada, { teamIDs: [] }))],
  ['a role that loses its permissions', ({ org, role }) => world.instances[1].send('PUT', `/api/v1/authz/roles/${role}?org=${org}`, as(ada, { permissions: [{ namespace: 'org_mgmt', action: 'view members' }] }))],
  ['a team that drops its roles', ({ team }) => world.instances[0].send('PATCH', `/api/v1/teams/${team}`, as(ada, { assignedRoleIDs: [] }))],
  ['a member who leaves the team', ({ team, member }) => world.instances[1].send('DELETE', `/api/v1/teams/${team}/members/${member.login}`, as(ada))],
  ['a team that is deleted', ({ team }) => world.instances[0].send('DELETE', `/api/v1/teams/${team}`, as(ada))],
  ['a member who is removed', ({ org, member }) => world.instances[1].send('DELETE', `/api/v1/orgs/${org}/members/${member.login}`, as(ada))],
  ['an organization that is deleted', ({ org }) => world.instances[0].send('DELETE', `/api/v1/orgs/${org}`, as(ada))],
]
for (const [what, takeAway] of takenAway) {
  test(what, async (t) => {
    const organization = await makeOrganization()
    await endsAtOnce(t, organization.uses, () => takeAway(organization))
    const asked = await world.both('POST', `/api/v1/authz/objects/allowed-permissions?org=${organization.org}`, as(organization.member, [{ objectType: 'organization', objectID: organization.orgId }]))
    for (const answer of asked) if (isDone(answer)) t.false(/view teams|view_teams|view clusters/.test(answer.text), answer.text)
  })
}
