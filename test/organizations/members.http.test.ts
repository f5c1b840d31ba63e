import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { IdentityStoresPort, TokenDigestPort } from '../../core/identity/ports.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { adminCreateUser } from '../../plugins/identity/accounts/admin.routes.ts'
import { editUserSettings } from '../../plugins/identity/accounts/settings.routes.ts'
import { addEmails } from '../../plugins/identity/emails/emails.routes.ts'
import { Redirect } from '../../plugins/kit/reply.ts'
import {
  acceptInvitation,
  getOwnInvitation,
  inviteMember,
  listInvitations,
  withdrawInvitation,
} from '../../plugins/organizations/invitations/invitations.routes.ts'
import {
  actOnMember,
  checkMember,
  concealMember,
  getMemberProfile,
  listMembers,
  listOrganizationTokens,
  publishMember,
  removeMember,
  revokeOrganizationToken,
  setMembership,
} from '../../plugins/organizations/members/members.routes.ts'
import {
  createOrganization,
  getOrganization,
  listOwnOrganizations,
} from '../../plugins/organizations/organizations/organizations.routes.ts'
import { getTeamMember, listOwnTeams, listTeams } from '../../plugins/organizations/teams/teams.routes.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { startFixture } from './service-fixture.ts'

let fixture: ServiceFixture
test.before(async () => {
  fixture = await startFixture()
})
test.after.always(() => fixture.stop())

const inAcme = { orgname: 'acme' } as const
const acme = (username: string) => ({ orgname: 'acme', username })
const eveOfEvil = { orgname: 'evil', username: 'eve' } as const
const membersOf = async (login: string, orgname: string): Promise<readonly string[]> =>
  (await fixture.call(login, listMembers, { params: { orgname } })).value.items.map((user) => user.login)

test.serial('members see all members, others the public ones', async (t) => {
  t.deepEqual(await membersOf('vic', 'acme'), ['ada', 'adam', 'cleo', 'ed', 'vic'])
  t.is((await fixture.as('sam', 'GET', '/orgs/acme/members')).status, 404)
  t.deepEqual(await membersOf('sam', 'evil'), [])
  t.is((await fixture.call('eve', publishMember, { params: eveOfEvil })).status, 204)
  t.deepEqual(await membersOf('sam', 'evil'), ['eve'])
  const anonymous = await fixture.as(undefined, 'GET', '/orgs/evil/public_members')
  t.deepEqual([anonymous.status, anonymous.json.map(({ login }: { login: string }) => login)], [200, ['eve']])
  t.is((await fixture.as(undefined, 'GET', '/orgs/acme/public_members')).status, 404)
  t.is((await fixture.as(undefined, 'GET', '/orgs/evil/public_members/eve')).status, 204)
  t.is((await fixture.call('eve', concealMember, { params: eveOfEvil })).status, 204)
  t.is((await fixture.as(undefined, 'GET', '/orgs/evil/public_members/eve')).status, 404)
})

test.serial('is a member: 204 or 404 to members, 302 to the public members for others', async (t) => {
  const check = (login: string, org: string, who: string) => fixture.as(login, 'GET', `/orgs/${org}/members/${who}`)
  t.is((await fixture.call('vic', checkMember, { params: acme('ada') })).status, 204)
  t.is((await check('vic', 'acme', 'eve')).status, 404)
  t.is((await check('vic', 'acme', 'nobody')).status, 404)
  t.is((await check('sam', 'acme', 'ada')).status, 404)
  const sent = await fixture.call('sam', checkMember, { params: eveOfEvil })
  t.deepEqual(sent.value, new Redirect(302, '/api/v1/orgs/evil/public_members/eve'))
})

test.serial('visibility of a membership: for oneself and by owners only', async (t) => {
  t.is((await fixture.as('adam', 'PUT', '/orgs/acme/public_members/vic')).status, 403)
  t.is((await fixture.call('vic', publishMember, { params: acme('vic') })).status, 204)
  t.is((await fixture.call('ada', concealMember, { params: acme('vic') })).status, 204)
  t.is((await fixture.as('ada', 'PUT', '/orgs/acme/public_members/eve')).status, 404)
  t.is((await fixture.as('eve', 'PUT', '/orgs/acme/public_members/eve')).status, 404)
})

