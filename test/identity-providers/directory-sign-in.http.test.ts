// process: waiting - waits for a directory
import { createHash } from 'node:crypto'
import { Attribute, Change } from 'ldapts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { needing } from '../support/components/needing.ts'
import { suffix } from '../support/components/slapd.ts'
import { codeOfStep } from '../identity/one-time-code-of.ts'
import type { DirectoryFixture } from './directory.fixture.ts'
import { groups, people, startDirectoryFixture, stateOf } from './directory.fixture.ts'

const test = needing('slapd')

let fixture: DirectoryFixture
let id: number
test.before(async () => {
  fixture = await startDirectoryFixture()
  id = await fixture.connectDirectory('site')
})
test.after.always(() => fixture.stop())

const refused = /does not accept this name and password/

/** Returns the name of the user whose session a browser has; undefined if it has none. */
const loginOf = async ({ browser }: Awaited<ReturnType<DirectoryFixture['signInAs']>>): Promise<string | undefined> => {
  const { status, json } = await browser.send('GET', '/user/settings/profile')
  return status === 200 ? (json.name as string) : undefined
}

test.serial('the first sign-in with a directory creates an account', async (t) => {
  await fixture.slapd.addPerson('nina', { givenName: 'Nina' })
  const signedIn = await fixture.signInAs(id, 'nina')
  t.is(signedIn.answer.status, 200, signedIn.answer.text)
  t.deepEqual(signedIn.answer.json, { login: 'nina', is_link: false })
  t.is(await loginOf(signedIn), 'nina')
  const [link] = (await signedIn.browser.send('GET', '/user/settings/security/account_link')).json
  t.regex(link.externalID, /^[0-9a-f-]{36}$/)
  t.like(link, { type: 2, isSyncEnabled: true })
  t.is((await signedIn.browser.send('GET', '/user/oauth2/end-session')).json.url, '')
})

test.serial('a sign-in works with StartTLS, and with a filter that has the name', async (t) => {
  await fixture.slapd.addPerson('stella')
  const other = await fixture.connectDirectory('site', {
    issuer: `ldap://localhost:${fixture.slapd.port}`,
    directory: { user_filter: '(&(objectClass=inetOrgPerson)(|(uid=%s)(mail=%s)))' },
  })
  t.is((await fixture.signInAs(other, 'stella@corp.test', 'password of stella')).answer.status, 200)
})

for (const [what, username, password] of [
  ['an empty password', 'olga', ''],
  ['a wrong password', 'olga', 'password of another'],
  ['a password with a NUL before it', 'olga', '\u0001password of olga'],
  ['a name of spaces', '   ', 'password of olga'],
  ['the DN of the person', `uid=olga,${people}`, 'password of olga'],
  ['a name that does not exist', 'olga2', 'password of olga'],
] as const)
  test.serial(`a sign-in with ${what} is refused`, async (t) => {
    await fixture.slapd.addPerson('olga').catch(() => undefined)
    const signedIn = await fixture.signInAs(id, username, password)
    t.is(signedIn.answer.status, 403, signedIn.answer.text)
    t.regex(signedIn.answer.json.message, refused)
    t.is(await loginOf(signedIn), undefined)
  })

test.serial('a name is no part of a filter', async (t) => {
  for (const name of ['*', 'olg*', 'olga)(uid=*', ')(|(uid=olga', 'olga)(|(uid=*', '\\2a'])
    t.regex((await fixture.signInAs(id, name, 'password of olga')).answer.json.message, refused, name)
})

test.serial('a name with a NUL is refused as malformed', async (t) => {
  t.is((await fixture.signInAs(id, 'olga\u0000', 'password of olga')).answer.status, 422)
})

test.serial('a name of two entries signs in as none of them', async (t) => {
  await fixture.slapd.addPerson('pat')
  const unit = `ou=more,${people}`
  await fixture.slapd.admin.add(unit, { objectClass: 'organizationalUnit', ou: 'more' })
  const entry = { objectClass: 'inetOrgPerson', uid: 'pat', cn: 'pat', sn: 'pat', userPassword: 'password of pat' }
  await fixture.slapd.admin.add(`uid=pat,${unit}`, entry)
  t.regex((await fixture.signInAs(id, 'pat')).answer.json.message, refused)
})

test.serial('a renamed entry keeps its account', async (t) => {
  await fixture.slapd.addPerson('quinn')
  t.is((await fixture.signInAs(id, 'quinn')).answer.status, 200)
  await fixture.slapd.admin.modifyDN(`uid=quinn,${people}`, 'uid=quinn-smith')
  const renamed = await fixture.signInAs(id, 'quinn-smith', 'password of quinn')
  t.deepEqual(renamed.answer.json, { login: 'quinn', is_link: false })
})

