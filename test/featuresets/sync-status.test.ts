// process: waiting - uses components
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import {
  appliedStatus,
  chartOf,
  claimsOf,
  startFeatureFixture,
  unique,
  type FeatureFixture,
} from './features-fixture.ts'

/** The catalogue and the sync status of cluster sets, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

let fixture: FeatureFixture
test.before(async () => {
  fixture = await startFeatureFixture()
})
test.after.always(() => fixture?.service.stop())

/** Without these features the controllers of a hub reject a profile. */
const core = 'opscenter-core'
const coreFeatures = { 'opscenter-features': { featureSet: core }, 'kube-ui-server': { featureSet: core } }

/** A set with the core features and two installed features, one of them at a version, and a third feature of the catalogue. */
const setWithFeatures = async () => {
  const [set, featureSet] = [await fixture.set(), await fixture.featureSet()]
  const [pinned, loose, other] = [
    await fixture.feature(featureSet),
    await fixture.feature(featureSet),
    await fixture.feature(featureSet),
  ]
  await fixture.profile(set, {
    ...coreFeatures,
    [pinned]: { featureSet, chart: chartOf(pinned, '1.2.0') },
    [loose]: { featureSet },
  })
  return { set, featureSet, pinned, loose, other }
}

test('a feature set is installed if all its required features are', async (t) => {
  const set = await fixture.set()
  const [whole, half, free] = [
    await fixture.featureSet(),
    await fixture.featureSet({ requiredFeatures: [] }),
    await fixture.featureSet(),
  ]
  const [a, b] = [
    await fixture.feature(whole, { recommended: true, featureBlock: 'Block' }),
    await fixture.feature(half),
  ]
  const [c, hidden, d] = [
    await fixture.feature(half),
    await fixture.feature(half, { disabled: true }),
    await fixture.feature(free),
  ]
  await fixture.replaceSpec('featuresets', { name: whole }, { requiredFeatures: [a] })
  await fixture.replaceSpec('featuresets', { name: half }, { requiredFeatures: [b, c] })
  const off = await fixture.featureSet({ disabled: true })
  const list = async (): Promise<
    readonly { name: string; installed: boolean; requiredFeatures: string[]; features: { name: string }[] }[]
  > => (await expectStatus(fixture.ofSet('GET', set, '/featuresets'), 200)).json
  const installed = async () =>
    Object.fromEntries(
      (await list())
        .filter(({ name }) => [whole, half, free, off].includes(name))
        .map((each) => [each.name, each.installed]),
    )
  t.deepEqual(await installed(), { [whole]: false, [half]: false, [free]: false })
  await fixture.profile(set, { [a]: { featureSet: whole }, [b]: { featureSet: half }, [d]: { featureSet: free } })
  t.deepEqual(await installed(), { [whole]: true, [half]: false, [free]: true })
  const shown = (await list()).find(({ name }) => name === half)
  t.deepEqual(
    shown?.features.map(({ name }) => name),
    [b, c].sort(),
  )
  t.deepEqual(shown?.requiredFeatures, [b, c].sort())
  t.false(JSON.stringify(await list()).includes(hidden))
  t.deepEqual(
    (await list()).find(({ name }) => name === whole),
    {
      name: whole,
      title: 'A set',
      description: 'Features',
      recommended: false,
      installed: true,
      requiredFeatures: [a],
      features: [
        {
          name: a,
          title: 'A feature',
          description: 'Does things',
          recommended: true,
          installed: true,
          featureBlock: 'Block',
        },
      ],
    },
  )
})

test('a spoke is in sync with the installed features in either claim form', async (t) => {
  const { set, featureSet, pinned, loose } = await setWithFeatures()
  const same = await fixture.spoke(set, `enabledFeatures:\n  ${pinned}: 1.2.0\n  ${loose}: 9.9.9\n`, 'a')
  const older = await fixture.spoke(set, `enabledFeatures:\n  ${pinned}: 1.1.0\n`, 'b')
  const list = await fixture.spoke(set, `enabledFeatures: [${pinned}, ${loose}]\n`, 'c')
  const external = await fixture.spoke(
    set,
    `enabledFeatures: [${pinned}]\nexternallyManagedFeatures: [${pinned}]\ndisabledFeatures: [${loose}]\n`,
    'd',
  )
  const silent = await fixture.spoke(set, undefined, 'e')
  const broken = await fixture.spoke(set, 'enabledFeatures: {a: [\n', 'f')
  const wrong = await fixture.spoke(set, 'enabledFeatures: 7\n', 'g')
  await fixture.spoke(await fixture.set(), `enabledFeatures: [${pinned}]\n`, 'elsewhere')
  const unreadable = 'The claim features.ace.info of its agent cannot be read.'
  const unreported = {
    [silent]:
      'Its agent does not report the claim features.ace.info. Until it does, the hub gives it only the feature set opscenter-core.',
    [broken]: unreadable,
    [wrong]: unreadable,
  }
  const lists = { insyncClusters: [same, list], outOfSyncClusters: [older, external, silent, broken, wrong] }
  const ofPinned = {
    ...lists,
    reasons: {
      ...unreported,
      [older]: 'It has version 1.1.0, and the cluster set 1.2.0.',
      [external]: 'The feature was installed on it by other means.',
    },
  }
  const ofLoose = {
    ...lists,
    reasons: { ...unreported, [older]: 'It does not have the feature.', [external]: 'It does not have the feature.' },
  }
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${pinned}`), 200)).json, ofPinned)
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${loose}`), 200)).json, ofLoose)
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json[featureSet], {
    [pinned]: ofPinned,
    [loose]: ofLoose,
  })
})

