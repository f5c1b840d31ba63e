import test from 'ava'
import { makeSoftwareAuthenticator } from '../identity/passkeys/software-authenticator.ts'
import type { SoftwareAuthenticator } from '../identity/passkeys/software-authenticator.ts'
import { passkeySettings } from '../identity/passkeys/passkey-service.ts'
import { entraUser, groupOf, patch, scimPath } from '../provisioning/directory-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { Browser, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

/** Passkeys, directories and identity providers together, and the policy that asks for passkeys. */
let fixture: SignInFixture
let ofAcme: number
let ofSite: number
let directoryToken: string

const password = 'quiet-lantern-over-water-17'
const ownPassword = 'a long passphrase of ours'
const keys = '/user/settings/security/webauthn'

const must = (answer: ServiceAnswer, status = 200): ServiceAnswer => {
  if (answer.status !== status) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}

const makeDirectory = async (): Promise<string> => {
  const done = async (path: string, body: object) => must(await fixture.as('ada', 'POST', path, body), 201).json
  const team = await done('/orgs/acme/teams', { name: 'Directory', permission: 'custom', type: '' })
  const permissions = [{ namespace: 'org_mgmt', action: 'provision accounts' }]
  await done('/authz/roles?org=acme', { name: 'directory', permissions, teamIDs: [team.id] })
  await done('/orgs/acme/robots', { name: 'directory', team_ids: [team.id, await fixture.teamId('Viewers')] })
  const token = { name: 'first', scopes: ['write:provisioning', 'read:organization'] }
  return String((await done('/orgs/acme/robots/directory/tokens', token)).sha1)
}

const scim = (method: string, path: string, body?: unknown) =>
  fixture.service.send(method, scimPath('acme') + path, {
    token: directoryToken,
    ...(body === undefined ? {} : { body, headers: { 'Content-Type': 'application/scim+json' } }),
  })

test.before(async () => {
  fixture = await startSignInFixture({ settings: await passkeySettings() })
  ofSite = await fixture.connect('site', { allows_creation: true })
  ofAcme = await fixture.connect('acme', {
    links_verified_domains: true,
    groups_claim: 'groups',
    group_teams: [{ group: '/viewers', team_id: await fixture.teamId('Viewers') }],
  })
  fixture.provenDomains.add('acme.test')
  const domain = must(await fixture.as('ada', 'POST', '/orgs/acme/domains', { domain: 'acme.test' }), 201).json
  must(await fixture.as('ada', 'POST', `/orgs/acme/domains/${domain.id}/verify`))
  directoryToken = await makeDirectory()
})
test.after.always(() => fixture?.stop())

const signInAs = async (providerId: number, sub: string, claims: object = {}): Promise<[Browser, ServiceAnswer]> => {
  const person = { email: `${sub}@corp.test`, email_verified: true, preferred_username: sub, groups: [] }
  fixture.addPerson({ sub, ...person, ...claims })
  fixture.provider.as = sub
  const browser = fixture.browser()
  return [browser, await browser.signIn(providerId)]
}

const addPasskey = async (browser: Browser, proof: object): Promise<SoftwareAuthenticator> => {
  const authenticator = makeSoftwareAuthenticator({ origin: fixture.service.baseUrl })
  const offer = must(await browser.send('POST', `${keys}/request_register`, { name: 'Laptop', ...proof }))
  must(await browser.send('POST', `${keys}/register`, authenticator.create(offer.json.publicKey as never)), 201)
  return authenticator
}

/** The response of a passkey to a challenge for this browser. */
const responseIn = async (browser: Browser, authenticator: SoftwareAuthenticator) =>
  authenticator.get(must(await browser.send('POST', '/user/signin/passkey/request')).json.publicKey as never)

const signInByPasskey = async (authenticator: SoftwareAuthenticator, more: object = {}) => {
  const browser = fixture.browser()
  const passkey = await responseIn(browser, authenticator)
  return [browser, await browser.send('POST', '/user/signin/passkey', { passkey, ...more })] as const
}

