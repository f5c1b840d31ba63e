// process: own - starts Keycloak
import { setTimeout } from 'node:timers/promises'
import { bind } from '../../composition/part/binding.ts'
import { ProviderSettingsPort } from '../../core/identity-providers/ports.ts'
import { runJob } from '../bus/bus-fixture.ts'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'
import type { Keycloak } from '../support/components/keycloak.ts'
import { startKeycloak } from '../support/components/keycloak.ts'
import { needing } from '../support/components/needing.ts'
import { sayOnStderr } from '../support/components/progress.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { until } from '../support/until.ts'
import { clientId, clientSecret } from './stand-in.ts'

const test = needing('keycloak')

const checkSeconds = 1
const password = 'ann-password-1'

let keycloak: Keycloak
let fixture: ServiceFixture
let id: number

const realm = (base: string) => ({
  realm: 'harbour',
  enabled: true,
  sslRequired: 'none',
  groups: [{ name: 'platform', subGroups: [{ name: 'viewers' }] }],
  users: ['ann', 'ben', 'cid'].map((username) => ({
    username,
    enabled: true,
    email: `${username}@corp.test`,
    emailVerified: true,
    firstName: username,
    lastName: 'Of the tests',
    credentials: [{ type: 'password', value: password, temporary: false }],
    groups: ['/platform/viewers'],
    realmRoles: ['default-roles-harbour', 'offline_access'],
  })),
  clients: [
    {
      clientId,
      protocol: 'openid-connect',
      secret: clientSecret,
      redirectUris: [`${base}/user/oauth2/1/callback`],
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      attributes: {
        'pkce.code.challenge.method': 'S256',
        'backchannel.logout.url': `${base}/api/v1/user/oauth2/1/logout`,
        'backchannel.logout.session.required': 'true',
        'post.logout.redirect.uris': `${base}/sign-in`,
      },
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: {
            'claim.name': 'groups',
            'full.path': 'true',
            'id.token.claim': 'true',
            'access.token.claim': 'true',
            'userinfo.token.claim': 'true',
          },
        },
      ],
    },
  ],
})

test.before(async () => {
  fixture = await startFixture({
    settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1' },
    replaced: [bind(ProviderSettingsPort, {}, () => ({ checkSeconds, allowsOrganizations: true, endPercent: 20 }))],
  })
  keycloak = await startKeycloak(realm(fixture.service.baseUrl), sayOnStderr)
  const made = await fixture.as('admin', 'POST', '/accounts/admin/auths/new', {
    name: 'harbour',
    openIDConnectAutoDiscoveryURL: `${keycloak.url}/realms/harbour`,
    oauth2Key: clientId,
    oauth2Secret: clientSecret,
    allows_creation: true,
    groups_claim: 'groups',
    group_teams: [{ group: '/platform/viewers', team_id: await fixture.teamId('Viewers') }],
  })
  id = (made.json as { readonly id: number }).id
})
test.after.always(async () => {
  await fixture?.stop()
  await keycloak?.stop()
})

/** Signs in on the page of Keycloak, and returns what sends in that session. */
const signIn = async (username: string) => {
  const jar = makeCookieJar()
  const atKeycloak = makeCookieJar()
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = jar.headers(`/api/v1${path}`)
    const answer = await fixture.service.send(method, `/api/v1${path}`, {
      headers,
      ...(body === undefined ? {} : { body }),
    })
    jar.take(answer.headers)
    return answer
  }
  const go = async (url: URL, form?: URLSearchParams): Promise<URL | string> => {
    const { Cookie = '' } = atKeycloak.headers('/')
    const reply = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: Cookie },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    })
    atKeycloak.take({ 'set-cookie': reply.headers.getSetCookie().map((line) => line.replace(/Path=[^;]*/, 'Path=/')) })
    const location = reply.headers.get('location')
    if (location === null) return reply.text()
    const next = new URL(location, url)
    return next.origin === new URL(fixture.service.baseUrl).origin ? next : go(next)
  }
  const begun = await send('POST', `/user/oauth2/${id}`, {})
  const page = await go(new URL((begun.json as { readonly url: string }).url))
  if (page instanceof URL) throw new Error('Keycloak asked for no password')
  const action = /action="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  if (action === undefined) throw new Error(`Keycloak shows no form: ${page.slice(0, 500)}`)
  const returned = await go(new URL(action), new URLSearchParams({ username, password, credentialId: '' }))
  if (!(returned instanceof URL)) throw new Error(`Keycloak does not return: ${returned.slice(0, 500)}`)
  const finished = await send('POST', `/user/oauth2/${id}/callback`, Object.fromEntries(returned.searchParams))
  if (finished.status !== 200) throw new Error(finished.text)
  return { send }
}

