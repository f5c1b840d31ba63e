import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import test from 'ava'
import * as jose from 'jose'
import * as client from 'openid-client'
import type { FlowFixture } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

const out = 'https://app.example.com/out'

let fixture: FlowFixture
const reported: string[] = []
const receiver = createServer(async (req, res) => {
  reported.push(new URLSearchParams(await text(req)).get('logout_token') ?? '')
  res.end()
})

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  fixture = await startFlowFixture({ settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1' } })
})
test.after.always(async () => {
  receiver.close()
  await fixture.stop()
})

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

test('sign-out at an application ends the session here and is reported to applications', async (t) => {
  const { port } = receiver.address() as AddressInfo
  const application = await fixture.register('ada', {
    postLogoutRedirectUri: out,
    backChannelLogoutUri: `http://127.0.0.1:${port}/logout`,
  })
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
  const keys = jose.createRemoteJWKSet(new URL(`${fixture.issuer}/jwks`))
  const { payload } = await jose.jwtVerify(reported[0] ?? '', keys, {
    issuer: fixture.issuer,
    audience: application.clientId,
  })
  t.is(payload.sub, String(fixture.idOf('ed')))
  t.truthy(payload['sid'])
})

test('no browser is sent after a sign-out to an address that is not registered', async (t) => {
  const application = await fixture.register('ada', { postLogoutRedirectUri: out })
  const config = await fixture.configOf(application)
  for (const uri of ['https://evil.test/', `${out}/x`, `${out}?x=1`]) {
    const url = client.buildEndSessionUrl(config, { client_id: application.clientId, post_logout_redirect_uri: uri })
    const answer = await open(fixture.browser().jar, url)
    t.is(answer.status, 400)
    t.is(answer.location, null)
  }
})
