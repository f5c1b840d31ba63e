import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { runJob } from '../bus/bus-fixture.ts'
import { runIn } from '../composition/command-fixture.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { Browser, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-domains-'))
const keyRing = { MOORAGE_KEYRING: join(folder, 'keyring.json') }

let fixture: SignInFixture
let ofAcme: number
let ofSite: number

test.before(async () => {
  fixture = await startSignInFixture({ settings: keyRing })
  ofAcme = await fixture.connect('acme', { allows_creation: true, default_team_id: await fixture.teamId('Viewers') })
  ofSite = await fixture.connect('site', { allows_creation: true })
})
test.after.always(async () => {
  await fixture.stop()
  rmSync(folder, { recursive: true })
})

const search = async (address: string) =>
  (await fixture.service.send('POST', '/api/v1/user/oauth2/search', { body: { address } })).json.provider_id as number

const addDomain = async (owner: string, org: string, domain: string): Promise<number> =>
  (await fixture.as(owner, 'POST', `/orgs/${org}/domains`, { domain })).json.id as number

const verify = (owner: string, org: string, id: number) =>
  fixture.as(owner, 'POST', `/orgs/${org}/domains/${id}/verify`)

test.serial('a domain leads to the provider of its organization once it is verified', async (t) => {
  const id = await addDomain('ada', 'acme', 'Acme.Test')
  t.is(await search('someone@acme.test'), 0)
  t.like((await verify('ada', 'acme', id)).json, { code: 'DomainNotProven' })
  fixture.provenDomains.add('acme.test')
  t.true((await verify('ada', 'acme', id)).json.is_verified)
  t.is(await search('someone@acme.test'), ofAcme)
  t.is(await search(' SOMEONE@ACME.TEST '), ofAcme)
  t.is(await search('someone@sub.acme.test'), 0)
  t.is(await search('no address'), 0)
})

test.serial('the answer to a search is the same for every address of a domain', async (t) => {
  const answers = await Promise.all(['ada@acme.test', 'absent@acme.test', '"x y"@acme.test'].map(search))
  t.deepEqual(answers.slice(0, 2), [ofAcme, ofAcme])
})

test.serial('a domain belongs to one organization at a time', async (t) => {
  const id = await addDomain('eve', 'evil', 'acme.test')
  const refused = await verify('eve', 'evil', id)
  t.is(refused.status, 409)
  t.regex(refused.json.message, /Another organization/)
  t.is(await search('someone@acme.test'), ofAcme)
})

test.serial('domains and providers of an organization are for its owners', async (t) => {
  for (const login of ['adam', 'ed', 'vic', 'eve', 'sam', undefined])
    for (const path of ['domains', 'identity-providers', 'local-sign-in']) {
      const { status } = await fixture.as(login, 'GET', `/orgs/acme/${path}`)
      t.true(status === 403 || status === 404 || status === 401, `${login} ${path} ${status}`)
    }
})

test.serial('the providers of an organization are shown to its members, to link them', async (t) => {
  const shownTo = async (login: string | undefined): Promise<readonly number[]> =>
    ((await fixture.as(login, 'GET', '/user/oauth2')).json as { id: number }[]).map(({ id }) => id)
  t.deepEqual(await shownTo(undefined), [ofSite])
  t.deepEqual(await shownTo('eve'), [ofSite])
  t.deepEqual(await shownTo('vic'), [ofSite, ofAcme])
})

test.serial('a domain whose proof is gone for three days is no longer verified', async (t) => {
  const database = await openDatabase(fixture.service.databaseUrl)
  const day = 24 * 3600 * 1000
  const shift = (column: string) =>
    database.query((k) =>
      k('organization_domains')
        .whereNotNull('verified_domain')
        .update({ [column]: Date.now() - 4 * day }),
    )
  try {
    fixture.provenDomains.delete('acme.test')
    await shift('checked_at')
    await runJob(fixture.service, 'identityProviders.checkDomains')
    t.true((await fixture.as('ada', 'GET', '/orgs/acme/domains')).json[0].is_failing)
    t.is(await search('someone@acme.test'), ofAcme)
    await shift('checked_at')
    await shift('failing_since')
    await runJob(fixture.service, 'identityProviders.checkDomains')
    t.false((await fixture.as('ada', 'GET', '/orgs/acme/domains')).json[0].is_verified)
    t.is(await search('someone@acme.test'), 0)
  } finally {
    await database.close()
    fixture.provenDomains.add('acme.test')
    await verify('ada', 'acme', (await fixture.as('ada', 'GET', '/orgs/acme/domains')).json[0].id)
  }
})

const signInAs = async (provider: number, sub: string, email: string): Promise<Browser> => {
  fixture.addPerson({ sub, email, email_verified: true, preferred_username: sub })
  fixture.provider.as = sub
  const browser = fixture.browser()
  const answer = await browser.signIn(provider)
  if (answer.status !== 200) throw new Error(answer.text)
  return browser
}

const password = 'quiet-lantern-over-water-17'
const byPassword = async (login: string, word = password) =>
  (await fixture.service.send('POST', '/api/v1/user/signin', { body: { username: login, password: word } })).status

