import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { bind } from '../../composition/part/binding.ts'
import { ProviderSettingsPort } from '../../core/identity-providers/ports.ts'
import { runJob } from '../bus/bus-fixture.ts'
import { until } from '../support/until.ts'
import { startService } from '../support/service.ts'
import { codeOfStep } from '../identity/one-time-code-of.ts'
import type { Browser, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

/** Seconds between two checks of access: a whole minute is the shortest of the setting. */
const checkSeconds = 1

const folder = mkdtempSync(join(tmpdir(), 'moorage-keys-'))
const keyRing = { MOORAGE_KEYRING: join(folder, 'keyring.json') }

let fixture: SignInFixture
let id: number

test.before(async () => {
  fixture = await startSignInFixture({
    settings: keyRing,
    replaced: [bind(ProviderSettingsPort, {}, () => ({ checkSeconds, allowsOrganizations: true, endPercent: 20 }))],
  })
  id = await fixture.connect('site', { allows_creation: true, groups_claim: 'groups', group_teams: await rules() })
})
test.after.always(async () => {
  await fixture.stop()
  rmSync(folder, { recursive: true })
})
test.afterEach.always(() => fixture.provider.change.clear())

/** The code of the app now, or of the step after it. */
const codeOf = (seed: string, later = 0): string => codeOfStep(seed, Math.floor(Date.now() / 30_000) + later)

/** Runs the check of access until the condition holds. */
const eventually = (what: string, holds: () => Promise<boolean> | boolean): Promise<true> =>
  until(what, async () => {
    await runJob(fixture.service, 'identityProviders.checkAccess')
    return (await holds()) ? true : undefined
  })

const rules = async () => [
  { group: '/viewers', team_id: await fixture.teamId('Viewers') },
  { group: '/owners', team_id: await fixture.teamId('Owners') },
]

const signInAs = async (sub: string, claims: object = {}): Promise<Browser> => {
  fixture.addPerson({
    sub,
    email: `${sub}@corp.test`,
    email_verified: true,
    preferred_username: sub,
    groups: [],
    ...claims,
  })
  fixture.provider.as = sub
  const browser = fixture.browser()
  const answer = await browser.signIn(id)
  if (answer.status !== 200) throw new Error(answer.text)
  return browser
}

const teamsOf = async (login: string): Promise<readonly string[]> => {
  const { json } = await fixture.as('admin', 'GET', '/orgs/acme/teams')
  const names: string[] = []
  for (const team of json as { id: number; name: string }[]) {
    const { status } = await fixture.as('admin', 'GET', `/teams/${team.id}/members/${login}`)
    if (status === 200) names.push(team.name)
  }
  return names.sort()
}

test.serial('a person who was removed at the provider loses sessions and tokens', async (t) => {
  const browser = await signInAs('gone')
  const token = await fixture.service.tokenFor('gone')
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 200)
  fixture.provider.people.delete('gone')
  await eventually('the session ends', async () => (await browser.send('GET', '/user')).status === 401)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401)
  const audited = await fixture.as('admin', 'GET', '/admin/audit?action=user.access_ended')
  t.regex(audited.text, /gone/)
})

test.serial('a person who exists at the provider again signs in again', async (t) => {
  const browser = await signInAs('gone')
  t.is((await browser.send('GET', '/user')).status, 200)
})

for (const [why, change] of [
  ['is away', { status: 503, type: 'text/plain', body: 'down' }],
  ['refuses the client', { status: 401, type: 'application/json', body: '{"error":"invalid_client"}' }],
  ['answers HTML', { status: 200, type: 'text/html', body: '<h1>hello</h1>' }],
] as const)
  test.serial(`nothing ends while the provider ${why}`, async (t) => {
    const browser = await signInAs('stays')
    let asked = 0
    fixture.provider.change.set('/token', (answer) => {
      asked += 1
      Object.assign(answer, change)
    })
    await eventually('two checks', () => asked >= 2)
    t.is((await browser.send('GET', '/user')).status, 200)
  })

test.serial('groups are teams, and go with the group at the next check', async (t) => {
  await signInAs('greta', { groups: ['/viewers', '/unknown'] })
  t.deepEqual(await teamsOf('greta'), ['Viewers'])
  fixture.addPerson({ sub: 'greta', email: 'greta@corp.test', preferred_username: 'greta', groups: [] })
  await eventually('the team is left', async () => (await teamsOf('greta')).length === 0)
  t.is((await fixture.as('admin', 'GET', '/orgs/acme/members/greta')).status, 404)
})

test.serial('a membership that was made by hand stays when the group goes', async (t) => {
  await signInAs('hanna', { groups: ['/viewers'] })
  const viewers = await fixture.teamId('Viewers')
  await fixture.as('ada', 'PUT', `/teams/${viewers}/members/hanna`)
  await signInAs('hanna', { groups: [] })
  t.deepEqual(await teamsOf('hanna'), ['Viewers'])
})

test.serial('the last owner stays when the group goes', async (t) => {
  await signInAs('ivan', { groups: ['/owners'] })
  t.deepEqual(await teamsOf('ivan'), ['Owners'])
  const owners = await fixture.teamId('Owners')
  t.is((await fixture.as('admin', 'DELETE', `/teams/${owners}/members/ada`)).status, 204)
  await signInAs('ivan', { groups: [] })
  t.deepEqual(await teamsOf('ivan'), ['Owners'])
  await fixture.as('admin', 'PUT', `/teams/${owners}/members/ada`)
  await signInAs('ivan', { groups: [] })
  t.deepEqual(await teamsOf('ivan'), [])
})

