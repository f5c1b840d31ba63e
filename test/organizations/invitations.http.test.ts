import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceWorld } from './service-world.ts'
import { startWorld } from './service-world.ts'

let world: ServiceWorld
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
test.before(async () => {
  world = await startWorld({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await world?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const invite = (login: string, body: object, org = 'acme') => world.as(login, 'POST', `/orgs/${org}/invitations`, body)
const accept = (login: string | undefined, code: string) => world.as(login, 'PUT', `/user/invitations/${code}`)
const show = (login: string | undefined, code: string) => world.as(login, 'GET', `/user/invitations/${code}`)
const statusOf = async (answer: Promise<ServiceAnswer>) => (await answer).status
/** The token in the link of the nth mail to an address. */
const tokenTo = async (address: string, count = 1): Promise<string> => {
  const { text } = await mails.nth(address, count)
  const token = /accept-invitation\?code=([0-9A-Za-z]{32})\b/.exec(text ?? '')?.[1]
  if (token === undefined) throw new Error(`no link in: ${text}`)
  return token
}
const newcomer = async (login: string): Promise<void> => {
  const user = { username: login, email: `${login}@example.org`, password: 'a long passphrase of ours', must_change_password: false, send_notify: false }
  const made = await world.as('admin', 'POST', '/admin/users', user)
  if (made.status !== 201) throw new Error(made.text)
  await world.adopt(login)
}

test.serial('an invitation makes the holder of the address a member, in the role and the teams that it names, once', async (t) => {
  await newcomer('grace')
  const editors = await world.teamId('Editors')
  const made = await invite('adam', { email: 'grace@EXAMPLE.org', role: 'member', team_ids: [editors] })
  t.is(made.status, 201, made.text)
  t.like(made.json, { email: 'grace@example.org', role: 'member', team_ids: [editors], inviter: 'adam' })
  t.false(made.text.includes('token'))
  t.deepEqual((await world.as('ada', 'GET', '/orgs/acme/invitations')).json.map(({ email }: { email: string }) => email), ['grace@example.org'])
  const token = await tokenTo('grace@example.org')
  t.is(token.length, 32)
  const shown = await show('grace', token)
  t.like(shown.json, { role: 'member', inviter: 'adam', org: { username: 'acme' }, email: 'grace@example.org' })
  t.is(await statusOf(world.as('grace', 'GET', '/orgs/acme/teams')), 404, 'shown, not yet a member')
  t.is(await statusOf(accept('grace', token)), 204)
  t.is(await statusOf(world.as('grace', 'GET', `/teams/${editors}/members/grace`)), 200)
  t.is(await statusOf(accept('grace', token)), 410, 'once')
  t.is(await statusOf(show('grace', token)), 410)
  t.deepEqual((await world.as('ada', 'GET', '/orgs/acme/invitations')).json, [])
})

test.serial('a user with another address gets nothing by the link, and does not learn the address', async (t) => {
  await newcomer('heidi')
  t.is((await invite('ada', { email: 'heidi@example.org', role: 'member' })).status, 201)
  const token = await tokenTo('heidi@example.org')
  for (const answer of [await accept('sam', token), await show('sam', token)]) {
    t.is(answer.status, 403)
    t.is(answer.json.code, 'InvitationForAnother')
    t.false(answer.text.includes('heidi@'))
  }
  t.is(await statusOf(accept(undefined, token)), 401)
  t.is(await statusOf(accept('heidi', token)), 204, 'a wrong guest did not use it up')
})

test.serial('an address that is not confirmed accepts nothing', async (t) => {
  await newcomer('ivan')
  t.is((await world.as('ivan', 'POST', '/user/emails', { emails: ['other@example.org'] })).status, 201)
  await mails.nth('other@example.org', 1)
  t.is((await invite('ada', { email: 'other@example.org', role: 'member' })).status, 201)
  const sent = await mails.nth('other@example.org', 2)
  const token = /accept-invitation\?code=([0-9A-Za-z]{32})/.exec(sent.text ?? '')?.[1] ?? ''
  t.is(await statusOf(accept('ivan', token)), 403)
})

test.serial('inviting does not tell whether an account has the address', async (t) => {
  const answers = [await invite('ada', { email: 'eve@example.org', role: 'member' }), await invite('ada', { email: 'nobody@example.org', role: 'member' })]
  const bare = answers.map(({ status, json }) => ({ status, keys: Object.keys(json) }))
  t.deepEqual(bare[0], bare[1])
  // Vic is a member who hides the address: the answer is that of a stranger's.
  t.is((await invite('ada', { email: 'vic@example.org', role: 'member' })).status, 201)
  const token = await tokenTo('vic@example.org')
  t.is((await accept('vic', token)).json.code, 'AlreadyMember')
  t.is((await world.as('vic', 'PATCH', '/user/settings', { hide_email: false })).status, 200)
  t.is((await invite('ada', { email: 'vic@example.org', role: 'member' })).status, 409)
})

test.serial('members invite to their own rights at most, outsiders cannot invite', async (t) => {
  const owners = await world.teamId('Owners')
  const to = { email: 'mallory@example.org' }
  t.is((await invite('adam', { ...to, role: 'owner' })).status, 403)
  t.is((await invite('adam', { ...to, role: 'member', team_ids: [owners] })).status, 403)
  t.is((await invite('cleo', { ...to, role: 'admin' })).status, 403)
  t.is((await invite('ed', { ...to, role: 'member' })).status, 403)
  t.is((await invite('eve', { ...to, role: 'member' })).status, 404)
  const foreign = (await world.as('eve', 'GET', '/orgs/evil/teams')).json[0].id as number
  t.is((await invite('ada', { ...to, role: 'member', team_ids: [foreign] })).status, 422)
  t.is((await invite('ada', { email: 'no address', role: 'member' })).status, 422)
  t.is((await invite('ada', { ...to, role: 'king' })).status, 422)
  t.deepEqual(await mails.to('mallory@example.org'), [])
})

test.serial('an invitation to rights that the inviter lost cannot be accepted', async (t) => {
  await newcomer('judy')
  await newcomer('karl')
  t.is((await world.as('ada', 'PUT', '/orgs/acme/memberships/karl', { role: 'admin' })).status, 200)
  t.is((await invite('karl', { email: 'judy@example.org', role: 'admin' })).status, 201)
  const token = await tokenTo('judy@example.org')
  t.is((await world.as('ada', 'PUT', '/orgs/acme/memberships/karl', { role: 'member' })).status, 200)
  t.is(await statusOf(accept('judy', token)), 410)
  t.is((await world.as('ada', 'PUT', '/orgs/acme/memberships/karl', { role: 'admin' })).status, 200)
  t.is(await statusOf(accept('judy', token)), 204, 'and again when the inviter may')
  await newcomer('olaf')
  t.is((await invite('karl', { email: 'olaf@example.org', role: 'member', team_ids: [await world.teamId('Admins')] })).status, 201)
  t.is((await world.as('ada', 'PUT', '/orgs/acme/memberships/karl', { role: 'member' })).status, 200)
  t.is(await statusOf(accept('olaf', await tokenTo('olaf@example.org'))), 410, 'no team either')
  t.is(await statusOf(world.as('olaf', 'GET', '/orgs/acme/teams')), 404)
})

test.serial('a new invitation to an address replaces the old one; a withdrawn one is gone; another organization withdraws none', async (t) => {
  await newcomer('lena')
  t.is((await invite('ada', { email: 'lena@example.org', role: 'admin' })).status, 201)
  const old = await tokenTo('lena@example.org')
  const again = await invite('ada', { email: 'lena@example.org', role: 'member' })
  const token = await tokenTo('lena@example.org', 2)
  t.is(await statusOf(accept('lena', old)), 410)
  const path = (org: string) => `/orgs/${org}/invitations/${again.json.id}`
  t.is(await statusOf(world.as('eve', 'DELETE', path('evil'))), 404)
  t.is(await statusOf(world.as('vic', 'DELETE', path('acme'))), 403)
  t.is(await statusOf(world.as('adam', 'DELETE', path('acme'))), 204)
  t.is(await statusOf(world.as('adam', 'DELETE', path('acme'))), 404)
  t.is(await statusOf(accept('lena', token)), 410)
  t.is(await statusOf(accept('lena', 'x'.repeat(32))), 410)
})

test.serial('many organizations together send a limited number of mails to one address', async (t) => {
  const statuses: number[] = []
  for (let n = 1; n <= 5; n++) {
    t.is(await statusOf(world.as('ada', 'POST', '/orgs', { username: `bombers-${n}` })), 201)
    for (let i = 0; i < 5; i++) statuses.push(await statusOf(invite('ada', { email: 'victim@example.net', role: 'member' }, `bombers-${n}`)))
  }
  t.deepEqual(statuses, [...Array.from({ length: 20 }, () => 201), ...Array.from({ length: 5 }, () => 429)])
  t.is(await statusOf(invite('ada', { email: 'another@example.net', role: 'member' }, 'bombers-5')), 201)
})

test.serial('the secret of an invitation is in no log and in no table', async (t) => {
  await newcomer('nina')
  await invite('ada', { email: 'nina@example.org', role: 'member' })
  const token = await tokenTo('nina@example.org')
  await show('nina', token)
  t.false(world.service.logText().includes(token))
  const audit = await world.as('ada', 'GET', '/orgs/acme/audit')
  t.is(audit.status, 200)
  t.true(audit.text.includes('organization.member_invited'))
  t.false(audit.text.includes(token))
})