test.serial('a membership names role, user and organization without escalation', async (t) => {
  const put = (login: string, who: string, body: object) =>
    fixture.as(login, 'PUT', `/orgs/acme/memberships/${who}`, body)
  const set = (login: string, who: string, role: 'member' | 'admin') =>
    fixture.call(login, setMembership, { params: acme(who), body: { role } })
  const made = await set('adam', 'sam', 'member')
  t.like(made.value, { role: 'member', state: 'active', user: { login: 'sam' }, org: { username: 'acme' } })
  t.is((await put('adam', 'sam', { role: 'owner' })).status, 403)
  t.is((await put('adam', 'ada', { role: 'member' })).status, 403)
  t.is((await put('ada', 'ada', { role: 'member' })).status, 409)
  t.is((await put('ada', 'nobody', { role: 'member' })).status, 404)
  t.is((await put('ada', 'evil', { role: 'member' })).status, 422)
  t.is((await put('ada', 'sam', { role: 'king' })).status, 422)
  t.is((await put('vic', 'sam', { role: 'member' })).status, 403)
  t.is((await set('ada', 'sam', 'admin')).value.role, 'admin')
  t.is((await put('adam', 'sam', { role: 'member' })).status, 403, 'an admin lowers no admin')
  t.is((await set('sam', 'sam', 'member')).value.role, 'member', 'but everyone themselves')
  t.is((await put('eve', 'eve', { role: 'owner' })).status, 404)
  t.is((await fixture.call('ada', removeMember, { params: acme('sam') })).status, 204)
})

test.serial('removing someone who is no member is done, unless it would disclose an account', async (t) => {
  const remove = async (login: string, who: string) =>
    (await fixture.as(login, 'DELETE', `/orgs/acme/members/${who}`)).status
  t.is(await remove('ada', 'ada'), 409)
  t.is(await remove('ada', 'sam'), 204)
  t.is(await remove('ada', 'nobody'), 404)
  t.is(await remove('vic', 'ed'), 403)
  t.is(await remove('adam', 'ada'), 403)
  t.is(await remove('eve', 'vic'), 404)
  await fixture.call('ada', setMembership, { params: acme('sam'), body: { role: 'owner' } })
  t.is((await fixture.call('sam', removeMember, { params: acme('sam') })).status, 204)
  t.is((await fixture.as('sam', 'GET', '/orgs/acme')).status, 404)
})

test.serial('one route form makes members public or private and removes them', async (t) => {
  const act = async (login: string, action: string, query: string) =>
    (await fixture.as(login, 'POST', `/orgs/acme/members/action/${action}?${query}`)).status
  const vic = `uid=${fixture.idOf('vic')}`
  const done = async (login: string, action: string, who: string) =>
    (await fixture.call(login, actOnMember, { params: { orgname: 'acme', action }, query: { uid: fixture.idOf(who) } }))
      .status
  t.is(await done('vic', 'public', 'vic'), 200)
  t.is(await done('ada', 'private', 'vic'), 200)
  t.is(await act('ada', 'leave', vic), 400)
  t.is(await act('ada', 'ban', vic), 400)
  t.is(await act('ada', 'remove', 'uid=abc'), 400)
  t.is(await act('ada', 'remove', ''), 400)
  for (const nobody of ['999999', '9223372036854775807']) t.is(await act('ada', 'remove', `uid=${nobody}`), 404)
  t.is(await act('ada', 'leave', `uid=${fixture.idOf('ada')}`), 409)
  t.is(await act('eve', 'remove', vic), 403)
  await fixture.call('ada', setMembership, { params: acme('sam'), body: { role: 'member' } })
  t.is(await done('sam', 'leave', 'sam'), 200)
})

test.serial("a member's card is for members", async (t) => {
  const card = await fixture.call('vic', getMemberProfile, { params: acme('ada') })
  t.like(card.value, { name: 'ada', full_name: '', language: '' })
  t.is((await fixture.as('vic', 'GET', '/orgs/acme/user/eve')).status, 404)
  t.is((await fixture.as('eve', 'GET', '/orgs/acme/user/ada')).status, 403)
})

