import test from 'ava'
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
