import test from 'ava'
import { listAllowedPermissions } from '../../plugins/authz/allowed-permissions.routes.ts'
import { adminCreateUser, adminEditUser } from '../../plugins/identity/accounts/admin.routes.ts'
import { getCaller, searchUsers } from '../../plugins/identity/accounts/users.routes.ts'
import { listEmails } from '../../plugins/identity/emails/emails.routes.ts'
import { Redirect } from '../../plugins/kit/reply.ts'
import { checkMember } from '../../plugins/organizations/members/members.routes.ts'
import {
  createOrganization,
  deleteOrganization,
  editOrganization,
  getOrganization,
  getPermissionsOfUser,
  isOwner,
  listOrganizations,
  listOrganizationsOfUser,
  listOwnOrganizations,
  renameOrganization,
} from '../../plugins/organizations/organizations/organizations.routes.ts'
import { createTeam, deleteTeam, listTeamMembers, listTeams } from '../../plugins/organizations/teams/teams.routes.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { acme, readOrganization, startFixture } from './service-fixture.ts'

let fixture: ServiceFixture
test.before(async () => {
  fixture = await startFixture()
})
test.after.always(() => fixture.stop())

const statusesFor = async (method: string, path: string, body?: unknown): Promise<string> => {
  const statuses: string[] = []
  for (const login of [undefined, 'sam', 'eve', 'vic', 'ed', 'cleo'])
    statuses.push(String((await fixture.as(login, method, path, body)).status))
  return statuses.join(' ')
}

test.serial('creating returns 201 with the caller in Owners, and bad names are 422', async (t) => {
  const made = await fixture.as('sam', 'POST', '/orgs', {
    username: 'Sams.Org',
    full_name: 'S',
    website: 'https://s.example',
    repo_admin_change_team_access: true,
  })
  t.is(made.status, 201)
  const { id, ...rest } = made.json
  t.true(Number.isSafeInteger(id))
  t.deepEqual(rest, {
    name: 'Sams.Org',
    username: 'Sams.Org',
    full_name: 'S',
    email: '',
    avatar_url: `${fixture.service.baseUrl}/api/v1/avatars/drawn/sams.org`,
    description: '',
    website: 'https://s.example',
    location: '',
    fleetManagementClusterEndPoint: '',
    visibility: 'public',
    orgType: 0,
    repo_admin_change_team_access: false,
  })
  const teams = (await fixture.call('sam', listTeams, { params: { orgname: 'Sams.Org' } })).value.items
  t.deepEqual(
    teams.map((team) => [team.name, team.permission, team.type]),
    [
      ['Owners', 'owner', 'kubernetes'],
      ['Editors', 'write', 'kubernetes'],
      ['Viewers', 'read', 'kubernetes'],
    ],
  )
  const owners = await fixture.call('sam', listTeamMembers, { params: { teamid: teams[0]?.id ?? 0 } })
  t.deepEqual(
    owners.value.items.map(({ login }) => login),
    ['sam'],
  )
  for (const body of [
    { username: 'sams.org' },
    { username: 'SAM' },
    { username: 'api' },
    { username: '' },
    { username: 'a b' },
    {},
    { username: 'x', visibility: 'secret' },
    { username: 'x', orgType: 'client' },
    { username: 'x', website: 'nope' },
    { username: 7 },
  ]) {
    const refused = await fixture.as('sam', 'POST', '/orgs', body)
    t.is(refused.status, 422, JSON.stringify(body))
    t.is(typeof refused.json.message, 'string')
  }
  t.is((await fixture.as(undefined, 'POST', '/orgs', { username: 'x' })).status, 401)
})

test.serial('creating without the right is 403, also for confined tokens', async (t) => {
  await fixture.call('admin', adminEditUser, {
    params: { username: 'vic' },
    body: { allow_create_organization: false },
  })
  t.is((await fixture.as('vic', 'POST', '/orgs', { username: 'vics' })).status, 403)
  const reading = await fixture.service.tokenFor('ed', ['read:organization'])
  t.is((await fixture.service.send('POST', '/api/v1/orgs', { token: reading, body: { username: 'eds' } })).status, 403)
})

