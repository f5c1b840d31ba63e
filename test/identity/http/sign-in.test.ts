import test from 'ava'
import { getCaller } from '../../../plugins/identity/accounts/users.routes.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import { adminPassword } from '../../support/service.ts'
import { cookieValue, cookiesOf, makeHttpFixture, newPassword, password, sameBytes } from './http-fixture.ts'

const fixture = makeHttpFixture()
const { makeUser, send, signIn } = fixture
test.before(fixture.start)
test.after.always(fixture.stop)

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

/** A session of a new user: its cookies, and a request that changes something with it. */
const openSession = async (login: string) => {
  await makeUser(login)
  const opened = await signIn(login)
  const [session, csrf] = [cookieValue(opened, 'moorage_session'), cookieValue(opened, '_csrf')]
  const headers = { Cookie: `moorage_session=${session}; _csrf=${csrf}` }
  const follow = (more: Record<string, string> = {}) =>
    send('PUT', '/user/following/ada', { headers: { ...headers, ...more } })
  return { opened, session, csrf, headers, follow }
}

test('a session has an opaque cookie for the browser and one for its scripts', async (t) => {
  const { opened, session, csrf } = await openSession('cookies')
  t.is(opened.status, 200)
  t.is(opened.text, '')
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
})

test('a browser with a remembered login signs in while its network is locked', async (t) => {
  await makeUser('locked-out')
  const first = await signIn('locked-out', password, { remember: true })
  const Cookie = `moorage_session_remember=${cookieValue(first, 'moorage_session_remember')}`
  const body = { username: 'locked-out', password }
  for (let i = 0; i < 5; i++) await signIn('locked-out', 'wrong')
  t.is((await send('POST', '/user/signin', { body })).status, 404)
  t.is((await send('POST', '/user/signin', { body, headers: { Cookie: `${Cookie}x` } })).status, 404)
  t.is((await send('POST', '/user/signin', { body, headers: { Cookie } })).status, 200)
})

test('a user signs in with an internationalized domain as it was typed', async (t) => {
  const email = 'idn@bücher.org'
  await send('POST', '/admin/users', { token: fixture.service.adminToken, body: { username: 'idn', email, password } })
  t.is((await signIn(email)).status, 200)
  t.is((await signIn('idn@xn--bcher-kva.org')).status, 200)
  t.is((await send('GET', '/user', { basic: [email, password] })).status, 200)
  const own = await send('GET', '/user/emails', { basic: ['idn', password] })
  t.like(own.json[0], { email: 'idn@xn--bcher-kva.org', display_email: email })
  const found = await send('GET', `/admin/emails/search?q=${encodeURIComponent('idn@bücher.org')}`, {
    token: fixture.service.adminToken,
  })
  t.is(found.json.length, 1)
})

test('a session reads, and changes need its CSRF value and the same site', async (t) => {
  const { csrf, headers, follow } = await openSession('csrf')
  t.is((await send('GET', '/user', { headers })).json.login, 'csrf')
  t.is((await follow()).status, 403)
  t.is((await follow({ 'X-Csrf-Token': 'x' })).status, 403)
  t.is((await follow({ 'X-Csrf-Token': csrf, 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  t.is((await follow({ 'X-Csrf-Token': csrf })).status, 204)
})

test('a remembered sign-in sets a cookie, and its CSRF value is its own', async (t) => {
  const { follow } = await openSession('lasting')
  const second = await signIn('lasting', password, { remember: true })
  t.true(
    cookiesOf(second).some((cookie) =>
      /^moorage_session_remember=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/.test(cookie),
    ),
  )
  t.true(cookiesOf(second).some((cookie) => cookie.startsWith('moorage_session=') && !/Max-Age|Expires/i.test(cookie)))
  t.is((await follow({ 'X-Csrf-Token': cookieValue(second, '_csrf') })).status, 403, 'a value of another session')
})

test('signing out ends the session alone, and not from another site', async (t) => {
  const { headers } = await openSession('leaver')
  const second = await signIn('leaver', password, { remember: true })
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

test('a changed password: old one needed, other sessions end, tokens stay', async (t) => {
  await makeUser('pass')
  const token = await fixture.service.tokenFor('pass')
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

test("a password near the account's name or address is refused everywhere", async (t) => {
  await makeUser('wary')
  const token = await fixture.service.tokenFor('wary')
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
      (
        await send('POST', '/admin/users/wary/change-password', {
          token: fixture.service.adminToken,
          body: { password: weak },
        })
      ).status,
      422,
      weak,
    )
    t.is(
      (await send('PATCH', '/admin/users/wary', { token: fixture.service.adminToken, body: { password: weak } }))
        .status,
      400,
      weak,
    )
  }
  t.is((await signIn('wary')).status, 200)
})

test('GET /user lists client organizations on request, and no secret is logged', async (t) => {
  const token = await fixture.service.tokenFor('eve')
  t.is(
    (await valueOf(clientAs(fixture.service, { token }).call(getCaller, { query: { check_client_org: 'true' } })))
      .clientOrgUser,
    false,
  )
  t.is((await send('GET', '/user?check_client_org=maybe', { token })).status, 200)
  const session = cookieValue(await signIn('eve'), 'moorage_session')
  const text = fixture.service.logText()
  for (const value of [token, session, password, newPassword, adminPassword, fixture.service.adminToken])
    t.false(text.includes(value))
})
