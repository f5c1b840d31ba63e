// process: waiting - uses components
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as client from 'openid-client'
import { needing } from '../support/components/needing.ts'
import type { FlowFixture } from './flow.fixture.ts'
import { redirectUri, startFlowFixture, startInstance } from './flow.fixture.ts'

const test = needing('mariadb')

const folder = mkdtempSync(join(tmpdir(), 'moorage-keys-'))
const keyRing = { MOORAGE_KEYRING: join(folder, 'keyring.json') }

let fixture: FlowFixture
test.before(async () => {
  fixture = await startFlowFixture({ database: 'mysql', settings: keyRing })
})
test.after.always(async () => {
  await fixture?.stop()
  rmSync(folder, { recursive: true })
})

test.serial('on MariaDB, two instances exchange one code once', async (t) => {
  const other = await startInstance(fixture, keyRing)
  try {
    const application = await fixture.register('ada')
    const config = await fixture.configOf(application)
    const browser = fixture.browser()
    await browser.signIn('ed')
    const { url, verifier } = await fixture.begin(config, 'openid read:user')
    const returned = await browser.authorize(url)
    const headers = { authorization: `Basic ${btoa(`${application.clientId}:${application.clientSecret}`)}` }
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: returned.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })
    const bases = [fixture.service.baseUrl, other.url]
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        fetch(`${bases[index % 2]}/oidc/token`, { method: 'POST', headers, body }),
      ),
    )
    const won = answers.filter(({ status }) => status === 200)
    t.is(won.length, 1)
    const { access_token: token } = (await won[0]?.json()) as { access_token: string }
    for (const service of [fixture.service, other])
      t.is((await service.send('GET', '/api/v1/user', { token })).status, 401)
    const bound = (await fixture.tokensFor(application, 'ed', 'read:user', browser)).access_token
    t.is((await other.send('GET', '/api/v1/user', { token: bound })).status, 200)
    await browser.send('GET', '/user/signout')
    t.is((await other.send('GET', '/api/v1/user', { token: bound })).status, 401)
  } finally {
    await other.stop()
  }
})

test.serial('on MariaDB, sign-out ends the access token, and an offline grant stays', async (t) => {
  const application = await fixture.register('ada')
  const browser = fixture.browser()
  await browser.signIn('vic')
  const bound = await fixture.tokensFor(application, 'vic', 'openid read:user', browser)
  const offline = await fixture.tokensFor(application, 'vic', 'openid offline_access read:user')
  await browser.send('GET', '/user/signout')
  const config = await fixture.configOf(application)
  const renewed = await client.refreshTokenGrant(config, offline.refresh_token ?? '')
  const status = async (token: string) => (await fixture.service.send('GET', '/api/v1/user', { token })).status
  t.deepEqual(await Promise.all([bound, renewed].map((each) => status(each.access_token))), [401, 200])
})