const confinedToken = async (login: string, value: string, orgId: number): Promise<number> => {
  const { container } = fixture.service.running
  const made = await container.resolve(IdentityStoresPort).tokens.insert({
    userId: fixture.idOf(login) as UserId,
    name: value,
    hash: container.resolve(TokenDigestPort).digest(value),
    lastEight: value.slice(-8),
    scopeWords: ['all'],
    onlyOrgId: orgId as OrgId,
    createdBy: undefined,
    createdAt: new Date(),
    expiresAt: undefined,
  })
  if (made._tag === 'Left') throw new Error(made.left.message)
  return made.right
}

test.serial("owners see and revoke the organization's confined tokens", async (t) => {
  const shown = (await fixture.call('ada', getOrganization, { params: inAcme })).value
  if (shown instanceof Redirect) throw new Error(shown.path)
  const value = '0123456789abcdef0123456789abcdef01234567'
  const id = await confinedToken('ada', value, shown.value.id)
  const send = async (method: string, path: string, body?: unknown) =>
    fixture.service.send(method, `/api/v1${path}`, { token: value, ...(body === undefined ? {} : { body }) })
  await fixture.call('ada', createOrganization, { body: { username: 'second', visibility: 'private' } })
  t.deepEqual((await fixture.service.call(value, getOrganization, { params: inAcme })).value, shown)
  t.is((await send('GET', '/orgs/second')).status, 404)
  t.is((await send('PATCH', '/orgs/second', { location: 'x' })).status, 404)
  t.is((await send('POST', '/orgs', { username: 'third' })).status, 403)
  t.deepEqual(
    (await fixture.service.call(value, listOwnOrganizations)).value.items.map(({ username }) => username),
    ['acme'],
  )
  t.deepEqual(
    [
      ...new Set(
        (await fixture.service.call(value, listOwnTeams)).value.items.map(({ organization }) => organization.username),
      ),
    ],
    ['acme'],
  )

  const path = '/orgs/acme/tokens/access-tokens'
  const listed = await fixture.call('ada', listOrganizationTokens, { params: inAcme })
  t.is((await fixture.as('ada', 'GET', `${path}/`)).text, listed.text, 'with a slash at the end as well')
  t.like(listed.value.items[0], { id, uid: fixture.idOf('ada'), token: '', tokenLastEight: '01234567', expDate: 0 })
  t.is((await fixture.as('vic', 'GET', path)).status, 403)
  t.is((await fixture.as('eve', 'GET', path)).status, 403)
  t.is((await fixture.as('adam', 'DELETE', `${path}/${id}`)).status, 403)
  t.is((await fixture.as('eve', 'DELETE', `/orgs/evil/tokens/access-tokens/${id}`)).status, 404)
  t.is((await fixture.call('ada', revokeOrganizationToken, { params: { orgname: 'acme', id } })).status, 200)
  t.is((await send('GET', '/user')).status, 401, 'a revoked token is dead at once')
})

