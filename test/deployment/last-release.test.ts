// process: own - starts two releases as processes
import { randomUUID } from 'node:crypto'
import { request } from 'undici'
import { releaseVersion } from '../../core/platform/version.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { until } from '../support/until.ts'
import { commonReads, writeVendorFixture } from './release-fixtures.ts'
import type { Answer, Release, Send } from './two-releases.ts'
import { compareReads, last, startBoth, writeFixtures } from './two-releases.ts'

const test = needing('last-release', 'mariadb')

test('the last release and this one share a database correctly', async (t) => {
  t.timeout(600_000)
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const both = await startBoth(
    t,
    {
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_USAGE_REPORTERS: 'anyone',
    },
    (alone) => alone.command('licenses', 'init', '--organization', 'Two Releases'),
  )
  const { older, newer, ofOlder, ofNewer } = both
  t.is((await ofOlder('GET', '/version')).json.version, last.version)
  t.is((await ofNewer('GET', '/version')).json.version, releaseVersion)
  const readiness = await (await request(`${newer.opsUrl}/readyz?verbose`)).body.text()
  t.regex(readiness, /releases.*an instance of v2026\.11\.25 or older is alive/)

  const fixtures = await writeFixtures(24, both, (n, next) => writeVendorFixture(n, next, fake))
  t.deepEqual(
    fixtures.flatMap(({ failures }) => failures),
    [],
  )
  const paths = [...commonReads, ...fixtures.flatMap(({ reads }) => reads)]
  await compareReads(t, both, paths)
  t.log(`${fixtures.length} fixtures, ${paths.length} answers compared`)

  // The chain of the audit log has rows of both.
  t.notRegex(await newer.command('audit', 'verify'), /broken|altered|missing/i)
  t.notRegex(`${older.output()}${newer.output()}`, /"level":50/, 'no request ended with an error')

  // Named in docs/upgrades.md: a release that was made before the rule does not start on a newer schema.
  await older.stop()
  const error = await t.throwsAsync(both.startOlder())
  t.regex(error.message, /migrated by a newer Moorage/)
})

