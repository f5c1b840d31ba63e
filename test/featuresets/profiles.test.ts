// process: waiting - uses components
import { randomBytes, randomUUID } from 'node:crypto'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { unwrap } from '../support/outcome.ts'
import { startFeatureFixture, unique, type FeatureFixture } from './features-fixture.ts'

/** The check of a cluster profile: a hub on a real kube-apiserver, and spokes that serve no objects of features. */
const test = needing('kubernetes')

let fixture: FeatureFixture
test.before(async () => {
  fixture = await startFeatureFixture()
})
test.after.always(() => fixture?.service.stop())

const validate = (query = '', cluster = 'hub', person = fixture.owner) =>
  fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/${cluster}/validate-profile${query}`, {
    token: person.token,
  })

test('a cluster fits a profile by features, exclusions or replacements', async (t) => {
  const [featureSet, group] = [await fixture.featureSet(), unique('group')]
  const managed = await fixture.feature(featureSet, {}, { enabled: true, managed: true })
  const external = await fixture.feature(featureSet, {}, { enabled: true, managed: false })
  const off = await fixture.feature(featureSet, { disabled: true })
  await fixture.feature(featureSet, { featureExclusionGroup: group }, { enabled: true })
  const replaced = await fixture.feature(featureSet, { featureExclusionGroup: group })
  const missing = await fixture.feature(featureSet)
  const profile = await fixture.plant(
    'clusterprofiles',
    { name: unique('profile') },
    { title: 'P', description: 'P', requiredFeatureSets: { [featureSet]: [managed, external, off, replaced] } },
  )
  t.deepEqual((await expectStatus(validate(`?profile=${profile}`), 200)).json, { valid: 'true' })
  await fixture.replaceSpec(
    'clusterprofiles',
    { name: profile },
    { requiredFeatureSets: { [featureSet]: [missing, 'absent', managed] } },
  )
  t.deepEqual((await expectStatus(validate(`?profile=${profile}`), 200)).json, {
    valid: 'false',
    'recommended-features': ['absent', missing],
  })
  const usual = await expectStatus(validate(), 200)
  t.is(usual.json.valid, 'false')
  t.is((usual.json['recommended-features'] as string[]).length, 21)
  t.deepEqual((await validate('?profile=dbaas-generic')).json, usual.json)
  t.like(await validate('?profile=never-heard-of'), { status: 404, json: { code: 'ProfileMissing' } })
  for (const bad of ['A', 'a/b', '..', 'x'.repeat(254)])
    t.is((await validate(`?profile=${encodeURIComponent(bad)}`)).status, 400, bad)
})

interface Managed {
  /** The UID that the spoke claims; its own by default, none if empty. */
  readonly uid?: string
  /** The name of its ManagedCluster; that of the record by default. */
  readonly as?: string
}
/** A spoke that serves nothing of features, recorded as managed by the hub, which has this claim of it. */
const spokeWithClaim = async (
  t: { teardown(end: () => unknown): void },
  claim: string | undefined,
  { uid, as }: Managed = {},
): Promise<string> => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  fake.uid = randomUUID()
  const name = `spoke-${randomBytes(4).toString('hex')}`
  await expectStatus(
    importCluster(fixture.service.send, fixture.owner.token, fixture.org, name, fake.kubeconfig()),
    200,
  )
  const clusters = fixture.service.running.container.resolve(ClusterStorePort)
  const hub = (await fixture.server.request('GET', '/api/v1/namespaces/kube-system')).body as {
    metadata: { uid: string }
  }
  const org = (
    await expectStatus(fixture.service.send('GET', `/api/v1/orgs/${fixture.org}`, { token: fixture.owner.token }), 200)
  ).json.id
  const record = (await clusters.find(org, name))!
  unwrap(
    await clusters.change(record.id, record.version, { hubClusterUid: hub.metadata.uid, managedClusterName: name }),
  )
  const identity = uid === '' ? [] : [{ name: 'id.k8s.io', value: uid ?? fake.uid }]
  const claims = [...identity, ...(claim === undefined ? [] : [{ name: 'features.ace.info', value: claim }])]
  await fixture.plant('managedclusters', { name: as ?? name }, { hubAcceptsClient: true }, { clusterClaims: claims })
  return name
}

test('a spoke without objects of features is judged by its claim on the hub', async (t) => {
  const spoke = await spokeWithClaim(t, 'enabledFeatures: {license-proxyserver: 1.0.0}\n')
  t.deepEqual((await expectStatus(validate('?profile=generic', spoke), 200)).json, { valid: 'true' })
  const external = await spokeWithClaim(t, 'enabledFeatures: []\nexternallyManagedFeatures: [license-proxyserver]\n')
  t.deepEqual((await expectStatus(validate('?profile=generic', external), 200)).json, { valid: 'true' })
  const disabled = await spokeWithClaim(t, 'disabledFeatures: [license-proxyserver]\n')
  t.deepEqual((await expectStatus(validate('?profile=generic', disabled), 200)).json, { valid: 'true' })
  const silent = await spokeWithClaim(t, undefined)
  t.deepEqual((await expectStatus(validate('?profile=generic', silent), 200)).json, {
    valid: 'false',
    'recommended-features': ['license-proxyserver'],
  })
})

test('a spoke without a UID is known by its name on the hub', async (t) => {
  const claim = 'enabledFeatures: {license-proxyserver: 1.0.0}\n'
  const missing = { valid: 'false', 'recommended-features': ['license-proxyserver'] }
  const plain = await spokeWithClaim(t, claim, { uid: '' })
  t.deepEqual((await expectStatus(validate('?profile=generic', plain), 200)).json, { valid: 'true' })
  const other = await spokeWithClaim(t, claim, { uid: randomUUID() })
  t.deepEqual((await expectStatus(validate('?profile=generic', other), 200)).json, missing)
  const renamed = await spokeWithClaim(t, claim, { as: unique('renamed') })
  t.deepEqual((await expectStatus(validate('?profile=generic', renamed), 200)).json, { valid: 'true' })
  const unknown = await spokeWithClaim(t, claim, { uid: '', as: unique('renamed') })
  t.deepEqual((await expectStatus(validate('?profile=generic', unknown), 200)).json, missing)
})

test('an unreadable claim is 500 without its text', async (t) => {
  const broken = await spokeWithClaim(t, 'enabledFeatures: {secret-text: [\n')
  const answer = await validate('?profile=generic', broken)
  t.like(answer, { status: 500, json: { code: 'ClaimUnreadable' } })
  t.false(answer.text.includes('secret-text'))
})

test('the profile check needs the right to view hubs', async (t) => {
  const { people, owner, org } = fixture
  const [connector, reader, stranger] = [
    await people.person('none'),
    await people.person('reader'),
    await people.person('stranger'),
  ]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [connector], held('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [reader], held('view clusters', 'view hubs'))
  await people.organization(stranger)
  t.deepEqual(
    await Promise.all([connector, reader, stranger].map(async (person) => (await validate('', 'hub', person)).status)),
    [403, 200, 404],
  )
})
