import test from 'ava'
import type { ServiceWorld, ShownTeam } from './service-world.ts'
import { startWorld } from './service-world.ts'

let world: ServiceWorld
test.before(async () => {
  world = await startWorld()
})
test.after.always(() => world.stop())

const statusesFor = async (method: string, path: string, body?: unknown): Promise<string> => {
  const statuses: string[] = []
  for (const login of [undefined, 'sam', 'eve', 'vic', 'ed', 'cleo']) statuses.push(String((await world.as(login, method, path, body)).status))
  return statuses.join(' ')
}

test.serial('creating: 201 with all keys, the caller alone in Owners; bad, reserved and taken names are 422', async (t) => {
  const made = await world.as('sam', 'POST', '/orgs', { username: 'Sams.Org', full_name: 'S', website: 'https://s.example', repo_admin_change_team_access: true })
  t.is(made.status, 201)
  const { id, ...rest } = made.json
  t.true(Number.isSafeInteger(id))
  t.deepEqual(rest, {
    name: 'Sams.Org', username: 'Sams.Org', full_name: 'S', email: '', avatar_url: `${world.service.baseUrl}/api/v1/avatars/drawn/sams.org`, description: '', website: 'https://s.example',
    location: '', fleetManagementClusterEndPoint: '', visibility: 'public', orgType: 0, repo_admin_change_team_access: false,
  })
  const teams = (await world.as('sam', 'GET', '/orgs/Sams.Org/teams')).json
  t.deepEqual(teams.map((team: ShownTeam) => [team.name, team.permission, team.type]), [['Owners', 'owner', 'kubernetes'], ['Editors', 'write', 'kubernetes'], ['Viewers', 'read', 'kubernetes']])
  t.deepEqual((await world.as('sam', 'GET', `/teams/${teams[0].id}/members`)).json.map((user: { login: string }) => user.login), ['sam'])
  for (const body of [{ username: 'sams.org' }, { username: 'SAM' }, { username: 'api' }, { username: '' }, { username: 'a b' }, {}, { username: 'x', visibility: 'secret' }, { username: 'x', orgType: 'client' }, { username: 'x', website: 'nope' }, { username: 7 }]) {
    const refused = await world.as('sam', 'POST', '/orgs', body)
    t.is(refused.status, 422, JSON.stringify(body))
    t.is(typeof refused.json.message, 'string')
  }
  t.is((await world.as(undefined, 'POST', '/orgs', { username: 'x' })).status, 401)
})

test.serial('creating: refused with 403 without the right, and for tokens that are confined or read-only', async (t) => {
  t.is((await world.as('admin', 'PATCH', '/admin/users/vic', { allow_create_organization: false })).status, 200)
  t.is((await world.as('vic', 'POST', '/orgs', { username: 'vics' })).status, 403)
  const reading = await world.service.tokenFor('ed', ['read:organization'])
  t.is((await world.service.send('POST', '/api/v1/orgs', { token: reading, body: { username: 'eds' } })).status, 403)
})

test.serial('reading: a private organization does not exist for outsiders, its address is for the signed-in', async (t) => {
  t.is(await statusesFor('GET', '/orgs/acme'), '404 404 404 200 200 200')
  t.is((await world.as('admin', 'GET', '/orgs/ACME')).status, 200)
  t.is((await world.as(undefined, 'GET', '/orgs/evil')).json.email, '')
  t.is((await world.as('sam', 'GET', '/orgs/evil')).json.email, 'eve@example.org')
  const [hidden, missing] = [await world.as('sam', 'GET', '/orgs/acme'), await world.as('sam', 'GET', '/orgs/nowhere')]
  t.is(hidden.json.message.replace('acme', 'nowhere'), missing.json.message, 'one answer for both')
  const scoped = await world.service.tokenFor('ada', ['read:user'])
  t.is((await world.service.send('GET', '/api/v1/orgs/acme', { token: scoped })).status, 404, 'a token without the scope is a stranger')
})

test.serial('lists: by visibility, with Link and X-Total-Count', async (t) => {
  await world.as('eve', 'POST', '/orgs', { username: 'halfopen', visibility: 'limited' })
  const names = async (login: string | undefined) => (await world.as(login, 'GET', '/orgs?limit=50')).json.map((one: { username: string }) => one.username)
  t.false((await names(undefined)).includes('halfopen'))
  t.true((await names('sam')).includes('halfopen'))
  t.false((await names('ada')).includes('acme'))
  t.true((await names('admin')).includes('acme'))
  const first = await world.as('admin', 'GET', '/orgs?limit=1')
  t.is(first.json.length, 1)
  t.true(Number(first.headers['x-total-count']) >= 3)
  t.regex(String(first.headers['link']), /rel="next"/)
  t.is((await world.as('sam', 'GET', '/orgs?page=0&limit=0')).status, 200)
})

