// process: own - keeps its process busy
import test from 'ava'
import { sample as organizations } from '../organizations/sample.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { password, startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import { shapeOf } from '../spec-coverage/rows.ts'
import type { JsonRoute } from './shown-objects.ts'
import { declaredJsonRoutes, readAt } from './shown-objects.ts'

/** A route that shows one object, and one that changes it. */
interface Pair {
  readonly read: JsonRoute
  readonly change: JsonRoute
}

/** Why what is shown cannot be sent to the route that changes it. A pair that is not named here must take it. */
const exceptions: Readonly<Record<string, string>> = {
  'contracts.updateContract':
    'only vendor-hosted deployments serve it: test/contracts/contracts.http.test.ts sends a contract back',
  'contracts.uploadDocument': 'what is shown is a link to the document',
  'authorizationServer.decideAuthorization': 'no application asks',
  'authorizationServer.changeApplication': 'shows lists where lines are sent, as the wider interface does',
  'authorizationServer.changeOrgApplication': 'shows lists where lines are sent, as the wider interface does',
  'authorizationServer.changeSiteApplication': 'shows lists where lines are sent, as the wider interface does',
  'identity.uploadAvatar': 'takes the bytes of a picture; its address is shown',
  'organizations.setAvatar': 'takes the bytes of a picture; its address is shown',
  'identity.enrollSecondFactor': 'takes the code that proves the seed which is shown',
  'identity.allowDomain': 'adds one domain; the list of all is shown',
  'identity.disallowDomain': 'removes one domain; the list of all is shown',
  'organizations.acceptInvitation': 'accepts the invitation, which ends it',
  'clusters.updateCluster': 'needs the access config, a credential that is not shown',
  'packages.installRelease': 'installs another release',
  'provisioning.createUser': 'creates another user: PUT takes what is shown',
  'provisioning.patchUser': 'takes operations: PUT takes what is shown',
  'provisioning.createGroup': 'creates another group: PUT takes what is shown',
  'provisioning.patchGroup': 'takes operations: PUT takes what is shown',
  'packages.upgradeRelease': 'upgrades the release to a new revision',
  'rating.addPriceVersion': 'adds another version',
  'rating.priceContract': 'adds an entry; all of them are shown',
  'rating.putSinkCustomer': 'is for site admins, as what is shown: test/rating sends it back',
  'rating.putCustomer': 'only site admins change what owners are shown: test/rating sends it back',
}

/** Changes at the address of one object, or at the address below which it is shown, where the body names the object. */
const pairs: readonly Pair[] = declaredJsonRoutes.flatMap((change) => {
  const { method } = change.bound.route
  if (!['PUT', 'PATCH', 'POST'].includes(method)) return []
  const read = readAt(change.fullPath) ?? (method === 'POST' ? undefined : readAt(`${change.fullPath}/{name}`))
  return read === undefined ? [] : [{ read, change }]
})

const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/**
 * Objects in states that the populated service does not have by itself: their addresses by the route that changes them.
 */
