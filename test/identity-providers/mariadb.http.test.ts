// process: waiting - uses components
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bind } from '../../composition/part/binding.ts'
import { ProviderSettingsPort } from '../../core/identity-providers/ports.ts'
import { runJob } from '../bus/bus-fixture.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { startService, testEnvironment } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

const test = needing('mariadb')
const password = 'quiet-lantern-over-water-17'

let fixture: SignInFixture
/** Another instance on the same database. */
let other: TestService
const folder = mkdtempSync(join(tmpdir(), 'moorage-providers-'))
test.before(async () => {
  const settings = { MOORAGE_EGRESS_ALLOW: '127.0.0.1', ...(await testEnvironment(folder, 'mysql')) }
  const replaced = [
    bind(ProviderSettingsPort, {}, () => ({ checkSeconds: 1, allowsOrganizations: true, endPercent: 20 })),
  ]
  fixture = await startSignInFixture({ settings, replaced })
  other = await startService({ settings, replaced })
})
test.after.always(async () => {
  await other?.stop()
  await fixture?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test.serial('on MariaDB, a person signs in, has the teams, and loses access everywhere', async (t) => {
  const groups = { groups_claim: 'groups', group_teams: [{ group: '/v', team_id: await fixture.teamId('Viewers') }] }
  const id = await fixture.connect('acme', { allows_creation: true, links_verified_domains: true, ...groups })
  fixture.provenDomains.add('acme.test')
  const domain = (await fixture.as('ada', 'POST', '/orgs/acme/domains', { domain: 'acme.test' })).json
  t.is((await fixture.as('ada', 'POST', `/orgs/acme/domains/${domain.id}/verify`)).status, 200)
  const person = { sub: 'mia', email: 'mia@acme.test', email_verified: true, preferred_username: 'mia', groups: ['/v'] }
  fixture.addPerson(person)
  fixture.provider.as = 'mia'
  const browser = fixture.browser()
  const begun = await browser.begin(id)
  const returned = await browser.visit(begun.json.url)
  const both = await Promise.all([browser.finish(id, returned), browser.finish(id, returned)])
  t.deepEqual(both.map(({ status }) => status).sort(), [200, 422])
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/mia')).status, 204)
  await fixture.as('admin', 'PATCH', '/admin/users/mia', { password })
  const again = fixture.browser()
  t.is((await again.signIn(id)).status, 200)
  const byPassword = async () =>
    (await fixture.service.send('POST', '/api/v1/user/signin', { body: { username: 'mia', password } })).status
  t.is(await byPassword(), 200)
  const token = await fixture.service.tokenFor('mia')
  const asked = async (): Promise<readonly number[]> => {
    const statuses: number[] = []
    for (const service of [fixture.service, other]) {
      const headers = again.jar.headers()
      statuses.push((await service.send('GET', '/api/v1/user', { token })).status)
      statuses.push((await service.send('GET', '/api/v1/user', { headers })).status)
    }
    return statuses
  }
  t.deepEqual(await asked(), [200, 200, 200, 200])
  fixture.provider.people.delete('mia')
  await until('access ends', async () => {
    await runJob(other, 'identityProviders.checkAccess')
    return (await asked())[0] === 401 ? true : undefined
  })
  t.deepEqual(await asked(), [401, 401, 401, 401], 'on both instances')
  t.is(await byPassword(), 405)
  await runJob(fixture.service, 'identityProviders.checkDomains')
  await runJob(fixture.service, 'identityProviders.removeAttempts')
  t.is((await fixture.as('ada', 'PATCH', `/orgs/acme/identity-providers/${id}`, { is_active: false })).status, 200)
  t.is((await fixture.as('ada', 'DELETE', `/orgs/acme/domains/${domain.id}`)).status, 204)
  t.is((await fixture.as('ada', 'DELETE', `/orgs/acme/identity-providers/${id}`)).status, 204)
})

test.serial('of many first sign-ins at once, each opens its own session', async (t) => {
  const id = await fixture.connect('site', { allows_creation: true })
  const browsers = []
  for (let at = 0; at < 20; at += 1) {
    const sub = `many${at}`
    fixture.addPerson({ sub, email: `${sub}@corp.test`, email_verified: true, preferred_username: sub })
    fixture.provider.as = sub
    const browser = fixture.browser()
    browsers.push({ sub, browser, returned: await browser.visit((await browser.begin(id)).json.url) })
  }
  const answers = await Promise.all(browsers.map(({ browser, returned }) => browser.finish(id, returned)))
  t.deepEqual(
    answers.map(({ json }) => json.login as string),
    browsers.map(({ sub }) => sub),
  )
})
