// process: waiting - uses components
import { expectStatus, type Person } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { chartOf, modelOf, unique } from './features-fixture.ts'
import { disable, install, fixture } from './feature-sets.fixture.ts'
import { declareCoreFeatureCases } from './core-feature-cases.ts'
import { needing } from '../support/components/needing.ts'

/** Install, disable and update feature sets. */
const test = needing('kubernetes', 'spoke-kubernetes')

type Features = Readonly<
  Record<
    string,
    {
      readonly featureSet: string
      readonly chart: { readonly name: string; readonly version?: string }
      readonly values?: Readonly<Record<string, unknown>>
    }
  >
>
const installed = async (set: string): Promise<Features> =>
  ((await fixture.specOf('managedclustersetprofiles', { name: set }))?.['features'] ?? {}) as Features
const update = (set: string, spoke: string, model: unknown, person?: Person, at?: string): Promise<ServiceAnswer> =>
  fixture.ofSet('POST', set, `/${spoke}/update-featureset`, model, person, at)

/** A feature set with features, and a cluster set. */
const fresh = async (features = 1) => {
  const [set, featureSet] = [await fixture.set(), await fixture.featureSet()]
  return {
    set,
    featureSet,
    names: (await Promise.all(Array.from({ length: features }, () => fixture.feature(featureSet)))) as [
      string,
      ...string[],
    ],
  }
}
/** A spoke of a set with the binding that the controller of its hub makes. */
const boundSpoke = async (set: string, features?: object): Promise<string> => {
  const spoke = await fixture.spoke(set, undefined)
  await fixture.server.request('POST', '/api/v1/namespaces', { metadata: { name: spoke } })
  await fixture.plant(
    'managedclusterprofilebindings',
    { namespace: spoke, name: spoke },
    { profileRef: { name: set }, clusterMetadata: { uid: 'u', name: spoke, clusterManagers: ['OCMSpoke'] }, features },
  )
  return spoke
}

test('install makes the profile, changes are recorded, repetitions are not', async (t) => {
  const {
    set,
    featureSet,
    names: [name, other],
  } = await fresh(2)
  const first = { replicas: 2, nested: { kept: true, big: 5 }, list: [1.5] }
  for (const _ of [1, 2])
    t.deepEqual((await expectStatus(install(set, modelOf(featureSet, { [name]: first })), 200)).json, {
      unservedClusters: [],
    })
  t.deepEqual((await installed(set))[name], {
    featureSet,
    chart: { name, version: '1.0.0', sourceRef: { kind: 'HelmRepository', name: 'charts' } },
    values: first,
  } as never)
  await expectStatus(install(set, modelOf(featureSet, { [name]: { nested: {} }, [other!]: undefined })), 200)
  t.deepEqual((await installed(set))[name]?.values, { nested: {} })
  t.deepEqual(Object.keys(await installed(set)).sort(), [name, other].sort())
  t.deepEqual((await fixture.auditOf(set)).toReversed(), [
    { action: 'cluster.featureset_installed', changes: { clusterSet: set, featureSet, features: [name] } },
    {
      action: 'cluster.featureset_installed',
      changes: { clusterSet: set, featureSet, features: [name, other!].sort() },
    },
  ] as never)
})

test('the dependencies of a feature are installed with it', async (t) => {
  const {
    set,
    featureSet,
    names: [deepest],
  } = await fresh()
  const elsewhere = await fixture.featureSet()
  const middle = await fixture.feature(elsewhere, {
    requirements: { features: [deepest] },
    values: { from: 'catalogue' },
  })
  const top = await fixture.feature(featureSet, { requirements: { features: [middle] } })
  await expectStatus(install(set, modelOf(featureSet, { [top]: { own: true } })), 200)
  const now = await installed(set)
  t.deepEqual(Object.keys(now).sort(), [deepest, middle, top].sort())
  t.like(now[middle], {
    featureSet: elsewhere,
    chart: { name: middle, version: '1.0.0' },
    values: { from: 'catalogue' },
  })
  t.deepEqual((await fixture.auditOf(set))[0]?.changes['features'], [deepest, middle, top].sort())
})

