// process: waiting - waits for a directory
import { Attribute, Change } from 'ldapts'
import fc from 'fast-check'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { mostEnds } from '../../core/identity-providers/directories/comparisons.ts'
import { needing } from '../support/components/needing.ts'
import type { Browser } from './sign-in.fixture.ts'
import type { DirectoryFixture, DirectoryForm } from './directory.fixture.ts'
import { groups, people, startDirectoryFixture } from './directory.fixture.ts'

const test = needing('slapd')

let fixture: DirectoryFixture
test.before(async () => {
  fixture = await startDirectoryFixture()
})
test.after.always(() => fixture.stop())

/** Adds a directory whose people have names that begin with a letter of their own. */
const connect = (unit: string, form: DirectoryForm = {}): Promise<number> =>
  fixture.connectDirectory('site', {
    ...form,
    directory: { user_filter: `(&(objectClass=inetOrgPerson)(uid=${unit}*))`, ...form.directory },
  })

const signIn = async (id: number, uid: string, attributes = {}): Promise<Browser> => {
  await fixture.slapd.addPerson(uid, attributes)
  const { browser, answer } = await fixture.signInAs(id, uid)
  if (answer.status !== 200) throw new Error(answer.text)
  return browser
}

const isIn = async (browser: Browser): Promise<boolean> => (await browser.send('GET', '/user')).status === 200

const remove = (uid: string): Promise<void> => fixture.slapd.admin.del(`uid=${uid},${people}`)

const set = (dn: string, type: string, value: string): Promise<void> =>
  fixture.slapd.admin.modify(
    dn,
    new Change({ operation: 'replace', modification: new Attribute({ type, values: [value] }) }),
  )

const stateOf = async (id: number) => (await fixture.as('admin', 'GET', `/accounts/admin/auths/${id}`)).json

test('at least three people lose access by one comparison, and at most the share', (t) => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.integer({ min: 1, max: 100 }), (count, percent) => {
      const most = mostEnds(count, percent)
      return most >= 3 && (most === 3 || most * 100 <= count * percent)
    }),
  )
  t.deepEqual([mostEnds(10, 20), mostEnds(100, 20), mostEnds(100, 100)], [3, 20, 100])
})

test.serial('a person who was removed from the directory loses sessions and tokens', async (t) => {
  const id = await connect('a')
  const [gone, stays] = [await signIn(id, 'a-gone'), await signIn(id, 'a-stays')]
  const token = await fixture.service.tokenFor('a-gone')
  await fixture.compare()
  t.deepEqual([await isIn(gone), await isIn(stays)], [true, true])
  await remove('a-gone')
  await fixture.compare()
  t.deepEqual([await isIn(gone), await isIn(stays)], [false, true])
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401)
  t.regex((await fixture.as('admin', 'GET', '/admin/audit?action=user.access_ended')).text, /a-gone/)
  t.regex((await stateOf(id)).compared_at, /^20/)
})

test.serial('a person who is disabled in the directory loses access', async (t) => {
  const id = await connect('b')
  const ofAd = { objectClass: ['inetOrgPerson', 'user'], userAccountControl: '512' }
  const browsers = [await signIn(id, 'b-uac', ofAd), await signIn(id, 'b-locked'), await signIn(id, 'b-tried')]
  await set(`uid=b-uac,${people}`, 'userAccountControl', '514')
  await set(`uid=b-locked,${people}`, 'pwdAccountLockedTime', '000001010000Z')
  await set(`uid=b-tried,${people}`, 'pwdAccountLockedTime', '20261128120000Z')
  await fixture.compare()
  const areIn = []
  for (const browser of browsers) areIn.push(await isIn(browser))
  t.deepEqual(areIn, [false, false, true])
})

test.serial('a person outside of the filter loses access until the entry is within it again', async (t) => {
  const id = await connect('c', { directory: { user_filter: '(&(uid=c*)(employeeType=staff))' } })
  await signIn(id, 'c-other', { employeeType: 'staff' })
  const browser = await signIn(id, 'c-left', { employeeType: 'staff' })
  await set(`uid=c-left,${people}`, 'employeeType', 'former')
  await fixture.compare()
  t.false(await isIn(browser))
  await set(`uid=c-left,${people}`, 'employeeType', 'staff')
  t.is((await fixture.signInAs(id, 'c-left')).answer.status, 200)
})