const signInByPassword = async (username: string, given: string): Promise<Browser> => {
  const browser = fixture.browser()
  must(await browser.send('POST', '/user/signin', { username, password: given }))
  return browser
}

/** A person of the provider of the site with a password and a passkey. */
const withPasskey = async (login: string) => {
  const [browser, answer] = await signInAs(ofSite, login)
  must(answer)
  must(await fixture.as('admin', 'PATCH', `/admin/users/${login}`, { password, must_change_password: false }))
  const [again] = await signInAs(ofSite, login)
  return { authenticator: await addPasskey(again, { password }), first: browser }
}

test.serial('a sign-in with a provider takes a passkey as second factor', async (t) => {
  const { authenticator } = await withPasskey('kira')
  const [browser, answer] = await signInAs(ofSite, 'kira')
  t.like(answer.json, { code: 'SecondFactorNeeded' })
  t.regex(String(answer.json.message), /passkey/)
  const send = (passkey: object) => browser.send('POST', `/user/oauth2/${ofSite}/twofa`, { passkey })
  const { authenticator: ofOther } = await withPasskey('otto')
  t.is((await send(await responseIn(browser, ofOther))).status, 401)
  const elsewhere = fixture.browser()
  t.is((await send(await responseIn(elsewhere, authenticator))).status, 401, 'the challenge of another browser')
  must(await send(await responseIn(browser, authenticator)))
  t.is((await browser.send('GET', '/user')).json.login, 'kira')
})

test.serial('a link to a provider is proven by a passkey alone', async (t) => {
  const { authenticator } = await withPasskey('lina')
  const [browser, signedIn] = await signInByPasskey(authenticator)
  must(signedIn)
  const proof = async () => {
    const options = must(await browser.send('POST', `${keys}/request_proof`)).json.publicKey as never
    return { passkey: authenticator.get(options) }
  }
  const link = (body: object) => browser.send('POST', `/user/oauth2/${ofAcme}/link`, body)
  t.is((await link({})).status, 403)
  t.is((await link(await proof())).status, 200)
  const unlink = await browser.send('POST', '/user/settings/security/account_link', {
    loginSourceID: ofSite,
    ...(await proof()),
  })
  t.is(unlink.status, 200, unlink.text)
})

test.serial('a passkey does not sign in where local sign-in is off', async (t) => {
  const { authenticator } = await withPasskey('mona')
  must(await fixture.as('ada', 'PUT', `/teams/${await fixture.teamId('Viewers')}/members/mona`), 204)
  const [browser] = await signInByPasskey(authenticator)
  const options = must(await browser.send('POST', `${keys}/request_proof`)).json.publicKey as never
  const proof = { passkey: authenticator.get(options) }
  fixture.addPerson({ sub: 'mona-at-acme', email: 'mona@corp.test' })
  fixture.provider.as = 'mona-at-acme'
  const begun = must(await browser.send('POST', `/user/oauth2/${ofAcme}/link`, proof))
  must(await browser.finish(ofAcme, await browser.visit(begun.json.url)))
  // The provider works for the owner too, who may switch local sign-in off.
  const ada = await signInByPassword('ada', ownPassword)
  fixture.addPerson({ sub: 'ada', email: 'ada@corp.test' })
  fixture.provider.as = 'ada'
  const adaBegun = must(await ada.send('POST', `/user/oauth2/${ofAcme}/link`, { password: ownPassword }))
  must(await ada.finish(ofAcme, await ada.visit(adaBegun.json.url)))
  const external = fixture.browser()
  must(await external.signIn(ofAcme))
  must(await external.send('PUT', '/orgs/acme/local-sign-in', { is_off: true }), 204)
  const [, refused] = await signInByPasskey(authenticator)
  t.is(refused.status, 405)
  t.regex(String(refused.json.message), /passkeys of this service are not accepted/)
  must(await external.send('PUT', '/orgs/acme/local-sign-in', { is_off: false }), 204)
  must((await signInByPasskey(authenticator))[1])
})

