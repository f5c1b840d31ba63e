import test from 'ava'
import { IdentityStoresToken, TokenDigestToken } from '../../core/identity/ports.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import type { ServiceWorld, ShownTeam } from './service-world.ts'
import { startWorld } from './service-world.ts'

let world: ServiceWorld
test.before(async () => {
  world = await startWorld()
})
test.after.always(() => world.stop())

const logins = async (login: string | undefined, path: string): Promise<unknown> => {
  const { status, json } = await world.as(login, 'GET', path)
  return status === 200 ? json.map((user: { login: string }) => user.login) : status
}

test.serial('members: all to members, the public ones to others, nothing of a private organization', async (t) => {
  t.deepEqual(await logins('vic', '/orgs/acme/members'), ['ada', 'adam', 'cleo', 'ed', 'vic'])
  t.is(await logins('sam', '/orgs/acme/members'), 404)
  t.deepEqual(await logins('sam', '/orgs/evil/members'), [])
  t.is((await world.as('eve', 'PUT', '/orgs/evil/public_members/eve')).status, 204)
  t.deepEqual(await logins('sam', '/orgs/evil/members'), ['eve'])
  t.deepEqual(await logins(undefined, '/orgs/evil/public_members'), ['eve'])
  t.is(await logins(undefined, '/orgs/acme/public_members'), 404)
  t.is((await world.as(undefined, 'GET', '/orgs/evil/public_members/eve')).status, 204)
  t.is((await world.as('eve', 'DELETE', '/orgs/evil/public_members/eve')).status, 204)
  t.is((await world.as(undefined, 'GET', '/orgs/evil/public_members/eve')).status, 404)
})

test.serial('is a member: 204 or 404 to members, 302 to the public members for others', async (t) => {
  const check = (login: string, org: string, who: string) => world.as(login, 'GET', `/orgs/${org}/members/${who}`)
  t.is((await check('vic', 'acme', 'ada')).status, 204)
  t.is((await check('vic', 'acme', 'eve')).status, 404)
  t.is((await check('vic', 'acme', 'nobody')).status, 404)
  t.is((await check('sam', 'acme', 'ada')).status, 404)
  const sent = await check('sam', 'evil', 'eve')
  t.deepEqual([sent.status, sent.headers['location']], [302, '/api/v1/orgs/evil/public_members/eve'])
})

test.serial('visibility of a membership: for oneself and by owners only', async (t) => {
  t.is((await world.as('adam', 'PUT', '/orgs/acme/public_members/vic')).status, 403)
  t.is((await world.as('vic', 'PUT', '/orgs/acme/public_members/vic')).status, 204)
  t.is((await world.as('ada', 'DELETE', '/orgs/acme/public_members/vic')).status, 204)
  t.is((await world.as('ada', 'PUT', '/orgs/acme/public_members/eve')).status, 404)
  t.is((await world.as('eve', 'PUT', '/orgs/acme/public_members/eve')).status, 404)
})

test.serial('memberships: a role by name, answered with user and organization; no escalation, no half-way', async (t) => {
  const put = (login: string, who: string, body: object) => world.as(login, 'PUT', `/orgs/acme/memberships/${who}`, body)
  const made = await put('adam', 'sam', { role: 'member' })
  t.is(made.status, 200, made.text)
  t.like(made.json, { role: 'member', state: 'active', user: { login: 'sam' }, org: { username: 'acme' } })
  t.is((await put('adam', 'sam', { role: 'owner' })).status, 403)
  t.is((await put('adam', 'ada', { role: 'member' })).status, 403)
  t.is((await put('ada', 'ada', { role: 'member' })).status, 409)
  t.is((await put('ada', 'nobody', { role: 'member' })).status, 404)
  t.is((await put('ada', 'evil', { role: 'member' })).status, 422)
  t.is((await put('ada', 'sam', { role: 'king' })).status, 422)
  t.is((await put('vic', 'sam', { role: 'member' })).status, 403)
  await put('ada', 'sam', { role: 'admin' })
  t.is((await put('adam', 'sam', { role: 'member' })).status, 403, 'an admin lowers no admin')
  t.is((await put('sam', 'sam', { role: 'member' })).status, 200, 'but everyone themselves')
  t.is((await put('eve', 'eve', { role: 'owner' })).status, 404)
  t.is((await world.as('ada', 'DELETE', '/orgs/acme/members/sam')).status, 204)
})

