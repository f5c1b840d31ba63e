import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { operatorCall } from '../../composition/part/operator.ts'
import { makeNotifySecondFactor } from '../../core/organizations/organizations/policies.ts'
import { OrganizationUnitOfWorkPort } from '../../core/organizations/ports.ts'
import { setMembership } from '../../plugins/organizations/members/members.routes.ts'
import {
  editPolicies,
  getOrganization,
  getPolicies,
  listOwnOrganizations,
} from '../../plugins/organizations/organizations/organizations.routes.ts'
import { listOwnTeams, listTeams } from '../../plugins/organizations/teams/teams.routes.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import { setSecondFactor } from './enrolled.ts'
import type { ServiceFixture } from './service-fixture.ts'
import { acme, startFixture } from './service-fixture.ts'

let fixture: ServiceFixture
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
const dayMs = 24 * 3600 * 1000
test.before(async () => {
  fixture = await startFixture({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await fixture?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const change = (login: string, body: object, options: object = {}, org = 'acme') =>
  fixture.as(login, 'PATCH', `/orgs/${org}/policies`, body, options)
const changed = async (
  login: string,
  body: {
    readonly require_two_factor?: boolean
    readonly two_factor_grace_days?: number
    readonly max_token_life_days?: number
  },
) => (await fixture.call(login, editPolicies, { params: acme, body })).value.value
const teamsSeenBy = async (login: string) =>
  (await fixture.call(login, listTeams, { params: acme })).value.items.map(({ name }) => name)
const get = (login: string, path: string) => fixture.as(login, 'GET', path)
const password = (login: string) => ({ basic: [login, 'a long passphrase of ours'] as const })
const inside = [
  '/orgs/acme/teams',
  '/orgs/acme/members',
  '/orgs/acme/members/ada',
  '/orgs/acme/public_members',
  '/orgs/acme/robots',
  '/orgs/acme/policies',
  '/users/ada/orgs/acme/permissions',
  '/authz/roles?org=acme',
  '/clustersv2/acme',
]

test.serial('members see policies, owners change them under If-Match', async (t) => {
  const before = await get('vic', '/orgs/acme/policies')
  t.deepEqual(before.json, {
    require_two_factor: false,
    two_factor_grace_days: 0,
    max_token_life_days: 0,
    require_passkey: false,
  })
  t.is((await get('sam', '/orgs/acme/policies')).status, 404)
  t.is((await change('adam', { max_token_life_days: 30 })).status, 403)
  t.is((await change('eve', { max_token_life_days: 30 })).status, 404)
  for (const bad of [
    { max_token_life_days: 3651 },
    { two_factor_grace_days: -1 },
    { two_factor_grace_days: 91 },
    { require_two_factor: 'yes' },
    { max_token_life_days: 1.5 },
  ]) {
    t.is((await change('ada', bad)).status, 422, JSON.stringify(bad))
  }
  const etag = String(before.headers['etag'])
  const first = await change('ada', { two_factor_grace_days: 7 }, { headers: { 'If-Match': etag } })
  t.is(first.status, 200, first.text)
  t.is((await change('ada', { two_factor_grace_days: 8 }, { headers: { 'If-Match': etag } })).status, 412)
  t.is((await fixture.call('vic', getPolicies, { params: acme })).value.value.two_factor_grace_days, 7)
})

test.serial('to require a second factor, the caller must have one', async (t) => {
  const refused = await change('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  t.is(refused.status, 422)
  t.is(refused.json.code, 'PolicyRefused')
  await setSecondFactor(fixture, 'ada', true)
  const set = await changed('ada', { require_two_factor: true, two_factor_grace_days: 10 })
  const from = set.two_factor_from?.getTime() ?? 0
  t.true(Math.abs(from - Date.now() - 10 * dayMs) < 60_000)
})

test.serial('members have access in the grace period and get two mails', async (t) => {
  t.true((await teamsSeenBy('vic')).includes('Viewers'))
  const { container } = fixture.service.running
  const tellAt = (at: Date) =>
    makeNotifySecondFactor({
      unitOfWork: container.resolve(OrganizationUnitOfWorkPort),
      clock: { now: () => at },
      baseUrl: () => 'https://x',
    })(operatorCall('test'))
  const now = new Date()
  await tellAt(now)
  await tellAt(now)
  const first = await mails.nth('vic@example.org', 1)
  t.is(first.subject, 'The organization acme requires a second factor')
  t.is(await tellAt(new Date(now.getTime() + 6 * dayMs)), 0)
  t.is(await tellAt(new Date(now.getTime() + 8 * dayMs)), 4, 'adam, cleo, ed and vic')
  await mails.nth('vic@example.org', 2)
  t.is(await tellAt(new Date(now.getTime() + 9 * dayMs)), 0)
  t.deepEqual(await mails.to('ada@example.org'), [], 'who has one is not told')
  t.deepEqual(await mails.to('eve@example.org'), [], 'another organization is not told')
})

test.serial('after the grace period every credential needs a second factor', async (t) => {
  t.is((await changed('ada', { two_factor_grace_days: 0 })).two_factor_grace_days, 0)
  for (const path of inside) {
    for (const answer of [
      await get('vic', path),
      await fixture.as(undefined, 'GET', path, undefined, password('vic')),
    ]) {
      t.is(answer.status, 403, path)
      t.is(answer.json.code, 'SecondFactorDemanded', path)
      t.true(answer.json.message.includes('twofa/enroll'))
    }
    t.true((await get('ada', path)).status < 300, path)
    t.not((await get('sam', path)).json?.code, 'SecondFactorDemanded', 'a stranger learns nothing of it')
  }
  t.is((await fixture.as('vic', 'POST', '/orgs/acme/teams', { name: 'x' })).json.code, 'SecondFactorDemanded')
  t.is((await fixture.call('vic', getOrganization, { params: acme })).status, 200, 'the profile is returned')
  t.deepEqual(
    (await fixture.call('vic', listOwnOrganizations)).value.items.map(({ username }) => username),
    ['acme'],
  )
  t.deepEqual((await fixture.call('vic', listOwnTeams)).value.items, [])
  t.true((await teamsSeenBy('admin')).includes('Viewers'), 'a site admin')
  t.is(
    (await fixture.as('admin', 'GET', '/orgs/acme/teams?sudo=vic')).json.code,
    'SecondFactorDemanded',
    'not as another user',
  )
  t.is(
    (
      await fixture.as('vic', 'POST', '/authz/objects/allowed-permissions?org=acme', [
        { objectType: 'organization', objectID: 1 },
      ])
    ).status,
    403,
  )
})

test.serial('a member without the entry requirements can only leave', async (t) => {
  const uid = (login: string) => `uid=${fixture.idOf(login)}`
  t.is((await fixture.as('vic', 'DELETE', '/orgs/acme/members/ed')).json.code, 'SecondFactorDemanded')
  for (const action of ['private', 'public', 'remove']) {
    const refused = await fixture.as(
      'adam',
      'POST',
      `/orgs/acme/members/action/${action}?${uid(action === 'remove' ? 'ed' : 'adam')}`,
    )
    t.is(refused.json.code, 'SecondFactorDemanded', action)
  }
  for (const [method, path] of [
    ['DELETE', '/orgs/acme/members/ed'],
    ['POST', `/orgs/acme/members/action/leave?${uid('ed')}`],
  ] as const) {
    const left = await fixture.as('ed', method, path)
    t.true(left.status < 300, left.text)
    t.is((await get('ada', '/orgs/acme/members/ed')).status, 404)
    const back = await fixture.call('admin', setMembership, {
      params: { orgname: 'acme', username: 'ed' },
      body: { role: 'member' },
    })
    t.is(back.value.role, 'member')
  }
})

test.serial('access follows the second factor at the next request', async (t) => {
  await setSecondFactor(fixture, 'vic', true)
  for (const path of inside) t.true((await get('vic', path)).status < 300, path)
  t.is((await fixture.call('vic', listOwnTeams)).value.items.length, 1)
  await setSecondFactor(fixture, 'vic', false)
  t.is((await get('vic', '/orgs/acme/teams')).json.code, 'SecondFactorDemanded')
  t.false((await changed('ada', { require_two_factor: false })).require_two_factor)
  t.true((await teamsSeenBy('vic')).includes('Viewers'))
})

test.serial("a token beyond the organization's lifetime limit opens nothing there", async (t) => {
  await setSecondFactor(fixture, 'ada', false)
  const making = (login: string, expires_at?: string) =>
    fixture.as(
      undefined,
      'POST',
      `/users/${login}/tokens`,
      { name: `t-${expires_at ?? 'ever'}`, ...(expires_at === undefined ? {} : { expires_at }) },
      password(login),
    )
  const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
  const [forEver, long, short] = [
    await making('vic'),
    await making('vic', inDays(31.5)),
    await making('vic', inDays(30)),
  ]
  t.is((await change('ada', { max_token_life_days: 30 }, password('ada'))).status, 200)
  const ask = (token: string, path = '/orgs/acme/teams') => fixture.service.send('GET', `/api/v1${path}`, { token })
  for (const { json } of [forEver, long]) {
    for (const path of inside) {
      const answer = await ask(json.sha1, path)
      t.deepEqual([answer.status, answer.json.code], [403, 'TokenLifeTooLong'], path)
      t.true(answer.json.message.includes('30 days'))
    }
    t.deepEqual((await ask(json.sha1, '/user/teams')).json, [])
    t.is((await ask(json.sha1, '/orgs/evil')).status, 200, 'elsewhere it is good')
  }
  t.is((await ask(short.json.sha1)).status, 200)
  t.is((await ask(short.json.sha1, '/user/teams')).json.length, 1)
  t.is((await fixture.as(undefined, 'GET', '/orgs/acme/teams', undefined, password('vic'))).status, 200)
  t.is((await get('admin', '/orgs/acme/teams')).status, 200)
  t.is((await change('ada', { max_token_life_days: 0 }, password('ada'))).status, 200)
  t.is((await ask(forEver.json.sha1)).status, 200)
})
