import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { operatorCall } from '../../composition/service/operator-call.ts'
import { makeNotifySecondFactor } from '../../core/organizations/organizations/policies.ts'
import { OrganizationUnitOfWorkToken } from '../../core/organizations/ports.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import { setSecondFactor } from './enrolled.ts'
import type { ServiceWorld } from './service-world.ts'
import { startWorld } from './service-world.ts'

let world: ServiceWorld
test.before(async () => {
  world = await startWorld()
})
test.after.always(() => world?.stop())

const robots = (login: string, method: string, rest = '', body?: unknown, org = 'acme') => world.as(login, method, `/orgs/${org}/robots${rest}`, body)
const made = async (login: string, name: string, teams: readonly string[] = [], org = 'acme'): Promise<{ id: number; login: string }> => {
  const team_ids = await Promise.all(teams.map((team) => world.teamId(team)))
  const answer = await robots(login, 'POST', '', { name, team_ids }, org)
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json
}
const tokenOf = async (robot: string, body: object = {}, login = 'ada'): Promise<string> => {
  const answer = await robots(login, 'POST', `/${robot}/tokens`, { name: `t${Math.random()}`, ...body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json.sha1
}
const by = (token: string, method: string, path: string, body?: unknown) =>
  world.service.send(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })

test.serial('a robot account: made, shown, changed, deleted by those who may; nothing to outsiders', async (t) => {
  const editors = await world.teamId('Editors')
  const peopleThere = async () => (await world.as('admin', 'GET', '/accounts/admin')).json.counts.users as number
  const before = await peopleThere()
  const created = await robots('adam', 'POST', '', { name: 'Deployer', description: 'rolls out', team_ids: [editors] })
  t.is(created.status, 201, created.text)
  t.is(await peopleThere(), before, 'a robot is no user')
  t.like(created.json, { name: 'deployer', login: 'acme+deployer', description: 'rolls out', team_ids: [editors], active: true })
  t.is((await robots('vic', 'POST', '', { name: 'other' })).status, 403)
  t.is((await robots('eve', 'POST', '', { name: 'other' })).status, 404)
  t.is((await robots('ada', 'POST', '', { name: 'deployer' })).status, 422)
  t.is((await robots('ada', 'POST', '', { name: 'a+b' })).status, 422)
  t.is((await robots('ada', 'POST', '', { name: 'x'.repeat(23) })).status, 422)
  t.deepEqual((await robots('vic', 'GET')).json.map(({ login }: { login: string }) => login), ['acme+deployer'])
  for (const [method, rest] of [['GET', ''], ['GET', '/deployer'], ['PATCH', '/deployer'], ['DELETE', '/deployer'], ['GET', '/deployer/tokens']] as const) {
    t.is((await robots('eve', method, rest, method === 'PATCH' ? {} : undefined)).status, 404, `${method} ${rest}`)
    if (rest !== '') t.is((await robots('eve', method, rest, method === 'PATCH' ? {} : undefined, 'evil')).status, 404, `${method} ${rest} by another name`)
  }
  const shown = await robots('vic', 'GET', '/deployer')
  const changed = await world.as('adam', 'PATCH', '/orgs/acme/robots/deployer', { description: 'new', team_ids: [] }, { headers: { 'If-Match': String(shown.headers['etag']) } })
  t.like(changed.json, { description: 'new', team_ids: [] })
  t.is((await world.as('adam', 'PATCH', '/orgs/acme/robots/deployer', { description: 'x' }, { headers: { 'If-Match': String(shown.headers['etag']) } })).status, 412)
  t.is((await robots('vic', 'DELETE', '/deployer')).status, 403)
  t.is((await robots('adam', 'DELETE', '/deployer')).status, 204)
  t.is((await robots('adam', 'GET', '/deployer')).status, 404)
})

test.serial('its token works within the organization, as far as its teams and its scopes go', async (t) => {
  await made('ada', 'worker', ['Editors'])
  const token = await tokenOf('worker')
  t.like((await by(token, 'GET', '/user')).json, { login: 'acme+worker', is_admin: false })
  t.is((await by(token, 'GET', '/orgs/acme/teams')).status, 200)
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
  const narrow = await tokenOf('worker', { scopes: ['read:organization'] })
  t.is((await by(narrow, 'GET', '/orgs/acme/teams')).status, 200)
  t.is((await by(narrow, 'GET', '/user')).status, 403)
  for (const scopes of [['all'], ['sudo'], ['write:user'], ['read:admin']]) {
    t.is((await robots('ada', 'POST', '/worker/tokens', { name: 'wide', scopes })).status, 422, scopes.join())
  }
  t.is((await robots('ada', 'POST', '/worker/tokens', { name: 'late', expires_at: '2001-01-01T00:00:00Z' })).status, 422)
})

test.serial('tokens: listed without value, in the list of the organization as well, revoked at once', async (t) => {
  await made('ada', 'lister', ['Viewers'])
  const created = await robots('adam', 'POST', '/lister/tokens', { name: 'one' })
  const token = created.json.sha1 as string
  t.deepEqual((await robots('adam', 'GET', '/lister/tokens')).json.map(({ name, sha1 }: { name: string; sha1: string }) => [name, sha1]), [['one', '']])
  t.true((await world.as('ada', 'GET', '/orgs/acme/tokens/access-tokens')).json.some(({ id }: { id: number }) => id === created.json.id))
  t.is((await robots('vic', 'GET', '/lister/tokens')).status, 403)
  t.is((await robots('vic', 'POST', '/lister/tokens', { name: 'mine' })).status, 403)
  t.is((await by(token, 'GET', '/user')).status, 200)
  await made('ada', 'bystander')
  t.is((await robots('adam', 'DELETE', `/bystander/tokens/${created.json.id}`)).status, 404, 'not through another robot')
  t.is((await robots('adam', 'DELETE', `/lister/tokens/${created.json.id}`)).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.is((await robots('adam', 'DELETE', `/lister/tokens/${created.json.id}`)).status, 404)
})

test.serial('put to sleep, its tokens open nothing; deleted, they are gone', async (t) => {
  await made('ada', 'sleeper', ['Viewers'])
  const token = await tokenOf('sleeper')
  t.is((await robots('adam', 'PATCH', '/sleeper', { active: false })).json.active, false)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.is((await robots('adam', 'PATCH', '/sleeper', { active: true })).json.active, true)
  t.is((await by(token, 'GET', '/user')).status, 200)
  t.is((await robots('adam', 'DELETE', '/sleeper')).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
})

test.serial('a robot, or a token for one, has at most the rights of its creator; no robot is an owner', async (t) => {
  const [owners, admins, viewers] = [await world.teamId('Owners'), await world.teamId('Admins'), await world.teamId('Viewers')]
  t.is((await robots('ada', 'POST', '', { name: 'boss', team_ids: [owners] })).status, 422)
  const permissions = ['view teams', 'view robot accounts', 'manage robot accounts'].map((action) => ({ namespace: 'org_mgmt', action }))
  const keepers = (await world.as('ada', 'POST', '/orgs/acme/teams', { name: 'Keepers', permission: 'custom', type: '' })).json.id
  t.is((await world.as('ada', 'POST', '/authz/roles?org=acme', { name: 'keeping', permissions, teamIDs: [keepers] })).status, 201)
  t.is((await world.as('ada', 'PUT', `/teams/${keepers}/members/sam`)).status, 204)
  t.is((await robots('sam', 'POST', '', { name: 'mine', team_ids: [keepers] })).status, 201)
  t.is((await robots('sam', 'POST', '', { name: 'stronger', team_ids: [admins] })).status, 403)
  t.is((await robots('sam', 'PATCH', '/mine', { team_ids: [keepers, viewers] })).status, 403)
  await made('ada', 'strong', ['Admins'])
  t.is((await robots('sam', 'POST', '/strong/tokens', { name: 'climb' })).status, 403)
  t.is((await robots('sam', 'PATCH', '/strong', { active: false })).status, 200)
  t.is((await robots('sam', 'PATCH', '/strong', { active: true })).status, 403)
  t.is((await robots('sam', 'POST', '/mine/tokens', { name: 'fine' })).status, 201)
  const foreign = (await world.as('eve', 'GET', '/orgs/evil/teams')).json[0].id as number
  t.is((await robots('ada', 'POST', '', { name: 'abroad', team_ids: [foreign] })).status, 422)
  const small = await world.service.tokenFor('ada', ['write:organization'])
  t.is((await by(small, 'POST', '/orgs/acme/robots/strong/tokens', { name: 'wider', scopes: ['write:cluster'] })).status, 403)
  t.deepEqual((await by(small, 'POST', '/orgs/acme/robots/strong/tokens', { name: 'as-wide' })).json.scopes, ['write:organization'])
})

test.serial('a robot is no person: not found, not signed in, not acted as, not added, not counted', async (t) => {
  const { id, login } = await made('ada', 'ghostly', ['Editors'])
  t.deepEqual((await world.as('admin', 'GET', `/users/search?q=${encodeURIComponent('acme+')}`)).json.data, [])
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
    const edited = await world.as('admin', 'POST', `/accounts/admin/users/${id}`, { loginType: '0-0', email: 'robot@example.org', ...body })
    t.is(edited.status, 404, edited.text)
  }
  t.is((await world.as('admin', 'POST', `/accounts/admin/users/${id}/delete`)).status, 404)
  t.is((await robots('ada', 'GET', '/ghostly')).status, 200)
  const evils = (await world.as('eve', 'GET', '/orgs/evil/teams')).json as readonly { id: number }[]
  const act = (as: string, org: string, team: number, action: string) => world.as(as, 'POST', `/orgs/${org}/teams/${team}/action/${action}?uid=${id}`)
  t.is((await act('eve', 'evil', evils[0]?.id ?? 0, 'add')).status, 404, 'another organization cannot take it')
  t.is((await act('ada', 'acme', await world.teamId('Owners'), 'add')).status, 404)
  t.is((await world.as('ada', 'POST', `/orgs/acme/members/action/remove?uid=${id}`)).status, 404)
  t.is((await world.as('ada', 'DELETE', '/orgs/acme/members/ada')).status, 409, 'ada is the last owner all the same')
})

test.serial('allowed-permissions tells what one may do with a robot', async (t) => {
  const { id } = await made('ada', 'asked')
  const ask = async (login: string, org = 'acme') =>
    (await world.as(login, 'GET', `/authz/objects/robot_ac/${id}/allowed-permissions?org=${org}`)).json?.allowedPermissions
  t.deepEqual(await ask('adam'), ['can_create_token', 'can_delete', 'can_edit', 'can_view'])
  t.deepEqual(await ask('vic'), ['can_view'])
  t.deepEqual(await ask('eve', 'evil'), [])
})

test.serial('renaming the organization renames the logins; deleting it deletes the robots and their tokens', async (t) => {
  t.is((await world.as('eve', 'POST', '/orgs', { username: 'shortlived' })).status, 201)
  await made('eve', 'ci', [], 'shortlived')
  const token = (await robots('eve', 'POST', '/ci/tokens', { name: 'one' }, 'shortlived')).json.sha1 as string
  t.is((await world.as('eve', 'POST', '/orgs/shortlived/rename', { new_name: 'renamed' })).status, 204)
  t.is((await by(token, 'GET', '/user')).json.login, 'renamed+ci')
  t.is((await robots('eve', 'GET', '/ci', undefined, 'renamed')).json.login, 'renamed+ci')
  t.is((await world.as('eve', 'DELETE', '/orgs/renamed')).status, 204)
  t.is((await by(token, 'GET', '/user')).status, 401)
  t.is((await world.as('eve', 'POST', '/orgs', { username: 'renamed' })).status, 201)
  await made('eve', 'ci', [], 'renamed')
})

test.serial('a second factor is asked of people, not of robots; a token limit is for both', async (t) => {
  await made('ada', 'exempt', ['Viewers'])
  const token = await tokenOf('exempt')
  await setSecondFactor(world, 'ada', true)
  t.is((await world.as('ada', 'PATCH', '/orgs/acme/policies', { require_two_factor: true })).status, 200)
  t.is((await by(token, 'GET', '/orgs/acme/teams')).status, 200)
  t.is((await world.as('vic', 'GET', '/orgs/acme/teams')).status, 403)
  const basic = { basic: ['ada', 'a long passphrase of ours'] as const }
  const session = await world.as('ada', 'PATCH', '/orgs/acme/policies', { require_two_factor: false, max_token_life_days: 10 })
  t.is(session.status, 200)
  await setSecondFactor(world, 'ada', false)
  t.is((await by(token, 'GET', '/orgs/acme/teams')).json.code, 'TokenLifeTooLong')
  const making = (body: object) => world.as(undefined, 'POST', '/orgs/acme/robots/exempt/tokens', body, basic)
  t.is((await making({ name: 'ever' })).status, 422)
  t.is((await making({ name: 'short', expires_at: new Date(Date.now() + 9 * 24 * 3600 * 1000).toISOString() })).status, 201)
})

let policiesWorld: ServiceWorld
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
const dayMs = 24 * 3600 * 1000
test.before(async () => {
  policiesWorld = await startWorld({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await policiesWorld?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const change = (login: string, body: object, options: object = {}, org = 'acme') => policiesWorld.as(login, 'PATCH', `/orgs/${org}/policies`, body, options)
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
  for (const bad of [{ max_token_life_days: 3651 }, { two_factor_grace_days: -1 }, { two_factor_grace_days: 91 }, { require_two_factor: 'yes' }, { max_token_life_days: 1.5 }]) {
    t.is((await change('ada', bad)).status, 422, JSON.stringify(bad))
  }
  const etag = String(before.headers['etag'])
  const changed = await change('ada', { two_factor_grace_days: 7 }, { headers: { 'If-Match': etag } })
  t.is(changed.status, 200, changed.text)
  t.is((await change('ada', { two_factor_grace_days: 8 }, { headers: { 'If-Match': etag } })).status, 412)
  t.is((await get('vic', '/orgs/acme/policies')).json.two_factor_grace_days, 7)
})

test.serial('to require a second factor, the caller must have one', async (t) => {
  const refused = await change('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  t.is(refused.status, 422)
  t.is(refused.json.code, 'PolicyRefused')
  await setSecondFactor(policiesWorld, 'ada', true)
  const set = await change('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  t.is(set.status, 200)
  const from = new Date(set.json.two_factor_from as string).getTime()
  t.true(Math.abs(from - Date.now() - 10 * dayMs) < 60_000)
})

test.serial('in the grace period members have access, and are notified by mail once, and once more near its end', async (t) => {
  t.is((await get('vic', '/orgs/acme/teams')).status, 200)
  const { container } = policiesWorld.service.running
  const tellAt = (at: Date) =>
    makeNotifySecondFactor({ unitOfWork: container.resolve(OrganizationUnitOfWorkToken), clock: { now: () => at }, baseUrl: () => 'https://x' })(operatorCall('test'))
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
})

test.serial('after the grace a member without a second factor is refused everywhere in the organization, by every credential', async (t) => {
  t.is((await change('ada', { two_factor_grace_days: 0 })).status, 200)
  for (const path of inside) {
    for (const answer of [await get('vic', path), await policiesWorld.as(undefined, 'GET', path, undefined, password('vic'))]) {
      t.is(answer.status, 403, path)
      t.is(answer.json.code, 'SecondFactorDemanded', path)
      t.true(answer.json.message.includes('twofa/enroll'))
    }
    t.true((await get('ada', path)).status < 300, path)
    t.not((await get('sam', path)).json?.code, 'SecondFactorDemanded', 'a stranger learns nothing of it')
  }
  t.is((await policiesWorld.as('vic', 'POST', '/orgs/acme/teams', { name: 'x' })).json.code, 'SecondFactorDemanded')
  t.is((await get('vic', '/orgs/acme')).status, 200, 'the profile is returned')
  t.deepEqual((await get('vic', '/user/orgs')).json.map(({ username }: { username: string }) => username), ['acme'])
  t.deepEqual((await get('vic', '/user/teams')).json, [])
  t.is((await get('admin', '/orgs/acme/teams')).status, 200, 'a site admin')
  t.is((await policiesWorld.as('admin', 'GET', '/orgs/acme/teams?sudo=vic')).json.code, 'SecondFactorDemanded', 'not as another user')
  t.is((await policiesWorld.as('vic', 'POST', '/authz/objects/allowed-permissions?org=acme', [{ objectType: 'organization', objectID: 1 }])).status, 403)
})

test.serial('a member who does not meet the entry requirements may leave, by either route, and nothing else', async (t) => {
  const uid = (login: string) => `uid=${policiesWorld.idOf(login)}`
  t.is((await policiesWorld.as('vic', 'DELETE', '/orgs/acme/members/ed')).json.code, 'SecondFactorDemanded')
  for (const action of ['private', 'public', 'remove']) {
    const refused = await policiesWorld.as('adam', 'POST', `/orgs/acme/members/action/${action}?${uid(action === 'remove' ? 'ed' : 'adam')}`)
    t.is(refused.json.code, 'SecondFactorDemanded', action)
  }
  for (const [method, path] of [['DELETE', '/orgs/acme/members/ed'], ['POST', `/orgs/acme/members/action/leave?${uid('ed')}`]] as const) {
    const left = await policiesWorld.as('ed', method, path)
    t.true(left.status < 300, left.text)
    t.is((await get('ada', '/orgs/acme/members/ed')).status, 404)
    t.is((await policiesWorld.as('admin', 'PUT', '/orgs/acme/memberships/ed', { role: 'member' })).status, 200)
  }
})

test.serial('with a second factor the member has access at the next request, and loses it without', async (t) => {
  await setSecondFactor(policiesWorld, 'vic', true)
  for (const path of inside) t.true((await get('vic', path)).status < 300, path)
  t.is((await get('vic', '/user/teams')).json.length, 1)
  await setSecondFactor(policiesWorld, 'vic', false)
  t.is((await get('vic', '/orgs/acme/teams')).json.code, 'SecondFactorDemanded')
  t.is((await change('ada', { require_two_factor: false })).status, 200)
  t.is((await get('vic', '/orgs/acme/teams')).status, 200)
})

test.serial('a token that lives longer than the organization allows opens nothing there; sessions and passwords do', async (t) => {
  await setSecondFactor(policiesWorld, 'ada', false)
  const making = (login: string, expires_at?: string) =>
    policiesWorld.as(undefined, 'POST', `/users/${login}/tokens`, { name: `t-${expires_at ?? 'ever'}`, ...(expires_at === undefined ? {} : { expires_at }) }, password(login))
  const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
  const [forEver, long, short] = [await making('vic'), await making('vic', inDays(31.5)), await making('vic', inDays(30))]
  t.is((await change('ada', { max_token_life_days: 30 }, password('ada'))).status, 200)
  const ask = (token: string, path = '/orgs/acme/teams') => policiesWorld.service.send('GET', `/api/v1${path}`, { token })
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
})