test.serial('removing: one answer each (Gitea: 500 and then 204), the last owner 409', async (t) => {
  const remove = async (login: string, who: string) => (await world.as(login, 'DELETE', `/orgs/acme/members/${who}`)).status
  t.is(await remove('ada', 'ada'), 409)
  t.is(await remove('ada', 'sam'), 404)
  t.is(await remove('ada', 'nobody'), 404)
  t.is(await remove('vic', 'ed'), 403)
  t.is(await remove('adam', 'ada'), 403)
  t.is(await remove('eve', 'vic'), 404)
  await world.as('ada', 'PUT', '/orgs/acme/memberships/sam', { role: 'owner' })
  t.is(await remove('sam', 'sam'), 204)
  t.is((await world.as('sam', 'GET', '/orgs/acme')).status, 404)
})

test.serial('the one-route form: public, private, leave, remove, and what it refuses', async (t) => {
  const act = async (login: string, action: string, query: string) =>
    (await world.as(login, 'POST', `/orgs/acme/members/action/${action}?${query}`)).status
  const vic = `uid=${world.idOf('vic')}`
  t.is(await act('vic', 'public', vic), 200)
  t.is(await act('ada', 'private', vic), 200)
  t.is(await act('ada', 'leave', vic), 400)
  t.is(await act('ada', 'ban', vic), 400)
  t.is(await act('ada', 'remove', 'uid=abc'), 400)
  t.is(await act('ada', 'remove', ''), 400)
  for (const nobody of ['999999', '9223372036854775807']) t.is(await act('ada', 'remove', `uid=${nobody}`), 404)
  t.is(await act('ada', 'leave', `uid=${world.idOf('ada')}`), 409)
  t.is(await act('eve', 'remove', vic), 403)
  await world.as('ada', 'PUT', '/orgs/acme/memberships/sam', { role: 'member' })
  t.is(await act('sam', 'leave', `uid=${world.idOf('sam')}`), 200)
})

test.serial("a member's card is for members", async (t) => {
  const card = await world.as('vic', 'GET', '/orgs/acme/user/ada')
  t.like(card.json, { name: 'ada', full_name: '', language: '' })
  t.is((await world.as('vic', 'GET', '/orgs/acme/user/eve')).status, 404)
  t.is((await world.as('eve', 'GET', '/orgs/acme/user/ada')).status, 403)
})

const confinedToken = async (login: string, value: string, orgId: number): Promise<number> => {
  const { container } = world.service.running
  const made = await container.resolve(IdentityStoresToken).tokens.insert({
    userId: world.idOf(login) as UserId,
    name: value,
    hash: container.resolve(TokenDigestToken).digest(value),
    lastEight: value.slice(-8),
    scopeWords: ['all'],
    onlyOrgId: orgId as OrgId,
    createdBy: undefined,
    createdAt: new Date(),
    expiresAt: undefined,
  })
  if (made._tag === 'Left') throw new Error(made.left.message)
  return made.right
}

test.serial('tokens that are confined to the organization: owners see and revoke them, and they reach nothing else', async (t) => {
  const acme = (await world.as('ada', 'GET', '/orgs/acme')).json.id
  const value = '0123456789abcdef0123456789abcdef01234567'
  const id = await confinedToken('ada', value, acme)
  const send = async (method: string, path: string, body?: unknown) =>
    world.service.send(method, `/api/v1${path}`, { token: value, ...(body === undefined ? {} : { body }) })
  await world.as('ada', 'POST', '/orgs', { username: 'second', visibility: 'private' })
  t.is((await send('GET', '/orgs/acme')).status, 200)
  t.is((await send('GET', '/orgs/second')).status, 404)
  t.is((await send('PATCH', '/orgs/second', { location: 'x' })).status, 404)
  t.is((await send('POST', '/orgs', { username: 'third' })).status, 403)
  t.deepEqual((await send('GET', '/user/orgs')).json.map((one: { username: string }) => one.username), ['acme'])
  t.deepEqual([...new Set((await send('GET', '/user/teams')).json.map((one: ShownTeam) => one.organization.username))], ['acme'])

  const path = '/orgs/acme/tokens/access-tokens'
  const [listed] = (await world.as('ada', 'GET', `${path}/`)).json
  t.like(listed, { id, uid: world.idOf('ada'), token: '', tokenLastEight: '01234567', expDate: 0 })
  t.is((await world.as('vic', 'GET', path)).status, 403)
  t.is((await world.as('eve', 'GET', path)).status, 403)
  t.is((await world.as('adam', 'DELETE', `${path}/${id}`)).status, 403)
  t.is((await world.as('eve', 'DELETE', `/orgs/evil/tokens/access-tokens/${id}`)).status, 404)
  t.is((await world.as('ada', 'DELETE', `${path}/${id}`)).status, 200)
  t.is((await send('GET', '/user')).status, 401, 'a revoked token is dead at once')
})