test.serial('local sign-in is switched off in a session of a provider of the organization', async (t) => {
  const owners = await fixture.teamId('Owners')
  const browser = await signInAs(ofAcme, 'olga', 'olga@acme.test')
  await fixture.as('admin', 'PUT', `/teams/${owners}/members/olga`)
  await fixture.as('admin', 'PATCH', '/admin/users/olga', { password })
  const again = await signInAs(ofAcme, 'olga', 'olga@acme.test')
  t.is((await browser.send('GET', '/user')).status, 401)
  t.is(await byPassword('olga'), 200)
  t.like((await fixture.as('ada', 'PUT', '/orgs/acme/local-sign-in', { is_off: true })).json, {
    code: 'LocalSignInNeeded',
  })
  t.is((await again.send('PUT', '/orgs/acme/local-sign-in', { is_off: true })).status, 204)
  t.is(await byPassword('olga'), 405)
  const basic = { basic: ['olga', password] as const }
  t.is((await fixture.service.send('GET', '/api/v1/user', basic)).status, 403)
  // A member without a link signs in to make one, and a wrong password says nothing of the rule.
  t.is(await byPassword('olga', 'wrong'), 404)
  t.is((await fixture.as('admin', 'PUT', '/orgs/acme/local-sign-in', { is_off: false })).status, 204)
  t.is(await byPassword('olga'), 200)
})

test.serial('local sign-in of the site is never switched off for a site admin without a link', async (t) => {
  const browser = await signInAs(ofSite, 'sina', 'sina@corp.test')
  await fixture.as('admin', 'PATCH', '/admin/users/sina', { admin: true, password })
  const again = await signInAs(ofSite, 'sina', 'sina@corp.test')
  t.is((await browser.send('GET', '/user')).status, 401)
  t.like((await fixture.as('admin', 'PUT', '/accounts/admin/local-sign-in', { is_off: true })).json, {
    code: 'LocalSignInNeeded',
  })
  t.is((await again.send('PUT', '/accounts/admin/local-sign-in', { is_off: true })).status, 204)
  t.is(await byPassword('sina'), 405)
  t.is(await byPassword('olga'), 405)
  t.is(await byPassword('admin', 'harbour-lantern-tide-42'), 200)
  const environment = {
    MOORAGE_DATABASE_URL: fixture.service.databaseUrl,
    MOORAGE_DATA_DIR: folder,
    ...keyRing,
  }
  t.is((await runIn(environment, 'admin', 'local-sign-in', '--organization', 'nowhere')).code, 1)
  const ran = await runIn(environment, 'admin', 'local-sign-in')
  t.is(ran.code, 0, ran.err)
  t.regex(ran.out, /Passwords are accepted again: the site/)
  const audited = await fixture.as('admin', 'GET', '/admin/audit?action=local_sign_in.switched_on')
  t.is((audited.json as readonly unknown[]).length, 2)
  t.is(await byPassword('olga'), 200)
})

test.serial('a provider with people is removed, and its people set a password by mail', async (t) => {
  const browser = await signInAs(ofAcme, 'rita', 'rita@acme.test')
  t.is((await fixture.as('ada', 'DELETE', `/orgs/acme/identity-providers/${ofAcme}`)).status, 204)
  t.is((await browser.send('GET', '/user')).status, 200)
  t.deepEqual((await browser.send('GET', '/user/settings/security/account_link')).json, [])
  t.is((await fixture.browser().begin(ofAcme)).status, 404)
})

test.serial('the secret is sent again when the issuer changes', async (t) => {
  const id = await fixture.connect('acme', { name: 'moving' })
  const path = `/orgs/acme/identity-providers/${id}`
  const issuer = 'https://evil.test'
  t.like((await fixture.as('ada', 'PATCH', path, { issuer })).json, { code: 'ProviderRefused' })
  const moved = await fixture.as('ada', 'PATCH', path, { issuer, client_secret: 'another' })
  t.is(moved.status, 200)
  t.true(moved.json.has_client_secret)
})

test.serial('a well-known provider of the site is added by its client', async (t) => {
  const app = { provider: 'google', clientID: 'c1', clientSecret: 's1' }
  const made = await fixture.as('admin', 'POST', '/accounts/admin/external_oauth/new', app)
  t.is(made.status, 201)
  t.like(made.json, { provider: 'google', clientID: 'c1', clientSecret: '' })
  const path = '/accounts/admin/external_oauth/google'
  t.is((await fixture.as('admin', 'POST', path, { clientID: 'c2' })).json.clientID, 'c2')
  const auths = await fixture.as('admin', 'GET', '/accounts/admin/auths')
  t.true((auths.json as { name: string }[]).some(({ name }) => name === 'google'))
  t.is((await fixture.as('admin', 'POST', `${path}/delete`)).status, 200)
  t.is((await fixture.as('admin', 'POST', path, { clientID: 'c3' })).status, 404)
  t.is((await fixture.as('admin', 'POST', '/accounts/admin/external_oauth/new', { ...app, provider: 'x' })).status, 422)
})

test.serial('an organization has no provider where the operator does not allow it', async (t) => {
  const other = await startSignInFixture({ settings: { MOORAGE_ORGANIZATION_PROVIDERS: 'off' } })
  try {
    const body = { name: 'x', issuer: 'https://a.test', client_id: 'x' }
    t.like((await other.as('ada', 'POST', '/orgs/acme/identity-providers', body)).json, { code: 'ProvidersNotAllowed' })
  } finally {
    await other.stop()
  }
})