test.serial('reading hides private organizations and addresses from outsiders', async (t) => {
  t.is(await statusesFor('GET', '/orgs/acme'), '404 404 404 200 200 200')
  t.is((await readOrganization(fixture, 'admin', 'ACME')).value.username, 'acme')
  t.is((await fixture.as(undefined, 'GET', '/orgs/evil')).json.email, '')
  t.is((await readOrganization(fixture, 'sam', 'evil')).value.email, 'eve@example.org')
  const [hidden, missing] = [
    await fixture.as('sam', 'GET', '/orgs/acme'),
    await fixture.as('sam', 'GET', '/orgs/nowhere'),
  ]
  t.is(hidden.json.message.replace('acme', 'nowhere'), missing.json.message, 'one answer for both')
  const scoped = await fixture.service.tokenFor('ada', ['read:user'])
  t.is(
    (await fixture.service.send('GET', '/api/v1/orgs/acme', { token: scoped })).status,
    404,
    'a token without the scope is a stranger',
  )
})

test.serial('lists: by visibility, with Link and X-Total-Count', async (t) => {
  await fixture.call('eve', createOrganization, { body: { username: 'halfopen', visibility: 'limited' } })
  const names = async (login: string) =>
    (await fixture.call(login, listOrganizations, { page: { limit: 50 } })).value.items.map(({ username }) => username)
  const anonymous = await fixture.as(undefined, 'GET', '/orgs?limit=50')
  t.is(anonymous.status, 200)
  t.false(anonymous.text.includes('halfopen'))
  t.true((await names('sam')).includes('halfopen'))
  t.false((await names('ada')).includes('acme'))
  t.true((await names('admin')).includes('acme'))
  const first = await fixture.call('admin', listOrganizations, { page: { limit: 1 } })
  t.is(first.value.items.length, 1)
  t.true(first.value.total >= 3)
  t.regex(String(first.headers['link']), /rel="next"/)
  t.is((await fixture.as('sam', 'GET', '/orgs?page=0&limit=0')).status, 200)
})

test.serial('a user lists all own organizations and visible ones of others', async (t) => {
  const own = await fixture.call('ada', listOwnOrganizations)
  t.deepEqual(
    own.value.items.map(({ username }) => username),
    ['acme'],
  )
  const ofAda = async (login: string) =>
    (await fixture.call(login, listOrganizationsOfUser, { params: { username: 'ada' } })).value.items.map(
      ({ username }) => username,
    )
  t.deepEqual(await ofAda('vic'), ['acme'], 'fellow members know')
  t.deepEqual(await ofAda('eve'), [])
  t.deepEqual(await ofAda('admin'), ['acme'])
  t.is((await fixture.as('ada', 'GET', '/users/nobody/orgs')).status, 404)
  t.is((await fixture.as('ada', 'GET', '/users/acme/orgs')).status, 404)
})

test.serial('editing keeps absent fields and clears empty ones, and needs the right', async (t) => {
  const full = {
    full_name: 'Acme',
    description: 'd',
    website: 'https://a.example',
    location: 'L',
    fleetManagementClusterEndPoint: 'https://f.example',
  }
  t.like((await fixture.call('ada', editOrganization, { params: acme, body: full })).value.value, full)
  const edited = await fixture.call('adam', editOrganization, { params: acme, body: { location: '' } })
  t.like(edited.value.value, { ...full, location: '', visibility: 'private', email: 'ada@example.org' })
  t.is(await statusesFor('PATCH', '/orgs/acme', { location: 'x' }), '401 404 404 403 403 403')
  t.is(
    (await fixture.as('sam', 'PATCH', '/orgs/evil', { location: 'x' })).status,
    403,
    'a public organization may be known',
  )
  const shared = await fixture.call('ada', editOrganization, { params: acme, body: { email: 'eve@example.org' } })
  t.is(shared.value.value.email, 'eve@example.org', 'an address that a user has: no 500')
  t.is((await fixture.as('ada', 'PATCH', '/orgs/acme', { email: 'nope' })).status, 422)
  t.like(
    (await fixture.as(undefined, 'GET', '/orgs/evil')).json,
    { location: '' },
    'the other organization is as it was',
  )
})

test.serial('editing: If-Match guards the change', async (t) => {
  const { headers } = await fixture.as('ada', 'GET', '/orgs/acme')
  const options = { headers: { 'If-Match': String(headers['etag']) } }
  t.is((await fixture.as('ada', 'PATCH', '/orgs/acme', { description: 'first' }, options)).status, 200)
  t.is((await fixture.as('ada', 'PATCH', '/orgs/acme', { description: 'second' }, options)).status, 412)
  t.is((await readOrganization(fixture, 'ada', 'acme')).value.description, 'first')
})

