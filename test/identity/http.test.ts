import test from 'ava'
import type { TypeOf } from 'io-ts'
import {
  adminDeleteUser,
  adminEditUser,
  adminListUsers,
  adminSearchEmails,
} from '../../plugins/identity/accounts/admin.routes.ts'
import {
  followUser,
  listFollowers,
  listOwnFollowers,
  listOwnFollowing,
  unfollowUser,
  getCaller,
  getUser,
  searchUsers,
} from '../../plugins/identity/accounts/users.routes.ts'
import {
  validateEmail,
  validateOrgname,
  validateUsername,
} from '../../plugins/identity/accounts/registration.routes.ts'
import {
  editProfile,
  editUserSettings,
  getProfile,
  getUserSettings,
} from '../../plugins/identity/accounts/settings.routes.ts'
import type { EditUserOption, UserSettingsOptions } from '../../plugins/identity/accounts/codecs.ts'
import { addEmails, listEmails, removeEmails } from '../../plugins/identity/emails/emails.routes.ts'
import {
  createSettingsToken,
  createToken,
  deleteSettingsTokens,
  deleteToken,
  listSettingsTokens,
  listTokens,
} from '../../plugins/identity/tokens/tokens.routes.ts'
import type { Loose } from '../../plugins/kit/client.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import type { TestService } from '../support/service.ts'
import { adminPassword, startService } from '../support/service.ts'
import type { ServiceAnswer } from '../support/send-json.ts'

let service: TestService
const password = 'a long passphrase'
const newPassword = 'another long phrase'
test.before(async () => {
  service = await startService()
  for (const login of ['ada', 'bob', 'eve']) await makeUser(login)
})
test.after.always(() => service?.stop())

const send = (...args: Parameters<TestService['send']>) => service.send(args[0], `/api/v1${args[1]}`, args[2])
const clientOf = async (login: string) => clientAs(service, { token: await service.tokenFor(login) })
const clientOfAdmin = () => clientAs(service, { token: service.adminToken })
const makeUser = (login: string, extra: object = {}) =>
  send('POST', '/admin/users', {
    token: service.adminToken,
    body: { username: login, email: `${login}@example.org`, password, ...extra },
  })
const signIn = (username: string, text = password, extra: object = {}) =>
  send('POST', '/user/signin', { body: { username, password: text, ...extra } })
const cookiesOf = (answer: ServiceAnswer): readonly string[] => [answer.headers['set-cookie'] ?? []].flat()
const cookieValue = (answer: ServiceAnswer, name: string): string =>
  cookiesOf(answer)
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.slice(name.length + 1)
    .split(';')[0] ?? ''