test.serial('a user of the directory is linked by address, and stays without a group', async (t) => {
  const made = must(await scim('POST', '/Users', entraUser('nils@acme.test')), 201).json
  const claims = { email: 'nils@acme.test', preferred_username: 'nils' }
  const [, answer] = await signInAs(ofAcme, 'n1', { ...claims, groups: ['/viewers'] })
  t.like(answer.json, { login: 'nils' })
  const viewers = await fixture.teamId('Viewers')
  const inTeam = async () => (await fixture.as('ada', 'GET', `/teams/${viewers}/members/nils`)).status
  t.is(await inTeam(), 200)
  must((await signInAs(ofAcme, 'n1', { ...claims, groups: [] }))[1])
  t.is(await inTeam(), 404)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/nils')).status, 204)
  t.like((await scim('GET', `/Users/${made.id}`)).json, { active: true })
})

test.serial('a directory adopts a member only by an address of a verified domain', async (t) => {
  const viewers = await fixture.teamId('Viewers')
  const makeUser = async (username: string, email: string, isMember: boolean) => {
    const user = { username, email, password, must_change_password: false, full_name: 'Before' }
    must(await fixture.as('admin', 'POST', '/admin/users', user), 201)
    if (isMember) must(await fixture.as('ada', 'PUT', `/teams/${viewers}/members/${username}`), 204)
  }
  await makeUser('olga', 'olga@acme.test', true)
  await makeUser('otis', 'otis@acme.test', false)
  await makeUser('oren', 'oren@corp.test', true)
  for (const email of ['otis@acme.test', 'oren@corp.test'])
    t.like((await scim('POST', '/Users', entraUser(email))).json, { scimType: 'uniqueness', status: '409' }, email)
  const adopted = must(await scim('POST', '/Users', entraUser('olga@acme.test')), 201).json
  t.like(adopted, { userName: 'olga@acme.test', active: true })
  t.is((await fixture.as('admin', 'GET', '/users/olga')).json.full_name, 'Display of olga@acme.test')
  t.is((await signInByPassword('olga', password)).jar.names().length > 0, true, 'the password stays')
  must(await fixture.as('ada', 'DELETE', `/teams/${viewers}/members/olga`), 204)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/olga')).status, 204, 'the directory keeps the membership')
  t.is((await scim('POST', '/Users', entraUser('olga@acme.test'))).status, 409, 'the directory has the account already')
})

test.serial('a directory shuts no one out of another organization', async (t) => {
  const made = must(await scim('POST', '/Users', entraUser('pia@acme.test')), 201).json
  const group = must(await scim('POST', '/Groups', groupOf('Harbour', [made.id])), 201).json
  must(await fixture.as('admin', 'PATCH', '/admin/users/pia', { password, must_change_password: false }))
  must(await fixture.as('eve', 'PUT', '/orgs/evil/memberships/pia', { role: 'member' }))
  const pia = await signInByPassword('pia', password)
  const active = (value: boolean) =>
    scim('PATCH', `/Users/${made.id}`, patch({ op: 'replace', value: { active: value } }))
  t.like(must(await active(false)).json, { active: false })
  const isIn = async (org: string, owner: string) => (await fixture.as(owner, 'GET', `/orgs/${org}/members/pia`)).status
  t.is((await pia.send('GET', '/user')).status, 200)
  t.deepEqual([await isIn('acme', 'ada'), await isIn('evil', 'eve')], [404, 204])
  const { version } = must(await scim('GET', `/Users/${made.id}`)).json.meta as { version: string }
  t.is((must(await active(false)).json.meta as { version: string }).version, version, 'nothing is left to change')
  must(await scim('PATCH', `/Groups/${group.id}`, patch({ op: 'add', path: 'members', value: [{ value: made.id }] })))
  t.is(await isIn('acme', 'ada'), 404, 'a group does not admit a user who is not active')
  t.like(must(await active(true)).json, { active: true })
  t.is(await isIn('acme', 'ada'), 204)
  must(await scim('DELETE', `/Users/${made.id}`), 204)
  t.deepEqual([await isIn('acme', 'ada'), await isIn('evil', 'eve')], [404, 204])
  t.is((await pia.send('GET', '/user')).status, 200)
})

