import test from 'ava'
import { createRole } from '../../plugins/authz/roles.routes.ts'
import {
  addTeamMember,
  createTeam,
  deleteTeam,
  editTeam,
  getTeam,
  getTeamMember,
  listOwnTeams,
  removeTeamMember,
  searchTeams,
} from '../../plugins/organizations/teams/teams.routes.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { acme, readOrganization, startFixture } from './service-fixture.ts'

let fixture: ServiceFixture
test.before(async () => {
  fixture = await startFixture()
})
test.after.always(() => fixture.stop())

const outsidersAndMembers = [undefined, 'sam', 'eve', 'vic', 'ed', 'adam'] as const
const teamsStatusesFor = async (method: string, path: string, body?: unknown): Promise<string> => {
  const statuses: string[] = []
  for (const login of outsidersAndMembers) statuses.push(String((await fixture.as(login, method, path, body)).status))
  return statuses.join(' ')
}
const roleId = async (login: string, org: string, name: string, actions: readonly string[]): Promise<number> => {
  const permissions = actions.map((action) => ({ namespace: 'org_mgmt', action }))
  return (await fixture.call(login, createRole, { query: { org }, body: { name, permissions } })).value.value.id
}

test.serial("creating accepts older clients' bodies and fills in defaults", async (t) => {
  const sent = {
    name: 'Sdk',
    permission: 'write',
    units: ['repo.code'],
    units_map: { 'repo.code': 'write' },
    includes_all_repositories: true,
    can_create_org_repo: true,
  }
  const made = await fixture.as('ada', 'POST', '/orgs/acme/teams', sent)
  t.is(made.status, 201, made.text)
  t.like(made.json, {
    name: 'Sdk',
    description: '',
    permission: 'write',
    units: [],
    units_map: {},
    includes_all_repositories: false,
    can_create_org_repo: false,
    type: 'kubernetes',
    role_ids: [],
    organization: { username: 'acme' },
  })
  t.is(
    (await fixture.call('ada', createTeam, { params: acme, body: { name: 'Bare' } })).value.permission,
    'read',
    'no units: no 500',
  )
})

test.serial('creating is 400, 422, 403 or 404 by its fault', async (t) => {
  const create = async (body: object, login = 'ada') =>
    (await fixture.as(login, 'POST', '/orgs/acme/teams', body)).status
  const foreign = await roleId('eve', 'evil', 'theirs', ['view'])
  t.is(await create({ name: 'T1', type: 'nomad' }), 400)
  t.is(await create({ name: 'T1', assignedRoleIDs: [foreign] }), 400, 'a role of another organization')
  t.is(await create({ name: 'T1', assignedRoleIDs: [999999] }), 400)
  t.is(await create({ name: 'T1', assignedRoleIDs: Array.from({ length: 51 }, (_, n) => n + 1) }), 400)
  for (const body of [
    {},
    { name: 'editors' },
    { name: 'OWNERS' },
    { name: 'new' },
    { name: 'a b' },
    { name: 'T1', permission: 'owner' },
    { name: 'T1', permission: 'root' },
  ]) {
    t.is(await create(body), 422, JSON.stringify(body))
  }
  t.is(await teamsStatusesFor('POST', '/orgs/acme/teams', { name: 'new' }), '401 404 404 403 403 422')
  t.is((await fixture.as('ada', 'POST', '/orgs/evil/teams', { name: 'Mine' })).status, 403)
})

test.serial('reading: members see teams, outsiders nothing, an id that cannot exist is 404', async (t) => {
  const editors = await fixture.teamId('Editors')
  t.is(await teamsStatusesFor('GET', `/teams/${editors}`), '401 404 404 200 200 200')
  t.is(await teamsStatusesFor('GET', '/orgs/acme/teams'), '401 404 404 200 200 200')
  t.is(await teamsStatusesFor('GET', `/teams/${editors}/members`), '401 404 404 200 200 200')
  t.is((await fixture.call('vic', getTeamMember, { params: { teamid: editors, username: 'ed' } })).value.login, 'ed')
  t.is((await fixture.as('vic', 'GET', `/teams/${editors}/members/vic`)).status, 404)
  t.is((await fixture.as('eve', 'GET', `/teams/${editors}/members/ed`)).status, 404)
  for (const id of ['999999', '9223372036854775807', '0', '-1', 'x', '1e3', '01']) {
    t.is((await fixture.as('ada', 'GET', `/teams/${id}`)).status, 404, id)
  }
  const own = await fixture.call('vic', listOwnTeams)
  t.deepEqual(
    own.value.items.map((team) => [team.name, team.organization.username]),
    [['Viewers', 'acme']],
  )
})