const userIdOf = async (username: string): Promise<string> => {
  const found = (await keycloak.admin('GET', `/users?username=${username}&exact=true`)) as readonly { id: string }[]
  return found[0]?.id ?? ''
}

/** Runs the check of access until the condition holds, and returns how many seconds that took. */
const secondsUntil = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
  const from = Date.now()
  await until(what, async () => {
    await runJob(fixture.service, 'identityProviders.checkAccess')
    return (await holds()) ? true : undefined
  })
  return (Date.now() - from) / 1000
}

test.serial('a person of Keycloak signs in and is in the team of the group', async (t) => {
  const checked = await fixture.as('admin', 'POST', `/accounts/admin/auths/${id}/check`)
  t.like(checked.json, { has_end_session: true, has_backchannel_logout: true })
  const ann = await signIn('ann')
  t.is((await ann.send('GET', '/user')).json.login, 'ann')
  const viewers = await fixture.teamId('Viewers')
  t.is((await fixture.as('admin', 'GET', `/teams/${viewers}/members/ann`)).status, 200)
})

test.serial('a person who is disabled in Keycloak loses the session and the tokens', async (t) => {
  const ann = await signIn('ann')
  const token = await fixture.service.tokenFor('ann')
  const userId = await userIdOf('ann')
  const user = (await keycloak.admin('GET', `/users/${userId}`)) as object
  await keycloak.admin('PUT', `/users/${userId}`, { ...user, enabled: false })
  const seconds = await secondsUntil('the session ends', async () => (await ann.send('GET', '/user')).status === 401)
  t.log(`access ended after ${seconds.toFixed(1)} s, with a check each ${checkSeconds} s`)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401)
  await keycloak.admin('PUT', `/users/${userId}`, { ...user, enabled: true })
  t.is((await (await signIn('ann')).send('GET', '/user')).status, 200)
})

test.serial('a person who is deleted in Keycloak loses the session', async (t) => {
  const ben = await signIn('ben')
  await keycloak.admin('DELETE', `/users/${await userIdOf('ben')}`)
  await secondsUntil('the session ends', async () => (await ben.send('GET', '/user')).status === 401)
  t.pass()
})

test.serial('a logout by an administrator ends the session at the next check', async (t) => {
  const cid = await signIn('cid')
  // Keycloak refuses tokens that were issued before the second of the logout.
  await setTimeout(1100)
  await keycloak.admin('POST', `/users/${await userIdOf('cid')}/logout`)
  await secondsUntil('the session ends', async () => (await cid.send('GET', '/user')).status === 401)
  t.pass()
})

test.serial('without offline access, a logout token ends the session', async (t) => {
  const scopes = { name: 'harbour', scopes: ['email', 'profile'] }
  t.is((await fixture.as('admin', 'POST', `/accounts/admin/auths/${id}`, scopes)).status, 200)
  const cid = await signIn('cid')
  await keycloak.admin('POST', `/users/${await userIdOf('cid')}/logout`)
  await until('the session ends', async () => ((await cid.send('GET', '/user')).status === 401 ? true : undefined))
  const audited = await fixture.as('admin', 'GET', '/admin/audit?action=identity_provider.logged_out')
  t.regex(audited.text, /"sessions_ended":1/)
})

test.serial('a group that is left in Keycloak takes the team with it', async (t) => {
  await signIn('cid')
  const viewers = await fixture.teamId('Viewers')
  const groups = (await keycloak.admin('GET', `/users/${await userIdOf('cid')}/groups`)) as readonly { id: string }[]
  await keycloak.admin('DELETE', `/users/${await userIdOf('cid')}/groups/${groups[0]?.id ?? ''}`)
  const isMember = async () => (await fixture.as('admin', 'GET', `/teams/${viewers}/members/cid`)).status === 200
  await secondsUntil('the team is left', async () => !(await isMember()))
  t.pass()
})
