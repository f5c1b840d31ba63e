import test from 'ava'
import { getCaller } from '../../../plugins/identity/accounts/users.routes.ts'
import {
  createSettingsToken,
  createToken,
  deleteSettingsTokens,
  deleteToken,
  listSettingsTokens,
  listTokens,
} from '../../../plugins/identity/tokens/tokens.routes.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import { makeHttpFixture, password } from './http-fixture.ts'

const fixture = makeHttpFixture()
const { makeUser, send } = fixture
test.before(fixture.start)
test.after.always(fixture.stop)

const basicHeader = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
test('every carrier of a token works, and two different ones at once do not', async (t) => {
  await makeUser('carrier')
  const basic = ['carrier', password] as const
  const client = clientAs(fixture.service, { basic })
  const params = { username: 'carrier' }
  const created = await client.call(createToken, {
    params,
    body: { name: 'carriers', expires_at: '2999-01-01T00:00:00+02:00' },
  })
  t.is(created.status, 201, created.text)
  const made = created.ok ? created.value : undefined
  const token = made?.sha1 ?? ''
  t.like(made, { token_last_eight: token.slice(-8), scopes: ['all'], expires_at: new Date('2998-12-31T22:00:00.000Z') })
  const carriers = [
    { Authorization: `token ${token}` },
    { Authorization: `Bearer ${token}` },
    basicHeader(`carrier:${token}`),
    basicHeader(`${token}:`),
    basicHeader(`${token}:x-oauth-basic`),
  ]
  for (const headers of carriers) {
    const answer = await send('GET', '/user', { headers })
    t.is(answer.json.login, 'carrier')
    t.truthy(answer.headers['x-token-expiration'])
  }
  for (const name of ['token', 'access_token'])
    t.is((await send('GET', `/user?${name}=${token}`)).json.login, 'carrier')
  t.is((await send('GET', `/user?token=${token}`, { token: fixture.service.adminToken })).status, 401)
  const listed = await client.call(listTokens, { params })
  t.false(listed.text.includes(token))
  t.is(listed.ok && listed.value.total, 1)
  // A token in the place of the password manages no tokens.
  for (const headers of carriers) t.is((await send('GET', '/users/carrier/tokens', { headers })).status, 401)
  t.is((await client.call(deleteToken, { params: { ...params, id: String(made?.id) } })).status, 204)
  t.is((await send('GET', '/user', { token })).status, 401)
})

test('invalid token requests are refused with their status', async (t) => {
  const basic = ['bob', password] as const
  const make = (body: unknown, name = 'bob') => send('POST', `/users/${name}/tokens`, { basic, body })
  t.is((await make({ name: 'one' })).status, 201)
  t.is((await make({ name: 'x' }, 'ada')).status, 403)
  t.is((await make({ name: 'x' }, 'nobody')).status, 403)
  const refused: [unknown, number][] = [
    [{ name: 'one' }, 422],
    [{}, 422],
    [{ name: '' }, 422],
    [{ name: '  ' }, 422],
    [{ name: 'two', scopes: [] }, 422],
    [{ name: 'two', scopes: ['read:nothing'] }, 422],
    [{ name: 'two', expires_at: 'tomorrow' }, 422],
    [{ name: 'two', expires_at: '2020-01-01T00:00:00Z' }, 422],
    [{ name: 'x'.repeat(256) }, 422],
    [{ name: 'two', scopes: 'all' }, 422],
    ['{"name":"two","scopes":["read:user"],"scopes":["all"]}', 422],
  ]
  for (const [body, status] of refused) t.is((await make(body)).status, status, JSON.stringify(body))
  t.is((await make({ name: 'two', scopes: ['write:repository', 'read:user'] })).status, 201)
  for (const id of ['999999', '9007199254740993', 'x', '0', '-1'])
    t.is((await send('DELETE', `/users/bob/tokens/${id}`, { basic })).status, 404, id)
})