test.serial('an entry that was deleted and made again is another person', async (t) => {
  const dn = await fixture.slapd.addPerson('rosa')
  t.is((await fixture.signInAs(id, 'rosa')).answer.status, 200)
  await fixture.slapd.admin.del(dn)
  await fixture.slapd.addPerson('rosa', { mail: 'rosa.new@corp.test' })
  const { answer } = await fixture.signInAs(id, 'rosa')
  t.is(answer.status, 409, answer.text)
  t.is(answer.json.code, 'ExternalNameTaken')
})

test.serial('the host of a directory names its people', async (t) => {
  await fixture.slapd.addPerson('hedda')
  const other = await fixture.connectDirectory('site', { directory: { trusts_mail: true } })
  const before = await fixture.signInAs(other, 'hedda')
  t.is(before.answer.status, 200)
  const [link] = (await before.browser.send('GET', '/user/settings/security/account_link')).json
  t.is(link.loginSourceID, other)
  const database = await openDatabase(fixture.service.databaseUrl)
  const [row] = await database.query<{ issuer: string }>((k) =>
    k('external_accounts').where('provider_id', other).select('issuer'),
  )
  await database.close()
  t.is(row?.issuer, 'ldap://localhost')
})

test.serial('a person without a trusted address gets no account', async (t) => {
  await fixture.slapd.addPerson('silas')
  const other = await fixture.connectDirectory('site', { directory: { trusts_mail: false } })
  t.is((await fixture.signInAs(other, 'silas')).answer.json.code, 'ExternalAccountUnknown')
})

test.serial('wrong passwords lock the entry, whatever spelling of its name', async (t) => {
  await fixture.slapd.addPerson('tess')
  for (const name of ['tess', 'TESS', ' tess', 'Tess', 'tess '])
    t.is((await fixture.signInAs(id, name, 'wrong')).answer.status, 403)
  t.regex((await fixture.signInAs(id, 'tess')).answer.json.message, refused)
})

test.serial('an entry that its directory has disabled does not sign in', async (t) => {
  await fixture.slapd.addPerson('uwe', { objectClass: ['inetOrgPerson', 'user'], userAccountControl: '514' })
  t.regex((await fixture.signInAs(id, 'uwe')).answer.json.message, refused)
})

test.serial('a person of Active Directory has the GUID of Microsoft', async (t) => {
  const bytes = createHash('md5').update('guid').digest()
  const dn = await fixture.slapd.addPerson('vera', { objectClass: ['inetOrgPerson', 'user'] })
  const modification = new Attribute({ type: 'objectGUID', values: [bytes] })
  await fixture.slapd.admin.modify(dn, new Change({ operation: 'add', modification }))
  const other = await fixture.connectDirectory('site', { directory: { id_attribute: 'objectGUID' } })
  const { browser, answer } = await fixture.signInAs(other, 'vera')
  t.is(answer.status, 200, answer.text)
  const [link] = (await browser.send('GET', '/user/settings/security/account_link')).json
  const hex = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).reverse().toString('hex')
  t.true(link.externalID.startsWith(`${hex(0, 4)}-${hex(4, 6)}-${hex(6, 8)}-`), link.externalID)
})

test.serial('groups and the groups of groups are teams', async (t) => {
  const wade = await fixture.slapd.addPerson('wade')
  const inner = await fixture.slapd.addGroup('inner', [wade])
  const outer = await fixture.slapd.addGroup('outer', [inner])
  const rule = { group: outer.toUpperCase().replaceAll(',', ', '), team_id: await fixture.teamId('Viewers') }
  const isMember = async () => (await fixture.as('admin', 'GET', `/teams/${rule.team_id}/members/wade`)).status === 200
  const flat = { group_base: groups, group_filter: '(objectClass=groupOfNames)' }
  const other = await fixture.connectDirectory('site', { group_teams: [rule], directory: flat })
  t.is((await fixture.signInAs(other, 'wade')).answer.status, 200)
  t.false(await isMember())
  await fixture.as('admin', 'POST', `/accounts/admin/auths/${other}`, {
    name: `d-nested`,
    directory: { nested_groups: 'search' },
  })
  t.is((await fixture.signInAs(other, 'wade')).answer.status, 200)
  t.true(await isMember())
  await fixture.as('admin', 'POST', `/accounts/admin/auths/${other}`, {
    name: `d-nested`,
    groups_claim: 'memberOf',
    group_teams: [{ ...rule, group: inner }],
    directory: { nested_groups: 'none', group_base: '' },
  })
  t.is((await fixture.signInAs(other, 'wade')).answer.status, 200)
  t.true(await isMember())
})