test('a model that cannot be installed is 422 with all reasons, and changes nothing', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  const [elsewhere, off] = [await fixture.featureSet(), await fixture.featureSet({ disabled: true })]
  const [foreign, disabled, ofOff] = [
    await fixture.feature(elsewhere),
    await fixture.feature(featureSet, { disabled: true }),
    await fixture.feature(off),
  ]
  const needy = await fixture.feature(featureSet, { requirements: { features: ['never-heard-of'] } })
  const needsDisabled = await fixture.feature(featureSet, { requirements: { features: [disabled] } })
  const strict = await fixture.featureSet()
  const [required, optional] = [await fixture.feature(strict), await fixture.feature(strict)]
  await fixture.replaceSpec('featuresets', { name: strict }, { requiredFeatures: [required] })
  const group = unique('group')
  const [left, right] = [
    await fixture.feature(featureSet, { featureExclusionGroup: group }),
    await fixture.feature(featureSet, { featureExclusionGroup: group }),
  ]
  const key = (feature: string): string => `helmToolkitFluxcdIoHelmRelease_${feature.replaceAll('-', '_')}`
  const refusals: readonly (readonly [model: object, reasons: readonly RegExp[]])[] = [
    [{}, [/metadata\.release\.name is missing/, /resources is missing or empty/]],
    [modelOf(featureSet, {}), [/resources is missing or empty/]],
    [
      { metadata: { release: { name: featureSet } }, resources: { other: {}, [key(name)]: {} } },
      [/resources\.other is not a release/, /spec must be an object/],
    ],
    [
      {
        metadata: { release: { name: featureSet } },
        resources: { [key(name)]: { spec: { values: [], valuesFrom: 1 } } },
      },
      [
        /chart\.spec\.chart is missing/,
        /sourceRef\.name is missing/,
        /values must be an object/,
        /valuesFrom must be a list/,
      ],
    ],
    [modelOf('no-such-set', { [name]: {} }), [/no feature set no-such-set/]],
    [modelOf(off, { [ofOff]: {} }), [/is disabled/]],
    [
      modelOf(featureSet, { unknown: {}, [foreign]: {}, [disabled]: {} }),
      [
        /no feature unknown/,
        new RegExp(`${foreign} belongs to the feature set ${elsewhere}`),
        new RegExp(`${disabled} is disabled`),
      ],
    ],
    [modelOf(strict, { [optional]: {} }), [new RegExp(`needs these features: ${required}`)]],
    [
      modelOf(featureSet, { [needy]: {}, [needsDisabled]: {} }),
      [/never-heard-of/, new RegExp(`${needsDisabled} needs ${disabled}`)],
    ],
    [
      modelOf(featureSet, { [left]: {}, [right]: {} }),
      [new RegExp(`Only one of these features can be installed: ${[left, right].sort().join(', ')}`)],
    ],
  ]
  for (const [model, reasons] of refusals) {
    const answer = await install(set, model)
    t.is(answer.status, 422, answer.text)
    t.is(answer.json.code, 'FeaturesRefused')
    for (const reason of reasons) t.regex(answer.json.message, reason)
    t.is((answer.json.errors as string[]).length, reasons.length, answer.text)
  }
  for (const bad of [[], 7, null]) t.is((await install(set, bad)).status, 422)
  t.is(await fixture.specOf('managedclustersetprofiles', { name: set }), undefined)
  await expectStatus(install(set, modelOf(featureSet, { [left]: {} })), 200)
  t.regex((await install(set, modelOf(featureSet, { [right]: {} }))).json.message, /Only one/)
  t.deepEqual(await fixture.auditOf(set).then((rows) => rows.length), 1)
})

test('objects that the hub finds invalid are 422, and too large ones 422 or 413', async (t) => {
  const {
    set,
    featureSet,
    names: [name, other],
  } = await fresh(2)
  const model = modelOf(featureSet, { [name]: {} }) as { resources: Record<string, { spec: Record<string, unknown> }> }
  const odd = {
    ...model,
    resources: Object.fromEntries(
      Object.entries(model.resources).map(([key, { spec }]) => [
        key,
        { spec: { ...spec, valuesFrom: [{ kind: 'Pod', name: 'x' }] } },
      ]),
    ),
  }
  const invalid = await install(set, odd)
  t.like(invalid, { status: 422, json: { code: 'HubRefused' } })
  t.regex(invalid.json.message, /valuesFrom/)
  const large = { text: 'x'.repeat(900_000) }
  await expectStatus(install(set, modelOf(featureSet, { [name]: large })), 200)
  const tooLarge = await install(set, modelOf(featureSet, { [other!]: large }))
  t.is(tooLarge.status, 422, tooLarge.text)
  t.regex(tooLarge.json.message, /larger than/)
  t.is((await install(set, modelOf(featureSet, { [other!]: { text: 'x'.repeat(1_100_000) } }))).status, 413)
  t.deepEqual(Object.keys(await installed(set)), [name])
})

