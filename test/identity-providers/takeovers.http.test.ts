import test from 'ava'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { Browser, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

/** The ways in which accounts of other services were taken over, by the numbers of their public reports. */
let fixture: SignInFixture
let ofAcme: number
let ofSite: number

const password = 'quiet-lantern-over-water-17'

const makeMember = async (login: string, isMember = true): Promise<void> => {
  await fixture.as('admin', 'POST', '/admin/users', {
    username: login,
    email: `${login}@acme.test`,
    password,
    must_change_password: false,
  })
  if (isMember) await fixture.as('admin', 'PUT', `/teams/${await fixture.teamId('Viewers')}/members/${login}`)
}

test.before(async () => {
  fixture = await startSignInFixture()
  ofSite = await fixture.connect('site', { allows_creation: true })
  ofAcme = await fixture.connect('acme', { links_verified_domains: true, allows_creation: true })
  fixture.provenDomains.add('acme.test')
  const domain = await fixture.as('ada', 'POST', '/orgs/acme/domains', { domain: 'acme.test' })
  await fixture.as('ada', 'POST', `/orgs/acme/domains/${domain.json.id}/verify`)
})
test.after.always(() => fixture.stop())

const signInAs = async (
  provider: number,
  sub: string,
  claims: object,
): Promise<{ browser: Browser; login: string }> => {
  fixture.addPerson({ sub, ...claims })
  fixture.provider.as = sub
  const browser = fixture.browser()
  const answer = await browser.signIn(provider)
  return { browser, login: answer.status === 200 ? answer.json.login : answer.json.code }
}

test.serial('an address that a provider does not verify leads to no account (FusionAuth 2184)', async (t) => {
  await makeMember('mara')
  const { login } = await signInAs(ofAcme, 't1', { email: 'mara@acme.test', preferred_username: 'mara' })
  t.is(login, 'ExternalAccountUnknown')
})

test.serial('an address that is verified as the text false leads to no account (gotify 977)', async (t) => {
  await makeMember('milo')
  for (const [at, value] of ['false', 'true', 1, {}].entries()) {
    const claims = { email: 'milo@acme.test', email_verified: value, preferred_username: 'milo' }
    t.is((await signInAs(ofAcme, `t2-${at}`, claims)).login, 'ExternalAccountUnknown')
  }
})

test.serial('an address of an account that is no member leads to no account (PostHog 49160)', async (t) => {
  await makeMember('nils', false)
  const claims = { email: 'nils@acme.test', email_verified: true, preferred_username: 'nils' }
  t.is((await signInAs(ofAcme, 't3', claims)).login, 'ExternalAccountUnknown')
})

test.serial('an address of a domain of others leads to no account (PostHog 49207)', async (t) => {
  await fixture.as('admin', 'POST', '/admin/users', {
    username: 'vera',
    email: 'vera@victim.test',
    password,
    must_change_password: false,
  })
  await fixture.as('admin', 'PUT', `/teams/${await fixture.teamId('Viewers')}/members/vera`)
  const claims = { email: 'vera@victim.test', email_verified: true, preferred_username: 'vera' }
  t.is((await signInAs(ofAcme, 't4', claims)).login, 'ExternalAccountUnknown')
  const fresh = { email: 'newcomer@victim.test', email_verified: true, preferred_username: 'newcomer' }
  t.is((await signInAs(ofAcme, 't4b', fresh)).login, 'ExternalAccountUnknown')
})

test.serial('a provider of the site leads to no account by its address (PostHog 52372)', async (t) => {
  await makeMember('olga')
  const claims = { email: 'olga@acme.test', email_verified: true, preferred_username: 'olga-of-site' }
  t.is((await signInAs(ofSite, 't5', claims)).login, 'ExternalAccountUnknown')
})

test.serial('a changed address leads to the account of the person (vouch 826)', async (t) => {
  await makeMember('pia')
  const first = await signInAs(ofSite, 't6', {
    email: 'quinn@corp.test',
    email_verified: true,
    preferred_username: 'quinn',
  })
  t.is(first.login, 'quinn')
  const changed = { email: 'pia@acme.test', email_verified: true, preferred_username: 'pia' }
  t.is((await signInAs(ofSite, 't6', changed)).login, 'quinn')
})

test.serial('the same subject at another provider is another person (tale 2036)', async (t) => {
  const claims = { email: 'rosa@acme.test', email_verified: true, preferred_username: 'rosa' }
  t.is((await signInAs(ofAcme, 't7', claims)).login, 'rosa')
  const elsewhere = { email: 'rosa@corp.test', email_verified: true, preferred_username: 'rosa-elsewhere' }
  t.is((await signInAs(ofSite, 't7', elsewhere)).login, 'rosa-elsewhere')
})

test.serial('a verified address of a verified domain leads a member to the account', async (t) => {
  await makeMember('sven')
  const claims = { email: 'sven@acme.test', email_verified: true, preferred_username: 'other-name' }
  t.is((await signInAs(ofAcme, 't8', claims)).login, 'sven')
  const audited = await fixture.as('admin', 'GET', '/admin/audit?action=user.external_account_linked')
  t.true(audited.text.includes('t8'), audited.text.slice(0, 500))
})

test.serial('a site admin is never linked by an address', async (t) => {
  await makeMember('tom')
  await fixture.as('admin', 'PATCH', '/admin/users/tom', { admin: true })
  const claims = { email: 'tom@acme.test', email_verified: true, preferred_username: 'tom' }
  t.is((await signInAs(ofAcme, 't9', claims)).login, 'ExternalAccountUnknown')
})

test.serial('the provider of an organization opens no session of a site admin', async (t) => {
  const claims = { email: 'ruth@acme.test', email_verified: true, preferred_username: 'ruth' }
  t.is((await signInAs(ofAcme, 't14', claims)).login, 'ruth')
  await fixture.as('admin', 'PATCH', '/admin/users/ruth', { admin: true })
  t.is((await signInAs(ofAcme, 't14', claims)).login, 'SignInProhibited')
})

test.serial('the refusal is the same whether an account with the address exists or not', async (t) => {
  const refusal = async (sub: string, email: string) => {
    fixture.addPerson({ sub, email, preferred_username: sub })
    fixture.provider.as = sub
    const { status, json } = await fixture.browser().signIn(ofAcme)
    return { status, message: json.message }
  }
  t.deepEqual(await refusal('t10', 'mara@elsewhere.test'), await refusal('t11', 'absent@elsewhere.test'))
})

test.serial('a name that is taken is refused with what to do', async (t) => {
  fixture.addPerson({ sub: 't12', email: 'ada2@corp.test', email_verified: true, preferred_username: 'ada' })
  fixture.provider.as = 't12'
  const answer = await fixture.browser().signIn(ofSite)
  t.is(answer.status, 409)
  t.regex(answer.json.message, /"ada": it is taken.*link it on your account page/)
})

const signedInByPassword = async (login: string): Promise<Browser> => {
  const browser = fixture.browser()
  const answer = await browser.send('POST', '/user/signin', { username: login, password })
  if (answer.status !== 200) throw new Error(answer.text)
  return browser
}

test.serial('a link needs the password again, and the session in which it began', async (t) => {
  await makeMember('uma')
  fixture.addPerson({ sub: 't13', email: 'x@x.test', preferred_username: 'x' })
  fixture.provider.as = 't13'
  const browser = await signedInByPassword('uma')
  t.like((await browser.send('POST', `/user/oauth2/${ofSite}/link`, {})).json, { code: 'ProofRequired' })
  t.like((await browser.send('POST', `/user/oauth2/${ofSite}/link`, { password: 'wrong' })).json, {
    code: 'ProofRequired',
  })
  const begun = await browser.send('POST', `/user/oauth2/${ofSite}/link`, { password })
  t.is(begun.status, 200, begun.text)
  const returned = await browser.visit(begun.json.url)
  // The answer of a link that another person's browser presents links nothing.
  const key = browser.jar.value('moorage_sign_in') ?? ''
  const other = await signedInByPassword('mara')
  other.jar.set('moorage_sign_in', key)
  t.like((await other.finish(ofSite, returned)).json, { code: 'AttemptMissing' })
  const again = await browser.send('POST', `/user/oauth2/${ofSite}/link`, { password })
  const linked = await browser.finish(ofSite, await browser.visit(again.json.url))
  t.deepEqual(linked.json, { login: 'uma', is_link: true })
  t.is((await signInAs(ofSite, 't13', { email: 'x@x.test' })).login, 'uma')
})

test.serial('a person who is linked to one user cannot be linked to another', async (t) => {
  await makeMember('walt')
  fixture.provider.as = 't13'
  const browser = await signedInByPassword('walt')
  const begun = await browser.send('POST', `/user/oauth2/${ofSite}/link`, { password })
  t.like((await browser.finish(ofSite, await browser.visit(begun.json.url))).json, { code: 'ExternalAccountTaken' })
})

test.serial('a link is removed with the password, and its sessions end', async (t) => {
  const { browser } = await signInAs(ofSite, 't13', { email: 'x@x.test' })
  t.is((await browser.send('GET', '/user')).status, 200)
  const own = await signedInByPassword('uma')
  const path = '/user/settings/security/account_link'
  t.like((await own.send('POST', path, { loginSourceID: ofSite })).json, { code: 'ProofRequired' })
  t.is((await own.send('POST', path, { loginSourceID: ofSite, externalID: 't13', password })).status, 200)
  t.deepEqual((await own.send('GET', path)).json, [])
  t.is((await browser.send('GET', '/user')).status, 401)
  t.is((await own.send('POST', path, { loginSourceID: ofSite, password })).status, 422)
})

test.serial('an account that is shut cannot sign in with a provider', async (t) => {
  await fixture.as('admin', 'PATCH', '/admin/users/rosa', { prohibit_login: true })
  t.is((await signInAs(ofAcme, 't7', { email: 'rosa@acme.test' })).login, 'SignInProhibited')
  await fixture.as('admin', 'PATCH', '/admin/users/rosa', { prohibit_login: false })
})

test.serial('the cookie of a sign-in is for this service alone', async (t) => {
  const answer = await fixture.service.send('POST', `/api/v1/user/oauth2/${ofSite}`, { body: {} })
  const cookie = [answer.headers['set-cookie'] ?? []].flat().find((each) => each.startsWith('moorage_sign_in='))
  t.regex(cookie ?? '', /HttpOnly/)
  t.regex(cookie ?? '', /SameSite=Lax/)
  const jar = makeCookieJar()
  const headers = { ...jar.headers(), 'Sec-Fetch-Site': 'cross-site' }
  t.is((await fixture.service.send('POST', `/api/v1/user/oauth2/${ofSite}`, { headers, body: {} })).status, 403)
})