test('the second shape of tokens: with and without the slash, several at once', async (t) => {
  await makeUser('shape')
  const token = await fixture.service.tokenFor('shape')
  const made = await send('POST', '/user/settings/tokens/access-tokens/', { token, body: { name: 'a', expTime: 0 } })
  t.is(made.status, 201)
  t.like(made.json, { name: 'a', expDate: 0, hasUsed: false, hasRecentActivity: false })
  t.regex(made.json.token, /^moor_/)
  const client = clientAs(fixture.service, { token })
  const second = await valueOf(client.call(createSettingsToken, { body: { name: 'b', expTime: 4102444800 } }))
  t.is(second.expDate, 4102444800)
  for (const expTime of [-1, 1, 9e15, 1.5, '0'])
    t.is(
      (await send('POST', '/user/settings/tokens/access-tokens', { token, body: { name: 'c', expTime } })).status,
      422,
      String(expTime),
    )
  const listed = (await valueOf(client.call(listSettingsTokens))).items
  t.is(listed.length, 3)
  t.true(listed.every((entry) => entry.token === ''))
  const gone = await valueOf(client.call(deleteSettingsTokens, { body: { tokenIDs: [made.json.id, 99999] } }))
  t.is(gone.message, 'Deleted 1 access token.')
  t.is(
    (await send('POST', '/user/settings/tokens/access-tokens/delete-records', { token, body: { tokenIDs: [] } }))
      .status,
    422,
  )
  t.is(
    (await send('DELETE', `/user/settings/tokens/access-tokens/${second.id}`, { basic: ['bob', password] })).status,
    404,
  )
  t.is((await send('DELETE', `/user/settings/tokens/access-tokens/${second.id}/`, { token })).status, 200)
})

test('a new token has at most the scopes of its creator', async (t) => {
  await makeUser('narrow')
  const narrow = await fixture.service.tokenFor('narrow', ['write:user'])
  t.is(
    (
      await send('POST', '/user/settings/tokens/access-tokens', {
        token: narrow,
        body: { name: 'wide', scopes: ['all'] },
      })
    ).status,
    403,
  )
  t.deepEqual(
    (await valueOf(clientAs(fixture.service, { token: narrow }).call(createSettingsToken, { body: { name: 'same' } })))
      .scopes,
    ['write:user'],
  )
})

test('a token is deleted by id or name, and digits mean an id first', async (t) => {
  await makeUser('namer')
  await makeUser('namesake')
  const basic = ['namer', password] as const
  const client = clientAs(fixture.service, { basic })
  const params = { username: 'namer' }
  const make = async (name: string, who: readonly [string, string] = basic): Promise<number> =>
    (
      await valueOf(
        clientAs(fixture.service, { basic: who }).call(createToken, { params: { username: who[0] }, body: { name } }),
      )
    ).id
  const names = async () => (await valueOf(client.call(listTokens, { params }))).items.map((token) => token.name)
  const remove = async (id: string) => (await client.call(deleteToken, { params: { ...params, id } })).status
  const first = await make('ci build 1')
  await make(String(first))
  await make('9'.repeat(30))
  const foreign = await make('theirs', ['namesake', password])
  t.is(await remove('CI build 1'), 404)
  t.is(await remove('theirs'), 404)
  t.is(await remove(String(foreign)), 404)
  t.is(await remove(String(first)), 204)
  t.deepEqual(await names(), [String(first), '9'.repeat(30)], 'the id came first')
  t.is(await remove(String(first)), 204)
  t.deepEqual(await names(), ['9'.repeat(30)])
  t.is(await remove('9'.repeat(30)), 204)
  await make('ci build 1')
  t.is(await remove('ci build 1'), 204)
  t.is(await remove('ci build 1'), 404)
  t.is(
    (
      await valueOf(
        clientAs(fixture.service, { basic: ['namesake', password] }).call(listTokens, {
          params: { username: 'namesake' },
        }),
      )
    ).items.length,
    1,
  )
})

test('a scope opens its category and nothing else', async (t) => {
  const token = await fixture.service.tokenFor('admin', ['read:user', 'read:admin'])
  t.is((await send('GET', '/user', { token })).status, 200)
  t.is((await send('GET', '/admin/users', { token })).status, 200)
  t.is((await send('POST', '/user/emails', { token, body: { emails: ['z@x.org'] } })).status, 403)
  t.is((await send('POST', '/admin/users', { token, body: {} })).status, 403)
  const reader = await fixture.service.tokenFor('ada', ['all'])
  const publicOnly = await fixture.service.tokenFor('admin', ['all', 'public-only'])
  await makeUser('limited', { visibility: 'limited' })
  t.is((await send('GET', '/users/limited', { token: reader })).status, 200)
  t.is((await send('GET', '/users/limited', { token: publicOnly })).status, 404)
  t.like(await valueOf(clientAs(fixture.service, { token: publicOnly }).call(getCaller)), {
    login: 'admin',
    email: 'admin@noreply.localhost',
    is_admin: false,
  })
  t.is((await send('GET', '/admin/users', { token: reader })).status, 403)
  t.is((await send('GET', '/admin/users')).status, 401)
})
