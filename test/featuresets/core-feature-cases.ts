import { expectStatus } from '../clusters/cluster-fixture.ts'
import { appliedStatus, modelOf } from './features-fixture.ts'
import { disable, install, fixture } from './feature-sets.fixture.ts'
import { bootstrapWorkPath, makeBootstrapWorks } from '../support/hub/bootstrap-works.ts'
import { needing } from '../support/components/needing.ts'

/**
 * The versions of the suite, and the core features, which have fixed names: these tests run first, one after the other.
 */
const test = needing('kubernetes', 'spoke-kubernetes')

const [suite, server] = ['opscenter-features', 'kube-ui-server']
const core = 'opscenter-core'

const spokeAt = async (set: string, pinned: string, observed: string): Promise<string> => {
  const spoke = await fixture.spoke(set, undefined)
  await fixture.server.request('POST', '/api/v1/namespaces', { metadata: { name: spoke } })
  const spec = {
    profileRef: { name: set },
    clusterMetadata: { uid: 'u', name: spoke, clusterManagers: [] },
    opscenterFeaturesVersion: pinned,
  }
  return fixture.plant('managedclusterprofilebindings', { namespace: spoke, name: spoke }, spec, {
    observedOpscenterFeaturesVersion: observed,
  })
}
const statusOf = async (set: string, feature: string): Promise<{ reasons?: Record<string, string> }> =>
  (await expectStatus(fixture.ofSet('GET', set, `/sync-status/${feature}`), 200)).json
const pinnedVersion = async (spoke: string): Promise<unknown> =>
  (await fixture.specOf('managedclusterprofilebindings', { namespace: spoke, name: spoke }))?.[
    'opscenterFeaturesVersion'
  ]
const setVersion = async (set: string): Promise<string> =>
  (await expectStatus(fixture.ofSet('GET', set, '/sync-status/suite-features-version'), 200)).json.clusterSetVersion
const isPossible = async (set: string): Promise<boolean> =>
  (await expectStatus(fixture.ofSet('GET', set, '/auto-update/check'), 200)).json.possible
const withSuite = (version: string) => ({
  [suite]: { featureSet: core, chart: { name: suite, version, sourceRef: { name: 'charts' } } },
})

