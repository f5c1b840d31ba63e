// process: own - starts services as processes and kills them
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import * as jose from 'jose'
import * as client from 'openid-client'
import { openPatiently } from '../support/databases.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { redirectUri, settingsBeside, startFlowFixture, startInstance } from './flow.fixture.ts'
import { runJob } from '../bus/bus-fixture.ts'

/** Several processes on one MariaDB, as behind a load balancer. */
const test = needing('mariadb')

const day = 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'moorage-authorization-'))
const keyRing = { MOORAGE_KEYRING: join(folder, 'keyring.json') }

let fixture: FlowFixture
let application: Registered
let database: Awaited<ReturnType<typeof openPatiently>>
test.before(async () => {
  fixture = await startFlowFixture({ database: 'mysql', settings: { ...keyRing, MOORAGE_EGRESS_ALLOW: '127.0.0.1' } })
  application = await fixture.register('ada')
  database = await openPatiently(fixture.service.databaseUrl)
})
test.after.always(async () => {
  await database?.close()
  await fixture?.stop()
  rmSync(folder, { recursive: true })
})

/** Another process, and the address at which it listens. */
const startAnother = async (): Promise<{ readonly process: ServiceProcess; readonly url: string }> => {
  const { settings, url } = await settingsBeside(fixture, keyRing)
  return { process: await startServiceProcess({ settings, isBehindProxy: true }), url }
}

/** A code that a person got the application, and the request that exchanges it. */
const codeFor = async (login: string, scope: string) => {
  const browser = fixture.browser()
  await browser.signIn(login)
  const { url, verifier } = await fixture.begin(await fixture.configOf(application), scope)
  const code = (await browser.authorize(url)).searchParams.get('code') ?? ''
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  })
  return (base: string): Promise<Response> =>
    fetch(`${base}/oidc/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${application.clientId}:${application.clientSecret}`)}` },
      body,
    })
}

const statusOf = async (token: string): Promise<number> =>
  (await fixture.service.send('GET', '/api/v1/user', { token })).status

const tokensOf = (login: string) =>
  database.query((k) =>
    k('access_tokens').where('user_id', fixture.idOf(login)).where('application_id', application.id).select('id'),
  )

test.serial('of 50 exchanges of one code by four processes one succeeds, and reuse revokes', async (t) => {
  const others = await Promise.all([1, 2, 3].map(() => startAnother()))
  t.teardown(() => Promise.all(others.map(({ process }) => process.stop())))
  const bases = [fixture.service.baseUrl, ...others.map(({ url }) => url)]
  const exchange = await codeFor('ed', 'openid offline_access read:user')
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => exchange(bases[at % 4] ?? '')))
  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as readonly Record<string, string>[]
  const won = bodies.filter(({ access_token: token }) => token !== undefined)
  t.is(won.length, 1)
  t.true(bodies.every(({ access_token: token, error }) => token !== undefined || error === 'invalid_grant'))
  t.is(await statusOf(won[0]?.['access_token'] ?? ''), 401)
  t.deepEqual(await tokensOf('ed'), [])
})

test.serial('a process that is killed between code and token leaves no second way in', async (t) => {
  const outcomes: string[] = []
  for (const delay of [4, 8, 12, 16, 20, 25, 30, 40]) {
    const { process, url } = await startAnother()
    // The first request of a process takes longer, before it reads the code.
    await (
      await codeFor('adam', 'openid')
    )(url)
    const exchange = await codeFor('vic', 'openid offline_access read:user')
    const first = exchange(url).then(
      async (answer) => (await answer.json()) as Record<string, string>,
      () => undefined,
    )
    await setTimeout(delay)
    process.signal('SIGKILL')
    await process.exited
    const before = await first
    const again = (await (await exchange(fixture.service.baseUrl)).json()) as Record<string, string>
    await process.stop()
    if (again['access_token'] === undefined) {
      t.is(again['error'], 'invalid_grant')
      // The code was used: what it may have led to has ended, also what the client never received.
      if (before?.['access_token'] !== undefined) t.is(await statusOf(before['access_token']), 401)
      t.deepEqual(await tokensOf('vic'), [], `after ${delay} ms`)
    } else {
      t.is(before?.['access_token'], undefined, 'one code gave two tokens')
      t.is(await statusOf(again['access_token']), 200)
      await fixture.as('vic', 'POST', `/user/settings/applications/oauth2/${application.id}/revoke`)
    }
    outcomes.push(again['access_token'] === undefined ? 'used' : 'free')
  }
  t.log(outcomes.join(' '))
  const { access_token: token } = await fixture.tokensFor(application, 'vic', 'openid read:user')
  t.is(await statusOf(token), 200)
})

test.serial('a sign-out is reported, also if its process is killed at once', async (t) => {
  const reports: string[] = []
  const receiver = createServer(async (req, res) => {
    reports.push(await text(req))
    res.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const told = await fixture.register('ada', { backChannelLogoutUri: `http://127.0.0.1:${port}/` })
  const browser = fixture.browser()
  await browser.signIn('sam')
  await fixture.tokensFor(told, 'sam', 'openid', browser)
  const { process, url } = await startAnother()
  const cookie = browser.jar.headers('/api/v1/user/signout')['Cookie'] ?? ''
  t.is((await fetch(`${url}/api/v1/user/signout`, { headers: { cookie } })).status, 200)
  process.signal('SIGKILL')
  await process.exited
  await process.stop()
  await runJob(fixture.service, 'authorizationServer.reportSignOuts')
  t.is(reports.length, 1)
})

