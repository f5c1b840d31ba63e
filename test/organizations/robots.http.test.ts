import test from 'ava'
import { getAllowedPermissions } from '../../plugins/authz/allowed-permissions.routes.ts'
import { createRole } from '../../plugins/authz/roles.routes.ts'
import { getCaller, searchUsers } from '../../plugins/identity/accounts/users.routes.ts'
import { listOrganizationTokens } from '../../plugins/organizations/members/members.routes.ts'
import {
  createOrganization,
  deleteOrganization,
  editPolicies,
  renameOrganization,
} from '../../plugins/organizations/organizations/organizations.routes.ts'
import {
  createRobot,
  createRobotToken,
  deleteRobot,
  deleteRobotToken,
  editRobot,
  getRobot,
  listRobots,
  listRobotTokens,
} from '../../plugins/organizations/robots/robots.routes.ts'
import { addTeamMember, createTeam, listTeams } from '../../plugins/organizations/teams/teams.routes.ts'
import { getSiteSummary } from '../../plugins/platform/platform.routes.ts'
import { setSecondFactor } from './enrolled.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { acme, startFixture } from './service-fixture.ts'

let fixture: ServiceFixture
test.before(async () => {
  fixture = await startFixture()
})
test.after.always(() => fixture?.stop())

const robots = (login: string, method: string, rest = '', body?: unknown, org = 'acme') =>
  fixture.as(login, method, `/orgs/${org}/robots${rest}`, body)