export const declareCoreFeatureCases = (): void => {
  test.serial("a hub without the suite's bootstrap reports that it serves no features", async (t) => {
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v1.0.0'))
    const spoke = await fixture.spoke(set, undefined)
    await fixture.server.request('DELETE', bootstrapWorkPath('ace-bootstrap'))
    t.teardown(() => makeBootstrapWorks(fixture.server))
    const said = /gives features to no cluster: it lacks ace-bootstrap \(ManifestWorkReplicaSet in open-cluster/
    t.regex((await statusOf(set, suite)).reasons?.[spoke] ?? '', said)
    await makeBootstrapWorks(fixture.server)
    t.notRegex((await statusOf(set, suite)).reasons?.[spoke] ?? '', said)
  })

  test.serial('a cluster at a version without suite values is reported', async (t) => {
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v1.0.0'))
    const [kept, following] = [await spokeAt(set, 'v1.0.0', 'v1.0.0'), await spokeAt(set, '', 'v1.0.0')]
    const { reasons } = await statusOf(set, suite)
    t.regex(reasons?.[kept] ?? '', /stays at version v1\.0\.0 of the suite, and its profile has no values/)
    t.notRegex(reasons?.[following] ?? '', /stays at version/)
  })

  test.serial('without a known version on the hub, no update is possible', async (t) => {
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v1.0.0'))
    const spoke = await spokeAt(set, 'v1.0.0', 'v1.0.0')
    t.deepEqual((await expectStatus(fixture.ofSet('GET', set, '/sync-status/suite-features-version'), 200)).json, {
      clusterSetVersion: 'v1.0.0',
      clusters: [{ name: spoke, version: 'v1.0.0' }],
    })
    t.false(await isPossible(set))
    t.regex((await fixture.ofSet('POST', set, '/auto-update')).json.message, /does not report which version/)
  })

  test.serial('the spokes follow their set once all have the version of the hub', async (t) => {
    await fixture.featureSet()
    await fixture.plant(
      'featuresets',
      { name: core },
      {
        title: 'Core',
        description: 'Core',
        requiredFeatures: [suite, server],
        chart: { name: 'core', version: '1', sourceRef: { name: 'charts' } },
      },
    )
    await fixture.feature(
      core,
      { chart: { name: suite, version: 'v2.0.0', sourceRef: { name: 'charts' } } },
      undefined,
      suite,
    )
    await fixture.feature(core, {}, undefined, server)
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v1.0.0'))
    const [first, second] = [await spokeAt(set, 'v2.0.0', '2.0.0'), await spokeAt(set, 'v2.0.0', 'v1.0.0')]
    t.false(await isPossible(set))
    const refused = await fixture.ofSet('POST', set, '/auto-update')
    t.like(refused, { status: 400, json: { code: 'AutoUpdateImpossible' } })
    t.regex(refused.json.message, new RegExp(`not on the latest version v2.0.0 of the suite: ${second}\\.`))
    t.is(await setVersion(set), 'v1.0.0')
    await fixture.server.request(
      'PATCH',
      `/apis/profile.k8s.appscode.com/v1alpha1/namespaces/${second}/managedclusterprofilebindings/${second}/status`,
      { status: { observedOpscenterFeaturesVersion: 'v2.0.0' } },
      { contentType: 'application/merge-patch+json' },
    )
    t.true(await isPossible(set))
    for (const _ of [1, 2]) t.is((await expectStatus(fixture.ofSet('POST', set, '/auto-update'), 200)).text, '')
    t.is(await setVersion(set), 'v2.0.0')
    t.deepEqual([await pinnedVersion(first), await pinnedVersion(second)], ['', ''])
    t.deepEqual(await fixture.auditOf(set), [
      { action: 'cluster.auto_update_started', changes: { clusterSet: set, version: 'v2.0.0' } },
    ])
    await fixture.spoke(set, undefined)
    t.false(await isPossible(set))
  })

  test.serial('a set without spokes, or without the suite, is 400', async (t) => {
    const empty = await fixture.set()
    t.regex((await fixture.ofSet('POST', empty, '/auto-update')).json.message, /has no spokes/)
    await spokeAt(empty, '', 'v2.0.0')
    t.like(await fixture.ofSet('POST', empty, '/auto-update'), { status: 400, json: { code: 'AutoUpdateImpossible' } })
    await fixture.profile(empty, {})
    t.regex((await fixture.ofSet('POST', empty, '/auto-update')).json.message, /is not installed/)
  })

  test.serial('the version that a release on the hub has deployed is the latest', async (t) => {
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v1.0.0'))
    await spokeAt(set, '', 'v3.0.0')
    t.false(await isPossible(set))
    const namespace = await fixture.server.createNamespace()
    const spec = {
      interval: '5m',
      chart: { spec: { chart: suite, version: '*', sourceRef: { kind: 'HelmRepository', name: 'charts' } } },
    }
    const entry = {
      chartName: suite,
      chartVersion: 'v3.0.0',
      configDigest: 'sha256:0',
      digest: 'sha256:0',
      firstDeployed: '2026-01-01T00:00:00Z',
      lastDeployed: '2026-01-01T00:00:00Z',
      name: suite,
      namespace,
      status: 'deployed',
      version: 1,
    }
    await fixture.plant(
      'helmreleases',
      { name: suite, namespace, labels: { 'app.kubernetes.io/component': suite } },
      spec,
      { history: [entry] },
    )
    t.true(await isPossible(set))
    await fixture.server.request(
      'DELETE',
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/${suite}`,
    )
    t.false(await isPossible(set))
  })

  test.serial('the first install adds the core features, which cannot be disabled', async (t) => {
    const [set, featureSet] = [await fixture.set(), await fixture.featureSet()]
    const name = await fixture.feature(featureSet)
    await expectStatus(fixture.ofSet('POST', set, '/install-featureset', modelOf(featureSet, { [name]: {} })), 200)
    t.deepEqual(
      Object.keys((await fixture.specOf('managedclustersetprofiles', { name: set }))?.['features'] as object).sort(),
      [name, suite, server].sort(),
    )
    t.is(await setVersion(set), 'v2.0.0')
    for (const features of [[server], []]) {
      const answer = await fixture.ofSet('POST', set, '/disable-featureset', {
        clusterSet: set,
        featureSet: core,
        features,
      })
      t.is(answer.status, 422)
      t.regex(
        answer.json.message,
        new RegExp(`${server} is required and cannot be disabled while others are installed: .*${name}`),
      )
    }
  })

  test.serial('the core features are removed last, with the profile of the set', async (t) => {
    await fixture.server.request('POST', '/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets', {
      apiVersion: 'cluster.open-cluster-management.io/v1beta2',
      kind: 'ManagedClusterSet',
      metadata: { name: 'default' },
      spec: {},
    })
    for (const set of [await fixture.set(), 'default']) {
      await expectStatus(install(set, modelOf(core, { [suite]: {}, [server]: {} })), 200)
      t.is((await disable(set, core, [suite])).status, 422, 'the controllers do nothing with one of them')
      await expectStatus(disable(set, core), 200)
      t.is(await fixture.specOf('managedclustersetprofiles', { name: set }), undefined)
      await expectStatus(disable(set, core), 200)
    }
  })

  test.serial('a spoke without the applied suite work does not have its version', async (t) => {
    const set = await fixture.set()
    await fixture.profile(set, withSuite('v2.0.0'))
    const spoke = await spokeAt(set, '', 'v2.0.0')
    const check = async () =>
      (await expectStatus(fixture.ofSet('GET', set, '/auto-update/check'), 200)).json as {
        possible: boolean
        reason?: string
      }
    t.deepEqual(await check(), { possible: true })
    await fixture.plant(
      'manifestworks',
      { name: core, namespace: spoke, labels: { 'cluster.appscode.com/profile': set } },
      { workload: { manifests: [] } },
      appliedStatus(false, 'helmreleases is forbidden'),
    )
    const failed = await check()
    t.false(failed.possible)
    t.regex(
      failed.reason ?? '',
      new RegExp(`${spoke}: Its agent could not apply what the hub has sent last\\. helmreleases is forbidden`),
    )
    t.like((await expectStatus(fixture.ofSet('GET', set, '/sync-status/suite-features-version'), 200)).json, {
      clusters: [{ name: spoke, version: '' }],
    })
    t.regex((await fixture.ofSet('POST', set, '/auto-update')).json.message, /could not apply/)
  })

  test.serial('the core features can leave the hub for other tests', async (t) => {
    const remove = async (path: string): Promise<number> =>
      (await fixture.server.request('DELETE', `/apis/ui.k8s.appscode.com/v1alpha1/${path}`)).status
    t.deepEqual(
      await Promise.all([remove(`featuresets/${core}`), remove(`features/${suite}`), remove(`features/${server}`)]),
      [200, 200, 200],
    )
  })
}
