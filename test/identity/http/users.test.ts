import test from 'ava'
import { adminEditUser, adminListUsers, adminSearchEmails } from '../../../plugins/identity/accounts/admin.routes.ts'
import {
  followUser,
  listFollowers,
  listOwnFollowers,
  listOwnFollowing,
  unfollowUser,
  getUser,
  searchUsers,
} from '../../../plugins/identity/accounts/users.routes.ts'
import {
  validateEmail,
  validateOrgname,
  validateUsername,
} from '../../../plugins/identity/accounts/registration.routes.ts'
import { editUserSettings } from '../../../plugins/identity/accounts/settings.routes.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import { makeHttpFixture, sameBytes } from './http-fixture.ts'

const fixture = makeHttpFixture()
const { clientOf, clientOfAdmin, makeUser, send } = fixture
test.before(fixture.start)
test.after.always(fixture.stop)

test('the visible fields of a user depend on the caller', async (t) => {
  const [self, other] = [await fixture.service.tokenFor('ada'), await fixture.service.tokenFor('bob')]
  const seen = (token?: string) =>
    valueOf(
      clientAs(fixture.service, token === undefined ? {} : { token }).call(getUser, { params: { username: 'ADA' } }),
    )
  t.like(await seen(), { login: 'ada', email: 'ada@noreply.localhost', active: false, login_name: '', language: '' })
  t.like(await seen(other), { email: 'ada@noreply.localhost', active: false, last_login: undefined })
  t.like(await seen(self), { email: 'ada@example.org', active: true, login_name: 'ada' })
  t.like(await seen(fixture.service.adminToken), { email: 'ada@example.org', active: true })
  t.is(
    (await valueOf(clientAs(fixture.service, { token: self }).call(editUserSettings, { body: { hide_email: false } })))
      .hide_email,
    false,
  )
  t.like(await seen(other), { email: 'ada@example.org', active: false })
  t.like(await seen(), { email: 'ada@noreply.localhost' })
  await makeUser('hidden', { visibility: 'private' })
  t.is((await send('GET', '/users/hidden', { token: other })).status, 404)
  const [missing, hidden] = [await send('GET', '/users/nobody'), await send('GET', '/users/hidden')]
  t.deepEqual(sameBytes(hidden), sameBytes(missing))
  t.is((await send('GET', '/users/hidden', { token: fixture.service.adminToken })).status, 200)
})

test('search finds parts and words of names, and addresses for site admins', async (t) => {
  await makeUser('otherIt', { full_name: 'Olive Tamarind' })
  const admin = clientOfAdmin()
  const found = async (q: string, token: string) =>
    (await valueOf(clientAs(fixture.service, { token }).call(searchUsers, { query: { q } }))).items.map(
      ({ login }) => login,
    )
  const bob = await fixture.service.tokenFor('bob')
  for (const q of ['It', 'herit', 'HERIT', 'tamar', 'olive T']) t.true((await found(q, bob)).includes('otherIt'), q)
  t.deepEqual(await found('it@exam', bob), [])
  t.deepEqual(await found('it@exam', fixture.service.adminToken), ['otherIt'])
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
      await found('herit', fixture.service.adminToken),
      await found('herit', await fixture.service.tokenFor('otherIt')),
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
  const [ada, eve] = [await fixture.service.tokenFor('ada'), await fixture.service.tokenFor('eve')]
  const [callsOfAda, callsOfEve] = [
    clientAs(fixture.service, { token: ada }),
    clientAs(fixture.service, { token: eve }),
  ]
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
})

test('a user follows existing others, and users see the followers', async (t) => {
  const eve = await fixture.service.tokenFor('eve')
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

test('address questions are limited for each user and identity', async (t) => {
  await makeUser('asker')
  const [token, as] = [await fixture.service.tokenFor('asker'), await fixture.service.tokenFor('eve')]
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
    (await ask({ token: fixture.service.adminToken }, 'bob', '&sudo=asker')).status,
    200,
    'the one who acts is the one who asks',
  )
})
