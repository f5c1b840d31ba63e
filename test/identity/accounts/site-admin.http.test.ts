import test from 'ava'
import type { TypeOf } from 'io-ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IdentityStoresPort, IdentityUnitOfWorkPort } from '../../../core/identity/ports.ts'
import { makeDeactivateAccount } from '../../../core/identity/accounts/removal.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { consoleListClusters } from '../../../plugins/clusters/clusters.routes.ts'
import { getSiteSummary } from '../../../plugins/platform/platform.routes.ts'
import {
  adminEditUser,
  adminGetUser,
  adminListEmails,
  adminListUsers,
  adminRenameUser,
  adminSearchEmails,
  adminUpdateProfile,
} from '../../../plugins/identity/accounts/admin.routes.ts'
import type { AdminEditUserPayload } from '../../../plugins/identity/accounts/console.routes.ts'
import {
  consoleCreateUser,
  consoleDeleteUser,
  consoleEditUser,
  consoleListDeleted,
  consoleListUsers,
  consolePurge,
  consoleReactivate,
  consoleTestMail,
} from '../../../plugins/identity/accounts/console.routes.ts'
import type { UsersQuery } from '../../../plugins/identity/accounts/user-wire.ts'
import { allowDomain, disallowDomain, setRegistration } from '../../../plugins/identity/accounts/registration.routes.ts'
import { getCaller, getUser } from '../../../plugins/identity/accounts/users.routes.ts'
import { addEmails, listEmails, removeEmails } from '../../../plugins/identity/emails/emails.routes.ts'
import type { Client, Loose } from '../../../plugins/kit/client.ts'
import { listMembers } from '../../../plugins/organizations/members/members.routes.ts'
import {
  adminCreateOrganization,
  adminListOrganizations,
  adminListOrganizationsOfUser,
  consoleDeleteOrphaned,
  consoleListOrganizations,
  consoleListOrphaned,
} from '../../../plugins/organizations/organizations/organizations.routes.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import { migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { readMailFolder } from '../../mail/mail-folder.ts'
import { unwrap } from '../../support/outcome.ts'
import type { SendOptions, ServiceAnswer } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { callBy } from '../identity-fixture.ts'

const password = 'a long passphrase'
const mailFolder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
const mails = readMailFolder(mailFolder)
let service: TestService
/** The typed client of the site admin. */
let client: Client
/** The service's own, for what no request can do. */
let database: SqlDatabase
test.before(async () => {
  const url = `sqlite:${await migratedSqlitePath()}`
  database = await openPatiently(url)
  service = await startService({ settings: { MOORAGE_MAIL: `folder:${mailFolder}`, MOORAGE_DATABASE_URL: url } })
  client = clientAs(service, { token: service.adminToken })
  for (const login of ['ada', 'bob', 'eve']) await makeUser(login)
})
test.after.always(async () => {
  await service?.stop()
  await database?.close()
  rmSync(mailFolder, { recursive: true, force: true })
})