const furnish = async ({
  send,
  write,
  fixture,
  adminToken,
  tokenFor,
}: PopulatedService): Promise<Readonly<Record<string, readonly string[]>>> => {
  const alice = await tokenFor('alice')
  const must = async (method: string, path: string, body: unknown, token = alice) => {
    const answer = await send(method, `/api/v1${path}`, { token, body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json as { readonly id: number }
  }
  const { org } = fixture
  const { teamIds } = fixture.of(organizations)
  const roleId = fixture.id('role')
  await must('PATCH', `/orgs/${org}`, {
    full_name: 'Häfen 😀',
    email: 'office@harbour.example',
    description: 'd',
    website: 'https://h.example',
    location: 'Kiel',
    fleetManagementClusterEndPoint: 'https://fleet.example',
  })
  await must('POST', '/orgs', { username: 'quay', visibility: 'limited', orgType: 'kubernetes' })
  const custom = await must('POST', `/orgs/${org}/teams`, {
    name: 'Custom',
    permission: 'custom',
    description: 'd',
    assignedRoleIDs: [roleId],
    type: '',
  })
  const none = await must('POST', `/orgs/${org}/teams`, { name: 'Nothing', permission: 'none' })
  await must('POST', `/orgs/${org}/robots`, {
    name: 'asleep',
    description: 'd',
    team_ids: [custom.id, teamIds.Viewers],
  })
  await must('PATCH', `/orgs/${org}/robots/asleep`, { active: false })
  await must('PATCH', '/orgs/quay/policies', { two_factor_grace_days: 90 })
  await write(
    "update organizations set two_factor_from = 1999999999000, two_factor_grace_days = 14 where id = (select id from accounts where name = 'quay')",
  )
  await must('POST', `/orgs/${org}/chartrepositories`, {
    name: 'sealed',
    url: 'https://charts.example.com/stable',
    username: 'reader',
    password: 'a-long-password',
    description: 'd',
  })
  await must('POST', '/user/credentials', {
    name: 'amazon',
    type: 'Aws',
    aws: { accessKeyID: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  })
  await must(
    'POST',
    '/admin/users',
    {
      username: 'shy',
      email: 'shy@example.com',
      password,
      visibility: 'private',
      restricted: true,
      must_change_password: true,
      full_name: 'Shy',
    },
    adminToken,
  )
  await must('PATCH', '/admin/users/shy', { active: false, prohibit_login: true, language: '' }, adminToken)
  await must('POST', '/admin/users', { username: 'mailless', email: 'mailless@example.com', password }, adminToken)
  await write('delete from emails where user_id = (select id from accounts where name = ?)', 'mailless')
  return {
    'organizations.editOrganization': ['quay'].map((name) => `/orgs/${name}`),
    'organizations.editTeam': [teamIds.Owners, teamIds.Viewers, custom.id, none.id].map((id) => `/teams/${id}`),
    'organizations.editRobot': [`/orgs/${org}/robots/asleep`],
    'organizations.editPolicies': ['/orgs/quay/policies'],
    'chart-repositories.editNamed': [`/orgs/${org}/chartrepositories/sealed`],
    'clouds.replaceCredential': ['/user/credentials/amazon'],
    'identity.adminEditUser': ['admin', 'alice', 'shy', 'mailless'].map((login) => `/admin/users/${login}`),
  }
}

/** Changes that bring objects which there are once into another state, after they were sent back in their first. */
const laterStates = async ({ send, fixture, adminToken, tokenFor }: PopulatedService): Promise<void> => {
  const alice = await tokenFor('alice')
  const change = (method: string, path: string, token: string, body: unknown) =>
    send(method, `/api/v1${path}`, { token, body })
  const answers = [
    await change('PATCH', '/user/settings', alice, {
      full_name: 'Älice',
      website: 'https://a.example',
      language: 'de_de',
      theme: 'dark',
      diff_view_style: 'split',
      hide_activity: true,
      hide_email: false,
    }),
    await change('POST', '/user/settings/pagination', alice, { productUI: 25, consoleUI: 50 }),
    await change('POST', '/branding', adminToken, {
      logo: png,
      favicon: png,
      primaryColor: '#224466',
      showAppTag: false,
      appName: 'Harbour',
    }),
    await change('POST', '/disable-registration', adminToken, { disableRegistration: false }),
    await change('PUT', `/clusters/${fixture.org}/${fixture.key('cluster')}/helm/tiller-config`, alice, {
      driver: { pkg3: { driverName: 'ConfigMap' } },
    }),
    await change('PUT', `/authz/roles/${fixture.id('role')}?org=${fixture.org}`, alice, {
      teamIDs: [fixture.of(organizations).teamIds.Viewers],
      description: 'd',
    }),
  ]
  const refused = answers.find(({ status }) => status >= 300)
  if (refused !== undefined) throw new Error(refused.text)
}

/** Sends back what is shown at an address, and tells what is wrong with the outcome. */
const sendBack = async (
  service: PopulatedService,
  { read, change }: Pair,
  target: string,
  callerToken: string,
): Promise<readonly string[]> => {
  const token = change.bound.route.access.kind === 'site-admin' ? service.adminToken : callerToken
  const { method } = change.bound.route
  const to =
    shapeOf('GET', read.fullPath) === shapeOf('GET', change.fullPath) ? target : targetOf(change, service.fixture)
  const events = () => service.rows('select max(id) as last from audit_events')[0]?.['last']
  const before = await service.send('GET', target, { token })
  if (before.status !== 200) return [`GET ${target}: ${before.status} ${before.text}`]
  const wrong: string[] = []
  const guards =
    change.bound.route.ok.kind === 'versioned' ? [{}, { 'If-Match': String(before.headers['etag']) }] : [{}]
  for (const headers of guards) {
    const eventsBefore = events()
    const changed = await service.send(method, to, { token, headers, body: before.text })
    const after = await service.send('GET', target, { token })
    const about = `${method} ${to} ${JSON.stringify(headers)}`
    if (![200, 204].includes(changed.status)) wrong.push(`${about}: ${changed.status} ${changed.text}`)
    if (after.text !== before.text) wrong.push(`${about} changed ${before.text} to ${after.text}`)
    if (after.headers['etag'] !== before.headers['etag']) wrong.push(`${about} changed the tag`)
    if (events() !== eventsBefore) wrong.push(`${about} is audited as a change`)
  }
  return wrong
}

test('an answer that is sent back changes nothing', async (t) => {
  t.timeout(600_000)
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const further = await furnish(service)
  const alice = await service.tokenFor('alice')
  const served = new Set(service.running.assembly.routes.map(({ bound }) => bound.route.id))
  const covered = pairs.filter(({ change }) => exceptions[change.bound.route.id] === undefined)
  t.true(covered.length > 12)
  t.deepEqual(
    covered.filter(({ change }) => !served.has(change.bound.route.id)).map(({ change }) => change.bound.route.id),
    [],
    'serve it here, or name it as an exception',
  )
  const wrong: string[] = []
  const round = async (): Promise<void> => {
    for (const pair of covered) {
      const more = (further[pair.change.bound.route.id] ?? []).map((path) => `/api/v1${path}`)
      for (const target of [targetOf(pair.read, service.fixture), ...more])
        wrong.push(...(await sendBack(service, pair, target, alice)))
    }
  }
  await round()
  await laterStates(service)
  await round()
  const profile = pairs.find(({ change }) => change.bound.route.id === 'identity.editProfile') as Pair
  wrong.push(...(await sendBack(service, profile, '/api/v1/user/settings/profile', await service.tokenFor('mailless'))))
  t.deepEqual([...new Set(wrong)], [])
})

test('every exception is a pair, and gives its reason', (t) => {
  const ids = new Set(pairs.map(({ change }) => change.bound.route.id))
  t.deepEqual(
    Object.keys(exceptions).filter((id) => !ids.has(id) || exceptions[id] === ''),
    [],
  )
})
