import test from 'ava'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { CookieJar } from '../../support/cookie-jar.ts'
import { makeCookieJar } from '../../support/cookie-jar.ts'
import { migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { codeAt } from '../one-time-code-of.ts'

let service: TestService
let db: SqlDatabase
const password = 'a long passphrase'
test.before(async () => {
  const url = `sqlite:${await migratedSqlitePath()}`
  service = await startService({ settings: { MOORAGE_DATABASE_URL: url } })
  db = await openPatiently(url)
})
test.after.always(async () => {
  await db?.close()
  await service?.stop()
})

let people = 0
const person = async (): Promise<string> => {
  const username = `person-${(people += 1)}`
  const body = { username, email: `${username}@example.org`, password, must_change_password: false }
  const made = await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
  return username
}
/** A request of a browser, which takes what the answer sets. */
const browse = async (jar: CookieJar, method: string, path: string, body?: unknown): Promise<ServiceAnswer> => {
  const answer = await service.send(method, `/api/v1${path}`, {
    headers: jar.headers(),
    ...(body === undefined ? {} : { body }),
  })
  jar.take(answer.headers)
  return answer
}
const signedIn = async (username: string, remember = false): Promise<CookieJar> => {
  const jar = makeCookieJar()
  const answer = await browse(jar, 'POST', '/user/signin', { username, password, remember })
  if (answer.status !== 200) throw new Error(answer.text)
  return jar
}
const me = (jar: CookieJar) => browse(jar, 'GET', '/user')
const idOf = async (username: string): Promise<number> =>
  (await service.send('GET', `/api/v1/users/${username}`, { token: service.adminToken })).json.id as number
/** As if nobody had used the sessions for an hour. */
const sessionsGoIdle = async (username: string) =>
  db.query((k) => k('sessions').where('user_id', id(username)).update({ idle_expires_at: 1 }))
const graceEnds = async (username: string) =>
  db.query((k) => k('remembered_logins').where('user_id', id(username)).update({ rotated_at: 1 }))
const ids = new Map<string, number>()
const id = (username: string): number => ids.get(username) as number
const known = async (): Promise<string> => {
  const username = await person()
  ids.set(username, await idOf(username))
  return username
}

test("a remember cookie beside another user's credential is refused", async (t) => {
  const [username, other] = [await known(), await known()]
  const jar = await signedIn(username, true)
  for (const name of ['moorage_session', '_csrf']) jar.drop(name)
  const ask = async (token: string) =>
    (await service.send('GET', '/api/v1/user', { headers: jar.headers(), token })).status
  t.is(await ask(await service.tokenFor(other)), 401)
  t.is(await ask(await service.tokenFor(username)), 200)
  t.is((await service.send('GET', '/api/v1/user', { headers: jar.headers(), basic: [other, password] })).status, 401)
  t.is((await me(jar)).json.login, username)
  await graceEnds(username)
  await service.send('POST', `/api/v1/admin/users/${username}/change-password`, {
    token: service.adminToken,
    body: { password: 'another long passphrase' },
  })
  t.is(await ask(await service.tokenFor(other)), 200, 'a login that has ended does not count')
})

test('a browser without remembering is signed out after its session', async (t) => {
  const username = await known()
  const jar = await signedIn(username)
  t.deepEqual(jar.names(), ['_csrf', 'moorage_session'])
  t.is((await me(jar)).json.login, username)
  t.is((await browse(jar, 'PATCH', '/user/settings', { location: 'here' })).status, 200)
  await sessionsGoIdle(username)
  t.is((await me(jar)).status, 401)
})

test('a remembered browser resumes with new cookies, and changes work', async (t) => {
  const username = await known()
  const jar = await signedIn(username, true)
  t.deepEqual(jar.names(), ['_csrf', 'moorage_session', 'moorage_session_remember'])
  const before = jar.copy()
  await sessionsGoIdle(username)
  const stale = await browse(jar.copy(), 'PATCH', '/user/settings', { location: 'here' })
  t.is(stale.status, 403)
  t.is(stale.json.code, 'CsrfTokenMissing')
  const again = await me(jar)
  t.is(again.json.login, username)
  t.is(again.headers['cache-control'], 'no-store')
  for (const name of jar.names()) t.not(jar.value(name), before.value(name), name)
  t.is((await browse(jar, 'PATCH', '/user/settings', { location: 'here' })).status, 200)
  t.is((await me(before)).status, 200, 'a tab that was a moment late')
  const listed = await browse(jar, 'GET', '/user/settings/security/sessions')
  t.true((listed.json as { remember: boolean }[]).every(({ remember }) => remember))
})

test('a browser without session cookies resumes on a public route too', async (t) => {
  const username = await known()
  const jar = await signedIn(username, true)
  jar.drop('moorage_session')
  jar.drop('_csrf')
  t.is((await browse(jar, 'GET', '/version')).status, 200)
  t.deepEqual(jar.names(), ['_csrf', 'moorage_session', 'moorage_session_remember'])
  t.is((await me(jar)).json.login, username)
})

test('a copied remember cookie: the second use is refused, and all sessions end', async (t) => {
  const username = await known()
  const owner = await signedIn(username, true)
  const elsewhere = await signedIn(username)
  const thief = owner.copy()
  await sessionsGoIdle(username)
  const another = await signedIn(username)
  t.is((await me(thief)).status, 200)
  await graceEnds(username)
  const refused = await me(owner)
  t.is(refused.status, 401)
  t.deepEqual(owner.names(), [], 'all cookies are taken away')
  for (const jar of [thief, elsewhere, another]) t.is((await me(jar)).status, 401)
  const audit = await service.send('GET', '/api/v1/admin/audit?action=user.remembered_login_stolen', {
    token: service.adminToken,
  })
  if (audit.status === 200) t.true(JSON.stringify(audit.json).includes(username))
  t.is((await me(await signedIn(username))).status, 200)
})

test('signing out ends the remembered login and removes every cookie', async (t) => {
  const username = await known()
  const jar = await signedIn(username, true)
  const copy = jar.copy()
  await sessionsGoIdle(username)
  const out = await browse(jar, 'GET', '/user/signout')
  t.is(out.status, 200)
  t.deepEqual(jar.names(), [])
  t.is((await me(copy)).status, 401)
  t.is((await db.query((k) => k('remembered_logins').where('user_id', id(username)).select('id'))).length, 0)
})

test('a request from another site neither signs out nor signs in again', async (t) => {
  const username = await known()
  for (const remember of [false, true]) {
    const jar = await signedIn(username, remember)
    if (remember) await sessionsGoIdle(username)
    const headers = { ...jar.headers(), 'Sec-Fetch-Site': 'cross-site' }
    t.is((await service.send('GET', '/api/v1/user/signout', { headers })).status, 403)
    t.is((await service.send('GET', '/api/v1/user', { headers })).status, 403)
    t.is((await me(jar)).status, 200, 'still in')
  }
})

test('signing in makes a new session key and ends the old session', async (t) => {
  const username = await known()
  const jar = makeCookieJar()
  jar.set('moorage_session', 'planted'.repeat(7))
  const answer = await browse(jar, 'POST', '/user/signin', { username, password })
  t.is(answer.status, 200)
  t.false(jar.value('moorage_session')?.includes('planted'))
  t.is(
    (await service.send('GET', '/api/v1/user', { headers: { Cookie: `moorage_session=${'planted'.repeat(7)}` } }))
      .status,
    401,
  )
  const old = jar.copy()
  t.is((await browse(jar, 'POST', '/user/signin', { username, password })).status, 200)
  t.not(jar.value('moorage_session'), old.value('moorage_session'))
  t.is((await me(old)).status, 401)
  t.is((await me(jar)).status, 200)
})

test('a sign-in without remember removes the remember cookie of the previous user', async (t) => {
  const [first, second] = [await known(), await known()]
  const jar = await signedIn(first, true)
  jar.set('moorage_bus', 'a pass of theirs')
  t.is((await browse(jar, 'POST', '/user/signin', { username: second, password })).status, 200)
  t.deepEqual(jar.names(), ['_csrf', 'moorage_session'])
  await sessionsGoIdle(second)
  t.is((await me(jar)).status, 401)
})

test('sign-in with a second factor: status, header and cookies', async (t) => {
  const username = await known()
  const basic = { basic: [username, password] } as const
  const offered = await service.send('GET', '/api/v1/user/settings/security/twofa/enroll', basic)
  t.is(offered.status, 200, offered.text)
  const seed = offered.json.twoFASecret as string
  const enrolled = await service.send('POST', '/api/v1/user/settings/security/twofa/enroll', {
    ...basic,
    body: { passCode: codeAt(seed, new Date()) },
  })
  t.is(enrolled.status, 200, enrolled.text)
  const signIn = (path: string, extra: object = {}) =>
    service.send('POST', `/api/v1/user/signin${path}`, { body: { username, password, ...extra } })
  const prohibited = await signIn('')
  t.is(prohibited.status, 405)
  t.is(prohibited.headers['allow'], 'POST')
  t.is((await signIn('', { password: 'wrong' })).status, 404)
  t.is((await signIn('/twofa', { password: 'wrong', passCode: '000000' })).status, 404)
  t.is((await signIn('/twofa', { username: 'nobody', passCode: '000000' })).status, 404)
  for (const extra of [{}, { passCode: '000000' }]) {
    const wanted = await signIn('/twofa', extra)
    t.is(wanted.status, 401)
    t.is(wanted.json.code, 'OneTimeCodeRequired')
    t.regex(String(wanted.headers['x-otp']), /required/)
  }
  t.is((await signIn('/twofa', { passCode: 7 })).status, 422)
  const jar = makeCookieJar()
  // The next step's: this one's was used up by the enrolment, and an earlier one's would be too old by the time that it
  // arrives.
  const code = codeAt(seed, new Date(), 1)
  const opened = await browse(jar, 'POST', '/user/signin/twofa', { username, password, passCode: code, remember: true })
  t.is(opened.status, 200, opened.text)
  t.deepEqual(jar.names(), ['_csrf', 'moorage_session', 'moorage_session_remember'])
  t.is((await me(jar)).json.login, username)
  t.is((await signIn('/twofa', { passCode: code })).status, 401, 'a code counts once')
  await sessionsGoIdle(username)
  t.is((await me(jar)).status, 200, 'a remembered login has proven its second factor')
})

test("a user ends all own sessions, and a site admin anyone's", async (t) => {
  const username = await known()
  const [here, elsewhere, remembered] = [
    await signedIn(username, true),
    await signedIn(username),
    await signedIn(username, true),
  ]
  const ended = await browse(here, 'DELETE', '/user/settings/security/sessions/')
  t.is(ended.status, 200)
  t.deepEqual(
    ended.json.map((one: { isActiveSession: boolean; remember: boolean }) => [one.isActiveSession, one.remember]),
    [[true, true]],
  )
  for (const jar of [elsewhere, remembered]) t.is((await me(jar)).status, 401)
  t.is((await me(here)).status, 200)
  const path = `/api/v1/admin/users/${username}/sessions`
  t.is((await service.send('DELETE', path, { headers: here.headers() })).status, 403)
  t.is((await service.send('DELETE', path, { token: service.adminToken, headers: { Sudo: username } })).status, 403)
  t.is((await service.send('DELETE', '/api/v1/admin/users/nobody/sessions', { token: service.adminToken })).status, 404)
  t.is((await service.send('DELETE', path, { token: service.adminToken })).status, 204)
  t.is((await me(here)).status, 401)
  t.is((await service.send('GET', '/api/v1/user', { basic: [username, password] })).status, 200)
})

test('nothing of a session’s cookies is logged', async (t) => {
  const username = await known()
  const jar = await signedIn(username, true)
  const values = jar.names().map((name) => jar.value(name) as string)
  await sessionsGoIdle(username)
  await me(jar)
  values.push(...jar.names().map((name) => jar.value(name) as string))
  const text = service.logText()
  for (const value of values) for (const half of value.split('.')) t.false(text.includes(half))
})