test.serial('too many groups for a token change nothing, and are recorded', async (t) => {
  await signInAs('jana', { groups: ['/viewers'] })
  await signInAs('jana', { groups: undefined, _claim_names: { groups: 'src1' } })
  t.deepEqual(await teamsOf('jana'), ['Viewers'])
  const audited = await fixture.as('admin', 'GET', '/admin/audit?action=identity_provider.groups_unknown')
  t.regex(audited.text, /jana/)
})

test.serial('an account with a second factor continues with a one-time code', async (t) => {
  const browser = await signInAs('kira')
  const offer = await browser.send('GET', '/user/settings/security/twofa/enroll')
  const enroll = { passCode: codeOf(offer.json.twoFASecret) }
  t.is((await browser.send('POST', '/user/settings/security/twofa/enroll', enroll)).status, 200)
  const next = fixture.browser()
  const answer = await next.signIn(id)
  t.is(answer.status, 405)
  t.is(answer.json.code, 'SecondFactorNeeded')
  t.is((await next.send('GET', '/user')).status, 401)
  t.is((await next.send('POST', `/user/oauth2/${id}/twofa`, { passCode: '000000' })).status, 401)
  const other = fixture.browser()
  const code = codeOf(offer.json.twoFASecret, 1)
  t.is((await other.send('POST', `/user/oauth2/${id}/twofa`, { passCode: code })).status, 422)
  t.is((await next.send('POST', `/user/oauth2/${id}/twofa`, { passCode: code })).status, 200)
  t.is((await next.send('GET', '/user')).status, 200)
})

const logoutToken = async (change: object = {}, header: object = {}) =>
  fixture.provider.sign(
    {
      iss: fixture.provider.issuer,
      aud: 'moorage',
      iat: Math.floor(Date.now() / 1000),
      exp: Math.floor(Date.now() / 1000) + 120,
      jti: `j${Math.random()}`,
      sub: 'lena',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...change,
    },
    { typ: 'logout+jwt', ...header },
  )

const logout = (token: string) =>
  fixture.service.send('POST', `/api/v1/user/oauth2/${id}/logout`, {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `logout_token=${token}`,
  })

test.serial('a logout token ends the sessions of the person, once', async (t) => {
  const browser = await signInAs('lena')
  const personal = await fixture.service.tokenFor('lena')
  const token = await logoutToken()
  const answer = await logout(token)
  t.is(answer.status, 200, answer.text)
  t.is(answer.headers['cache-control'], 'no-store')
  t.is((await browser.send('GET', '/user')).status, 401)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: personal })).status, 200)
  t.is((await logout(token)).status, 400)
})

for (const [why, change, header] of [
  ['of another audience', { aud: 'other' }, {}],
  ['of another issuer', { iss: 'https://evil.test' }, {}],
  ['without an event', { events: {} }, {}],
  ['whose event is null', { events: { 'http://schemas.openid.net/event/backchannel-logout': null } }, {}],
  ['with a nonce', { nonce: 'n' }, {}],
  ['without a jti', { jti: undefined }, {}],
  ['that names no one', { sub: undefined }, {}],
  ['that is ten minutes old', { iat: Math.floor(Date.now() / 1000) - 600 }, {}],
  ['of the type of an access token', {}, { typ: 'at+jwt' }],
] as const)
  test.serial(`a logout token ${why} ends nothing`, async (t) => {
    const browser = await signInAs('lena')
    t.is((await logout(await logoutToken(change, header))).status, 400)
    t.is((await browser.send('GET', '/user')).status, 200)
  })

test.serial('a logout token of a session ends that session alone', async (t) => {
  const [first, second] = [await signInAs('lena'), await signInAs('lena')]
  const sid = 'of-the-first'
  const database = await openDatabase(fixture.service.databaseUrl)
  const [oldest] = await database.query<{ session_id: number }>((k) =>
    k('external_sessions').orderBy('session_id', 'desc').limit(1).offset(1).select('session_id'),
  )
  await database.query((k) =>
    k('external_sessions')
      .where('session_id', oldest?.session_id ?? 0)
      .update({ sid }),
  )
  await database.close()
  t.is((await logout(await logoutToken({ sid: 'unknown' }))).status, 200)
  t.is((await first.send('GET', '/user')).status, 200)
  t.is((await logout(await logoutToken({ sid }))).status, 200)
  t.is((await first.send('GET', '/user')).status, 401)
  t.is((await second.send('GET', '/user')).status, 200)
})

test.serial('a session of a provider ends at the provider too', async (t) => {
  const browser = await signInAs('mona')
  const { json } = await browser.send('GET', '/user/oauth2/end-session')
  t.regex(json.url, /\/session\/end\?/)
  t.true(new URL(json.url).searchParams.has('id_token_hint'))
  const byToken = await fixture.as('ada', 'GET', '/user/oauth2/end-session')
  t.deepEqual(byToken.json, { url: '' })
})

test.serial('access that ended on one instance has ended on the other', async (t) => {
  const browser = await signInAs('nora')
  const token = await fixture.service.tokenFor('nora')
  const second = await startService({
    settings: {
      MOORAGE_DATABASE_URL: fixture.service.databaseUrl,
      MOORAGE_EGRESS_ALLOW: '127.0.0.1',
      ...keyRing,
    },
    replaced: [bind(ProviderSettingsPort, {}, () => ({ checkSeconds, allowsOrganizations: true, endPercent: 20 }))],
  })
  try {
    const at = () => second.send('GET', '/api/v1/user', { token })
    t.is((await at()).status, 200)
    fixture.provider.people.delete('nora')
    await eventually('the token ends', async () => (await at()).status === 401)
    t.is((await browser.send('GET', '/user')).status, 401)
  } finally {
    await second.stop()
  }
})