const robotOf = (robot: string, orgname = 'acme') => ({ orgname, robot })
const made = async (login: string, name: string, teams: readonly string[] = [], orgname = 'acme') => {
  const team_ids = await Promise.all(teams.map((team) => fixture.teamId(team)))
  return (await fixture.call(login, createRobot, { params: { orgname }, body: { name, team_ids } })).value
}
const tokenOf = async (robot: string, scopes?: readonly string[]): Promise<string> => {
  const body = { name: `t${Math.random()}`, ...(scopes === undefined ? {} : { scopes }) }
  return (await fixture.call('ada', createRobotToken, { params: robotOf(robot), body })).value.sha1
}
const by = (token: string, method: string, path: string, body?: unknown) =>
  fixture.service.send(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
test.serial('a robot account is managed by members with the right only', async (t) => {
  const editors = await fixture.teamId('Editors')
  const peopleThere = async () => (await fixture.call('admin', getSiteSummary)).value.counts.users
  const before = await peopleThere()
  const created = await fixture.call('adam', createRobot, {
    params: acme,
    body: { name: 'Deployer', description: 'rolls out', team_ids: [editors] },
  })
  t.is(created.status, 201)
  t.is(await peopleThere(), before, 'a robot is no user')
  t.like(created.value, {
    name: 'deployer',
    login: 'acme+deployer',
    description: 'rolls out',
    team_ids: [editors],
    active: true,
  })
  t.is((await robots('vic', 'POST', '', { name: 'other' })).status, 403)
  t.is((await robots('eve', 'POST', '', { name: 'other' })).status, 404)
  t.is((await robots('ada', 'POST', '', { name: 'deployer' })).status, 422)
  t.is((await robots('ada', 'POST', '', { name: 'a+b' })).status, 422)
  t.is((await robots('ada', 'POST', '', { name: 'x'.repeat(23) })).status, 422)
  t.deepEqual(
    (await fixture.call('vic', listRobots, { params: acme })).value.items.map(({ login }) => login),
    ['acme+deployer'],
  )
  for (const [method, rest] of [
    ['GET', ''],
    ['GET', '/deployer'],
    ['PATCH', '/deployer'],
    ['DELETE', '/deployer'],
    ['GET', '/deployer/tokens'],
  ] as const) {
    t.is((await robots('eve', method, rest, method === 'PATCH' ? {} : undefined)).status, 404, `${method} ${rest}`)
    if (rest !== '')
      t.is(
        (await robots('eve', method, rest, method === 'PATCH' ? {} : undefined, 'evil')).status,
        404,
        `${method} ${rest} by another name`,
      )
  }
  const shown = await robots('vic', 'GET', '/deployer')
  const changed = await fixture.as(
    'adam',
    'PATCH',
    '/orgs/acme/robots/deployer',
    { description: 'new', team_ids: [] },
    { headers: { 'If-Match': String(shown.headers['etag']) } },
  )
  t.like(changed.json, { description: 'new', team_ids: [] })
  t.is(
    (
      await fixture.as(
        'adam',
        'PATCH',
        '/orgs/acme/robots/deployer',
        { description: 'x' },
        { headers: { 'If-Match': String(shown.headers['etag']) } },
      )
    ).status,
    412,
  )
  t.is((await robots('vic', 'DELETE', '/deployer')).status, 403)
  t.is((await fixture.call('adam', deleteRobot, { params: robotOf('deployer') })).status, 204)
  t.is((await robots('adam', 'GET', '/deployer')).status, 404)
})

test.serial('its token works within the organization, as far as its teams and its scopes go', async (t) => {
  await made('ada', 'worker', ['Editors'])
  const token = await tokenOf('worker')
  t.like((await fixture.service.call(token, getCaller)).value, { login: 'acme+worker', is_admin: false })
  t.true(
    (await fixture.service.call(token, listTeams, { params: acme })).value.items.some(({ name }) => name === 'Editors'),
  )
  t.is((await by(token, 'POST', '/orgs/acme/teams', { name: 'nope' })).status, 403)
  t.is((await by(token, 'GET', '/orgs/evil/teams')).status, 403)
  t.is((await by(token, 'POST', '/orgs', { username: 'ofrobot' })).status, 403)
  for (const [method, path, body] of [
    ['POST', '/user/emails', { emails: ['robot@example.org'] }],
    ['PUT', '/user/following/ada', undefined],
    ['POST', '/user/settings/tokens/access-tokens', { name: 'more', expTime: 0 }],
    ['PATCH', '/user/settings', { full_name: 'A person' }],
    ['PUT', `/user/invitations/${'x'.repeat(32)}`, undefined],
    ['GET', '/admin/users', undefined],
  ] as const) {
    t.is((await by(token, method, path, body)).status, 403, path)
  }
  const narrow = await tokenOf('worker', ['read:organization'])
  t.is((await fixture.service.call(narrow, listTeams, { params: acme })).status, 200)
  t.is((await by(narrow, 'GET', '/user')).status, 403)
  for (const scopes of [['all'], ['sudo'], ['write:user'], ['read:admin']]) {
    t.is((await robots('ada', 'POST', '/worker/tokens', { name: 'wide', scopes })).status, 422, scopes.join())
  }
  t.is(
    (await robots('ada', 'POST', '/worker/tokens', { name: 'late', expires_at: '2001-01-01T00:00:00Z' })).status,
    422,
  )
})

test.serial('robot tokens are listed without values and revoked at once', async (t) => {
  await made('ada', 'lister', ['Viewers'])
  const { id, sha1: token } = (
    await fixture.call('adam', createRobotToken, { params: robotOf('lister'), body: { name: 'one' } })
  ).value
  const listed = await fixture.call('adam', listRobotTokens, { params: robotOf('lister') })
  t.deepEqual(
    listed.value.items.map(({ name, sha1 }) => [name, sha1]),
    [['one', '']],
  )
  t.true(
    (await fixture.call('ada', listOrganizationTokens, { params: acme })).value.items.some((each) => each.id === id),
  )
  t.is((await robots('vic', 'GET', '/lister/tokens')).status, 403)
  t.is((await robots('vic', 'POST', '/lister/tokens', { name: 'mine' })).status, 403)
  t.is((await fixture.service.call(token, getCaller)).value.login, 'acme+lister')
  await made('ada', 'bystander')
  t.is((await robots('adam', 'DELETE', `/bystander/tokens/${id}`)).status, 404, 'not through another robot')
  t.is((await fixture.call('adam', deleteRobotToken, { params: { ...robotOf('lister'), id } })).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.is((await robots('adam', 'DELETE', `/lister/tokens/${id}`)).status, 404)
})

test.serial('tokens of disabled and deleted robots open nothing', async (t) => {
  await made('ada', 'sleeper', ['Viewers'])
  const token = await tokenOf('sleeper')
  const activate = (active: boolean) =>
    fixture.call('adam', editRobot, { params: robotOf('sleeper'), body: { active } })
  t.false((await activate(false)).value.value.active)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.true((await activate(true)).value.value.active)
  t.is((await fixture.service.call(token, getCaller)).value.login, 'acme+sleeper')
  t.is((await fixture.call('adam', deleteRobot, { params: robotOf('sleeper') })).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
})

test.serial("a robot has at most its creator's rights and is no owner", async (t) => {
  const [owners, admins, viewers] = [
    await fixture.teamId('Owners'),
    await fixture.teamId('Admins'),
    await fixture.teamId('Viewers'),
  ]
  t.is((await robots('ada', 'POST', '', { name: 'boss', team_ids: [owners] })).status, 422)
  const permissions = ['view teams', 'view robot accounts', 'manage robot accounts'].map((action) => ({
    namespace: 'org_mgmt',
    action,
  }))
  const keepers = (
    await fixture.call('ada', createTeam, { params: acme, body: { name: 'Keepers', permission: 'custom', type: '' } })
  ).value.id
  await fixture.call('ada', createRole, {
    query: { org: 'acme' },
    body: { name: 'keeping', permissions, teamIDs: [keepers] },
  })
  await fixture.call('ada', addTeamMember, { params: { teamid: keepers, username: 'sam' } })
  t.deepEqual(
    (await fixture.call('sam', createRobot, { params: acme, body: { name: 'mine', team_ids: [keepers] } })).value
      .team_ids,
    [keepers],
  )
  t.is((await robots('sam', 'POST', '', { name: 'stronger', team_ids: [admins] })).status, 403)
  t.is((await robots('sam', 'PATCH', '/mine', { team_ids: [keepers, viewers] })).status, 403)
  await made('ada', 'strong', ['Admins'])
  t.is((await robots('sam', 'POST', '/strong/tokens', { name: 'climb' })).status, 403)
  t.false(
    (await fixture.call('sam', editRobot, { params: robotOf('strong'), body: { active: false } })).value.value.active,
  )
  t.is((await robots('sam', 'PATCH', '/strong', { active: true })).status, 403)
  t.is(
    (await fixture.call('sam', createRobotToken, { params: robotOf('mine'), body: { name: 'fine' } })).value.name,
    'fine',
  )
  const foreign = (await fixture.call('eve', listTeams, { params: { orgname: 'evil' } })).value.items.map(
    ({ id }) => id,
  )
  t.is(foreign.length, 3)
  t.is((await robots('ada', 'POST', '', { name: 'abroad', team_ids: foreign.slice(0, 1) })).status, 422)
  const small = await fixture.service.tokenFor('ada', ['write:organization'])
  t.is(
    (await by(small, 'POST', '/orgs/acme/robots/strong/tokens', { name: 'wider', scopes: ['write:cluster'] })).status,
    403,
  )
  t.deepEqual(
    (await fixture.service.call(small, createRobotToken, { params: robotOf('strong'), body: { name: 'as-wide' } }))
      .value.scopes,
    ['write:organization'],
  )
})

test.serial('a robot is not a person anywhere', async (t) => {
  const { id, login } = await made('ada', 'ghostly', ['Editors'])
  t.deepEqual((await fixture.call('admin', searchUsers, { query: { q: 'acme+' } })).value.items, [])
  t.false((await fixture.as('admin', 'GET', '/admin/users?limit=50')).text.includes('acme+'))
  t.false((await fixture.as('ada', 'GET', '/orgs/acme/members')).text.includes('acme+'))
  t.false((await fixture.as('ada', 'GET', `/teams/${await fixture.teamId('Editors')}/members`)).text.includes('acme+'))
  for (const password of ['', '!', 'a long passphrase of ours']) {
    t.is((await fixture.as(undefined, 'GET', '/user', undefined, { basic: [login, password] })).status, 401)
    const tried = await fixture.as(undefined, 'POST', '/user/signin', { username: login, password })
    const unknown = await fixture.as(undefined, 'POST', '/user/signin', { username: 'acme+nobody', password })
    t.deepEqual([tried.status, tried.json.code], [unknown.status, unknown.json.code])
    t.true(tried.status >= 400)
  }
  t.is((await fixture.as('admin', 'GET', '/user', undefined, { headers: { Sudo: login } })).status, 404)
  t.is((await fixture.as('ada', 'GET', `/users/${encodeURIComponent(login)}`)).status, 404)
  for (const body of [{ admin: true, email: 'robot@example.org' }, { password: 'a long passphrase of ours' }]) {
    const edited = await fixture.as('admin', 'POST', `/accounts/admin/users/${id}`, {
      loginType: '0-0',
      email: 'robot@example.org',
      ...body,
    })
    t.is(edited.status, 404, edited.text)
  }
  t.is((await fixture.as('admin', 'POST', `/accounts/admin/users/${id}/delete`)).status, 404)
  t.is((await fixture.call('ada', getRobot, { params: robotOf('ghostly') })).value.value.id, id)
  const evils = (await fixture.call('eve', listTeams, { params: { orgname: 'evil' } })).value.items
  const act = (as: string, org: string, team: number, action: string) =>
    fixture.as(as, 'POST', `/orgs/${org}/teams/${team}/action/${action}?uid=${id}`)
  t.is((await act('eve', 'evil', evils[0]?.id ?? 0, 'add')).status, 404, 'another organization cannot take it')
  t.is((await act('ada', 'acme', await fixture.teamId('Owners'), 'add')).status, 404)
  t.is((await fixture.as('ada', 'POST', `/orgs/acme/members/action/remove?uid=${id}`)).status, 404)
  t.is((await fixture.as('ada', 'DELETE', '/orgs/acme/members/ada')).status, 409, 'ada is the last owner all the same')
})

test.serial('allowed-permissions returns the rights on a robot', async (t) => {
  const { id } = await made('ada', 'asked')
  const ask = async (login: string, org = 'acme') =>
    (
      await fixture.call(login, getAllowedPermissions, {
        params: { objectType: 'robot_ac', objID: id },
        query: { org },
      })
    ).value.allowedPermissions
  t.deepEqual(await ask('adam'), ['can_create_token', 'can_delete', 'can_edit', 'can_view'])
  t.deepEqual(await ask('vic'), ['can_view'])
  t.deepEqual(await ask('eve', 'evil'), [])
})

test.serial("robots follow the organization's renaming and deletion", async (t) => {
  await fixture.call('eve', createOrganization, { body: { username: 'shortlived' } })
  await made('eve', 'ci', [], 'shortlived')
  const token = (
    await fixture.call('eve', createRobotToken, { params: robotOf('ci', 'shortlived'), body: { name: 'one' } })
  ).value.sha1
  t.is(
    (
      await fixture.call('eve', renameOrganization, {
        params: { orgname: 'shortlived' },
        body: { new_name: 'renamed' },
      })
    ).status,
    204,
  )
  t.is((await fixture.service.call(token, getCaller)).value.login, 'renamed+ci')
  t.is((await fixture.call('eve', getRobot, { params: robotOf('ci', 'renamed') })).value.value.login, 'renamed+ci')
  t.is((await fixture.call('eve', deleteOrganization, { params: { orgname: 'renamed' } })).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
  await fixture.call('eve', createOrganization, { body: { username: 'renamed' } })
  t.is((await made('eve', 'ci', [], 'renamed')).login, 'renamed+ci')
})

test.serial('second factors apply to people, and token limits also to robots', async (t) => {
  await made('ada', 'exempt', ['Viewers'])
  const token = await tokenOf('exempt')
  await setSecondFactor(fixture, 'ada', true)
  t.true(
    (await fixture.call('ada', editPolicies, { params: acme, body: { require_two_factor: true } })).value.value
      .require_two_factor,
  )
  t.is((await fixture.service.call(token, listTeams, { params: acme })).status, 200)
  t.is((await fixture.as('vic', 'GET', '/orgs/acme/teams')).status, 403)
  const basic = { basic: ['ada', 'a long passphrase of ours'] as const }
  const limited = await fixture.call('ada', editPolicies, {
    params: acme,
    body: { require_two_factor: false, max_token_life_days: 10 },
  })
  t.like(limited.value.value, { require_two_factor: false, max_token_life_days: 10 })
  await setSecondFactor(fixture, 'ada', false)
  t.is((await by(token, 'GET', '/orgs/acme/teams')).json.code, 'TokenLifeTooLong')
  const making = (body: object) => fixture.as(undefined, 'POST', '/orgs/acme/robots/exempt/tokens', body, basic)
  t.is((await making({ name: 'ever' })).status, 422)
  t.is(
    (await making({ name: 'short', expires_at: new Date(Date.now() + 9 * 24 * 3600 * 1000).toISOString() })).status,
    201,
  )
})
