import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import test from 'ava'
import * as jose from 'jose'
import * as client from 'openid-client'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { mostAttempts } from '../../core/authorization-server/sign-out-reports.ts'
import { runJob } from '../bus/bus-fixture.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

const out = 'https://app.example.com/out'

let fixture: FlowFixture
/** The claims of what was reported, by path; a path that ends with `off` is answered with an error. */
const reported = new Map<string, jose.JWTPayload[]>()
const receiver = createServer(async (req, res) => {
  const token = new URLSearchParams(await text(req)).get('logout_token') ?? ''
  const path = req.url ?? ''
  const claims = await verified(token)
  reported.set(path, [...reportedTo(path), claims])
  res.statusCode = path.endsWith('off') ? 503 : 200
  res.end()
})
const reportedTo = (path: string): readonly jose.JWTPayload[] => reported.get(path) ?? []

const verified = async (token: string): Promise<jose.JWTPayload> => {
  const keys = jose.createRemoteJWKSet(new URL(`${fixture.issuer}/jwks`))
  const { payload } = await jose.jwtVerify(token, keys, { issuer: fixture.issuer })
  return payload
}

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  fixture = await startFlowFixture({ settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1' } })
})
test.after.always(async () => {
  receiver.close()
  await fixture.stop()
})

/** An application whose sign-outs are reported to a path of the receiver. */
const registered = (path: string): Promise<Registered> =>
  fixture.register('ada', {
    postLogoutRedirectUri: out,
    backChannelLogoutUri: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`,
  })

/** Signs a person in at an application, in a browser of its own. Returns the session as the application knows it. */
const signedIn = async (application: Registered, login: string, scope = 'openid read:user') => {
  const browser = fixture.browser()
  await browser.signIn(login)
  const tokens = await fixture.tokensFor(application, login, scope, browser)
  return { browser, sid: String(tokens.claims()?.['sid']) }
}

const within = async <A>(work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<A>): Promise<A> => {
  const database = await openDatabase(fixture.service.databaseUrl)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const report = () => runJob(fixture.service, 'authorizationServer.reportSignOuts')

/** Opens a page of the protocol in a browser of the fixture. */
const open = async (jar: ReturnType<FlowFixture['browser']>['jar'], url: URL | string, body?: URLSearchParams) => {
  const { Cookie = '' } = jar.headers('/oidc/session/end')
  const reply = await fetch(url, {
    redirect: 'manual',
    headers: { cookie: Cookie },
    ...(body && { method: 'POST', body }),
  })
  jar.take({ 'set-cookie': reply.headers.getSetCookie() })
  return { status: reply.status, location: reply.headers.get('location'), html: await reply.text() }
}

test.serial('sign-out at an application ends the session here and is reported to applications', async (t) => {
  const application = await registered('/logout')
  const config = await fixture.configOf(application)
  const browser = fixture.browser()
  await browser.signIn('ed')
  const tokens = await fixture.tokensFor(application, 'ed', 'openid read:user', browser)
  const url = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token ?? '',
    post_logout_redirect_uri: out,
    state: 'x',
  })
  const page = await open(browser.jar, url)
  t.is(page.status, 200)
  t.regex(page.html, /asks you to sign out/)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.html)?.[1] ?? ''
  t.is((await browser.send('GET', '/user')).status, 200)
  const confirm = `${fixture.issuer}/session/end/confirm`
  t.is((await open(browser.jar, confirm, new URLSearchParams({ xsrf: 'guess', logout: 'yes' }))).status, 400)
  const done = await open(browser.jar, confirm, new URLSearchParams({ xsrf, logout: 'yes' }))
  t.is(done.location, `${out}?state=x`)
  t.is((await browser.send('GET', '/user')).status, 401)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: tokens.access_token })).status, 401)
  await report()
  const claims = reportedTo('/logout')
  t.is(claims.length, 1)
  t.like(claims[0], { sub: String(fixture.idOf('ed')), aud: application.clientId, sid: tokens.claims()?.['sid'] })
})

test.serial('each end of a session is reported to its applications', async (t) => {
  const application = await registered('/ended')
  const isReported = (sid: string) => reportedTo('/ended').some((claims) => claims['sid'] === sid)
  const ended: string[] = []
  const own = await signedIn(application, 'ed')
  t.is((await own.browser.send('GET', '/user/signout')).status, 200)
  ended.push(own.sid)
  const [kept, other] = [await signedIn(application, 'ed'), await signedIn(application, 'ed')]
  t.is((await kept.browser.send('DELETE', '/user/settings/security/sessions')).status, 200)
  ended.push(other.sid)
  const disabled = await signedIn(application, 'vic', 'openid offline_access')
  t.is((await fixture.as('admin', 'PATCH', '/admin/users/vic', { active: false })).status, 200)
  ended.push(disabled.sid)
  const removed = await signedIn(application, 'sam')
  t.is((await fixture.as('admin', 'DELETE', '/admin/users/sam')).status, 204)
  ended.push(removed.sid)
  await report()
  t.deepEqual(
    ended.filter((sid) => !isReported(sid)),
    [],
  )
  t.false(isReported(kept.sid))
  t.is(new Set(reportedTo('/ended').map(({ jti }) => jti)).size, ended.length)
})

test.serial('a report that is not taken is sent later, and others do not wait', async (t) => {
  const [silent, healthy] = [await registered('/off'), await registered('/on')]
  const { browser } = await signedIn(silent, 'cleo')
  await fixture.tokensFor(healthy, 'cleo', 'openid', browser)
  await browser.send('GET', '/user/signout')
  await report()
  await report()
  t.is(reportedTo('/off').length, 1, 'it is left alone for a while')
  t.is(reportedTo('/on').length, 1)
  await within((database) => database.query((k) => k('oauth_sign_ins').update({ due_at: 1 })))
  await report()
  t.is(reportedTo('/off').length, 2)
  const rest = () => within((database) => database.query((k) => k('oauth_sign_ins').whereNull('session_id')))
  t.is((await rest()).length, 1)
  await within((database) => database.query((k) => k('oauth_sign_ins').update({ due_at: 1, attempts: mostAttempts })))
  await report()
  t.deepEqual(await rest(), [])
})

test.serial('no browser is sent after a sign-out to an address that is not registered', async (t) => {
  const application = await fixture.register('ada', { postLogoutRedirectUri: out })
  const config = await fixture.configOf(application)
  for (const uri of ['https://evil.test/', `${out}/x`, `${out}?x=1`]) {
    const url = client.buildEndSessionUrl(config, { client_id: application.clientId, post_logout_redirect_uri: uri })
    const answer = await open(fixture.browser().jar, url)
    t.is(answer.status, 400)
    t.is(answer.location, null)
  }
})
