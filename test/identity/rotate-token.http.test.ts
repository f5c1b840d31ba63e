import test from 'ava'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const password = 'a long passphrase'
const tokens = '/user/settings/tokens/access-tokens'
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

const send: TestService['send'] = (method, path, options) => service.send(method, `/api/v1${path}`, options)
const person = async (username: string): Promise<readonly [string, string]> => {
  const body = { username, email: `${username}@example.org`, password, must_change_password: false }
  const made = await send('POST', '/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
  return [username, password]
}
const status = async (token: string): Promise<number> => (await send('GET', '/user', { token })).status

test('rotating: the old value is refused, the new one works and may do the same', async (t) => {
  const basic = await person('ada')
  const expTime = Math.ceil(Date.now() / 1000) + 1000
  const made = await send('POST', tokens, { basic, body: { name: 'ci', expTime, scopes: ['read:user'] } })
  const rotated = await send('POST', `${tokens}/${made.json.id}/rotate`, { basic })
  t.is(rotated.status, 200, rotated.text)
  t.like(rotated.json, { id: made.json.id, name: 'ci', scopes: ['read:user'], hasUsed: false })
  t.true(rotated.json.expDate >= expTime)
  t.deepEqual([await status(made.json.token), await status(rotated.json.token)], [401, 200])
  t.is((await send('PATCH', '/user/settings', { token: rotated.json.token, body: { full_name: 'x' } })).status, 403)
  t.is((await send('POST', `${tokens}/${made.json.id}/rotate`, { token: rotated.json.token })).status, 403, 'a token that cannot make tokens rotates none')
  const listed = await send('GET', tokens, { basic })
  t.false(listed.text.includes(rotated.json.token))
  t.is(listed.json[0].tokenLastEight, rotated.json.token.slice(-8))
})

test('rotating once more under the same Idempotency-Key answers the same value', async (t) => {
  const basic = await person('again')
  const { id } = (await send('POST', tokens, { basic, body: { name: 'ci' } })).json
  const ask = (key: string) => send('POST', `${tokens}/${id}/rotate`, { basic, headers: { 'Idempotency-Key': key } })
  const [first, repeated] = [await ask('one'), await ask('one')]
  t.deepEqual([repeated.status, repeated.headers['idempotency-replayed']], [200, 'true'])
  t.is(repeated.json.token, first.json.token)
  t.is(await status(first.json.token), 200)
  t.not((await ask('two')).json.token, first.json.token)
  t.is(await status(first.json.token), 401)
})

test('rotating is for the owner alone: not by others, not by an admin who acts as the owner', async (t) => {
  const [basic, stranger] = [await person('owner'), await person('stranger')]
  const made = (await send('POST', tokens, { basic, body: { name: 'ci' } })).json
  const path = `${tokens}/${made.id}/rotate`
  const missing = await send('POST', `${tokens}/999999/rotate`, { basic: stranger })
  const refused = await send('POST', path, { basic: stranger })
  t.deepEqual([refused.status, refused.json.message], [404, missing.json.message])
  t.is((await send('POST', path, { token: service.adminToken, headers: { Sudo: 'owner' } })).status, 403)
  t.is((await send('POST', path)).status, 401)
  t.is(await status(made.token), 200)
  const own = await send('POST', path, { token: made.token })
  t.deepEqual([own.status, await status(made.token), await status(own.json.token)], [200, 401, 200])
})

test('a token for one organization is made by both shapes, says so, and reaches nothing else', async (t) => {
  const [basic, stranger] = [await person('member'), await person('founder')]
  for (const [by, username] of [[basic, 'Inside'], [basic, 'beside'], [stranger, 'closed']] as const) {
    t.is((await send('POST', '/orgs', { basic: by, body: { username, visibility: 'private' } })).status, 201)
  }
  const first = await send('POST', '/users/member/tokens', { basic, body: { name: 'a', org: 'inside' } })
  const second = await send('POST', tokens, { basic, body: { name: 'b', org: 'INSIDE' } })
  t.deepEqual([first.status, first.json.org, second.status, second.json.org], [201, 'Inside', 201, 'Inside'])
  const free = await send('POST', tokens, { basic, body: { name: 'c' } })
  t.false('org' in free.json)
  const rotated = await send('POST', `${tokens}/${second.json.id}/rotate`, { basic })
  t.is(rotated.json.org, 'Inside')
  for (const token of [first.json.sha1, rotated.json.token] as string[]) {
    t.deepEqual((await send('GET', '/user/orgs', { token })).json.map(({ username }: { username: string }) => username), ['Inside'])
    t.is((await send('GET', '/orgs/beside', { token })).status, 404)
    t.is((await send('POST', tokens, { token, body: { name: 'more' } })).status, 403)
    t.is((await send('POST', `${tokens}/${free.json.id}/rotate`, { token })).status, 403)
  }
  t.deepEqual((await send('GET', '/users/member/tokens', { basic })).json.map(({ org }: { org?: string }) => org), ['Inside', 'Inside', undefined])
  const messages = new Set<string>()
  for (const org of ['closed', 'nowhere', 'founder']) {
    for (const path of ['/users/member/tokens', tokens]) {
      const refused = await send('POST', path, { basic, body: { name: 'd', org } })
      t.is(`${refused.status} ${refused.json.code}`, '422 TokenOrgInvalid')
      messages.add(refused.json.message)
    }
  }
  t.is(messages.size, 1)
  t.is((await send('POST', tokens, { basic: stranger, body: { name: 'd', org: 'inside' } })).status, 422)
})