test.serial('only owners rename and delete, and the old name redirects', async (t) => {
  t.is(await statusesFor('GET', '/orgs/acme/is-owner'), '401 403 403 403 403 403')
  t.is((await fixture.call('ada', isOwner, { params: acme })).status, 200)
  t.is((await fixture.as('adam', 'POST', '/orgs/acme/rename', { new_name: 'mine' })).status, 403)
  t.is((await fixture.as('adam', 'DELETE', '/orgs/acme')).status, 403)
  await fixture.call('sam', createOrganization, { body: { username: 'before', visibility: 'private' } })
  t.is((await fixture.as('sam', 'POST', '/orgs/before/rename', { new_name: 'acme' })).status, 422)
  t.is(
    (await fixture.call('sam', renameOrganization, { params: { orgname: 'before' }, body: { new_name: 'after' } }))
      .status,
    204,
  )
  const moved = await fixture.call('sam', getOrganization, { params: { orgname: 'before' } })
  t.deepEqual(moved.value, new Redirect(307, '/api/v1/orgs/after'))
  t.is((await fixture.as('eve', 'GET', '/orgs/before')).status, 404, 'the new name is not given away')
  t.is((await fixture.as('sam', 'GET', '/orgs/before/members')).status, 404)
  t.is((await fixture.as('sam', 'PATCH', '/orgs/before', { location: 'x' })).status, 404)
  t.is((await fixture.call('sam', deleteOrganization, { params: { orgname: 'after' } })).status, 204)
  t.is((await fixture.as('sam', 'GET', '/orgs/before')).status, 404)
  t.is((await fixture.as('sam', 'DELETE', '/orgs/after')).status, 404)
})

test.serial('permissions of a user are visible to the user and to members', async (t) => {
  const all = { can_create_repository: false, can_read: true }
  const permissionsOf = async (login: string, username: string, org: string) =>
    (await fixture.call(login, getPermissionsOfUser, { params: { username, org } })).value
  t.deepEqual(await permissionsOf('ada', 'ada', 'acme'), { ...all, is_owner: true, is_admin: true, can_write: true })
  t.deepEqual(await permissionsOf('vic', 'ed', 'acme'), { ...all, is_owner: false, is_admin: false, can_write: true })
  t.is((await fixture.as('eve', 'GET', '/users/ada/orgs/acme/permissions')).status, 404)
  t.false((await permissionsOf('ada', 'ada', 'evil')).can_read)
})

test.serial('a person is no organization, under any of these routes', async (t) => {
  for (const [method, path, body] of [
    ['GET', '/orgs/ada', undefined],
    ['PATCH', '/orgs/ada', { location: 'x' }],
    ['DELETE', '/orgs/ada', undefined],
    ['POST', '/orgs/ada/rename', { new_name: 'zzz' }],
    ['POST', '/orgs/ada/teams', { name: 'T', type: '' }],
    ['GET', '/orgs/ada/teams', undefined],
    ['PUT', '/orgs/ada/memberships/sam', { role: 'owner' }],
  ] as const) {
    t.is((await fixture.as('ada', method, path, body)).status, 404, `${method} ${path}`)
  }
  t.is((await fixture.call('ada', getCaller)).value.login, 'ada')
})

/*
 * What the servers of this interface's lineage are known to do wrong, each as a case. The second factor's reuse and the
 * search by an index stand in test/identity.
 */
let lineageDefectsFixture: ServiceFixture
test.before(async () => {
  lineageDefectsFixture = await startFixture()
})
test.after.always(() => lineageDefectsFixture?.stop())

const as: ServiceFixture['as'] = (...request) => lineageDefectsFixture.as(...request)
const call: ServiceFixture['call'] = (caller, route, ...input) => lineageDefectsFixture.call(caller, route, ...input)
const teamId: ServiceFixture['teamId'] = (...team) => lineageDefectsFixture.teamId(...team)
const status = async (...request: Parameters<ServiceFixture['as']>): Promise<number> => (await as(...request)).status

test('an edited organization keeps absent fields and clears empty ones', async (t) => {
  const full = { full_name: 'Evil Corp', description: 'not nice', website: 'https://evil.example', location: 'Here' }
  const params = { orgname: 'evil' }
  await call('eve', editOrganization, { params, body: full })
  await call('eve', editOrganization, { params, body: { location: 'There' } })
  t.like((await readOrganization(lineageDefectsFixture, 'eve', 'evil')).value, { ...full, location: 'There' })
  await call('eve', editOrganization, { params, body: { description: '' } })
  t.like((await readOrganization(lineageDefectsFixture, 'eve', 'evil')).value, {
    ...full,
    location: 'There',
    description: '',
  })
})

