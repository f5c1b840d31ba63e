// process: own - starts Apache
import { request } from 'undici'
import { startApache } from '../support/components/apache.ts'
import { needing } from '../support/components/needing.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { until } from '../support/until.ts'
import type { FlowFixture } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'
import { runJob } from '../bus/bus-fixture.ts'

/** Debian's mod_auth_openidc in front of a page, with the settings of docs/authorization-server.md. */
const test = needing('apache')

let fixture: FlowFixture
let apache: Awaited<ReturnType<typeof startApache>>
let origin: string
test.before(async () => {
  const port = await reservedPort()
  origin = `http://127.0.0.1:${port}`
  fixture = await startFlowFixture({ settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1' } })
  const form = {
    name: 'Pages',
    redirectUri: `${origin}/signed-in`,
    postLogoutRedirectUri: `${origin}/`,
    backChannelLogoutUri: `${origin}/signed-in?logout=backchannel`,
  }
  const { clientId, clientSecret } = await fixture.register('ada', form, '/orgs/acme/applications/oauth2')
  apache = await startApache(port, [
    `OIDCProviderMetadataURL ${fixture.issuer}/.well-known/openid-configuration`,
    `OIDCClientID ${clientId}`,
    `OIDCClientSecret ${clientSecret}`,
    `OIDCRedirectURI ${origin}/signed-in`,
    'OIDCCryptoPassphrase 0123456789abcdef0123456789abcdef',
    'OIDCScope "openid profile groups"',
    'OIDCPKCEMethod S256',
    'OIDCRemoteUserClaim preferred_username',
    'OIDCProviderBackChannelLogoutSupported On',
    '<Location "/">',
    'AuthType openid-connect',
    'Require claim groups:acme:Editors',
    '</Location>',
  ])
})
test.after.always(async () => {
  await apache?.stop()
  await fixture?.stop()
})

/** A person in front of the page, signed in at the service. */
const visitorFor = async (login: string) => {
  const browser = fixture.browser()
  await browser.signIn(login)
  const jar = makeCookieJar()
  const get = async (url: URL | string) => {
    const { Cookie = '' } = jar.headers(new URL(url).pathname)
    // The module redirects browsers only, and fetch says that it is none.
    const {
      statusCode: status,
      headers,
      body,
    } = await request(url, { headers: { accept: 'text/html', cookie: Cookie } })
    jar.take(headers)
    return { status, location: String(headers['location'] ?? ''), text: await body.text() }
  }
  const page = () => get(`${origin}/`)
  return {
    browser,
    get,
    page,
    async signIn() {
      const { location } = await page()
      const { location: back } = await get(await browser.authorize(new URL(location)))
      return get(back)
    },
  }
}

const asksToSignIn = ({ location }: { readonly location: string }): boolean =>
  location.startsWith(`${fixture.issuer}/auth`)

const report = () => runJob(fixture.service, 'authorizationServer.reportSignOuts')

test.serial('mod_auth_openidc signs in the people of a team, and no others', async (t) => {
  const ed = await visitorFor('ed')
  t.true(asksToSignIn(await ed.page()))
  t.regex((await ed.signIn()).text, /Apache2 Debian Default Page/, apache.output())
  t.is((await ed.page()).status, 200)
  t.is((await (await visitorFor('vic')).signIn()).status, 401)
})

test.serial('mod_auth_openidc ends its session when the person signs out here or loses access', async (t) => {
  const ed = await visitorFor('ed')
  await ed.signIn()
  t.is((await ed.page()).status, 200)
  await ed.browser.send('GET', '/user/signout')
  await report()
  t.true(asksToSignIn(await ed.page()))
  await ed.browser.signIn('ed')
  await ed.signIn()
  t.is((await ed.page()).status, 200)
  await fixture.as('admin', 'PATCH', '/admin/users/ed', { active: false })
  t.teardown(() => fixture.as('admin', 'PATCH', '/admin/users/ed', { active: true }))
  await report()
  t.true(asksToSignIn(await ed.page()))
})

test.serial('mod_auth_openidc signs out, of the page and of the service', async (t) => {
  const ed = await visitorFor('ed')
  await ed.signIn()
  const { location } = await ed.get(`${origin}/signed-in?logout=${encodeURIComponent(`${origin}/`)}`)
  t.true(location.startsWith(`${fixture.issuer}/session/end`), location)
  t.true(asksToSignIn(await ed.page()))
  const { jar } = ed.browser
  const send = async (url: string, body?: URLSearchParams) => {
    const cookie = jar.headers('/oidc/session/end')['Cookie'] ?? ''
    const reply = await fetch(url, { redirect: 'manual', headers: { cookie }, ...(body && { method: 'POST', body }) })
    jar.take({ 'set-cookie': reply.headers.getSetCookie() })
    return { location: reply.headers.get('location'), text: await reply.text() }
  }
  const question = await send(location)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(question.text)?.[1] ?? ''
  const done = await send(`${fixture.issuer}/session/end/confirm`, new URLSearchParams({ xsrf, logout: 'yes' }))
  t.true(done.location?.startsWith(`${origin}/`), question.text)
  const status = async () => ((await ed.browser.send('GET', '/user')).status === 401 ? true : undefined)
  t.true(await until('the session here has ended', status))
})