test.serial('searching: own teams for members, all for owners', async (t) => {
  const found = (login: string, query: { readonly q?: string; readonly include_desc?: boolean } = {}) =>
    fixture.call(login, searchTeams, { params: acme, query })
  const names = async (...search: Parameters<typeof found>) =>
    (await found(...search)).value.items.map(({ name }) => name)
  t.deepEqual(await names('vic'), ['Viewers'])
  t.like(JSON.parse((await found('vic')).text), { ok: true })
  t.deepEqual(await names('ada', { q: 'EDIT' }), ['Editors'])
  t.deepEqual(await names('ada', { q: 'change things' }), [])
  t.deepEqual(await names('ada', { q: 'change things', include_desc: true }), ['Editors'])
  t.deepEqual(await names('ada', { q: '%' }), [])
  t.is((await fixture.as('eve', 'GET', '/orgs/acme/teams/search')).status, 404)
})

test.serial("editing: merge, taken names 422 (Gitea: 500), Owners 409, one's own level 403", async (t) => {
  const made = (
    await fixture.call('ada', createTeam, {
      params: acme,
      body: { name: 'Change', description: 'd', permission: 'write' },
    })
  ).value
  const params = { teamid: made.id }
  const edited = await fixture.call('adam', editTeam, { params, body: { name: 'Changed' } })
  t.like(edited.value.value, { name: 'Changed', description: 'd', permission: 'write' })
  const emptied = await fixture.call('adam', editTeam, { params, body: { description: '' } })
  t.like(emptied.value.value, { name: 'Changed', description: '' })
  t.is((await fixture.as('adam', 'PATCH', `/teams/${made.id}`, { name: 'viewers' })).status, 422)
  t.is((await fixture.as('adam', 'PATCH', `/teams/${made.id}`, { type: 'x' })).status, 400)
  const owners = await fixture.teamId('Owners')
  t.is((await fixture.as('ada', 'PATCH', `/teams/${owners}`, { name: 'Bosses' })).status, 409)
  t.is((await fixture.as('ada', 'PATCH', `/teams/${owners}`, { name: 'Owners', permission: 'read' })).status, 409)
  t.is((await fixture.as('ada', 'DELETE', `/teams/${owners}`)).status, 409)
  t.is((await fixture.as('adam', 'PATCH', `/teams/${owners}`, { description: 'x' })).status, 403)
  t.is(
    (await fixture.as('adam', 'PATCH', `/teams/${await fixture.teamId('Admins')}`, { description: 'x' })).status,
    403,
  )
  const { headers } = await fixture.as('ada', 'GET', `/teams/${made.id}`)
  const guarded = { headers: { 'If-Match': String(headers['etag']) } }
  t.is((await fixture.as('ada', 'PATCH', `/teams/${made.id}`, { description: '1' }, guarded)).status, 200)
  t.is((await fixture.as('ada', 'PATCH', `/teams/${made.id}`, { description: '2' }, guarded)).status, 412)
  t.is((await fixture.call('ada', deleteTeam, { params })).status, 204)
  t.is((await fixture.as('ada', 'DELETE', `/teams/${made.id}`)).status, 404)
})