test.serial('an account with a second factor continues with a one-time code', async (t) => {
  await fixture.slapd.addPerson('xena')
  const { browser } = await fixture.signInAs(id, 'xena')
  const offer = await browser.send('GET', '/user/settings/security/twofa/enroll')
  const step = Math.floor(Date.now() / 30_000)
  const enroll = { passCode: codeOfStep(offer.json.twoFASecret as string, step) }
  t.is((await browser.send('POST', '/user/settings/security/twofa/enroll', enroll)).status, 200)
  const next = await fixture.signInAs(id, 'xena')
  t.is(next.answer.status, 405)
  t.is(await loginOf(next), undefined)
  const passCode = codeOfStep(offer.json.twoFASecret as string, step + 1)
  t.is((await next.browser.send('POST', `/user/oauth2/${id}/twofa`, { passCode })).status, 200)
  t.is(await loginOf(next), 'xena')
})

test.serial('a sign-in belongs to its browser and its provider, and is used once', async (t) => {
  await fixture.slapd.addPerson('yann')
  const other = await fixture.connectDirectory('site')
  const browser = fixture.browser()
  const state = stateOf((await browser.begin(id)).json.url as string)
  const stranger = fixture.browser()
  await stranger.begin(id)
  t.is((await fixture.enter(stranger, id, state, 'yann', 'password of yann')).status, 422)
  t.is((await fixture.enter(browser, other, state, 'yann', 'password of yann')).status, 422)
  t.is((await fixture.enter(browser, id, state, 'yann', 'wrong')).status, 403)
  t.is((await fixture.enter(browser, id, state, 'yann', 'password of yann')).status, 200)
  t.is((await fixture.enter(browser, id, state, 'yann', 'password of yann')).status, 422)
})

test.serial('a user links the own account to a directory', async (t) => {
  await fixture.slapd.addPerson('zoe')
  const browser = fixture.browser()
  await browser.send('POST', '/user/signin', { username: 'sam', password: 'a long passphrase of ours' })
  const begun = await browser.send('POST', `/user/oauth2/${id}/link`, { password: 'a long passphrase of ours' })
  t.is(begun.status, 200, begun.text)
  const state = stateOf(begun.json.url as string)
  t.deepEqual((await fixture.enter(browser, id, state, 'zoe', 'password of zoe')).json, { login: 'sam', is_link: true })
  t.deepEqual((await fixture.signInAs(id, 'zoe')).answer.json, { login: 'sam', is_link: false })
})

test.serial('a directory of an organization creates accounts of its domains only', async (t) => {
  await fixture.slapd.addPerson('aron')
  await fixture.slapd.addPerson('bela', { mail: 'bela@else.test' })
  const own = await fixture.connectDirectory('acme', { default_team_id: await fixture.teamId('Viewers') })
  t.is((await fixture.signInAs(own, 'aron')).answer.json.code, 'ExternalAccountUnknown')
  fixture.provenDomains.add('corp.test')
  const domain = await fixture.as('ada', 'POST', '/orgs/acme/domains', { domain: 'corp.test' })
  await fixture.as('ada', 'POST', `/orgs/acme/domains/${domain.json.id}/verify`)
  t.is((await fixture.signInAs(own, 'aron')).answer.status, 200)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/aron')).status, 204)
  t.is((await fixture.signInAs(own, 'bela')).answer.json.code, 'ExternalAccountUnknown')
})

test.serial('the check of a directory says what is wrong', async (t) => {
  const check = async (form: Parameters<DirectoryFixture['connectDirectory']>[1]) => {
    const made = await fixture.connectDirectory('site', form)
    const answer = await fixture.as('admin', 'POST', `/accounts/admin/auths/${made}/check`)
    return answer.status === 200 ? 'works' : `${answer.status} ${answer.json.message}`
  }
  t.is(await check({}), 'works')
  t.regex(await check({ client_secret: 'wrong' }), /^502 The directory refuses the DN to search with/)
  t.regex(await check({ directory: { user_base: `ou=none,${suffix}` } }), /^502 .*no entry at user_base/)
  t.regex(await check({ directory: { user_filter: '(uid=none)' } }), /^502 No entry below user_base/)
  t.regex(await check({ directory: { id_attribute: 'nsUniqueId' } }), /^502 .*do not have the attribute/)
  t.regex(await check({ directory: { authorities: '' } }), /^502 The certificate of localhost/)
  t.regex(await check({ client_id: '', client_secret: undefined }), /^502 .*no right to search/)
  t.regex(await check({ issuer: 'ldap://localhost:9' }), /^502 The port is not one of LDAP/)
  t.regex(await check({ issuer: 'ldaps://169.254.169.254:636' }), /^502 169.254.169.254 cannot be reached/)
})