const send = (method: string, path: string, options: SendOptions = {}): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1${path}`, options)
const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })
const makeUser = (login: string, extra: object = {}) =>
  admin('POST', '/admin/users', {
    username: login,
    email: `${login}@example.org`,
    password,
    must_change_password: false,
    ...extra,
  })
const idOf = async (login: string): Promise<number> =>
  (await valueOf(client.call(adminGetUser, { params: { username: login } }))).id
const codeOf = (answer: ServiceAnswer) => [answer.status, answer.json.code]
const signUp = (username: string, email = `${username}@example.org`) =>
  send('POST', '/user/signup', { body: { username, email, password } })
const deactivate = async (login: string): Promise<number> => {
  const { container } = service.running
  const found = (await container.resolve(IdentityStoresPort).users.byLogin(login))!
  const deps = { unitOfWork: container.resolve(IdentityUnitOfWorkPort), clock: container.resolve(ClockPort) }
  unwrap(await makeDeactivateAccount(deps)(callBy(found), found.id))
  return found.id
}

test('only a site admin changes the site, and everyone reads whether sign-up is open', async (t) => {
  const token = await service.tokenFor('ada')
  for (const [method, path, body] of [
    ['POST', '/disable-registration', { disableRegistration: false }],
    ['POST', '/allowed-domains', { name: 'evil.org' }],
    ['PATCH', '/allowed-domains', { name: 'evil.org' }],
    ['POST', '/branding', { appName: 'Mine' }],
    ['GET', '/accounts/admin', undefined],
    ['GET', '/accounts/admin/config', undefined],
    ['GET', '/accounts/admin/users', undefined],
    ['GET', '/admin/emails', undefined],
    ['GET', '/admin/users/bob', undefined],
    ['POST', '/admin/users/bob/rename', { new_username: 'stolen' }],
    ['POST', '/accounts/admin/users/1', { admin: false }],
  ] as const) {
    t.is(
      (await send(method, path, { token, ...(body === undefined ? {} : { body }) })).status,
      403,
      `${method} ${path}`,
    )
    t.is((await send(method, path, body === undefined ? {} : { body })).status, 401, `${method} ${path}`)
  }
  t.deepEqual((await send('GET', '/allowed-domains')).json, [])
  t.is((await send('GET', '/disable-registration')).status, 200)
})

test.serial('sign-up is closed, opened or confirmed, and a taken address is notified', async (t) => {
  t.deepEqual((await send('GET', '/disable-registration')).json, { disableRegistration: true })
  t.deepEqual(codeOf(await signUp('gus')), [403, 'RegistrationClosed'])
  t.is((await admin('POST', '/disable-registration?org=whatever', { disableRegistration: false })).status, 200)
  const [fresh, taken] = [await signUp('gus'), await signUp('hal', 'ada@example.org')]
  t.deepEqual([fresh.status, fresh.text, taken.status, taken.text], [200, '', 200, ''])
  t.is(fresh.headers['set-cookie'], undefined)
  t.is((await send('GET', '/user', { basic: ['gus', password] })).status, 403)
  t.is((await mails.nth('ada@example.org', 1)).subject, 'A sign-up with your address was attempted')
  const code = /The code is: (\S+)/.exec((await mails.nth('gus@example.org', 1)).text ?? '')?.[1] ?? ''
  t.is((await send('POST', '/user/activate', { body: { code } })).status < 300, true)
  t.is((await send('GET', '/user', { basic: ['gus', password] })).status, 200)
  // As before the code of 'gus': the answer does not tell that the address was taken.
  t.is((await send('GET', '/user', { basic: ['hal', password] })).status, 403)
  t.deepEqual(codeOf(await signUp('GUS', 'other@example.org')), [422, 'UserNameTaken'])
  t.is((await client.call(allowDomain, { body: { name: 'example.org' } })).status, 200)
  t.is((await admin('POST', '/allowed-domains', { name: 'EXAMPLE.org' })).status, 409)
  t.is((await admin('POST', '/allowed-domains', { name: 'no domain' })).status, 422)
  t.deepEqual((await send('GET', '/allowed-domains')).json, ['example.org'])
  t.deepEqual(codeOf(await signUp('ian', 'ian@other.org')), [422, 'EmailDomainRefused'])
  t.is((await client.call(disallowDomain, { body: { name: 'example.org' } })).status, 200)
  t.is((await admin('PATCH', '/allowed-domains', { name: 'example.org' })).status, 422)
  t.is((await admin('POST', '/disable-registration', { disableRegistration: 'no' })).status, 422)
  t.is((await client.call(setRegistration, { body: { disableRegistration: true } })).status, 200)
})

test.serial('one address may ask for ten accounts an hour, over all names', async (t) => {
  const other = await startService()
  t.teardown(() => other.stop())
  await valueOf(
    clientAs(other, { token: other.adminToken }).call(setRegistration, { body: { disableRegistration: false } }),
  )
  const ask = (n: number) =>
    other.send('POST', '/api/v1/user/signup', {
      body: { username: `user${n}`, email: `user${n}@example.org`, password },
    })
  for (let n = 0; n < 10; n++) t.is((await ask(n)).status, 200)
  const refused = await ask(10)
  t.is(refused.status, 429)
  t.true(Number(refused.headers['retry-after']) > 3000)
  t.is((await other.send('GET', '/api/v1/users/user10')).status, 404)
})

test('a renamed user keeps tokens and sessions, and the old name leads to the new one', async (t) => {
  await makeUser('old')
  await makeUser('inthe-way')
  const token = await service.tokenFor('old')
  const signedIn = await send('POST', '/user/signin', { body: { username: 'old', password, remember: false } })
  const cookie = [signedIn.headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ')
  const rename = (from: string, to: string) => admin('POST', `/admin/users/${from}/rename`, { new_username: to })
  t.deepEqual(codeOf(await rename('old', 'INTHE-WAY')), [422, 'UserNameTaken'])
  t.deepEqual(codeOf(await rename('old', 'a b')), [422, 'UserNameRefused'])
  t.deepEqual(codeOf(await rename('old', 'admin')), [422, 'UserNameRefused'])
  t.deepEqual(codeOf(await rename('nobody', 'x1')), [404, 'UserMissing'])
  t.is(
    (await client.call(adminRenameUser, { params: { username: 'old' }, body: { new_username: 'renamed' } })).status,
    204,
  )
  t.is((await valueOf(clientAs(service, { token }).call(getCaller))).login, 'renamed')
  t.is((await send('GET', '/user', { headers: { Cookie: cookie } })).json.login, 'renamed')
  t.is((await send('GET', '/user', { basic: ['renamed', password] })).status, 200)
  t.is((await send('GET', '/user', { basic: ['old', password] })).status, 401, 'a former name opens nothing')
  const led = await send('GET', '/users/OLD')
  t.deepEqual([led.status, led.headers['location']], [307, '/api/v1/users/renamed'])
  await makeUser('old', { email: 'old2@example.org' })
  t.like(await valueOf(service.client.call(getUser, { params: { username: 'old' } })), { login: 'old' })
})

test('a former name of a private user does not redirect', async (t) => {
  await makeUser('hidden', { visibility: 'private' })
  await valueOf(client.call(adminRenameUser, { params: { username: 'hidden' }, body: { new_username: 'veiled' } }))
  t.is((await send('GET', '/users/hidden', { token: await service.tokenFor('bob') })).status, 404)
  t.is((await send('GET', '/users/hidden', { token: service.adminToken })).status, 307)
})

test('users are shown by id and by name, updated by profile, and listed narrowed', async (t) => {
  await makeUser('4711')
  await makeUser('prof', { visibility: 'private' })
  const id = await idOf('prof')
  const loginAt = async (username: string) => (await valueOf(client.call(adminGetUser, { params: { username } }))).login
  t.is(await loginAt(String(id)), 'prof')
  t.is(await loginAt('4711'), '4711', 'a name of digits that is not an id')
  for (const path of ['/admin/users/nobody', '/admin/users/999999', '/admin/users/99999999999999999999'])
    t.is((await admin('GET', path)).status, 404, path)
  const profile = { full_name: 'The Professor', email: 'new@example.org', keep_email_private: false }
  const updated = await client.call(adminUpdateProfile, {
    params: { username: 'prof' },
    body: { name: 'PROF', ...profile },
  })
  t.is(updated.status, 200, updated.text)
  t.like(updated.ok && updated.value, profile)
  t.is((await admin('POST', '/admin/users/prof/update', { name: 'other' })).status, 422)
  t.is((await admin('POST', '/admin/users/prof/update', { email: 'ada@example.org' })).status, 422)
  t.is((await admin('POST', '/admin/users/nobody/update', {})).status, 404)
  const logins = async (query: Loose<TypeOf<typeof UsersQuery>>) =>
    (await valueOf(client.call(adminListUsers, { query }))).items.map(({ login }) => login)
  t.deepEqual(await logins({ visibility: 'private', q: 'pro' }), ['prof'])
  t.deepEqual(await logins({ is_admin: true, q: 'adm' }), ['admin'])
  t.deepEqual(await logins({ login_name: 'PROF', source_id: 0 }), ['prof'])
  t.deepEqual(await logins({ source_id: 1 }), [])
  t.is((await admin('GET', '/admin/users?is_admin=perhaps')).status, 400)
  const paged = await client.call(adminListUsers, {
    query: { sort: 'newest', is_active: true },
    page: { limit: 1, page: 2 },
  })
  t.is(paged.ok && paged.value.items.length, 1)
  t.true(paged.ok && paged.value.total > 3 && String(paged.headers['link']).includes('rel="next"'))
})

test('addresses of all users are listed and searched, with paging', async (t) => {
  const all = await client.call(adminListEmails, { page: { limit: 2 } })
  t.is(all.ok && all.value.items.length, 2)
  t.true(all.ok && all.value.total >= 4 && String(all.headers['link']).includes('rel="next"'))
  const found = await valueOf(client.call(adminSearchEmails, { query: { q: 'BOB@' } }))
  t.deepEqual(found.items, [
    {
      email: 'bob@example.org',
      display_email: 'bob@example.org',
      verified: true,
      primary: true,
      user_id: await idOf('bob'),
      username: 'bob',
    },
  ])
})

test('the console makes, changes, lists and deletes users under its own keys', async (t) => {
  const created = await client.call(consoleCreateUser, {
    body: { loginType: '0-0', userName: 'konrad', email: 'konrad@example.org', password, sendNotify: true },
  })
  t.is(created.status, 201, created.text)
  const made = created.ok ? created.value : undefined
  t.like(made, { Name: 'konrad', IsActive: true, IsAdmin: false, MustChangePassword: true })
  t.is((await mails.nth('konrad@example.org', 1)).subject, 'An account was created for you')
  t.false(JSON.stringify(await mails.to('konrad@example.org')).includes(password))
  const id = made?.ID ?? 0
  t.deepEqual(
    codeOf(
      await admin('POST', '/accounts/admin/users/new', { loginType: '0-0', userName: 'x1', email: 'x1@example.org' }),
    ),
    [422, 'PasswordTooWeak'],
  )
  const edit = (body: Loose<TypeOf<typeof AdminEditUserPayload>>) =>
    valueOf(
      client.call(consoleEditUser, {
        params: { userid: id },
        body: { loginType: '0-0', email: 'konrad@example.org', ...body },
      }),
    )
  t.like(await edit({ fullName: 'Konrad', admin: true, password: '', disableTwoFactor: true }), {
    FullName: 'Konrad',
    IsAdmin: true,
  })
  t.is(
    (await send('GET', '/user', { basic: ['konrad', password] })).status !== 401,
    true,
    'an empty password leaves it',
  )
  t.like(await edit({ admin: false, active: false }), { IsAdmin: false, IsActive: false, FullName: 'Konrad' })
  t.deepEqual(
    (await valueOf(client.call(consoleListUsers, { query: { q: 'konrad' } }))).items.map((row) => row.ID),
    [id],
  )
  t.is((await admin('POST', '/accounts/admin/users/999999', {})).status, 404)
  t.deepEqual(codeOf(await admin('POST', `/accounts/admin/users/${await idOf('admin')}`, { admin: false })), [
    409,
    'LastAdmin',
  ])
  t.deepEqual(codeOf(await admin('POST', `/accounts/admin/users/${await idOf('admin')}`, { disableTwoFactor: true })), [
    403,
    'OwnSecondFactor',
  ])
  t.deepEqual(codeOf(await admin('POST', `/accounts/admin/users/${await idOf('admin')}/delete`)), [400, 'UserInUse'])
  const remove = async () => (await client.call(consoleDeleteUser, { params: { userid: id } })).status
  t.deepEqual([await remove(), await remove()], [200, 404])
})

test('deactivated accounts are listed, restored and deleted', async (t) => {
  for (const login of ['gone', 'away']) await makeUser(login)
  const [gone, away] = [await deactivate('gone'), await deactivate('away')]
  t.is((await send('GET', '/user', { basic: ['gone', password] })).status, 403)
  const deleted = async () => (await valueOf(client.call(consoleListDeleted))).items
  const listed = await deleted()
  t.deepEqual(
    listed.map(({ Name }) => Name),
    ['away', 'gone'],
  )
  t.is((listed[0]?.PurgedAfterUnix ?? 0) - (listed[0]?.DeactivatedUnix ?? 0), 30 * 24 * 3600)
  const reactivate = async () => (await client.call(consoleReactivate, { params: { id: gone } })).status
  t.deepEqual([await reactivate(), await reactivate()], [200, 404])
  t.is((await send('GET', '/user', { basic: ['gone', password] })).status, 200)
  t.is((await client.call(adminEditUser, { params: { username: 'away' }, body: { active: true } })).status, 200)
  t.deepEqual(await deleted(), [], 'making it active is bringing it back')
  t.is(await deactivate('away'), away)
  t.deepEqual(await valueOf(client.call(consolePurge)), { removed: 1, kept: 0 })
  t.is((await admin('GET', '/admin/users/away')).status, 404)
})

test('organizations: all of them, those of a user, one made for a user, and orphans', async (t) => {
  const made = await client.call(adminCreateOrganization, {
    params: { username: 'eve' },
    body: { username: 'eves', visibility: 'private' },
  })
  t.is(made.status, 201, made.text)
  const id = made.ok ? made.value.id : 0
  t.is((await send('GET', '/orgs/eves/is-owner', { token: await service.tokenFor('eve') })).status, 200)
  t.is(
    (await valueOf(client.call(listMembers, { params: { orgname: 'eves' } }))).items.length,
    1,
    'the administrator is no member',
  )
  t.deepEqual(
    (await valueOf(client.call(adminListOrganizationsOfUser, { params: { username: 'eve' } }))).items.map(
      ({ name }) => name,
    ),
    ['eves'],
  )
  t.deepEqual(codeOf(await admin('POST', '/admin/users/eve/orgs', { username: 'EVES' })), [
    422,
    'OrganizationNameTaken',
  ])
  t.is((await admin('POST', '/admin/users/nobody/orgs', { username: 'theirs' })).status, 404)
  t.is((await admin('GET', '/admin/users/eves/orgs')).status, 404, 'an organization is no user')
  await makeUser('offline')
  await valueOf(client.call(adminEditUser, { params: { username: 'offline' }, body: { active: false } }))
  t.deepEqual(codeOf(await admin('POST', '/admin/users/offline/orgs', { username: 'theirs' })), [
    422,
    'AccountNotEligible',
  ])
  t.true(
    (await valueOf(client.call(adminListOrganizations))).items.some(
      ({ name, visibility }) => name === 'eves' && visibility === 'private',
    ),
  )
  t.like(
    (await valueOf(client.call(consoleListOrganizations))).items.find(({ Name }) => Name === 'eves'),
    { ID: id, Visibility: 'private' },
  )
  const remove = () => client.call(consoleDeleteOrphaned, { params: { id } })
  const refused = await remove()
  t.deepEqual([refused.status, !refused.ok && refused.error.code], [409, 'OrganizationHasOwner'])
  t.deepEqual((await admin('GET', '/accounts/admin/orgs/orphaned/')).json, [], 'with a slash at the end')
  await database.query((k) => k('team_members').where('org_id', id).delete())
  t.deepEqual(
    (await valueOf(client.call(consoleListOrphaned))).items.map(({ name }) => name),
    ['eves'],
  )
  t.deepEqual([(await remove()).status, (await remove()).status], [200, 404])
})

test('the summary counts, settings show no secret, and a test mail arrives', async (t) => {
  const summary = await valueOf(client.call(getSiteSummary))
  t.true(summary.counts.users > 3 && summary.counts.accessTokens >= 1 && summary.counts.siteAdmins >= 1)
  t.is(summary.database.kind, 'sqlite')
  const config = await admin('GET', '/accounts/admin/config')
  t.true(String(config.headers['content-type']).startsWith('application/json'))
  t.is(config.json.admin_username, 'admin')
  t.false(config.text.includes('harbour-lantern-tide-42'))
  t.is((await client.call(consoleTestMail, { query: { email: 'ops@example.org' } })).status, 200)
  t.is((await mails.nth('ops@example.org', 1)).subject, 'Test mail')
  t.is((await admin('POST', '/accounts/admin/config/test_mail')).status, 400)
  for (const [email, status] of [
    ['nobody', 422],
    ['a%40b.org%0d%0aBcc%3A%20c%40d.org', 400],
  ] as const)
    t.is((await admin('POST', `/accounts/admin/config/test_mail?email=${email}`)).status, status, email)
  t.deepEqual((await valueOf(client.call(consoleListClusters))).items, [])
})

test('an imported user keeps the creation time, which cannot be in the future', async (t) => {
  const made = await makeUser('old-hand', { created_at: '2019-03-04T05:06:07+01:00' })
  t.is(made.status, 201, made.text)
  t.is(made.json.created, '2019-03-04T04:06:07.000Z')
  const [row] = await database.query<{ changes: string }>((k) =>
    k('audit_events').where({ action: 'user.created', object_name: 'old-hand' }).select('changes'),
  )
  t.like(JSON.parse(row?.changes ?? '{}'), { created_at: '2019-03-04T04:06:07.000Z' })
  for (const created_at of ['2999-01-01T00:00:00Z', 'yesterday', '', '2019-03-04', 1]) {
    t.is((await makeUser('newcomer', { created_at })).status, 422, String(created_at))
  }
})

test('sign-in to an unconfirmed account explains the confirmation', async (t) => {
  t.is((await makeUser('shut')).status, 201)
  t.is((await client.call(adminEditUser, { params: { username: 'shut' }, body: { active: false } })).status, 200)
  const refused = await send('POST', '/user/signin', { body: { username: 'shut', password } })
  t.is(refused.status, 405)
  t.regex(refused.json.message as string, /not confirmed.*ask for a new password.*administrator/)
})

test("a site admin manages a user's addresses, audited and notified", async (t) => {
  await makeUser('managed')
  const own = clientAs(service, { token: await service.tokenFor('managed') })
  const extraQuery = { sudo: 'managed' }
  const body = { emails: ['moved@example.net'] }
  const added = await client.call(addEmails, { extraQuery, body })
  t.is(added.status, 201)
  t.is(added.headers['x-sudo-by'], 'admin')
  t.like(added.ok && added.value[1], { email: 'moved@example.net', username: 'managed', verified: false })
  t.is((await valueOf(client.call(listEmails, { extraQuery }))).items.length, 2)
  t.is((await own.call(addEmails, { extraQuery, body })).status, 403)
  t.is(
    (await client.call(removeEmails, { extraQuery, body: { emails: ['managed@example.org'] } })).status,
    422,
    'the primary one stays',
  )
  t.is((await client.call(removeEmails, { extraQuery, body })).status, 204)
  t.is((await valueOf(own.call(listEmails))).items.length, 1)
  const rows = await database.query<{ action: string; actor_name: string; impersonator_name: string }>((k) =>
    k('audit_events')
      .where({ object_name: 'managed' })
      .where('action', 'like', 'email.%')
      .orderBy('id')
      .select('action', 'actor_name', 'impersonator_name'),
  )
  t.deepEqual(
    rows.map((row) => ({ ...row })),
    ['email.added', 'email.removed'].map((action) => ({ action, actor_name: 'managed', impersonator_name: 'admin' })),
  )
  // Mails that are due together are sent together, in any order.
  await mails.nth('managed@example.org', 2)
  const received = await mails.to('managed@example.org')
  t.deepEqual(
    received.map(({ subject }) => subject).sort(),
    ['added', 'removed'].map((done) => `An administrator ${done} e-mail addresses of your account`),
  )
  for (const { text } of received) t.regex(text ?? '', /moved@example\.net/)
})