test('disable removes features or the whole set, and ignores absent ones', async (t) => {
  const { set, featureSet, names } = await fresh(3)
  const [first, second, third] = names as readonly string[] as readonly [string, string, string]
  const foreignSet = await fixture.featureSet()
  const foreign = await fixture.feature(foreignSet)
  await fixture.profile(
    set,
    Object.fromEntries([
      ...[first, second].map((name) => [name, { featureSet, chart: chartOf(name) }]),
      [foreign, { featureSet: foreignSet }],
    ]) as never,
  )
  for (const _ of [1, 2]) t.is((await expectStatus(disable(set, featureSet, [first]), 200)).text, '')
  t.deepEqual(Object.keys(await installed(set)).sort(), [second, foreign].sort())
  await expectStatus(disable(set, featureSet, [third]), 200)
  for (const features of [undefined, []]) await expectStatus(disable(set, featureSet, features), 200)
  t.deepEqual(Object.keys(await installed(set)), [foreign])
  t.deepEqual(
    (await fixture.auditOf(set)).map(({ changes }) => changes['features']),
    [[second], [first]],
  )
  await expectStatus(disable(await fixture.set(), featureSet), 200)
})

test('disable is 422 for other sets and for unknown or required features', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  const elsewhere = await fixture.featureSet()
  const user = await fixture.feature(elsewhere, { requirements: { features: [name] } })
  await fixture.profile(set, { [name]: { featureSet }, [user]: { featureSet: elsewhere } })
  const refusals: readonly (readonly [answer: ServiceAnswer, reason: RegExp])[] = [
    [
      await fixture.ofSet('POST', set, '/disable-featureset', { clusterSet: 'another', featureSet }),
      /the path names the cluster set/,
    ],
    [await disable(set, 'no-such-set'), /no feature set no-such-set/],
    [await disable(set, featureSet, [user]), /does not belong to the feature set/],
    [await disable(set, featureSet, ['never-heard-of']), /does not belong to the feature set/],
    [await disable(set, featureSet, [name]), new RegExp(`${name} is needed by ${user}`)],
    [await disable(set, featureSet), new RegExp(`${name} is needed by ${user}`)],
  ]
  for (const [answer, reason] of refusals) {
    t.like(answer, { status: 422, json: { code: 'FeaturesRefused' } })
    t.regex(answer.json.message, reason)
  }
  for (const body of [
    {},
    { clusterSet: set },
    { featureSet },
    { clusterSet: 'A', featureSet },
    { clusterSet: set, featureSet: '' },
    { clusterSet: set, featureSet, features: 'x' },
    { clusterSet: set, featureSet, features: [7] },
  ])
    t.is((await fixture.ofSet('POST', set, '/disable-featureset', body)).status, 422, JSON.stringify(body))
  t.deepEqual(Object.keys(await installed(set)).sort(), [name, user].sort())
  await expectStatus(disable(set, elsewhere), 200)
  await expectStatus(disable(set, featureSet), 200)
  t.deepEqual(await installed(set), {})
})

test('update replaces the values of one spoke and leaves the set unchanged', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  await fixture.profile(set, { [name]: { featureSet, chart: chartOf(name), values: { ofSet: true } } })
  const spoke = await boundSpoke(set)
  for (const values of [{ a: { b: 1 } }, { a: { c: 2 } }, { a: { c: 2 } }])
    await expectStatus(update(set, spoke, modelOf(featureSet, { [name]: values })), 200)
  const spec = await fixture.specOf('managedclusterprofilebindings', { namespace: spoke, name: spoke })
  t.like(spec?.['features'], { [name]: { featureSet, values: { a: { c: 2 } } } })
  t.deepEqual((spec?.['features'] as Features)[name]?.values, { a: { c: 2 } })
  t.like(spec, { profileRef: { name: set } })
  t.deepEqual((await installed(set))[name]?.values, { ofSet: true })
  const rows = await fixture.auditOf(set)
  t.deepEqual(
    rows.map(({ action }) => action),
    ['cluster.featureset_updated', 'cluster.featureset_updated'],
  )
  t.like(rows[0]?.changes, { spoke, featureSet, features: [name] })
})