test.serial('the password of a directory is in no answer and no audit row', async (t) => {
  const made = await fixture.connectDirectory('acme')
  const shown = await fixture.as('ada', 'GET', `/orgs/acme/identity-providers/${made}`)
  t.is(shown.json.type, 'ldap')
  t.is(shown.json.directory.user_base, people)
  const audited = await fixture.as('ada', 'GET', '/orgs/acme/audit')
  for (const { text } of [shown, audited]) t.notRegex(text, /password of the reader/)
})

for (const [what, form] of [
  ['a DN to search with and no password', { client_secret: '' }],
  ['an address with a path', { issuer: 'ldaps://localhost/dc=x' }],
  ['a filter that is none', { directory: { user_filter: '(uid=' } }],
  ['a name within a value of a filter', { directory: { user_filter: '(uid=*%s*)' } }],
  ['a filter of groups with a name', { directory: { group_filter: '(cn=%s)' } }],
  ['authorities that are no certificates', { directory: { authorities: 'none' } }],
  ['no base of people', { directory: { user_base: '' } }],
] as const)
  test.serial(`a directory with ${what} is refused`, async (t) => {
    t.is((await fixture.addDirectory('acme', form)).status, 422)
  })

test.serial('the password of a directory is sent again if it would be less protected', async (t) => {
  const made = await fixture.connectDirectory('acme', { issuer: `ldap://localhost:${fixture.slapd.port}` })
  const path = `/orgs/acme/identity-providers/${made}`
  for (const change of [{ starttls: false }, { authorities: '' }])
    t.is((await fixture.as('ada', 'PATCH', path, { directory: change })).status, 422)
  t.is((await fixture.as('ada', 'PATCH', path, { directory: { page_size: 50 } })).status, 200)
  t.is((await fixture.as('ada', 'PATCH', path, { type: 'oidc' })).status, 422)
})

test.serial('every field of a directory is saved and shown', async (t) => {
  const made = await fixture.connectDirectory('acme')
  const path = `/orgs/acme/identity-providers/${made}`
  const directory = {
    starttls: false,
    authorities: '',
    user_base: 'ou=a',
    user_filter: '(uid=%s)',
    id_attribute: 'nsUniqueId',
    login_attribute: 'b',
    mail_attribute: 'c',
    name_attribute: 'd',
    surname_attribute: 'e',
    trusts_mail: false,
    group_base: 'ou=f',
    group_filter: '(cn=g)',
    member_attribute: 'memberUid',
    nested_groups: 'in-chain',
    page_size: 10,
  }
  const changed = await fixture.as('ada', 'PATCH', path, { client_secret: 'again', directory })
  t.is(changed.status, 200, changed.text)
  t.deepEqual((await fixture.as('ada', 'GET', path)).json.directory, directory)
  const wider = {
    host: 'ldap.else.test',
    port: 3268,
    securityProtocol: 0,
    bindDN: 'cn=h',
    userBase: 'ou=i',
    filter: '(uid=*)',
    attributeUsername: 'j',
    attributeName: 'k',
    attributeSurname: 'l',
    attributeMail: 'm',
    searchPageSize: 20,
  }
  const source = await fixture.connectDirectory('site')
  const sent = { name: 'wider', bindPassword: 'again', ...wider, ...{ directory: { starttls: true } } }
  const answer = await fixture.as('admin', 'POST', `/accounts/admin/auths/${source}`, sent)
  t.like(answer.json, wider, answer.text)
})

test.serial('the wider interface shows the fields of a directory', async (t) => {
  const { json } = await fixture.as('admin', 'GET', `/accounts/admin/auths/${id}`)
  t.like(json, { type: 2, host: 'localhost', port: fixture.slapd.tlsPort, securityProtocol: 1, userBase: people })
  t.false('oauth2Key' in json)
  for (const wrong of [{ skipVerify: true }, { adminFilter: '(uid=a)' }, { type: 5 }])
    t.is(
      (await fixture.as('admin', 'POST', `/accounts/admin/auths/${id}`, { name: 'd1', host: 'localhost', ...wrong }))
        .status,
      422,
    )
})

// The last one: no sign-in follows from this network.
test.serial('many guesses block the network before the directory is asked', async (t) => {
  const away = await fixture.connectDirectory('site', { client_secret: 'wrong' })
  t.is((await fixture.signInAs(away, 'sam')).answer.status, 502)
  const guess = (name: string) => fixture.signInAs(id, name, 'wrong').then(({ answer }) => answer.status)
  const statuses: number[] = []
  for (let round = 0; round < 20 && !statuses.includes(429); round += 1)
    statuses.push(...(await Promise.all(Array.from({ length: 10 }, (_, n) => guess(`nobody-${round}-${n}`)))))
  t.true(statuses.includes(429))
  t.is((await fixture.signInAs(away, 'sam')).answer.status, 429)
})