const keysOf = async (url: string): Promise<jose.JSONWebKeySet> =>
  (await (await fetch(`${url}/oidc/jwks`)).json()) as jose.JSONWebKeySet

/** Makes the newest generation of keys so old. */
const ageNewest = async (days: number): Promise<void> => {
  const [newest] = await database.query<{ generation: number }>((k) =>
    k('oauth_keys').orderBy('generation', 'desc').limit(1).select('generation'),
  )
  await database.query((k) =>
    k('oauth_keys')
      .where('generation', newest?.generation ?? 0)
      .update({ created_at: Date.now() - days * day }),
  )
}

test.serial('a client that read the keys before a rotation notices nothing of it', async (t) => {
  const browser = fixture.browser()
  await browser.signIn('cleo')
  const scope = 'openid offline_access read:user'
  const before = await fixture.tokensFor(application, 'cleo', scope, browser)
  await ageNewest(100)
  await runJob(fixture.service, 'authorizationServer.rotateKeys')
  // Each of these reads the keys of its time. The client talks to the address of the first one.
  const startNow = () => startInstance(fixture, keyRing)
  const published = await startNow()
  const known = await keysOf(published.url)
  await published.stop()
  t.is(known.keys.length, 2)
  await ageNewest(2)
  const rotated = await startNow()
  t.teardown(() => rotated.stop())
  const keys = jose.createLocalJWKSet(known)
  const config = await fixture.configOf(application)
  const { supportsPKCE: _, ...described } = config.serverMetadata()
  const metadata: client.ServerMetadata = { ...described, token_endpoint: `${rotated.url}/oidc/token` }
  const atRotated = new client.Configuration(
    metadata,
    application.clientId,
    undefined,
    client.ClientSecretBasic(application.clientSecret),
  )
  client.allowInsecureRequests(atRotated)
  const after = await client.refreshTokenGrant(atRotated, before.refresh_token ?? '')
  const kids = await Promise.all(
    [before, after].map(async ({ id_token: token = '' }) => {
      const { protectedHeader } = await jose.jwtVerify(token, keys, { issuer: fixture.issuer })
      return protectedHeader.kid
    }),
  )
  t.is(new Set(kids).size, 2, 'another key signs')
  t.deepEqual((await keysOf(rotated.url)).keys.map(({ kid }) => kid).sort(), known.keys.map(({ kid }) => kid).sort())
  // The browser's cookies of the protocol are signed with the former key.
  const { url } = await fixture.begin(config, 'openid')
  const cookie = browser.jar.headers('/oidc/auth')['Cookie'] ?? ''
  const reply = await fetch(url.href.replace(fixture.service.baseUrl, rotated.url), {
    redirect: 'manual',
    headers: { cookie },
  })
  t.true(reply.headers.get('location')?.startsWith(`${redirectUri}?code=`), reply.headers.get('location') ?? '')
  await ageNewest(20)
  await runJob(fixture.service, 'authorizationServer.rotateKeys')
  const late = await startNow()
  t.teardown(() => late.stop())
  t.deepEqual(
    (await keysOf(late.url)).keys.map(({ kid }) => kid),
    [kids[1]],
  )
})