let invitationsFixture: ServiceFixture
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
test.before(async () => {
  invitationsFixture = await startFixture({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await invitationsFixture?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const invite = (login: string, body: object, org = 'acme') =>
  invitationsFixture.as(login, 'POST', `/orgs/${org}/invitations`, body)
const invited = async (
  login: string,
  body: { readonly email: string; readonly role: 'member' | 'admin' | 'owner'; readonly team_ids?: readonly number[] },
  orgname = 'acme',
) => invitationsFixture.call(login, inviteMember, { params: { orgname }, body })
const accept = (login: string | undefined, code: string) =>
  invitationsFixture.as(login, 'PUT', `/user/invitations/${code}`)
const accepted = async (login: string, token: string) =>
  (await invitationsFixture.call(login, acceptInvitation, { params: { token } })).status
const show = (login: string | undefined, code: string) =>
  invitationsFixture.as(login, 'GET', `/user/invitations/${code}`)
const statusOf = async (answer: Promise<ServiceAnswer>) => (await answer).status
/** The token in the link of the nth mail to an address. */
const tokenTo = async (address: string, count = 1): Promise<string> => {
  const { text } = await mails.nth(address, count)
  const token = /accept-invitation\?code=([0-9A-Za-z]{32})\b/.exec(text ?? '')?.[1]
  if (token === undefined) throw new Error(`no link in: ${text}`)
  return token
}
const newcomer = async (login: string): Promise<void> => {
  const user = {
    username: login,
    email: `${login}@example.org`,
    password: 'a long passphrase of ours',
    must_change_password: false,
    send_notify: false,
  }
  await invitationsFixture.call('admin', adminCreateUser, { body: user })
  await invitationsFixture.adopt(login)
}

test.serial('an invitation adds its addressee once with role and teams', async (t) => {
  await newcomer('grace')
  const editors = await invitationsFixture.teamId('Editors')
  const made = await invited('adam', { email: 'grace@EXAMPLE.org', role: 'member', team_ids: [editors] })
  t.like(made.value, { email: 'grace@example.org', role: 'member', team_ids: [editors], inviter: 'adam' })
  t.false(made.text.includes('token'))
  const pending = async () =>
    (await invitationsFixture.call('ada', listInvitations, { params: inAcme })).value.items.map(({ email }) => email)
  t.deepEqual(await pending(), ['grace@example.org'])
  const token = await tokenTo('grace@example.org')
  t.is(token.length, 32)
  const shown = await invitationsFixture.call('grace', getOwnInvitation, { params: { token } })
  t.like(shown.value, { role: 'member', inviter: 'adam', org: { username: 'acme' }, email: 'grace@example.org' })
  t.is(await statusOf(invitationsFixture.as('grace', 'GET', '/orgs/acme/teams')), 404, 'shown, not yet a member')
  t.is(await accepted('grace', token), 204)
  t.is(
    (await invitationsFixture.call('grace', getTeamMember, { params: { teamid: editors, username: 'grace' } })).value
      .login,
    'grace',
  )
  t.is(await statusOf(accept('grace', token)), 410, 'once')
  t.is(await statusOf(show('grace', token)), 410)
  t.deepEqual(await pending(), [])
})

test.serial('a user with another address gets nothing by the invitation link', async (t) => {
  await newcomer('heidi')
  t.is((await invited('ada', { email: 'heidi@example.org', role: 'member' })).status, 201)
  const token = await tokenTo('heidi@example.org')
  for (const answer of [await accept('sam', token), await show('sam', token)]) {
    t.is(answer.status, 403)
    t.is(answer.json.code, 'InvitationForAnother')
    t.false(answer.text.includes('heidi@'))
  }
  t.is(await statusOf(accept(undefined, token)), 401)
  t.is(await accepted('heidi', token), 204, 'a wrong guest did not use it up')
})

test.serial('an address that is not confirmed accepts nothing', async (t) => {
  await newcomer('ivan')
  t.is((await invitationsFixture.call('ivan', addEmails, { body: { emails: ['other@example.org'] } })).status, 201)
  await mails.nth('other@example.org', 1)
  t.is((await invited('ada', { email: 'other@example.org', role: 'member' })).status, 201)
  const sent = await mails.nth('other@example.org', 2)
  const token = /accept-invitation\?code=([0-9A-Za-z]{32})/.exec(sent.text ?? '')?.[1] ?? ''
  t.is(await statusOf(accept('ivan', token)), 403)
})

test.serial('inviting does not tell whether an account has the address', async (t) => {
  const answers = [
    await invite('ada', { email: 'eve@example.org', role: 'member' }),
    await invite('ada', { email: 'nobody@example.org', role: 'member' }),
  ]
  const bare = answers.map(({ status, json }) => ({ status, keys: Object.keys(json) }))
  t.deepEqual(bare[0], bare[1])
  // Vic is a member who hides the address: the answer is that of a stranger's.
  t.is((await invited('ada', { email: 'vic@example.org', role: 'member' })).status, 201)
  const token = await tokenTo('vic@example.org')
  t.is((await accept('vic', token)).json.code, 'AlreadyMember')
  await invitationsFixture.call('vic', editUserSettings, { body: { hide_email: false } })
  t.is((await invite('ada', { email: 'vic@example.org', role: 'member' })).status, 409)
})

test.serial('members invite to their own rights at most, outsiders cannot invite', async (t) => {
  const owners = await invitationsFixture.teamId('Owners')
  const to = { email: 'mallory@example.org' }
  t.is((await invite('adam', { ...to, role: 'owner' })).status, 403)
  t.is((await invite('adam', { ...to, role: 'member', team_ids: [owners] })).status, 403)
  t.is((await invite('cleo', { ...to, role: 'admin' })).status, 403)
  t.is((await invite('ed', { ...to, role: 'member' })).status, 403)
  t.is((await invite('eve', { ...to, role: 'member' })).status, 404)
  const foreign = (await invitationsFixture.call('eve', listTeams, { params: { orgname: 'evil' } })).value.items.map(
    ({ id }) => id,
  )
  t.is(foreign.length, 3)
  t.is((await invite('ada', { ...to, role: 'member', team_ids: foreign.slice(0, 1) })).status, 422)
  t.is((await invite('ada', { email: 'no address', role: 'member' })).status, 422)
  t.is((await invite('ada', { ...to, role: 'king' })).status, 422)
  t.deepEqual(await mails.to('mallory@example.org'), [])
})

test.serial('an invitation to rights that the inviter lost cannot be accepted', async (t) => {
  const setKarl = (role: 'member' | 'admin') =>
    invitationsFixture.call('ada', setMembership, { params: acme('karl'), body: { role } })
  await newcomer('judy')
  await newcomer('karl')
  t.is((await setKarl('admin')).value.role, 'admin')
  t.is((await invited('karl', { email: 'judy@example.org', role: 'admin' })).status, 201)
  const token = await tokenTo('judy@example.org')
  t.is((await setKarl('member')).value.role, 'member')
  t.is(await statusOf(accept('judy', token)), 410)
  t.is((await setKarl('admin')).value.role, 'admin')
  t.is(await accepted('judy', token), 204, 'and again when the inviter may')
  await newcomer('olaf')
  t.is(
    (
      await invited('karl', {
        email: 'olaf@example.org',
        role: 'member',
        team_ids: [await invitationsFixture.teamId('Admins')],
      })
    ).status,
    201,
  )
  t.is((await setKarl('member')).value.role, 'member')
  t.is(await statusOf(accept('olaf', await tokenTo('olaf@example.org'))), 410, 'no team either')
  t.is(await statusOf(invitationsFixture.as('olaf', 'GET', '/orgs/acme/teams')), 404)
})

test.serial('a new invitation replaces the old one, and a withdrawn one is gone', async (t) => {
  await newcomer('lena')
  t.is((await invited('ada', { email: 'lena@example.org', role: 'admin' })).status, 201)
  const old = await tokenTo('lena@example.org')
  const again = await invited('ada', { email: 'lena@example.org', role: 'member' })
  const token = await tokenTo('lena@example.org', 2)
  t.is(await statusOf(accept('lena', old)), 410)
  const path = (org: string) => `/orgs/${org}/invitations/${again.value.id}`
  t.is(await statusOf(invitationsFixture.as('eve', 'DELETE', path('evil'))), 404)
  t.is(await statusOf(invitationsFixture.as('vic', 'DELETE', path('acme'))), 403)
  t.is(
    (await invitationsFixture.call('adam', withdrawInvitation, { params: { orgname: 'acme', id: again.value.id } }))
      .status,
    204,
  )
  t.is(await statusOf(invitationsFixture.as('adam', 'DELETE', path('acme'))), 404)
  t.is(await statusOf(accept('lena', token)), 410)
  t.is(await statusOf(accept('lena', 'x'.repeat(32))), 410)
})

test.serial('many organizations together send a limited number of mails to one address', async (t) => {
  const statuses: number[] = []
  for (let n = 1; n <= 5; n++) {
    await invitationsFixture.call('ada', createOrganization, { body: { username: `bombers-${n}` } })
    for (let i = 0; i < 5; i++)
      statuses.push(await statusOf(invite('ada', { email: 'victim@example.net', role: 'member' }, `bombers-${n}`)))
  }
  t.deepEqual(statuses, [...Array.from({ length: 20 }, () => 201), ...Array.from({ length: 5 }, () => 429)])
  t.is(await statusOf(invite('ada', { email: 'another@example.net', role: 'member' }, 'bombers-5')), 201)
})

test.serial('the secret of an invitation is in no log and in no table', async (t) => {
  await newcomer('nina')
  await invited('ada', { email: 'nina@example.org', role: 'member' })
  const token = await tokenTo('nina@example.org')
  await invitationsFixture.call('nina', getOwnInvitation, { params: { token } })
  t.false(invitationsFixture.service.logText().includes(token))
  const audit = await invitationsFixture.as('ada', 'GET', '/orgs/acme/audit')
  t.is(audit.status, 200)
  t.true(audit.text.includes('organization.member_invited'))
  t.false(audit.text.includes(token))
})