test.serial('no escalation: neither by a role, nor by a team, nor by a level', async (t) => {
  const strong = await roleId('ada', 'acme', 'strong', ['view', 'delete'])
  const weak = await roleId('ada', 'acme', 'weak', ['view teams'])
  const [editors, admins, helpers, owners] = [
    await fixture.teamId('Editors'),
    await fixture.teamId('Admins'),
    await fixture.teamId('Helpers'),
    await fixture.teamId('Owners'),
  ]
  const status = async (login: string, method: string, path: string, body?: unknown) =>
    (await fixture.as(login, method, path, body)).status
  t.is(await status('cleo', 'PATCH', `/teams/${helpers}`, { assignedRoleIDs: [strong] }), 403)
  t.is(await status('cleo', 'PATCH', `/teams/${helpers}`, { permission: 'write' }), 403)
  t.is(await status('cleo', 'PUT', `/teams/${editors}/members/cleo`), 403)
  t.is(await status('cleo', 'PUT', `/teams/${admins}/members/cleo`), 403)
  t.is(await status('cleo', 'PUT', '/orgs/acme/memberships/cleo', { role: 'admin' }), 403)
  t.is(await status('cleo', 'PUT', '/orgs/acme/memberships/cleo', { role: 'owner' }), 403)
  t.is(await status('cleo', 'POST', '/orgs/acme/teams', { name: 'Up', permission: 'admin' }), 403)
  t.like(
    (await fixture.call('cleo', createTeam, { params: acme, body: { name: 'Side', assignedRoleIDs: [weak] } })).value,
    { name: 'Side', role_ids: [weak] },
  )
  t.is(await status('cleo', 'POST', `/orgs/acme/teams/${admins}/action/join?uid=${fixture.idOf('cleo')}`), 403)
  t.is(await status('adam', 'PUT', `/teams/${owners}/members/adam`), 403)
  t.is(await status('adam', 'PUT', '/orgs/acme/memberships/adam', { role: 'owner' }), 403)
  t.is(await status('adam', 'PATCH', `/teams/${editors}`, { assignedRoleIDs: [strong] }), 403)
  await fixture.call('adam', editTeam, { params: { teamid: editors }, body: { assignedRoleIDs: [weak] } })
  t.is((await fixture.call('vic', getTeam, { params: { teamid: editors } })).value.value.role_ids[0], weak)
})

test.serial('members of teams: idempotent PUT, membership comes and goes with teams', async (t) => {
  const editors = await fixture.teamId('Editors')
  const params = { teamid: editors, username: 'sam' }
  const put = () => fixture.call('ada', addTeamMember, { params, query: { autoConnectClusters: true } })
  t.deepEqual([(await put()).status, (await put()).status], [204, 204])
  t.is((await readOrganization(fixture, 'sam', 'acme')).value.username, 'acme')
  t.is((await fixture.as('sam', 'DELETE', `/teams/${editors}/members/ed`)).status, 403)
  t.is((await fixture.call('sam', removeTeamMember, { params })).status, 204)
  t.is((await fixture.as('sam', 'GET', '/orgs/acme')).status, 404, 'the next request is refused')
  t.is((await fixture.as('ada', 'DELETE', `/teams/${editors}/members/sam`)).status, 204)
  t.is((await fixture.as('ada', 'DELETE', `/teams/${editors}/members/nobody`)).status, 404)
  t.is((await fixture.as('ada', 'PUT', `/teams/${editors}/members/nobody`)).status, 404)
  t.is((await fixture.as('ada', 'PUT', `/teams/${editors}/members/evil`)).status, 422)
  t.is((await fixture.as('ada', 'DELETE', `/teams/${await fixture.teamId('Owners')}/members/ada`)).status, 409)
  t.is((await fixture.as('eve', 'PUT', `/teams/${editors}/members/eve`)).status, 404)
})

test.serial('one route form adds, removes and joins members of teams', async (t) => {
  const viewers = await fixture.teamId('Viewers')
  const act = async (login: string, action: string, query: string, org = 'acme') =>
    (await fixture.as(login, 'POST', `/orgs/${org}/teams/${viewers}/action/${action}?${query}`)).status
  const sam = `uid=${fixture.idOf('sam')}`
  t.is(await act('ada', 'add', `${sam}&uname=sam`), 200)
  t.is(await act('ada', 'add', sam), 409)
  t.is(await act('sam', 'leave', sam), 200)
  t.is(await act('ada', 'add', sam), 200)
  t.is(await act('ada', 'remove', sam), 200)
  t.is(await act('ada', 'remove', sam), 404)
  t.is(await act('ada', 'join', `uid=${fixture.idOf('ada')}`), 200)
  t.is(await act('ada', 'leave', `uid=${fixture.idOf('ed')}`), 400)
  t.is(await act('ada', 'promote', sam), 400)
  t.is(await act('ada', 'add', 'uname=sam'), 400)
  t.is(await act('eve', 'add', sam, 'evil'), 404, 'a team of another organization')
  t.is(await act('eve', 'add', sam), 403)
})