test.serial('nothing ends if the directory shows no one, refuses or is away', async (t) => {
  const id = await connect('d')
  const browser = await signIn(id, 'd-stays')
  const path = `/accounts/admin/auths/${id}`
  const client_secret = fixture.slapd.reader.password
  for (const [change, problem] of [
    [{ directory: { user_filter: '(uid=d-none)' } }, /No entry below user_base/],
    [{ bindPassword: 'wrong' }, /refuses the DN/],
    [{ host: 'localhost', port: 3268, securityProtocol: 1, bindPassword: 'x' }, /cannot be reached/],
  ] as const) {
    const answer = await fixture.as('admin', 'POST', path, { name: 'd-changes', ...change })
    t.is(answer.status, 200, answer.text)
    await fixture.compare()
    t.true(await isIn(browser))
    t.regex((await stateOf(id)).last_problem, problem)
    await fixture.as('admin', 'POST', path, {
      name: 'd-changes',
      host: 'localhost',
      port: fixture.slapd.tlsPort,
      securityProtocol: 1,
      bindPassword: client_secret,
      directory: { user_filter: '(uid=d*)' },
    })
  }
  await fixture.compare()
  t.is((await stateOf(id)).last_problem, '')
})

test.serial('a comparison that would end too many ends none until it is confirmed', async (t) => {
  const id = await connect('e')
  const browsers: Browser[] = []
  for (let n = 0; n < 10; n += 1) browsers.push(await signIn(id, `e-${n}`))
  for (let n = 0; n < 6; n += 1) await remove(`e-${n}`)
  const areIn = async () => {
    let count = 0
    for (const browser of browsers) count += (await isIn(browser)) ? 1 : 0
    return count
  }
  await fixture.compare()
  await fixture.compare()
  t.is(await areIn(), 10)
  t.is((await stateOf(id)).withheld_ends, 6)
  const metrics = await (await fetch(`${fixture.service.opsUrl}/metrics`)).text()
  t.regex(metrics, /moorage_directory_ends_withheld 6/)
  const rows = await fixture.as('admin', 'GET', '/admin/audit?action=identity_provider.ends_withheld')
  t.is(rows.json.length, 1)
  const confirm = (ends: number) => fixture.as('admin', 'POST', `/accounts/admin/auths/${id}/confirm-ends`, { ends })
  t.is((await confirm(5)).status, 409)
  t.is((await confirm(0)).status, 409)
  t.is((await confirm(6)).status, 204)
  await fixture.compare()
  t.is(await areIn(), 4)
  t.is((await stateOf(id)).withheld_ends, 0)
  t.is((await confirm(6)).status, 409)
})

test.serial('groups are applied again, in pages', async (t) => {
  const team = await fixture.teamId('Viewers')
  const id = await connect('f', {
    group_teams: [{ group: `cn=f-group,${groups}`, team_id: team }],
    directory: { group_base: groups, group_filter: '(objectClass=groupOfNames)', page_size: 10 },
  })
  const uids = Array.from({ length: 12 }, (_, n) => `f-${String(n).padStart(2, '0')}`)
  for (const uid of uids) await signIn(id, uid)
  const isMember = async (uid: string) =>
    (await fixture.as('admin', 'GET', `/teams/${team}/members/${uid}`)).status === 200
  t.false(await isMember('f-00'))
  const group = await fixture.slapd.addGroup(
    'f-group',
    uids.map((uid) => `uid=${uid},${people}`),
  )
  await fixture.compare()
  t.deepEqual([await isMember('f-00'), await isMember('f-11')], [true, true])
  await set(group, 'member', `uid=f-11,${people}`)
  await fixture.compare()
  t.deepEqual([await isMember('f-00'), await isMember('f-11')], [false, true])
  // Without any group, the directory does not say that there are none.
  await fixture.as('admin', 'POST', `/accounts/admin/auths/${id}`, {
    name: 'f-changed',
    directory: { group_filter: '(cn=no-such-group)' },
  })
  await fixture.compare()
  t.true(await isMember('f-11'))
})

test.serial('people of a host that was entered before lose access by a comparison', async (t) => {
  const id = await connect('h')
  const browser = await signIn(id, 'h-before')
  const database = await openDatabase(fixture.service.databaseUrl)
  await database.query((k) => k('external_accounts').where('provider_id', id).update({ issuer: 'ldap://before.test' }))
  await database.close()
  await fixture.compare()
  t.false(await isIn(browser))
})

test.serial('a directory of an organization decides nothing about site admins', async (t) => {
  const id = await fixture.connectDirectory('acme', { directory: { user_filter: '(uid=g*)' } })
  fixture.provenDomains.add('corp.test')
  const domain = await fixture.as('ada', 'POST', '/orgs/acme/domains', { domain: 'corp.test' })
  await fixture.as('ada', 'POST', `/orgs/acme/domains/${domain.json.id}/verify`)
  await signIn(id, 'g-stays')
  await signIn(id, 'g-admin')
  const token = await fixture.service.tokenFor('g-admin')
  await fixture.as('admin', 'PATCH', '/admin/users/g-admin', { admin: true })
  await remove('g-admin')
  await fixture.compare()
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 200)
  t.is((await fixture.as('ed', 'POST', `/orgs/acme/identity-providers/${id}/confirm-ends`, { ends: 1 })).status, 403)
})