const basicHeader = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
/** What must not differ between two refusals: everything but the request's own id and the time. */
const sameBytes = (answer: ServiceAnswer) => {
  const { 'x-request-id': _id, date: _date, 'ratelimit-remaining': _left, ...headers } = answer.headers
  return { status: answer.status, headers, text: answer.text.replace(/"requestId":"[^"]*"/, '') }
}

test('unknown user and wrong password are one answer, byte for byte', async (t) => {
  const wrong = await signIn('ada', 'wrong')
  t.is(wrong.status, 404)
  for (const [name, text] of [
    ['nobody', 'wrong'],
    ['', ''],
    ['ada', ''],
    ['nobody@example.org', 'wrong'],
    ['x'.repeat(3000), 'y'],
    ['a b/c', 'd'],
  ] as const) {
    t.deepEqual(sameBytes(await signIn(name, text)), sameBytes(wrong), name)
  }
  const basic = await send('GET', '/user', { basic: ['ada', 'wrong'] })
  t.is(basic.status, 401)
  t.deepEqual(sameBytes(await send('GET', '/user', { basic: ['nobody', 'wrong'] })), sameBytes(basic))
  for (const body of [{}, { username: 'ada' }, { username: 1, password: 'x' }, { username: 'ada', password: null }]) {
    t.is((await send('POST', '/user/signin', { body })).status, 422, JSON.stringify(body))
  }
})

test('a session: cookies, what they open, and how they end', async (t) => {
  const opened = await signIn('bob')
  t.is(opened.status, 200)
  t.is(opened.text, '')
  const [session, csrf] = [cookieValue(opened, 'moorage_session'), cookieValue(opened, '_csrf')]
  t.true(session.length >= 43 && csrf.length >= 43)
  t.true(
    cookiesOf(opened).some(
      (cookie) =>
        cookie.startsWith('moorage_session=') &&
        /HttpOnly/i.test(cookie) &&
        /SameSite=Lax/i.test(cookie) &&
        !/Max-Age|Expires/i.test(cookie),
    ),
  )
  t.true(cookiesOf(opened).some((cookie) => cookie.startsWith('_csrf=') && !/HttpOnly/i.test(cookie)))
  const headers = { Cookie: `moorage_session=${session}; _csrf=${csrf}` }
  const follow = (more: Record<string, string> = {}) =>
    send('PUT', '/user/following/ada', { headers: { ...headers, ...more } })
  t.is((await send('GET', '/user', { headers })).json.login, 'bob')
  t.is((await follow()).status, 403)
  t.is((await follow({ 'X-Csrf-Token': 'x' })).status, 403)
  t.is((await follow({ 'X-Csrf-Token': csrf, 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  t.is((await follow({ 'X-Csrf-Token': csrf })).status, 204)
  const second = await signIn('bob', password, { remember: true })
  t.true(
    cookiesOf(second).some((cookie) =>
      /^moorage_session_remember=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/.test(cookie),
    ),
  )
  t.true(cookiesOf(second).some((cookie) => cookie.startsWith('moorage_session=') && !/Max-Age|Expires/i.test(cookie)))
  t.is((await follow({ 'X-Csrf-Token': cookieValue(second, '_csrf') })).status, 403, 'a value of another session')
  t.is((await send('GET', '/user/signout', { headers: { ...headers, 'Sec-Fetch-Site': 'cross-site' } })).status, 403)
  const ended = await send('GET', '/user/signout', { headers })
  t.is(ended.status, 200)
  t.true(cookiesOf(ended).some((cookie) => /^moorage_session=;/.test(cookie)))
  t.is((await send('GET', '/user', { headers })).status, 401)
  t.is(
    (await send('GET', '/user', { headers: { Cookie: `moorage_session=${cookieValue(second, 'moorage_session')}` } }))
      .status,
    200,
  )
})

test('sessions are listed and revoked by their user alone', async (t) => {
  await makeUser('sess')
  const [first, second] = [await signIn('sess'), await signIn('sess')]
  const headers = {
    Cookie: `moorage_session=${cookieValue(first, 'moorage_session')}`,
    'X-Csrf-Token': cookieValue(first, '_csrf'),
  }
  const listed = await send('GET', '/user/settings/security/sessions/', { headers })
  t.deepEqual(
    listed.json.map((session: { isActiveSession: boolean }) => session.isActiveSession),
    [false, true],
  )
  const sid = listed.json[0].id
  t.is(
    (await send('DELETE', `/user/settings/security/sessions/${sid}/revoke`, { basic: ['ada', password] })).status,
    404,
  )
  const left = await send('DELETE', `/user/settings/security/sessions/${sid}/revoke`, { headers })
  t.deepEqual([left.status, left.json.length], [200, 1])
  t.is(
    (await send('GET', '/user', { headers: { Cookie: `moorage_session=${cookieValue(second, 'moorage_session')}` } }))
      .status,
    401,
  )
})

test('every carrier of a token works, and two different ones at once do not', async (t) => {
  await makeUser('carrier')
  const basic = ['carrier', password] as const
  const client = clientAs(service, { basic })
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
  t.is((await send('GET', `/user?token=${token}`, { token: service.adminToken })).status, 401)
  const listed = await client.call(listTokens, { params })
  t.false(listed.text.includes(token))
  t.is(listed.ok && listed.value.total, 1)
  // A token in the place of the password manages no tokens.
  for (const headers of carriers) t.is((await send('GET', '/users/carrier/tokens', { headers })).status, 401)
  t.is((await client.call(deleteToken, { params: { ...params, id: String(made?.id) } })).status, 204)
  t.is((await send('GET', '/user', { token })).status, 401)
})

test('tokens: what is refused, and with which status', async (t) => {
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
  const token = await service.tokenFor('shape')
  const made = await send('POST', '/user/settings/tokens/access-tokens/', { token, body: { name: 'a', expTime: 0 } })
  t.is(made.status, 201)
  t.like(made.json, { name: 'a', expDate: 0, hasUsed: false, hasRecentActivity: false })
  t.regex(made.json.token, /^moor_/)
  const client = clientAs(service, { token })
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
  const narrow = await service.tokenFor('shape', ['write:user'])
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
    (await valueOf(clientAs(service, { token: narrow }).call(createSettingsToken, { body: { name: 'same' } }))).scopes,
    ['write:user'],
  )
})

test('a scope opens its category and nothing else', async (t) => {
  const token = await service.tokenFor('admin', ['read:user', 'read:admin'])
  t.is((await send('GET', '/user', { token })).status, 200)
  t.is((await send('GET', '/admin/users', { token })).status, 200)
  t.is((await send('POST', '/user/emails', { token, body: { emails: ['z@x.org'] } })).status, 403)
  t.is((await send('POST', '/admin/users', { token, body: {} })).status, 403)
  const reader = await service.tokenFor('ada', ['all'])
  const publicOnly = await service.tokenFor('admin', ['all', 'public-only'])
  await makeUser('limited', { visibility: 'limited' })
  t.is((await send('GET', '/users/limited', { token: reader })).status, 200)
  t.is((await send('GET', '/users/limited', { token: publicOnly })).status, 404)
  t.like(await valueOf(clientAs(service, { token: publicOnly }).call(getCaller)), {
    login: 'admin',
    email: 'admin@noreply.localhost',
    is_admin: false,
  })
  t.is((await send('GET', '/admin/users', { token: reader })).status, 403)
  t.is((await send('GET', '/admin/users')).status, 401)
})

test('who sees what of a user', async (t) => {
  const [self, other] = [await service.tokenFor('ada'), await service.tokenFor('bob')]
  const seen = (token?: string) =>
    valueOf(clientAs(service, token === undefined ? {} : { token }).call(getUser, { params: { username: 'ADA' } }))
  t.like(await seen(), { login: 'ada', email: 'ada@noreply.localhost', active: false, login_name: '', language: '' })
  t.like(await seen(other), { email: 'ada@noreply.localhost', active: false, last_login: undefined })
  t.like(await seen(self), { email: 'ada@example.org', active: true, login_name: 'ada' })
  t.like(await seen(service.adminToken), { email: 'ada@example.org', active: true })
  t.is(
    (await valueOf(clientAs(service, { token: self }).call(editUserSettings, { body: { hide_email: false } })))
      .hide_email,
    false,
  )
  t.like(await seen(other), { email: 'ada@example.org', active: false })
  t.like(await seen(), { email: 'ada@noreply.localhost' })
  await makeUser('hidden', { visibility: 'private' })
  t.is((await send('GET', '/users/hidden', { token: other })).status, 404)
  const [missing, hidden] = [await send('GET', '/users/nobody'), await send('GET', '/users/hidden')]
  t.deepEqual(sameBytes(hidden), sameBytes(missing))
  t.is((await send('GET', '/users/hidden', { token: service.adminToken })).status, 200)
})

test('search: the middle of a name, words of a full name; addresses for site admins alone', async (t) => {
  await makeUser('otherIt', { full_name: 'Olive Tamarind' })
  const admin = clientOfAdmin()
  const found = async (q: string, token: string) =>
    (await valueOf(clientAs(service, { token }).call(searchUsers, { query: { q } }))).items.map(({ login }) => login)
  const bob = await service.tokenFor('bob')
  for (const q of ['It', 'herit', 'HERIT', 'tamar', 'olive T']) t.true((await found(q, bob)).includes('otherIt'), q)
  t.deepEqual(await found('it@exam', bob), [])
  t.deepEqual(await found('it@exam', service.adminToken), ['otherIt'])
  t.deepEqual(
    (await valueOf(admin.call(adminListUsers, { query: { q: 'it@exam' } }))).items.map(({ login }) => login),
    ['otherIt'],
  )
  t.deepEqual(
    (await valueOf(admin.call(adminSearchEmails, { query: { q: 'herIT@' } }))).items.map(({ username }) => username),
    ['otherIt'],
  )
  await valueOf(admin.call(adminEditUser, { params: { username: 'otherIt' }, body: { visibility: 'private' } }))
  t.deepEqual(
    [
      await found('herit', bob),
      await found('herit', service.adminToken),
      await found('herit', await service.tokenFor('otherIt')),
    ],
    [[], ['otherIt'], ['otherIt']],
  )
})

test('search: prefix, no wildcards, limits', async (t) => {
  const found = async (query: string) => (await send('GET', `/users/search?${query}`)).json
  t.like(await found('q=AD'), { ok: true })
  t.deepEqual(
    (await found('q=ad')).data.map((user: { login: string }) => user.login),
    ['ada', 'admin'],
  )
  t.deepEqual((await found('q=%25')).data, [])
  t.deepEqual((await found('q=_d')).data, [])
  t.is((await found('q=ad&limit=1')).data.length, 1)
  const uid = (await send('GET', '/users/bob')).json.id
  t.deepEqual(
    (await found(`uid=${uid}`)).data.map((user: { login: string }) => user.login),
    ['bob'],
  )
  for (const query of ['', 'limit=0', 'limit=-5', 'limit=100000', 'uid=0'])
    t.is((await send('GET', `/users/search?${query}`)).status, 200, query)
  for (const id of ['9007199254740993', '9223372036854775807', '-1'])
    t.deepEqual((await found(`uid=${id}`)).data, [], id)
  for (const query of ['uid=x', 'uid=9223372036854775808'])
    t.is((await send('GET', `/users/search?${query}`)).status, 400, query)
})

test('following from both sides, paged', async (t) => {
  const [ada, eve] = [await service.tokenFor('ada'), await service.tokenFor('eve')]
  const [callsOfAda, callsOfEve] = [clientAs(service, { token: ada }), clientAs(service, { token: eve })]
  const params = { username: 'bob' }
  t.is((await callsOfEve.call(followUser, { params })).status, 204)
  t.is((await callsOfEve.call(followUser, { params })).status, 204)
  t.is((await callsOfAda.call(followUser, { params })).status, 204)
  t.is((await send('GET', '/user/following/bob', { token: eve })).status, 204)
  t.is((await send('GET', '/users/eve/following/bob', { token: ada })).status, 204)
  t.is((await send('GET', '/users/bob/following/eve', { token: ada })).status, 404)
  const first = await callsOfAda.call(listFollowers, { params, page: { page: 1, limit: 1 } })
  t.deepEqual(first.ok && [first.value.items.map(({ login }) => login), first.value.total], [['ada'], 2])
  t.regex(String(first.headers['link']), /page=2.*rel="next"/)
  t.is((await send('GET', '/users/bob/followers?page=0&limit=0', { token: ada })).json.length, 2)
  t.deepEqual(
    (await valueOf(callsOfEve.call(listOwnFollowing))).items.map(({ login }) => login),
    ['bob'],
  )
  t.is((await valueOf((await clientOf('bob')).call(listOwnFollowers))).items.length, 2)
  t.is((await callsOfEve.call(unfollowUser, { params })).status, 204)
  t.is((await callsOfEve.call(unfollowUser, { params })).status, 204)
  t.is((await send('GET', '/user/following/bob', { token: eve })).status, 404)
  t.is((await send('PUT', '/user/following/eve', { token: eve })).status, 403)
  for (const [method, path] of [
    ['PUT', '/user/following/nobody'],
    ['GET', '/users/nobody/followers'],
    ['GET', '/users/nobody/following/eve'],
  ] as const) {
    t.is((await send(method, path, { token: eve })).status, 404, path)
  }
  t.is((await send('GET', '/users/bob/followers')).status, 401)
})

test('addresses: 422 for what is taken, unknown or primary, never 500', async (t) => {
  await makeUser('mail')
  const token = await service.tokenFor('mail')
  const add = (emails: unknown) => send('POST', '/user/emails', { token, body: { emails } })
  const client = clientAs(service, { token })
  const added = await client.call(addEmails, { body: { emails: ['Second@Example.org'] } })
  t.is(added.status, 201)
  t.deepEqual(added.ok && added.value.map((email) => [email.email, email.verified, email.primary]), [
    ['mail@example.org', true, true],
    ['Second@example.org', false, false],
  ])
  for (const emails of [['bob@example.org'], ['SECOND@example.org'], ['nonsense'], [], 'x@y.org', [1]])
    t.is((await add(emails)).status, 422, JSON.stringify(emails))
  const remove = (emails: unknown) => send('DELETE', '/user/emails', { token, body: { emails } })
  for (const emails of [['mail@example.org'], ['bob@example.org'], ['unknown@example.org']])
    t.is((await remove(emails)).status, 422, JSON.stringify(emails))
  t.is((await client.call(removeEmails, { body: { emails: ['second@example.org'] } })).status, 204)
  t.is((await valueOf(client.call(listEmails))).total, 1)
})

test('settings: what is absent stays, an empty text clears, mistakes are 422', async (t) => {
  await makeUser('prof', { full_name: 'Prof' })
  const token = await service.tokenFor('prof')
  const client = clientAs(service, { token })
  t.like(await valueOf(client.call(editUserSettings, { body: { location: 'Here', website: 'https://x.example' } })), {
    full_name: 'Prof',
    location: 'Here',
  })
  t.like(await valueOf(client.call(editUserSettings, { body: { location: '' } })), {
    full_name: 'Prof',
    location: '',
    website: 'https://x.example',
  })
  for (const body of [
    { website: 'ftp://x' },
    { language: '??' },
    { full_name: 'x'.repeat(101) },
    { hide_email: 'yes' },
  ]) {
    t.is((await send('PATCH', '/user/settings', { token, body })).status, 422, JSON.stringify(body))
  }
  const profile = await valueOf(
    client.call(editProfile, {
      body: { name: 'prof', email: 'prof@example.org', description: 'd', keep_email_private: false },
    }),
  )
  t.like(profile, { name: 'prof', description: 'd', keep_email_private: false, email: 'prof@example.org' })
  t.is((await send('POST', '/user/settings/profile', { token, body: { name: 'other' } })).status, 422)
  t.deepEqual(await valueOf(client.call(getProfile)), profile)
})

test('settings: a language is cleared, or read in its usual spelling; what user interfaces need is kept', async (t) => {
  await makeUser('polly')
  const token = await service.tokenFor('polly')
  const client = clientAs(service, { token })
  const edit = (body: Loose<TypeOf<typeof UserSettingsOptions>>) => valueOf(client.call(editUserSettings, { body }))
  const spellings = {
    de_de: 'de-DE',
    'EN-us': 'en-US',
    zh_hant_tw: 'zh-Hant-TW',
    fr: 'fr',
    'sr-latn': 'sr-Latn',
    en_t_jp: 'en-t-jp',
    '': '',
  }
  for (const [sent, kept] of Object.entries(spellings)) {
    t.is((await edit({ language: sent })).language, kept, sent)
  }
  t.is((await valueOf(client.call(getUserSettings))).language, '')
  t.is((await valueOf(client.call(editProfile, { body: { language: 'pt_br' } }))).language, 'pt-BR')
  t.is(
    (await valueOf(clientOfAdmin().call(adminEditUser, { params: { username: 'polly' }, body: { language: '' } })))
      .language,
    '',
  )
  const chosen = { theme: 'forgejo-dark', diff_view_style: 'split', hide_activity: true }
  t.like(await edit(chosen), chosen)
  t.like(await edit({ location: 'Leeds' }), { ...chosen, location: 'Leeds' })
  t.like(await valueOf(client.call(getUserSettings)), chosen)
  t.like(await edit({ theme: '' }), { ...chosen, theme: '' })
  for (const body of [
    { theme: 'x'.repeat(65) },
    { hide_activity: 'yes' },
    { diff_view_style: 7 },
    { language: 'de--de' },
    { language: 'd' },
  ])
    t.is((await send('PATCH', '/user/settings', { token, body })).status, 422, JSON.stringify(body))
})

test('clients of this family ask for keys at sign-in: there are none', async (t) => {
  await makeUser('keyless')
  const token = await service.tokenFor('keyless')
  for (const path of ['/user/keys', '/user/gpg_keys', '/user/keys?page=1&limit=50']) {
    const { status, text } = await send('GET', path, { token })
    t.deepEqual([status, text], [200, '[]\n'], path)
    t.is((await send('GET', path)).status, 401)
  }
})

test('a changed password: old one needed, other sessions end, tokens stay', async (t) => {
  await makeUser('pass')
  const token = await service.tokenFor('pass')
  const session = { Cookie: `moorage_session=${cookieValue(await signIn('pass'), 'moorage_session')}` }
  const change = (body: object) => send('POST', '/user/settings/account/password', { token, body })
  t.is((await change({ old_password: 'wrong', password: newPassword, retype: newPassword })).status, 403)
  t.is((await change({ old_password: password, password: newPassword, retype: 'other' })).status, 422)
  for (const weak of ['short', 'qwerty123456', 'pass@example.org', 'x'.repeat(257)])
    t.is((await change({ old_password: password, password: weak })).status, 422, weak)
  t.is((await send('GET', '/user', { headers: session })).status, 200)
  t.is((await change({ old_password: password, password: newPassword, retype: newPassword })).status, 200)
  t.is((await send('GET', '/user', { headers: session })).status, 401)
  t.is((await send('GET', '/user', { token })).status, 200)
  t.is((await signIn('pass')).status, 404)
  t.is((await signIn('pass', newPassword)).status, 200)
})

test('a password that is close to any address of the account, or to a word of its name, is refused on every route', async (t) => {
  await makeUser('wary')
  const token = await service.tokenFor('wary')
  t.is(
    (await send('POST', '/user/emails', { token, body: { emails: ['windsurfing.harbour@fjord.example.net'] } })).status,
    201,
  )
  t.is((await send('PATCH', '/user/settings', { token, body: { full_name: 'Bartholomew Featherstone' } })).status, 200)
  for (const weak of ['windsurfing.harbour', 'fjord.example.net', 'Featherstone-15']) {
    t.is(
      (
        await send('POST', '/user/settings/account/password', {
          token,
          body: { old_password: password, password: weak },
        })
      ).status,
      422,
      weak,
    )
    t.is(
      (await send('POST', '/admin/users/wary/change-password', { token: service.adminToken, body: { password: weak } }))
        .status,
      422,
      weak,
    )
    t.is(
      (await send('PATCH', '/admin/users/wary', { token: service.adminToken, body: { password: weak } })).status,
      400,
      weak,
    )
  }
  t.is((await signIn('wary')).status, 200)
})

test('administration: making, changing, shutting and deleting users', async (t) => {
  const token = service.adminToken
  const make = (body: object) =>
    send('POST', '/admin/users', { token, body: { username: 'fresh', email: 'fresh@example.org', password, ...body } })
  for (const [body, status] of [
    [{ password: 'short' }, 400],
    [{ username: 'api' }, 422],
    [{ username: 'ADA' }, 422],
    [{ username: 'a b' }, 422],
    [{ email: 'ADA@example.org' }, 422],
    [{ email: 'x' }, 422],
    [{ visibility: 'secret' }, 422],
    [{ password: 1 }, 422],
  ] as const)
    t.is((await make(body)).status, status, JSON.stringify(body))
  t.is((await make({ source_id: 0, login_name: 'fresh', send_notify: true, must_change_password: false })).status, 201)
  const edit = (body: object, name = 'fresh') => send('PATCH', `/admin/users/${name}`, { token, body })
  const admin = clientOfAdmin()
  const params = { username: 'fresh' }
  const change = (body: Loose<TypeOf<typeof EditUserOption>>) => valueOf(admin.call(adminEditUser, { params, body }))
  t.like(await change({ full_name: 'Fresh', location: 'L' }), {
    full_name: 'Fresh',
    location: 'L',
    email: 'fresh@example.org',
  })
  t.like(await change({ location: '' }), { full_name: 'Fresh', location: '' })
  t.is((await edit({ password: 'short' })).status, 400)
  t.is((await edit({ email: 'ada@example.org' })).status, 422)
  t.is((await edit({}, 'nobody')).status, 404)
  t.is((await edit({ admin: false }, 'admin')).status, 409)
  const own = await service.tokenFor('fresh')
  const session = { Cookie: `moorage_session=${cookieValue(await signIn('fresh'), 'moorage_session')}` }
  t.is((await edit({ prohibit_login: true })).status, 200)
  for (const credential of [{ token: own }, { headers: session }])
    t.is((await send('GET', '/user', credential)).status, 401)
  t.is((await send('GET', '/user', { basic: ['fresh', password] })).status, 403)
  const shut = await signIn('fresh')
  t.is(shut.status, 405)
  t.truthy(shut.headers['allow'])
  t.is((await signIn('fresh', 'wrong')).status, 404)
  t.is((await edit({ prohibit_login: false })).status, 200)
  t.is(
    (await send('POST', '/admin/users/fresh/change-password', { token, body: { password: newPassword } })).status,
    200,
  )
  t.is((await signIn('fresh', newPassword)).status, 200)
  t.is((await send('POST', '/admin/users/fresh/change-password', { token, body: { password: 'short' } })).status, 422)
  t.is((await send('DELETE', '/admin/users/admin', { token })).status, 422)
  const remove = async () => (await admin.call(adminDeleteUser, { params })).status
  t.deepEqual([await remove(), await remove()], [204, 404])
  t.is((await signIn('fresh', newPassword)).status, 404)
})

test('acting as another user: for admins, with that user’s rights, and not where credentials are made', async (t) => {
  const token = service.adminToken
  const acted = await send('GET', '/user?sudo=ada', { token })
  t.deepEqual([acted.json.login, acted.json.is_admin, acted.headers['x-sudo-by']], ['ada', false, 'admin'])
  t.is((await send('GET', '/user', { token, headers: { Sudo: 'Ada' } })).json.login, 'ada')
  t.is((await send('GET', '/admin/users?sudo=ada', { token })).status, 403)
  t.is((await send('GET', '/user?sudo=admin', { token: await service.tokenFor('ada') })).status, 403)
  t.is((await send('GET', '/user?sudo=nobody', { token })).status, 404)
  t.is((await send('POST', '/orgs', { token, body: { username: 'sudo-org' } })).status, 201)
  t.is((await send('GET', '/user?sudo=sudo-org', { token })).status, 422)
  t.is((await send('GET', '/users/ada/tokens?sudo=ada', { basic: ['admin', adminPassword] })).status, 403)
  for (const [method, path] of [
    ['GET', '/user/settings/tokens/access-tokens'],
    ['GET', '/user/settings/security/sessions'],
    ['POST', '/user/settings/account/password'],
    ['GET', '/user/signout'],
  ] as const) {
    t.is(
      (await send(method, `${path}?sudo=ada`, { token, ...(method === 'POST' ? { body: {} } : {}) })).status,
      403,
      path,
    )
  }
})

test('names and addresses are judged before they are sent', async (t) => {
  const client = await clientOf('ada')
  const ofName = async (user_name?: string) =>
    (await valueOf(client.call(validateUsername, { query: user_name === undefined ? {} : { user_name } }))).Status
  t.is(await ofName('free-name'), 'VALID')
  t.is(await ofName('ADA'), 'USER_EXISTS')
  t.is(await ofName('metrics'), 'RESERVED')
  t.is(await ofName('a..b'), 'INVALID')
  t.is(await ofName(), 'INVALID')
  const ofOrganizationName = async (user_name: string, org: string) =>
    (await valueOf(client.call(validateOrgname, { query: { user_name, org } }))).Status
  t.is(await ofOrganizationName('Bob', 'bob'), 'VALID')
  t.is(await ofOrganizationName('Bob', 'other'), 'USER_EXISTS')
  const ofAddress = async (email: string) => (await valueOf(client.call(validateEmail, { query: { email } }))).Status
  t.is(await ofAddress('free@example.org'), 'VALID')
  t.is(await ofAddress('BOB@example.org'), 'USER_EXISTS')
  t.is(await ofAddress('bob'), 'INVALID')
})

test('an address is asked about so often only, by one user and as one user', async (t) => {
  await makeUser('asker')
  const [token, as] = [await service.tokenFor('asker'), await service.tokenFor('eve')]
  const ask = (who: object, address: string, more = '') =>
    send('POST', `/user/validate/email?email=${address}%40example.org${more}`, who)
  const answers = []
  for (let n = 0; n < 31; n++) answers.push(await ask({ token }, `guess-${n}`))
  t.deepEqual(
    answers.map(({ status }) => status),
    [...Array.from({ length: 30 }, () => 200), 429],
  )
  const [free, taken] = [await ask({ token }, 'nobody'), await ask({ token }, 'bob')]
  t.is(free.json.code, 'TooManyAddressChecks')
  t.deepEqual(sameBytes(free).text, sameBytes(taken).text)
  t.true(Number(free.headers['retry-after']) > 0 && Number(free.headers['retry-after']) <= 3600)
  t.is(
    (await send('POST', '/user/validate/email?email=none', { token })).json.Status,
    'INVALID',
    'what tells nothing of anybody is not counted',
  )
  t.is((await ask({ token: as }, 'bob')).json.Status, 'USER_EXISTS')
  t.is(
    (await ask({ token: service.adminToken }, 'bob', '&sudo=asker')).status,
    200,
    'the one who acts is the one who asks',
  )
})

test('a token is deleted by its id or by its name; digits are an id first', async (t) => {
  await makeUser('namer')
  await makeUser('namesake')
  const basic = ['namer', password] as const
  const client = clientAs(service, { basic })
  const params = { username: 'namer' }
  const make = async (name: string, who: readonly [string, string] = basic): Promise<number> =>
    (
      await valueOf(
        clientAs(service, { basic: who }).call(createToken, { params: { username: who[0] }, body: { name } }),
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
        clientAs(service, { basic: ['namesake', password] }).call(listTokens, { params: { username: 'namesake' } }),
      )
    ).items.length,
    1,
  )
})

test('GET /user tells client organizations only when asked, and no secret is ever logged', async (t) => {
  const token = await service.tokenFor('eve')
  t.is(
    (await valueOf(clientAs(service, { token }).call(getCaller, { query: { check_client_org: 'true' } })))
      .clientOrgUser,
    false,
  )
  t.is((await send('GET', '/user?check_client_org=maybe', { token })).status, 200)
  const session = cookieValue(await signIn('eve'), 'moorage_session')
  const text = service.logText()
  for (const value of [token, session, password, newPassword, adminPassword, service.adminToken])
    t.false(text.includes(value))
})