test('update is 404 for an unknown spoke and 422 against the rules', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  const model = modelOf(featureSet, { [name]: {} })
  const [stranger, unbound, bound] = [
    await boundSpoke(await fixture.set()),
    await fixture.spoke(set, undefined),
    await boundSpoke(set),
  ]
  t.like(await update(set, unique('none'), model), { status: 404, json: { code: 'SpokeMissing' } })
  t.is((await update(set, 'No_Spoke', model)).status, 404)
  for (const [spoke, sent, reason] of [
    [stranger, model, /is not in the cluster set/],
    [unbound, model, /has no profile yet/],
    [bound, modelOf(featureSet, { unknown: {} }), /no feature unknown/],
    [bound, {}, /resources is missing/],
  ] as const) {
    const answer = await update(set, spoke, sent)
    t.like(answer, { status: 422, json: { code: 'FeaturesRefused' } })
    t.regex(answer.json.message, reason)
  }
  t.deepEqual(await fixture.auditOf(set), [])
})

test('of concurrent installs of features that exclude each other one wins', async (t) => {
  const { set, featureSet } = await fresh()
  const group = unique('group')
  const rivals = await Promise.all([1, 2, 3].map(() => fixture.feature(featureSet, { featureExclusionGroup: group })))
  const answers = await Promise.all(rivals.map((name) => install(set, modelOf(featureSet, { [name]: {} }))))
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422])
  const winner = rivals[answers.findIndex(({ status }) => status === 200)]
  t.deepEqual(Object.keys(await installed(set)), [winner])
})

test('concurrent installs of different features all take effect', async (t) => {
  const { set, featureSet, names } = await fresh(4)
  const answers = await Promise.all(names.map((name) => install(set, modelOf(featureSet, { [name]: {} }))))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.deepEqual(Object.keys(await installed(set)).sort(), [...names].sort())
})

test('concurrent install and disable leave no feature without dependencies', async (t) => {
  for (const _ of [1, 2, 3]) {
    const {
      set,
      featureSet,
      names: [needed],
    } = await fresh()
    const elsewhere = await fixture.featureSet()
    const user = await fixture.feature(elsewhere, { requirements: { features: [needed] } })
    await fixture.profile(set, { [needed]: { featureSet, chart: chartOf(needed) } })
    const [installing, disabling] = await Promise.all([
      install(set, modelOf(elsewhere, { [user]: {} })),
      disable(set, featureSet, [needed]),
    ])
    t.is(installing.status, 200)
    t.true([200, 422].includes(disabling.status), disabling.text)
    t.deepEqual(Object.keys(await installed(set)).sort(), [needed, user].sort())
  }
})

test('a change of features needs the right to manage feature sets', async (t) => {
  const { people, owner, org } = fixture
  const [reader, manager, stranger] = [
    await people.person('reader'),
    await people.person('manager'),
    await people.person('stranger'),
  ]
  const held = (...actions: string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [reader], held('view clusters', 'view hubs', 'manage cluster sets'))
  await people.teamWithRole(owner, org, [manager], held('view clusters', 'view hubs', 'manage feature sets'))
  await people.organization(stranger)
  const {
    featureSet,
    names: [name],
  } = await fresh()
  const model = modelOf(featureSet, { [name]: {} })
  const absent = unique('none')
  for (const change of [
    (person: Person) => install(absent, model, person),
    (person: Person) => disable(absent, featureSet, [], person),
    (person: Person) => update(absent, 'spoke', model, person),
    (person: Person) => fixture.ofSet('POST', absent, '/auto-update', undefined, person),
  ])
    t.deepEqual(
      await Promise.all([reader, manager, stranger].map(async (person) => (await change(person)).status)),
      [403, 404, 404],
    )
})

test('an empty work of a feature set is deleted unless the spoke needs it', async (t) => {
  const {
    set,
    featureSet,
    names: [name, other],
  } = await fresh(2)
  const kept = await fixture.feature(await fixture.featureSet())
  await fixture.profile(set, { [name]: { featureSet }, [other!]: { featureSet }, [kept]: { featureSet: 'another' } })
  const [plain, own] = [await boundSpoke(set), await boundSpoke(set, { [name]: { featureSet, chart: chartOf(name) } })]
  const labels = { 'cluster.appscode.com/profile': set }
  for (const namespace of [plain, own])
    for (const work of [featureSet, 'another'])
      await fixture.plant('manifestworks', { name: work, namespace, labels }, { workload: { manifests: [] } })
  const works = (): Promise<readonly boolean[]> =>
    Promise.all(
      [
        [plain, featureSet],
        [plain, 'another'],
        [own, featureSet],
      ].map(
        async ([namespace, work]) =>
          (await fixture.specOf('manifestworks', { namespace: namespace!, name: work! })) !== undefined,
      ),
    )
  await expectStatus(disable(set, featureSet, [name]), 200)
  t.deepEqual(await works(), [true, true, true])
  await expectStatus(disable(set, featureSet), 200)
  t.deepEqual(await works(), [false, true, true])
})