test.serial("a user's organizations: one's own all, another's only what one may know", async (t) => {
  const names = async (login: string, path: string) => (await world.as(login, 'GET', path)).json.map((one: { username: string }) => one.username)
  t.deepEqual(await names('ada', '/user/orgs'), ['acme'])
  t.deepEqual(await names('vic', '/users/ada/orgs'), ['acme'], 'fellow members know')
  t.deepEqual(await names('eve', '/users/ada/orgs'), [])
  t.deepEqual(await names('admin', '/users/ada/orgs'), ['acme'])
  t.is((await world.as('ada', 'GET', '/users/nobody/orgs')).status, 404)
  t.is((await world.as('ada', 'GET', '/users/acme/orgs')).status, 404)
})

test.serial('editing: what is not sent stays, "" clears (Gitea blanks it all); 403 to members, 404 to those who may not know', async (t) => {
  const full = { full_name: 'Acme', description: 'd', website: 'https://a.example', location: 'L', fleetManagementClusterEndPoint: 'https://f.example' }
  t.is((await world.as('ada', 'PATCH', '/orgs/acme', full)).status, 200)
  const edited = await world.as('adam', 'PATCH', '/orgs/acme', { location: '' })
  t.like(edited.json, { ...full, location: '', visibility: 'private', email: 'ada@example.org' })
  t.is(await statusesFor('PATCH', '/orgs/acme', { location: 'x' }), '401 404 404 403 403 403')
  t.is((await world.as('sam', 'PATCH', '/orgs/evil', { location: 'x' })).status, 403, 'a public organization may be known')
  t.is((await world.as('ada', 'PATCH', '/orgs/acme', { email: 'eve@example.org' })).status, 200, 'an address that a user has: no 500')
  t.is((await world.as('ada', 'PATCH', '/orgs/acme', { email: 'nope' })).status, 422)
  t.like((await world.as(undefined, 'GET', '/orgs/evil')).json, { location: '' }, 'the other organization is as it was')
})

test.serial('editing: If-Match guards the change', async (t) => {
  const { headers } = await world.as('ada', 'GET', '/orgs/acme')
  const options = { headers: { 'If-Match': String(headers['etag']) } }
  t.is((await world.as('ada', 'PATCH', '/orgs/acme', { description: 'first' }, options)).status, 200)
  t.is((await world.as('ada', 'PATCH', '/orgs/acme', { description: 'second' }, options)).status, 412)
  t.is((await world.as('ada', 'GET', '/orgs/acme')).json.description, 'first')
})

test.serial('owners: only they rename and delete; the old name redirects callers who may see the organization', async (t) => {
  t.is(await statusesFor('GET', '/orgs/acme/is-owner'), '401 403 403 403 403 403')
  t.is((await world.as('ada', 'GET', '/orgs/acme/is-owner')).status, 200)
  t.is((await world.as('adam', 'POST', '/orgs/acme/rename', { new_name: 'mine' })).status, 403)
  t.is((await world.as('adam', 'DELETE', '/orgs/acme')).status, 403)
  await world.as('sam', 'POST', '/orgs', { username: 'before', visibility: 'private' })
  t.is((await world.as('sam', 'POST', '/orgs/before/rename', { new_name: 'acme' })).status, 422)
  t.is((await world.as('sam', 'POST', '/orgs/before/rename', { new_name: 'after' })).status, 204)
  const moved = await world.as('sam', 'GET', '/orgs/before')
  t.deepEqual([moved.status, moved.headers['location']], [307, '/api/v1/orgs/after'])
  t.is((await world.as('eve', 'GET', '/orgs/before')).status, 404, 'the new name is not given away')
  t.is((await world.as('sam', 'GET', '/orgs/before/members')).status, 404)
  t.is((await world.as('sam', 'PATCH', '/orgs/before', { location: 'x' })).status, 404)
  t.is((await world.as('sam', 'DELETE', '/orgs/after')).status, 204)
  t.is((await world.as('sam', 'GET', '/orgs/before')).status, 404)
  t.is((await world.as('sam', 'DELETE', '/orgs/after')).status, 404)
})

test.serial('permissions of a user: told to the user and to members', async (t) => {
  const all = { can_create_repository: false, can_read: true }
  t.deepEqual((await world.as('ada', 'GET', '/users/ada/orgs/acme/permissions')).json, { ...all, is_owner: true, is_admin: true, can_write: true })
  t.deepEqual((await world.as('vic', 'GET', '/users/ed/orgs/acme/permissions')).json, { ...all, is_owner: false, is_admin: false, can_write: true })
  t.is((await world.as('eve', 'GET', '/users/ada/orgs/acme/permissions')).status, 404)
  t.is((await world.as('ada', 'GET', '/users/ada/orgs/evil/permissions')).json.can_read, false)
})

test.serial('a person is no organization, under any of these routes', async (t) => {
  for (const [method, path, body] of [
    ['GET', '/orgs/ada', undefined], ['PATCH', '/orgs/ada', { location: 'x' }], ['DELETE', '/orgs/ada', undefined],
    ['POST', '/orgs/ada/rename', { new_name: 'zzz' }], ['POST', '/orgs/ada/teams', { name: 'T', type: '' }], ['GET', '/orgs/ada/teams', undefined],
    ['PUT', '/orgs/ada/memberships/sam', { role: 'owner' }],
  ] as const) {
    t.is((await world.as('ada', method, path, body)).status, 404, `${method} ${path}`)
  }
  t.is((await world.as('ada', 'GET', '/user')).json.login, 'ada')
})
