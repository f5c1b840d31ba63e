import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { operatorCall } from '../../composition/service/operator.ts'
import { makeNotifySecondFactor } from '../../core/organizations/organizations/policies.ts'
import { OrganizationUnitOfWorkToken } from '../../core/organizations/ports.ts'
import { getAllowedPermissions } from '../../plugins/authz/allowed-permissions.routes.ts'
import { createRole } from '../../plugins/authz/roles.routes.ts'
import { getCaller, searchUsers } from '../../plugins/identity/accounts/users.routes.ts'
import { listOrganizationTokens, setMembership } from '../../plugins/organizations/members/members.routes.ts'
import {
  createOrganization,
  deleteOrganization,
  editPolicies,
  getOrganization,
  getPolicies,
  listOwnOrganizations,
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
import { addTeamMember, createTeam, listOwnTeams, listTeams } from '../../plugins/organizations/teams/teams.routes.ts'
import { getSiteSummary } from '../../plugins/platform/platform.routes.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import { setSecondFactor } from './enrolled.ts'
import type { ServiceWorld } from './service-world.ts'
import { startFixture } from './service-world.ts'

let world: ServiceWorld
test.before(async () => {
  world = await startFixture()
})
test.after.always(() => world?.stop())

const robots = (login: string, method: string, rest = '', body?: unknown, org = 'acme') =>
  world.as(login, method, `/orgs/${org}/robots${rest}`, body)
const acme = { orgname: 'acme' } as const
const robotOf = (robot: string, orgname = 'acme') => ({ orgname, robot })
const made = async (login: string, name: string, teams: readonly string[] = [], orgname = 'acme') => {
  const team_ids = await Promise.all(teams.map((team) => world.teamId(team)))
  return (await world.call(login, createRobot, { params: { orgname }, body: { name, team_ids } })).value
}
const tokenOf = async (robot: string, scopes?: readonly string[]): Promise<string> => {
  const body = { name: `t${Math.random()}`, ...(scopes === undefined ? {} : { scopes }) }
  return (await world.call('ada', createRobotToken, { params: robotOf(robot), body })).value.sha1
}
const by = (token: string, method: string, path: string, body?: unknown) =>
  world.service.send(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
test.serial('a robot account: made, shown, changed, deleted by those who may; nothing to outsiders', async (t) => {
  const editors = await world.teamId('Editors')
  const peopleThere = async () => (await world.call('admin', getSiteSummary)).value.counts.users
  const before = await peopleThere()
  const created = await world.call('adam', createRobot, {
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
    (await world.call('vic', listRobots, { params: acme })).value.items.map(({ login }) => login),
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
  const changed = await world.as(
    'adam',
    'PATCH',
    '/orgs/acme/robots/deployer',
    { description: 'new', team_ids: [] },
    { headers: { 'If-Match': String(shown.headers['etag']) } },
  )
  t.like(changed.json, { description: 'new', team_ids: [] })
  t.is(
    (
      await world.as(
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
  t.is((await world.call('adam', deleteRobot, { params: robotOf('deployer') })).status, 204)
  t.is((await robots('adam', 'GET', '/deployer')).status, 404)
})

test.serial('its token works within the organization, as far as its teams and its scopes go', async (t) => {
  await made('ada', 'worker', ['Editors'])
  const token = await tokenOf('worker')
  t.like((await world.service.call(token, getCaller)).value, { login: 'acme+worker', is_admin: false })
  t.true(
    (await world.service.call(token, listTeams, { params: acme })).value.items.some(({ name }) => name === 'Editors'),
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
  t.is((await world.service.call(narrow, listTeams, { params: acme })).status, 200)
  t.is((await by(narrow, 'GET', '/user')).status, 403)
  for (const scopes of [['all'], ['sudo'], ['write:user'], ['read:admin']]) {
    t.is((await robots('ada', 'POST', '/worker/tokens', { name: 'wide', scopes })).status, 422, scopes.join())
  }
  t.is(
    (await robots('ada', 'POST', '/worker/tokens', { name: 'late', expires_at: '2001-01-01T00:00:00Z' })).status,
    422,
  )
})

test.serial('tokens: listed without value, in the list of the organization as well, revoked at once', async (t) => {
  await made('ada', 'lister', ['Viewers'])
  const { id, sha1: token } = (
    await world.call('adam', createRobotToken, { params: robotOf('lister'), body: { name: 'one' } })
  ).value
  const listed = await world.call('adam', listRobotTokens, { params: robotOf('lister') })
  t.deepEqual(
    listed.value.items.map(({ name, sha1 }) => [name, sha1]),
    [['one', '']],
  )
  t.true((await world.call('ada', listOrganizationTokens, { params: acme })).value.items.some((each) => each.id === id))
  t.is((await robots('vic', 'GET', '/lister/tokens')).status, 403)
  t.is((await robots('vic', 'POST', '/lister/tokens', { name: 'mine' })).status, 403)
  t.is((await world.service.call(token, getCaller)).value.login, 'acme+lister')
  await made('ada', 'bystander')
  t.is((await robots('adam', 'DELETE', `/bystander/tokens/${id}`)).status, 404, 'not through another robot')
  t.is((await world.call('adam', deleteRobotToken, { params: { ...robotOf('lister'), id } })).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.is((await robots('adam', 'DELETE', `/lister/tokens/${id}`)).status, 404)
})

test.serial('put to sleep, its tokens open nothing; deleted, they are gone', async (t) => {
  await made('ada', 'sleeper', ['Viewers'])
  const token = await tokenOf('sleeper')
  const activate = (active: boolean) => world.call('adam', editRobot, { params: robotOf('sleeper'), body: { active } })
  t.false((await activate(false)).value.value.active)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.true((await activate(true)).value.value.active)
  t.is((await world.service.call(token, getCaller)).value.login, 'acme+sleeper')
  t.is((await world.call('adam', deleteRobot, { params: robotOf('sleeper') })).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
})

test.serial('a robot, or a token for one, has at most the rights of its creator; no robot is an owner', async (t) => {
  const [owners, admins, viewers] = [
    await world.teamId('Owners'),
    await world.teamId('Admins'),
    await world.teamId('Viewers'),
  ]
  t.is((await robots('ada', 'POST', '', { name: 'boss', team_ids: [owners] })).status, 422)
  const permissions = ['view teams', 'view robot accounts', 'manage robot accounts'].map((action) => ({
    namespace: 'org_mgmt',
    action,
  }))
  const keepers = (
    await world.call('ada', createTeam, { params: acme, body: { name: 'Keepers', permission: 'custom', type: '' } })
  ).value.id
  await world.call('ada', createRole, {
    query: { org: 'acme' },
    body: { name: 'keeping', permissions, teamIDs: [keepers] },
  })
  await world.call('ada', addTeamMember, { params: { teamid: keepers, username: 'sam' } })
  t.deepEqual(
    (await world.call('sam', createRobot, { params: acme, body: { name: 'mine', team_ids: [keepers] } })).value
      .team_ids,
    [keepers],
  )
  t.is((await robots('sam', 'POST', '', { name: 'stronger', team_ids: [admins] })).status, 403)
  t.is((await robots('sam', 'PATCH', '/mine', { team_ids: [keepers, viewers] })).status, 403)
  await made('ada', 'strong', ['Admins'])
  t.is((await robots('sam', 'POST', '/strong/tokens', { name: 'climb' })).status, 403)
  t.false(
    (await world.call('sam', editRobot, { params: robotOf('strong'), body: { active: false } })).value.value.active,
  )
  t.is((await robots('sam', 'PATCH', '/strong', { active: true })).status, 403)
  t.is(
    (await world.call('sam', createRobotToken, { params: robotOf('mine'), body: { name: 'fine' } })).value.name,
    'fine',
  )
  const foreign = (await world.call('eve', listTeams, { params: { orgname: 'evil' } })).value.items.map(({ id }) => id)
  t.is(foreign.length, 3)
  t.is((await robots('ada', 'POST', '', { name: 'abroad', team_ids: foreign.slice(0, 1) })).status, 422)
  const small = await world.service.tokenFor('ada', ['write:organization'])
  t.is(
    (await by(small, 'POST', '/orgs/acme/robots/strong/tokens', { name: 'wider', scopes: ['write:cluster'] })).status,
    403,
  )
  t.deepEqual(
    (await world.service.call(small, createRobotToken, { params: robotOf('strong'), body: { name: 'as-wide' } })).value
      .scopes,
    ['write:organization'],
  )
})

test.serial('a robot is no person: not found, not signed in, not acted as, not added, not counted', async (t) => {
  const { id, login } = await made('ada', 'ghostly', ['Editors'])
  t.deepEqual((await world.call('admin', searchUsers, { query: { q: 'acme+' } })).value.items, [])
  t.false((await world.as('admin', 'GET', '/admin/users?limit=50')).text.includes('acme+'))
  t.false((await world.as('ada', 'GET', '/orgs/acme/members')).text.includes('acme+'))
  t.false((await world.as('ada', 'GET', `/teams/${await world.teamId('Editors')}/members`)).text.includes('acme+'))
  for (const password of ['', '!', 'a long passphrase of ours']) {
    t.is((await world.as(undefined, 'GET', '/user', undefined, { basic: [login, password] })).status, 401)
    const tried = await world.as(undefined, 'POST', '/user/signin', { username: login, password })
    const unknown = await world.as(undefined, 'POST', '/user/signin', { username: 'acme+nobody', password })
    t.deepEqual([tried.status, tried.json.code], [unknown.status, unknown.json.code])
    t.true(tried.status >= 400)
  }
  t.is((await world.as('admin', 'GET', '/user', undefined, { headers: { Sudo: login } })).status, 404)
  t.is((await world.as('ada', 'GET', `/users/${encodeURIComponent(login)}`)).status, 404)
  for (const body of [{ admin: true, email: 'robot@example.org' }, { password: 'a long passphrase of ours' }]) {
    const edited = await world.as('admin', 'POST', `/accounts/admin/users/${id}`, {
      loginType: '0-0',
      email: 'robot@example.org',
      ...body,
    })
    t.is(edited.status, 404, edited.text)
  }
  t.is((await world.as('admin', 'POST', `/accounts/admin/users/${id}/delete`)).status, 404)
  t.is((await world.call('ada', getRobot, { params: robotOf('ghostly') })).value.value.id, id)
  const evils = (await world.call('eve', listTeams, { params: { orgname: 'evil' } })).value.items
  const act = (as: string, org: string, team: number, action: string) =>
    world.as(as, 'POST', `/orgs/${org}/teams/${team}/action/${action}?uid=${id}`)
  t.is((await act('eve', 'evil', evils[0]?.id ?? 0, 'add')).status, 404, 'another organization cannot take it')
  t.is((await act('ada', 'acme', await world.teamId('Owners'), 'add')).status, 404)
  t.is((await world.as('ada', 'POST', `/orgs/acme/members/action/remove?uid=${id}`)).status, 404)
  t.is((await world.as('ada', 'DELETE', '/orgs/acme/members/ada')).status, 409, 'ada is the last owner all the same')
})

test.serial('allowed-permissions tells what one may do with a robot', async (t) => {
  const { id } = await made('ada', 'asked')
  const ask = async (login: string, org = 'acme') =>
    (await world.call(login, getAllowedPermissions, { params: { objectType: 'robot_ac', objID: id }, query: { org } }))
      .value.allowedPermissions
  t.deepEqual(await ask('adam'), ['can_create_token', 'can_delete', 'can_edit', 'can_view'])
  t.deepEqual(await ask('vic'), ['can_view'])
  t.deepEqual(await ask('eve', 'evil'), [])
})

test.serial(
  'renaming the organization renames the logins; deleting it deletes the robots and their tokens',
  async (t) => {
    await world.call('eve', createOrganization, { body: { username: 'shortlived' } })
    await made('eve', 'ci', [], 'shortlived')
    const token = (
      await world.call('eve', createRobotToken, { params: robotOf('ci', 'shortlived'), body: { name: 'one' } })
    ).value.sha1
    t.is(
      (
        await world.call('eve', renameOrganization, {
          params: { orgname: 'shortlived' },
          body: { new_name: 'renamed' },
        })
      ).status,
      204,
    )
    t.is((await world.service.call(token, getCaller)).value.login, 'renamed+ci')
    t.is((await world.call('eve', getRobot, { params: robotOf('ci', 'renamed') })).value.value.login, 'renamed+ci')
    t.is((await world.call('eve', deleteOrganization, { params: { orgname: 'renamed' } })).status, 204)
    t.is((await by(token, 'GET', '/user')).status, 401)
    await world.call('eve', createOrganization, { body: { username: 'renamed' } })
    t.is((await made('eve', 'ci', [], 'renamed')).login, 'renamed+ci')
  },
)

test.serial('a second factor is asked of people, not of robots; a token limit is for both', async (t) => {
  await made('ada', 'exempt', ['Viewers'])
  const token = await tokenOf('exempt')
  await setSecondFactor(world, 'ada', true)
  t.true(
    (await world.call('ada', editPolicies, { params: acme, body: { require_two_factor: true } })).value.value
      .require_two_factor,
  )
  t.is((await world.service.call(token, listTeams, { params: acme })).status, 200)
  t.is((await world.as('vic', 'GET', '/orgs/acme/teams')).status, 403)
  const basic = { basic: ['ada', 'a long passphrase of ours'] as const }
  const limited = await world.call('ada', editPolicies, {
    params: acme,
    body: { require_two_factor: false, max_token_life_days: 10 },
  })
  t.like(limited.value.value, { require_two_factor: false, max_token_life_days: 10 })
  await setSecondFactor(world, 'ada', false)
  t.is((await by(token, 'GET', '/orgs/acme/teams')).json.code, 'TokenLifeTooLong')
  const making = (body: object) => world.as(undefined, 'POST', '/orgs/acme/robots/exempt/tokens', body, basic)
  t.is((await making({ name: 'ever' })).status, 422)
  t.is(
    (await making({ name: 'short', expires_at: new Date(Date.now() + 9 * 24 * 3600 * 1000).toISOString() })).status,
    201,
  )
})

let policiesWorld: ServiceWorld
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
const dayMs = 24 * 3600 * 1000
test.before(async () => {
  policiesWorld = await startFixture({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await policiesWorld?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const change = (login: string, body: object, options: object = {}, org = 'acme') =>
  policiesWorld.as(login, 'PATCH', `/orgs/${org}/policies`, body, options)
const changed = async (
  login: string,
  body: {
    readonly require_two_factor?: boolean
    readonly two_factor_grace_days?: number
    readonly max_token_life_days?: number
  },
) => (await policiesWorld.call(login, editPolicies, { params: acme, body })).value.value
const teamsSeenBy = async (login: string) =>
  (await policiesWorld.call(login, listTeams, { params: acme })).value.items.map(({ name }) => name)
const get = (login: string, path: string) => policiesWorld.as(login, 'GET', path)
const password = (login: string) => ({ basic: [login, 'a long passphrase of ours'] as const })
const inside = [
  '/orgs/acme/teams',
  '/orgs/acme/members',
  '/orgs/acme/members/ada',
  '/orgs/acme/public_members',
  '/orgs/acme/robots',
  '/orgs/acme/policies',
  '/users/ada/orgs/acme/permissions',
  '/authz/roles?org=acme',
  '/clustersv2/acme',
]

test.serial('policies: members see them, owners change them, strangers find nothing, If-Match counts', async (t) => {
  const before = await get('vic', '/orgs/acme/policies')
  t.deepEqual(before.json, { require_two_factor: false, two_factor_grace_days: 0, max_token_life_days: 0 })
  t.is((await get('sam', '/orgs/acme/policies')).status, 404)
  t.is((await change('adam', { max_token_life_days: 30 })).status, 403)
  t.is((await change('eve', { max_token_life_days: 30 })).status, 404)
  for (const bad of [
    { max_token_life_days: 3651 },
    { two_factor_grace_days: -1 },
    { two_factor_grace_days: 91 },
    { require_two_factor: 'yes' },
    { max_token_life_days: 1.5 },
  ]) {
    t.is((await change('ada', bad)).status, 422, JSON.stringify(bad))
  }
  const etag = String(before.headers['etag'])
  const first = await change('ada', { two_factor_grace_days: 7 }, { headers: { 'If-Match': etag } })
  t.is(first.status, 200, first.text)
  t.is((await change('ada', { two_factor_grace_days: 8 }, { headers: { 'If-Match': etag } })).status, 412)
  t.is((await policiesWorld.call('vic', getPolicies, { params: acme })).value.value.two_factor_grace_days, 7)
})

test.serial('to require a second factor, the caller must have one', async (t) => {
  const refused = await change('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  t.is(refused.status, 422)
  t.is(refused.json.code, 'PolicyRefused')
  await setSecondFactor(policiesWorld, 'ada', true)
  const set = await changed('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  const from = set.two_factor_from?.getTime() ?? 0
  t.true(Math.abs(from - Date.now() - 10 * dayMs) < 60_000)
})

test.serial(
  'in the grace period members have access, and are notified by mail once, and once more near its end',
  async (t) => {
    t.true((await teamsSeenBy('vic')).includes('Viewers'))
    const { container } = policiesWorld.service.running
    const tellAt = (at: Date) =>
      makeNotifySecondFactor({
        unitOfWork: container.resolve(OrganizationUnitOfWorkToken),
        clock: { now: () => at },
        baseUrl: () => 'https://x',
      })(operatorCall('test'))
    const now = new Date()
    await tellAt(now)
    await tellAt(now)
    const first = await mails.nth('vic@example.org', 1)
    t.is(first.subject, 'The organization acme requires a second factor')
    t.is(await tellAt(new Date(now.getTime() + 6 * dayMs)), 0)
    t.is(await tellAt(new Date(now.getTime() + 8 * dayMs)), 4, 'adam, cleo, ed and vic')
    await mails.nth('vic@example.org', 2)
    t.is(await tellAt(new Date(now.getTime() + 9 * dayMs)), 0)
    t.deepEqual(await mails.to('ada@example.org'), [], 'who has one is not told')
    t.deepEqual(await mails.to('eve@example.org'), [], 'another organization is not told')
  },
)

test.serial(
  'after the grace a member without a second factor is refused everywhere in the organization, by every credential',
  async (t) => {
    t.is((await changed('ada', { two_factor_grace_days: 0 })).two_factor_grace_days, 0)
    for (const path of inside) {
      for (const answer of [
        await get('vic', path),
        await policiesWorld.as(undefined, 'GET', path, undefined, password('vic')),
      ]) {
        t.is(answer.status, 403, path)
        t.is(answer.json.code, 'SecondFactorDemanded', path)
        t.true(answer.json.message.includes('twofa/enroll'))
      }
      t.true((await get('ada', path)).status < 300, path)
      t.not((await get('sam', path)).json?.code, 'SecondFactorDemanded', 'a stranger learns nothing of it')
    }
    t.is((await policiesWorld.as('vic', 'POST', '/orgs/acme/teams', { name: 'x' })).json.code, 'SecondFactorDemanded')
    t.is((await policiesWorld.call('vic', getOrganization, { params: acme })).status, 200, 'the profile is returned')
    t.deepEqual(
      (await policiesWorld.call('vic', listOwnOrganizations)).value.items.map(({ username }) => username),
      ['acme'],
    )
    t.deepEqual((await policiesWorld.call('vic', listOwnTeams)).value.items, [])
    t.true((await teamsSeenBy('admin')).includes('Viewers'), 'a site admin')
    t.is(
      (await policiesWorld.as('admin', 'GET', '/orgs/acme/teams?sudo=vic')).json.code,
      'SecondFactorDemanded',
      'not as another user',
    )
    t.is(
      (
        await policiesWorld.as('vic', 'POST', '/authz/objects/allowed-permissions?org=acme', [
          { objectType: 'organization', objectID: 1 },
        ])
      ).status,
      403,
    )
  },
)

test.serial(
  'a member who does not meet the entry requirements may leave, by either route, and nothing else',
  async (t) => {
    const uid = (login: string) => `uid=${policiesWorld.idOf(login)}`
    t.is((await policiesWorld.as('vic', 'DELETE', '/orgs/acme/members/ed')).json.code, 'SecondFactorDemanded')
    for (const action of ['private', 'public', 'remove']) {
      const refused = await policiesWorld.as(
        'adam',
        'POST',
        `/orgs/acme/members/action/${action}?${uid(action === 'remove' ? 'ed' : 'adam')}`,
      )
      t.is(refused.json.code, 'SecondFactorDemanded', action)
    }
    for (const [method, path] of [
      ['DELETE', '/orgs/acme/members/ed'],
      ['POST', `/orgs/acme/members/action/leave?${uid('ed')}`],
    ] as const) {
      const left = await policiesWorld.as('ed', method, path)
      t.true(left.status < 300, left.text)
      t.is((await get('ada', '/orgs/acme/members/ed')).status, 404)
      const back = await policiesWorld.call('admin', setMembership, {
        params: { orgname: 'acme', username: 'ed' },
        body: { role: 'member' },
      })
      t.is(back.value.role, 'member')
    }
  },
)

test.serial('with a second factor the member has access at the next request, and loses it without', async (t) => {
  await setSecondFactor(policiesWorld, 'vic', true)
  for (const path of inside) t.true((await get('vic', path)).status < 300, path)
  t.is((await policiesWorld.call('vic', listOwnTeams)).value.items.length, 1)
  await setSecondFactor(policiesWorld, 'vic', false)
  t.is((await get('vic', '/orgs/acme/teams')).json.code, 'SecondFactorDemanded')
  t.false((await changed('ada', { require_two_factor: false })).require_two_factor)
  t.true((await teamsSeenBy('vic')).includes('Viewers'))
})

test.serial(
  'a token that lives longer than the organization allows opens nothing there; sessions and passwords do',
  async (t) => {
    await setSecondFactor(policiesWorld, 'ada', false)
    const making = (login: string, expires_at?: string) =>
      policiesWorld.as(
        undefined,
        'POST',
        `/users/${login}/tokens`,
        { name: `t-${expires_at ?? 'ever'}`, ...(expires_at === undefined ? {} : { expires_at }) },
        password(login),
      )
    const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
    const [forEver, long, short] = [
      await making('vic'),
      await making('vic', inDays(31.5)),
      await making('vic', inDays(30)),
    ]
    t.is((await change('ada', { max_token_life_days: 30 }, password('ada'))).status, 200)
    const ask = (token: string, path = '/orgs/acme/teams') =>
      policiesWorld.service.send('GET', `/api/v1${path}`, { token })
    for (const { json } of [forEver, long]) {
      for (const path of inside) {
        const answer = await ask(json.sha1, path)
        t.deepEqual([answer.status, answer.json.code], [403, 'TokenLifeTooLong'], path)
        t.true(answer.json.message.includes('30 days'))
      }
      t.deepEqual((await ask(json.sha1, '/user/teams')).json, [])
      t.is((await ask(json.sha1, '/orgs/evil')).status, 200, 'elsewhere it is good')
    }
    t.is((await ask(short.json.sha1)).status, 200)
    t.is((await ask(short.json.sha1, '/user/teams')).json.length, 1)
    t.is((await policiesWorld.as(undefined, 'GET', '/orgs/acme/teams', undefined, password('vic'))).status, 200)
    t.is((await get('admin', '/orgs/acme/teams')).status, 200)
    t.is((await change('ada', { max_token_life_days: 0 }, password('ada'))).status, 200)
    t.is((await ask(forEver.json.sha1)).status, 200)
  },
)