test('a cluster has the features of the first set only', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  const team = unique('team')
  const wide = await fixture.set({
    clusterSelector: { selectorType: 'LabelSelector', labelSelector: { matchLabels: { team } } },
  })
  const spoke = await fixture.plant(
    'managedclusters',
    { name: unique('spoke'), labels: { team, 'cluster.open-cluster-management.io/clusterset': set } },
    { hubAcceptsClient: true },
  )
  const outside = await fixture.plant(
    'managedclusters',
    { name: unique('spoke'), labels: { team } },
    { hubAcceptsClient: true },
  )
  const model = modelOf(featureSet, { [name]: {} })
  await expectStatus(install(wide, model), 200)
  const second = await install(set, model)
  t.like(second, { status: 422, json: { code: 'FeaturesRefused' } })
  t.is(
    second.json.message,
    `${spoke} is in the set ${wide} too, which has features. A cluster has those of one set: disable them there first.`,
  )
  await expectStatus(disable(wide, featureSet), 200)
  await expectStatus(install(set, model), 200)
  t.is((await install(wide, model)).status, 422)
  await fixture.plant('managedclustersetprofiles', { name: wide }, { features: { [name]: { featureSet } } })
  const added = await fixture.service.send('POST', `/api/v1/clusters/${fixture.org}/hub/clustersets/add`, {
    token: fixture.owner.token,
    body: { clusterSet: set, clusters: [outside] },
  })
  t.like(added, { status: 422, json: { code: 'ClusterSetRefused' } })
  t.regex(added.json.message, new RegExp(`is in the set ${wide} too`))
})

test('an installation names the spokes that the hub does not serve, with each reason', async (t) => {
  const {
    set,
    featureSet,
    names: [name],
  } = await fresh()
  const served = await fixture.spoke(set, 'enabledFeatures: []\n')
  const silent = await fixture.spoke(set, undefined)
  const unknown = await fixture.plant(
    'managedclusters',
    { name: unique('spoke'), labels: { 'cluster.open-cluster-management.io/clusterset': set } },
    { hubAcceptsClient: true },
  )
  const unserved = async (): Promise<Readonly<Record<string, string>>> => {
    const { json } = await expectStatus(install(set, modelOf(featureSet, { [name]: {} })), 200)
    return Object.fromEntries(
      json.unservedClusters.map((each: { name: string; reason: string }) => [each.name, each.reason]),
    )
  }
  const withoutCore = /gives no features to a cluster set without opscenter-features and kube-ui-server/
  const withoutClaim = /claim features\.ace\.info\. Until it does, the hub gives it only the feature set opscenter-core/
  const before = await unserved()
  t.deepEqual(Object.keys(before).sort(), [served, silent, unknown].sort())
  for (const reason of Object.values(before)) t.regex(reason, withoutCore)

  const core = { featureSet: 'opscenter-core', chart: chartOf('core') }
  const features = { ...(await installed(set)), 'opscenter-features': core, 'kube-ui-server': core }
  await fixture.replaceSpec('managedclustersetprofiles', { name: set }, { features })
  const after = await unserved()
  t.deepEqual(Object.keys(after).sort(), [silent, unknown].sort())
  for (const reason of Object.values(after)) {
    t.notRegex(reason, withoutCore)
    t.regex(reason, withoutClaim)
  }
  t.notRegex(after[silent] ?? '', /cluster\.ace\.info/)
  t.regex(after[unknown] ?? '', /does not report the claim cluster\.ace\.info/)
  const { reasons } = (await expectStatus(fixture.ofSet('GET', set, `/sync-status/${name}`), 200)).json
  t.regex(reasons[unknown], /claim cluster\.ace\.info.*Its state is not known/)
  t.regex(reasons[silent], withoutClaim)
})

declareCoreFeatureCases()
