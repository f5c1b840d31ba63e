import test from 'ava'
import { TokenDigestToken, IdentityUnitOfWorkToken } from '../../core/identity/ports.ts'
import { right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { makeAccessToken } from '../../core/identity/tokens/token-format.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { operatorCall } from '../../composition/service/operator-call.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const password = 'a long passphrase'
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

const send: TestService['send'] = (method, path, options) => service.send(method, `/api/v1${path}`, options)
const admin = () => ({ token: service.adminToken })
const makeUser = async (username: string, extra: object = {}): Promise<UserId> => {
  const made = await send('POST', '/admin/users', { ...admin(), body: { username, email: `${username}@example.org`, password, ...extra } })
  if (made.status !== 201) throw new Error(made.text)
  return made.json.id as UserId
}

/** A token for one organization, as a robot account has. */
const confinedToken = async (userId: UserId, onlyOrgId: OrgId): Promise<string> => {
  const { container } = service.running
  const value = makeAccessToken(container.resolve(EntropyToken), container.resolve(TokenDigestToken))
  await container.resolve(IdentityUnitOfWorkToken).run(operatorCall('test.confinedToken'), async (stores) => {
    const hash = container.resolve(TokenDigestToken).digest(value)
    const facts = { name: `confined-${onlyOrgId}`, lastEight: value.slice(-8), scopeWords: ['all'], createdBy: undefined, expiresAt: undefined }
    await stores.tokens.insert({ userId, hash, onlyOrgId, createdAt: new Date(), ...facts })
    return right(undefined)
  })
  return value
}

const ownThings = [
  ['GET', '/user/emails'],
  ['GET', '/user/settings'],
  ['GET', '/user/settings/profile'],
  ['GET', '/user/settings/security/sessions/'],
  ['GET', '/user/settings/tokens/access-tokens/'],
  ['GET', '/user/followers'],
  ['PATCH', '/user/settings', { full_name: 'x' }],
  ['POST', '/user/emails', { emails: ['more@example.org'] }],
  ['POST', '/user/settings/tokens/access-tokens/', { name: 'more' }],
  ['PUT', '/user/following/admin'],
] as const

test('a user whose password must be changed reaches that change, the profile and the way out, and nothing else', async (t) => {
  await makeUser('forced', { must_change_password: true })
  const opened = await send('POST', '/user/signin', { body: { username: 'forced', password } })
  t.is(opened.status, 200)
  const cookies = [opened.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] as string)
  const csrf = cookies.find((cookie) => cookie.startsWith('_csrf='))?.slice('_csrf='.length) ?? ''
  const bySession = { headers: { Cookie: cookies.join('; '), 'X-Csrf-Token': csrf } }
  const byPassword = { basic: ['forced', password] } as const
  const token = await service.tokenFor('forced')
  for (const by of [bySession, byPassword]) {
    for (const [method, path, body] of [...ownThings, ['GET', '/users/forced/tokens'], ['GET', '/orgs/forced/members']] as const) {
      const refused = await send(method, path, { ...by, ...(body === undefined ? {} : { body }) })
      if ('basic' in by || !path.endsWith('/tokens')) t.is(`${refused.status} ${refused.json.code}`, '403 PasswordChangeRequired', `${method} ${path}`)
      if (refused.status === 403) t.true((refused.json.message as string).includes('/user/settings/account/password'))
    }
    t.is((await send('GET', '/user', by)).json.login, 'forced')
    // On a public route such a user is nobody.
    t.is((await send('GET', '/users/forced', by)).json.email, (await send('GET', '/users/forced')).json.email)
  }
  t.is((await send('GET', '/user/emails', { token })).status, 200, 'tokens are not concerned')
  const change = (text: string) => send('POST', '/user/settings/account/password', { ...bySession, body: { old_password: password, password: text } })
  t.is((await change(password)).status, 422)
  t.is((await change('another long phrase')).status, 200)
  t.is((await send('GET', '/user/emails', bySession)).status, 200)
  t.is((await send('GET', '/user/emails', { basic: ['forced', 'another long phrase'] })).status, 200)
  t.is((await send('GET', '/user/signout', bySession)).status, 200)
})

test('a user made without saying so need not change the password', async (t) => {
  await makeUser('free')
  t.is((await send('GET', '/user/emails', { basic: ['free', password] })).status, 200)
})

test('a token for one organization, or for public objects, does not reach its owner’s own things', async (t) => {
  const userId = await makeUser('holder')
  const ownToken = await service.tokenFor('holder')
  const [inside, outside] = await Promise.all(
    ['inside', 'outside'].map(async (username) => (await send('POST', '/orgs', { token: ownToken, body: { username, visibility: 'private' } })).json.id as OrgId),
  )
  const confined = await confinedToken(userId, inside as OrgId)
  const publicOnly = await service.tokenFor('holder', ['all', 'public-only'])
  for (const token of [confined, publicOnly]) {
    for (const [method, path, body] of ownThings) {
      const refused = await send(method, path, { token, ...(body === undefined ? {} : { body }) })
      t.is(`${refused.status} ${refused.json.code}`, '403 AccessDenied', `${method} ${path}`)
    }
    const caller = await send('GET', '/user', { token })
    t.is(caller.json.login, 'holder')
    t.not(caller.json.email, 'holder@example.org')
    t.is((await send('GET', '/orgs/outside', { token })).status, 404)
    t.is((await send('GET', '/orgs/outside/members', { token })).status, 404)
    t.is((await send('DELETE', '/orgs/inside', { token: publicOnly })).status, 404)
  }
  t.is((await send('GET', '/orgs/inside/members', { token: confined })).status, 200)
  t.deepEqual((await send('GET', '/user/orgs', { token: confined })).json.map(({ id }: { id: number }) => id), [inside])
  t.deepEqual((await send('GET', '/user/orgs', { token: publicOnly })).json, [])
  t.true(outside !== inside)
})

test('refused sign-ins and Basic passwords are in the log of the account, many of them as one row with a count', async (t) => {
  await makeUser('watched')
  const token = await service.tokenFor('watched')
  for (let i = 0; i < 3; i++) {
    await send('POST', '/user/signin', { body: { username: 'watched', password: 'wrong' } })
    await send('GET', '/user', { basic: ['Watched@example.org', 'wrong'] })
  }
  const seen = async () => (await send('GET', '/user/audit?action=user.sign_in_refused', { token })).json as { action: string; operation: string; tenant_id: number }[]
  let events = await seen()
  for (let i = 0; i < 50 && events.length < 2; i++) events = await seen()
  t.deepEqual(events.map(({ action }) => action), ['user.sign_in_refused', 'user.sign_in_refused'])
})

test('an administrator unlocks by route: 204, 404 for an unknown user and for an organization, 403 for others', async (t) => {
  await makeUser('stuck')
  for (let i = 0; i < 5; i++) await send('GET', '/user', { basic: ['stuck', 'wrong'] })
  t.is((await send('GET', '/user', { basic: ['stuck', password] })).status, 401)
  const stranger = await service.tokenFor('free').catch(async () => (await makeUser('free'), service.tokenFor('free')))
  t.is((await send('POST', '/admin/users/stuck/unlock', { token: stranger })).status, 403)
  t.is((await send('POST', '/admin/users/stuck/unlock', admin())).status, 204)
  t.is((await send('GET', '/user', { basic: ['stuck', password] })).status, 200)
  t.is((await send('POST', '/admin/users/no-such-one/unlock', admin())).status, 404)
})