test('the last owner cannot leave: one answer, 409, and the owner is still there', async (t) => {
  const answer = await as('ada', 'DELETE', '/orgs/acme/members/ada')
  t.is(answer.status, 409)
  t.is(typeof answer.json.message, 'string')
  t.is((await call('ada', checkMember, { params: { orgname: 'acme', username: 'ada' } })).status, 204)
})

test('a team without units, and a team renamed to a taken name, are no server errors', async (t) => {
  const { id } = (await call('ada', createTeam, { params: acme, body: { name: 'Unitless', permission: 'read' } })).value
  t.is(await status('ada', 'PATCH', `/teams/${id}`, { name: 'Viewers' }), 422)
  t.is(await status('ada', 'PATCH', `/teams/${id}`, { name: 'viewers' }), 422)
  t.is((await call('ada', deleteTeam, { params: { teamid: id } })).status, 204)
})

test('an address that another organization has is fine: it is a contact, no identity', async (t) => {
  const edited = await call('eve', editOrganization, {
    params: { orgname: 'evil' },
    body: { email: 'ada@example.org' },
  })
  t.is(edited.value.value.email, 'ada@example.org')
})

test('the primary address cannot be deleted, and settings that are wrong are 422', async (t) => {
  t.is(await status('sam', 'DELETE', '/user/emails', { emails: ['sam@example.org'] }), 422)
  t.is((await call('sam', listEmails)).value.items.length, 1)
  for (const settings of [{ website: 'javascript:alert(1)' }, { language: 'no language at all' }, { full_name: 7 }]) {
    t.is(await status('sam', 'PATCH', '/user/settings', settings), 422, JSON.stringify(settings))
  }
})

test('an outsider learns nothing of a private organization, on every one of its routes', async (t) => {
  const viewers = await teamId('Viewers')
  const paths = [
    '/orgs/acme',
    '/orgs/acme/members',
    '/orgs/acme/teams',
    '/orgs/acme/audit',
    `/teams/${viewers}`,
    `/teams/${viewers}/members`,
  ]
  for (const path of paths) {
    const real = await as('sam', 'GET', path)
    const invented = await as('sam', 'GET', path.replace('acme', 'nowhere').replace(String(viewers), '999999'))
    t.is(real.status, 404, path)
    t.is(invented.status, 404, path)
  }
})

test('the permissions of an organization are returned, not a server error', async (t) => {
  const { value } = await readOrganization(lineageDefectsFixture, 'ada', 'acme')
  const allowed = await call('ada', listAllowedPermissions, {
    query: { org: 'acme' },
    body: [{ objectType: 'organization', objectID: value.id }],
  })
  t.true(allowed.value[0]?.allowedPermissions.includes('can_edit'))
})

test('acting as another user checks the target, and the scope of the token', async (t) => {
  t.is(await status('admin', 'GET', '/user?sudo=acme'), 422)
  t.is(await status('admin', 'GET', '/user?sudo=nobody-at-all'), 404)
  t.is(await status('sam', 'GET', '/user?sudo=ada'), 403)
  const weak = await lineageDefectsFixture.service.tokenFor('admin', ['read:user', 'write:admin'])
  t.is((await lineageDefectsFixture.service.send('GET', '/api/v1/user?sudo=ada', { token: weak })).status, 403)
  await call('admin', adminCreateUser, {
    body: { username: 'shut', email: 'shut@example.org', password: 'a long passphrase of ours' },
  })
  await call('admin', adminEditUser, { params: { username: 'shut' }, body: { prohibit_login: true } })
  t.is(await status('admin', 'GET', '/user?sudo=shut'), 403)
  const acted = await call('admin', getCaller, { extraQuery: { sudo: 'ada' } })
  t.deepEqual([acted.headers['x-sudo-by'], acted.value.login], ['admin', 'ada'])
})

test('a list has its length and the link to the next page', async (t) => {
  for (const path of [
    '/orgs',
    '/orgs/acme/members',
    '/orgs/acme/teams',
    '/user/emails',
    '/users/search',
    '/user/settings/tokens/access-tokens',
  ]) {
    const answer = await as('ada', 'GET', `${path}?limit=1`)
    t.is(answer.status, 200, path)
    const total = Number(answer.headers['x-total-count'])
    t.true(total >= 1, path)
    t.is(String(answer.headers['link'] ?? '').includes('rel="next"'), total > 1, path)
  }
})

test('wildcards of the database are letters like others', async (t) => {
  for (const text of ['%', '_', 'a%', '%25'])
    t.deepEqual((await call('ada', searchUsers, { query: { q: text } })).value.items, [], text)
})