test('the last release serves data of an upgrade that is rolled back', async (t) => {
  t.timeout(600_000)
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const both = await startBoth(
    t,
    { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true', MOORAGE_USAGE_REPORTERS: 'anyone' },
    (alone) => alone.command('licenses', 'init', '--organization', 'Given Up'),
  )
  const { older, newer, ofOlder, ofNewer } = both
  const written = [await writeVendorFixture(0, () => ofNewer, fake), await writeVendorFixture(1, () => ofNewer, fake)]
  const reads = written.flatMap((fixture) => fixture.reads)
  const told = new Map<string, Answer>()
  for (const path of reads) told.set(path, await ofNewer('GET', path))
  // Its row, its leases and its claims of tasks stay behind.
  await newer.kill()
  await compareReads(t, { ofOlder, ofNewer: async (_method, path) => told.get(path)! }, reads)
  const person = `Basic ${btoa('u0:quiet-harbour-lantern-7')}`
  t.is((await ofOlder('GET', '/user', undefined, person)).status, 200)
  const next = await writeVendorFixture(2, () => ofOlder, fake)
  t.is((await ofOlder('PATCH', '/orgs/o1', { description: 'changed afterwards' })).status, 200)
  t.is((await ofOlder('DELETE', '/users/u1/orgs/none')).status, 404)
  t.deepEqual(
    [...written, next].flatMap(({ failures }) => failures),
    [],
  )
  t.notRegex(older.output(), /"level":50/, 'no request ended with an error')

  const [again, ofAgain] = await both.startNewer()
  await compareReads(t, { ofOlder, ofNewer: ofAgain }, [...commonReads, ...reads, ...next.reads])
  t.notRegex(await again.command('audit', 'verify'), /broken|altered|missing/i)
  const readiness = async (): Promise<string> => (await request(`${again.opsUrl}/readyz?verbose`)).body.text()
  t.regex(await readiness(), /^\[-\] releases: an instance of v2026\.11\.25 or older is alive/m)
  // A row that a killed instance leaves holds nothing back once it has been silent for ten seconds.
  await older.kill()
  await until('no older instance counts', async () => /^\[\+\] releases/m.test(await readiness()) || undefined)
  t.notRegex(again.output(), /"level":50/)
})

const installerWords = [
  ...['marketplace', 'installers', 'create', '--json', '--days', '30', '--valid-days', '30'],
  ...['--product', 'database=db-basic'],
]
interface Subscription {
  readonly subscriptionId: string
  readonly boundedInstallerId: string
}
interface Installer {
  readonly installerId: string
  readonly claimID: string
}
const makeInstaller = async (release: Release, ...words: readonly string[]): Promise<Installer> =>
  JSON.parse(await release.command(...installerWords, ...words)) as Installer

test('both releases serve one marketplace', async (t) => {
  t.timeout(600_000)
  const installers: Installer[] = []
  const both = await startBoth(
    t,
    {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudAMarketplaceDeployment',
      MOORAGE_MARKETPLACE_SECRET: 'the-secret-of-the-marketplace',
      MOORAGE_CLOUD_A_IP_RANGES: 'off',
      MOORAGE_RUN_MODE: 'development',
    },
    async (alone) => {
      for (let n = 0; n < 3; n++) installers.push(await makeInstaller(alone))
    },
  )
  const { newer, ofOlder, ofNewer, toMarketplace } = both
  for (let n = 0; n < 3; n++) installers.push(await makeInstaller(newer))
  const path = '/marketplaces/cloudA/notification/resource'
  const reads: string[] = ['/dashboard/marketplaces/subscriptions']
  for (const [n, { installerId, claimID }] of installers.entries()) {
    const [here, there] = n % 2 === 0 ? [ofOlder, ofNewer] : [ofNewer, ofOlder]
    const [one, other] = n % 2 === 0 ? toMarketplace : [toMarketplace[1], toMarketplace[0]]
    const must = async (send: Send, ...sent: Parameters<Send>): Promise<Answer> => {
      const answer = await send(...sent)
      t.true(answer.status < 300, `${sent[0]} ${sent[1]}: ${answer.status} ${JSON.stringify(answer.json)}`)
      return answer
    }
    const bindingInfo = { marketplace: 'CloudA', installerId, clusterId: randomUUID(), cloudAAccountID: '123456789012' }
    const notification = { eventType: 'subscribe-success', eventTime: new Date().toISOString(), bindingInfo }
    const bound = await must(one, 'POST', path, notification)
    // The provider repeats a notification; the other release answers with the same link.
    t.deepEqual((await must(other, 'POST', path, notification)).json, bound.json)
    const listed = (await must(there, 'GET', '/dashboard/marketplaces/subscriptions')).json as readonly Subscription[]
    const subscription = listed.find(({ boundedInstallerId }) => boundedInstallerId === installerId)
    const of = `/dashboard/marketplaces/CloudA/${subscription?.subscriptionId ?? 'none'}`
    reads.push(of, `${of}/audit-logs`, `/platform-installer/deployment/marketplace/installers/${installerId}/status`)
    await must(here, 'POST', '/orgs', { username: `buyer${n}` })
    t.true((await must(one, 'GET', `/marketplaces/standalone-organizations/${claimID}/claimable`)).json.isClaimable)
    t.is((await must(there, 'GET', '/orgs/claim')).json.claimID, claimID)
    const taken = await must(here, 'PATCH', `/orgs/claim/${claimID}`, { organization: `buyer${n}` })
    t.is(taken.json.contractIDs.length, 1)
    t.is((await there('PATCH', `/orgs/claim/${claimID}`, { organization: `buyer${n}` })).status, 409)
    if (n < 4) continue
    await must(there, 'DELETE', of)
    t.is((await must(here, 'GET', of)).json.isRevocable, false)
  }
  await compareReads(t, both, reads)
})