test.serial('a directory does not shut out a site admin', async (t) => {
  const made = must(await scim('POST', '/Users', entraUser('rosa@acme.test')), 201).json
  must(await fixture.as('admin', 'PATCH', '/admin/users/rosa', { admin: true, password, must_change_password: false }))
  const rosa = await signInByPassword('rosa', password)
  must(await scim('PATCH', `/Users/${made.id}`, patch({ op: 'replace', value: { active: false } })))
  t.is((await rosa.send('GET', '/user')).status, 200)
  must(await scim('DELETE', `/Users/${made.id}`), 204)
  t.is((await rosa.send('GET', '/user')).status, 200)
})

const teamsOfAcme = (browser: Browser) => browser.send('GET', '/orgs/acme/teams')

test.serial('an organization that requires passkeys admits sessions that a passkey opened', async (t) => {
  const viewers = await fixture.teamId('Viewers')
  const policy = (browser: Browser, isRequired: boolean) =>
    browser.send('PATCH', '/orgs/acme/policies', { require_passkey: isRequired })
  const { authenticator } = await withPasskey('sven')
  must(await fixture.as('ada', 'PUT', `/teams/${viewers}/members/sven`), 204)
  const adaByPassword = await signInByPassword('ada', ownPassword)
  t.like((await policy(adaByPassword, true)).json, { code: 'PolicyRefused' }, 'the owner would be shut out')
  const ofAda = await addPasskey(adaByPassword, { password: ownPassword })
  t.is((await policy(adaByPassword, true)).status, 422)
  const [ada] = await signInByPasskey(ofAda)
  const vic = await signInByPassword('vic', ownPassword)
  must(await policy(ada, true))
  const refused = await teamsOfAcme(vic)
  t.like(refused.json, { code: 'PasskeyDemanded' })
  t.is(refused.status, 403)
  t.regex(String(refused.json.message), /Add one at \/account, sign out, and sign in again/)
  t.is((await vic.send('GET', '/orgs/acme')).status, 200, 'the profile says why')
  t.like((await fixture.as('vic', 'GET', '/orgs/acme/teams')).json, { code: 'PasskeyDemanded' }, 'a token without one')
  t.false((await vic.send('GET', '/user/teams')).text.includes('"acme"'))
  const basic = { basic: ['vic', ownPassword] as const }
  t.like((await fixture.as(undefined, 'GET', '/orgs/acme/teams', undefined, basic)).json, { code: 'PasskeyDemanded' })
  const [sven, answer] = await signInByPasskey(authenticator, { remember: true })
  must(answer)
  t.is((await teamsOfAcme(sven)).status, 200)
  t.regex((await sven.send('GET', '/user/teams')).text, /"acme"/)
  sven.jar.drop('moorage_session')
  t.is((await teamsOfAcme(sven)).status, 200, 'a remembered sign-in with a passkey')
  await fixture.adopt('sven')
  t.is((await fixture.as('sven', 'GET', '/orgs/acme/teams')).status, 200, 'a token of someone with a passkey')
  t.is((await fixture.service.send('GET', '/api/v1/orgs/acme/teams', { token: directoryToken })).status, 200, 'a robot')
  const [external] = await signInAs(ofSite, 'sven')
  const passkey = await responseIn(external, authenticator)
  must(await external.send('POST', `/user/oauth2/${ofSite}/twofa`, { passkey }))
  t.is((await teamsOfAcme(external)).status, 200, 'a provider, and then a passkey')
  must(await policy(ada, false))
  t.is((await teamsOfAcme(vic)).status, 200)
})