test('a spoke with an extra feature is out of sync and shows all features', async (t) => {
  const { set, featureSet, pinned, loose, other } = await setWithFeatures()
  const inStep = await fixture.spoke(set, `enabledFeatures: [${pinned}, ${loose}]\n`, 'a')
  const stray = await fixture.spoke(set, `enabledFeatures: [${pinned}, ${loose}, ${other}, unheard-of]\n`, 'b')
  const ofOther = {
    insyncClusters: [],
    outOfSyncClusters: [stray],
    reasons: { [stray]: 'It has the feature, which is not installed on the cluster set.' },
  }
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${other}`), 200)).json, ofOther)
  const both = { insyncClusters: [inStep, stray], outOfSyncClusters: [] }
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json[featureSet], {
    [pinned]: both,
    [loose]: both,
    [other]: ofOther,
  })
})

test('a release that the work reports as not ready is out of sync', async (t) => {
  const { set, featureSet, pinned, loose } = await setWithFeatures()
  const spoke = await fixture.spoke(set, `enabledFeatures: [${pinned}, ${loose}]\n`)
  await fixture.server.request('POST', '/api/v1/namespaces', { metadata: { name: spoke } })
  const feedback = (name: string, ready: string) => ({
    resourceMeta: { ordinal: 0, group: 'helm.toolkit.fluxcd.io', kind: 'HelmRelease', resource: 'helmreleases', name },
    conditions: [],
    statusFeedback: { values: [{ name: 'Ready', fieldValue: { type: 'String', string: ready } }] },
  })
  const status = {
    ...appliedStatus(true),
    resourceStatus: { manifests: [feedback(pinned, 'False'), feedback(loose, 'True')] },
  }
  await fixture.plant(
    'manifestworks',
    { name: featureSet, namespace: spoke, labels: { 'cluster.appscode.com/profile': set } },
    { workload: { manifests: [] } },
    status,
  )
  const [ready, unready] = [
    { insyncClusters: [spoke], outOfSyncClusters: [] },
    {
      insyncClusters: [],
      outOfSyncClusters: [spoke],
      reasons: { [spoke]: 'The release of the feature is not ready.' },
    },
  ]
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${pinned}`), 200)).json, unready)
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${loose}`), 200)).json, ready)
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json[featureSet], {
    [pinned]: unready,
    [loose]: ready,
  })
})

test('a set without the core features reports the rejection of each feature', async (t) => {
  const [set, featureSet] = [await fixture.set(), await fixture.featureSet()]
  const feature = await fixture.feature(featureSet)
  const [present, absent] = [
    await fixture.spoke(set, `enabledFeatures: [${feature}]\n`, 'a'),
    await fixture.spoke(set, 'enabledFeatures: []\n', 'b'),
  ]
  const shown = (rejected: string) => ({
    insyncClusters: [present],
    outOfSyncClusters: [absent],
    reasons: { [absent]: `${rejected}It does not have the feature.` },
  })
  const read = async () => [
    (await expectStatus(fixture.ofSet('GET', set, `/sync-status/${feature}`), 200)).json,
    (await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json[featureSet][feature],
  ]
  await fixture.profile(set, { [feature]: { featureSet } })
  const rejected =
    'The hub gives no features to a cluster set without opscenter-features and kube-ui-server. Install them on the set. '
  t.deepEqual(await read(), [shown(rejected), shown(rejected)])
  const withCore = { features: { ...coreFeatures, [feature]: { featureSet } } }
  await fixture.replaceSpec('managedclustersetprofiles', { name: set }, withCore)
  t.deepEqual(await read(), [shown(''), shown('')])
})

test('a set that selects by labels has the clusters that it selects', async (t) => {
  const team = unique('team')
  const set = await fixture.set({
    clusterSelector: {
      selectorType: 'LabelSelector',
      labelSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: [team] }] },
    },
  })
  const feature = await fixture.feature(await fixture.featureSet())
  await fixture.profile(set, { [feature]: { featureSet: 'any' } })
  const name = await fixture.plant(
    'managedclusters',
    { name: unique('spoke'), labels: { team } },
    { hubAcceptsClient: true },
    claimsOf(`enabledFeatures: [${feature}]`),
  )
  await fixture.spoke(set, `enabledFeatures: [${feature}]`)
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, `/sync-status/${feature}`), 200)).json, {
    insyncClusters: [name],
    outOfSyncClusters: [],
  })
})

test('a set without profile, spokes and features shows nothing', async (t) => {
  const set = await fixture.set()
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json, {})
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/suite-features-version'), 200)).json, {
    clusterSetVersion: '',
    clusters: [],
  })
  t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/auto-update/check'), 200)).json, {
    possible: false,
    reason: 'The cluster set has no spokes.',
  })
})

test('a work that is not applied at its generation is out of sync', async (t) => {
  const { set, featureSet, pinned } = await setWithFeatures()
  const spoke = await fixture.spoke(set, `enabledFeatures: [${pinned}]\n`)
  await fixture.server.request('POST', '/api/v1/namespaces', { metadata: { name: spoke } })
  const feedback = {
    resourceMeta: {
      ordinal: 0,
      group: 'helm.toolkit.fluxcd.io',
      kind: 'HelmRelease',
      resource: 'helmreleases',
      name: pinned,
    },
    conditions: [],
    statusFeedback: { values: [{ name: 'Ready', fieldValue: { type: 'String', string: 'True' } }] },
  }
  const path = `/apis/work.open-cluster-management.io/v1/namespaces/${spoke}/manifestworks/${featureSet}`
  const report = async (status: object) =>
    fixture.server.request(
      'PATCH',
      `${path}/status`,
      { status: { ...status, resourceStatus: { manifests: [feedback] } } },
      { contentType: 'application/merge-patch+json' },
    )
  const shown = async () =>
    (await expectStatus(fixture.ofSet('GET', set, `/sync-status/${pinned}`), 200)).json as {
      insyncClusters: string[]
      reasons?: Record<string, string>
    }
  await fixture.plant(
    'manifestworks',
    { name: featureSet, namespace: spoke, labels: { 'cluster.appscode.com/profile': set } },
    { workload: { manifests: [] } },
    { resourceStatus: { manifests: [feedback] } },
  )
  t.is((await shown()).reasons?.[spoke], 'Its agent has not applied what the hub has sent last.')
  await report(appliedStatus(true))
  t.deepEqual(await shown(), { insyncClusters: [spoke], outOfSyncClusters: [] } as never)
  await report(appliedStatus(false, 'Failed to apply manifest work'))
  t.is(
    (await shown()).reasons?.[spoke],
    'Its agent could not apply what the hub has sent last. Failed to apply manifest work',
  )
  await report(appliedStatus(true, '', 0))
  t.deepEqual((await shown()).insyncClusters, [])
  t.deepEqual(
    (await expectStatus(fixture.ofSet('GET', set, '/sync-status/all-features'), 200)).json[featureSet][pinned],
    await shown(),
  )
})

test('a spoke that its hub does not see as available is unknown, and not in sync', async (t) => {
  const { set, pinned } = await setWithFeatures()
  const spoke = await fixture.spoke(set, `enabledFeatures: [${pinned}]\n`)
  const shown = async () =>
    (await expectStatus(fixture.ofSet('GET', set, `/sync-status/${pinned}`), 200)).json as {
      insyncClusters: string[]
      reasons?: Record<string, string>
    }
  t.deepEqual((await shown()).insyncClusters, [spoke])
  const gone = {
    type: 'ManagedClusterConditionAvailable',
    status: 'Unknown',
    reason: 'ManagedClusterLeaseUpdateStopped',
    message: 'Registration agent stopped updating its lease.',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  await fixture.server.request(
    'PATCH',
    `/apis/cluster.open-cluster-management.io/v1/managedclusters/${spoke}/status`,
    { status: { conditions: [gone] } },
    { contentType: 'application/merge-patch+json' },
  )
  t.deepEqual(await shown(), {
    insyncClusters: [],
    outOfSyncClusters: [spoke],
    reasons: {
      [spoke]:
        'Its state is not known: the hub does not see it as available. Registration agent stopped updating its lease.',
    },
  } as never)
})

test('a set, a feature or a name that cannot exist is 404', async (t) => {
  const reads = [
    '/featuresets',
    '/sync-status/all-features',
    '/sync-status/suite-features-version',
    '/sync-status/backup',
    '/auto-update/check',
  ]
  for (const path of reads) {
    t.like(await fixture.ofSet('GET', 'no-such-set', path), { status: 404, json: { code: 'ClusterSetMissing' } }, path)
    t.is((await fixture.ofSet('GET', 'No_Such.Set', path)).status, 404, path)
  }
  const set = await fixture.set()
  t.like(await fixture.ofSet('GET', set, `/sync-status/${unique('none')}`), {
    status: 404,
    json: { code: 'FeatureMissing' },
  })
  t.is((await fixture.ofSet('GET', set, '/sync-status/No_Such_Feature')).status, 404)
})

test('reading the sync status needs the right to view hubs', async (t) => {
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
  const set = await fixture.set()
  for (const path of [
    '/featuresets',
    '/sync-status/all-features',
    '/sync-status/suite-features-version',
    '/auto-update/check',
  ]) {
    t.deepEqual(
      await Promise.all(
        [connector, reader, stranger].map(
          async (person) => (await fixture.ofSet('GET', set, path, undefined, person)).status,
        ),
      ),
      [403, 200, 404],
      path,
    )
  }
})
