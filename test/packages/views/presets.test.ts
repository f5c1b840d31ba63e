import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Bundle } from '../../../core/packages/views/bundles.ts'
import type { ChartPreset, VariantWish } from '../../../core/packages/views/presets.ts'
import {
  findPresets,
  labelTest,
  presetsInForce,
  readPreset,
  withPresets,
} from '../../../core/packages/views/presets.ts'
import { bundleSelections, choicesOf, packageSelection } from '../../../core/packages/views/selections.ts'
import type { BundleOptionView, ChartCard, PackageCard } from '../../../core/packages/views/types.ts'
import { fetched, harbour, signal, stubChart, stubCluster } from './stub-charts.ts'

const selectors: readonly (readonly [string, FreeObject, FreeObject, boolean | undefined])[] = [
  ['an empty selector', {}, { a: 'b' }, true],
  ['a label', { matchLabels: { a: 'b' } }, { a: 'b', c: 'd' }, true],
  ['another value', { matchLabels: { a: 'b' } }, { a: 'c' }, false],
  ['a label that objects inherit', { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, {}, false],
  ['In', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] }, { a: 'c' }, true],
  ['In without the label', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }, {}, false],
  ['NotIn', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, { a: 'b' }, false],
  ['NotIn without the label', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, {}, true],
  ['Exists', { matchExpressions: [{ key: 'a', operator: 'Exists' }] }, { a: '' }, true],
  ['DoesNotExist', { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, { a: '' }, false],
  ['both parts', { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] }, { a: 'b' }, false],
  ['nulls for nothing', { matchLabels: null, matchExpressions: null }, {}, true],
  ['an unknown operator', { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }, {}, undefined],
  ['labels that are none', { matchLabels: 'a=b' }, {}, undefined],
  ['expressions that are none', { matchExpressions: ['a'] }, {}, undefined],
]
for (const [what, selector, labels, expected] of selectors)
  test(`a label selector: ${what}`, (t) => t.is(labelTest(selector)?.(labels), expected))

const preset = (name: string, labels: FreeObject = {}, values: FreeObject = {}): ChartPreset => ({
  name,
  labels,
  values,
})
const small = { size: 'small' }
const isSmall = (labels: FreeObject): boolean => labels['size'] === 'small'

test('presets of the cluster by name, then those of the namespace; one of those hides its namesake', (t) => {
  const cluster = [preset('c', small), preset('a', small), preset('big', { size: 'big' }), preset('b', small)]
  const namespaced = [
    preset('z', small),
    preset('b', { size: 'big' }),
    preset('big', { size: 'big' }),
    preset('a', small),
  ]
  const kept = presetsInForce(cluster, namespaced, isSmall)
  t.deepEqual(
    kept.map((each) => `${each.name}${cluster.includes(each) ? '' : ' here'}`),
    ['c', 'a here', 'b here', 'z here'],
  )
})

const anyPreset = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  labels: fc.constantFrom<FreeObject>(small, { size: 'big' }, {}),
  values: fc.constant<FreeObject>({}),
})
const unique = fc.uniqueArray(anyPreset, { selector: ({ name }) => name })

test('whatever presets there are: each name counts once, the namespace wins, and the order does not depend on that of the lists', (t) => {
  fc.assert(
    fc.property(unique, unique, (cluster, namespaced) => {
      const kept = presetsInForce(cluster, namespaced, isSmall)
      t.is(new Set(kept.map(({ name }) => name)).size, kept.length)
      for (const { name, labels } of cluster) {
        const namesake = namespaced.find((each) => each.name === name)
        if (isSmall(labels))
          t.true(kept.some((each) => each === (namesake ?? cluster.find((other) => other.name === name))))
      }
      for (const each of namespaced) if (isSmall(each.labels)) t.true(kept.includes(each))
      t.deepEqual(presetsInForce([...cluster].reverse(), [...namespaced].reverse(), isSmall), kept)
    }),
  )
})

test('values are laid over the defaults, maps key by key; a null stays, for it takes a default away', (t) => {
  const values = { replicas: 1, image: { tag: 'a', pull: 'Always' }, list: [1, 2] }
  t.deepEqual(
    withPresets(values, [
      preset('a', {}, { image: { tag: 'b' }, list: [3] }),
      preset('b', {}, { image: { pull: null }, extra: {} }),
    ]),
    { replicas: 1, image: { tag: 'b', pull: null }, list: [3], extra: {} },
  )
  t.is(withPresets(values, []), values)
})

test('a preset is read from its object; what is of another type is as good as absent', (t) => {
  t.deepEqual(
    readPreset({ metadata: { name: 'a', labels: small }, spec: { values: { x: 1 } } }),
    preset('a', small, { x: 1 }),
  )
  t.deepEqual(readPreset({ metadata: { name: 'a', labels: 'x' }, spec: { values: [1] } }), preset('a'))
  t.is(readPreset({ metadata: { name: 7 } }), undefined)
  t.is(readPreset({}), undefined)
})

interface Answers {
  readonly [target: string]: { readonly status: number; readonly json?: unknown }
}
const clusterOf = (answers: Answers): MemberCluster & { readonly asked: string[] } => {
  const asked: string[] = []
  return {
    ...stubCluster(),
    asked,
    async request({ target, method }) {
      asked.push(target)
      const answer = method === 'GET' ? answers[target] : undefined
      return right({ status: answer?.status ?? 404, json: answer?.json, text: '' })
    },
  }
}

const wish: VariantWish = { group: 'apps', name: 'deployments', kind: '', variant: 'small', namespace: 'shop' }
const editor = '/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors/apps-v1-deployments'
const ofCluster = '/apis/charts.x-helm.dev/v1alpha1/clusterchartpresets?limit=500'
const ofNamespace = '/apis/charts.x-helm.dev/v1alpha1/namespaces/shop/chartpresets?limit=500'
const object = (name: string, labels: FreeObject = small): FreeObject => ({
  metadata: { name, labels },
  spec: { values: { from: name } },
})
const served: Answers = {
  '/apis/apps': {
    status: 200,
    json: { kind: 'APIGroup', preferredVersion: { version: 'v1' }, versions: [{ version: 'v1' }] },
  },
  '/apis/apps/v1': {
    status: 200,
    json: { resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true }] },
  },
  [editor]: {
    status: 200,
    json: {
      spec: {
        resource: {},
        variants: [
          { name: 'large' },
          { name: 'small', selector: { matchLabels: small } },
          { name: 'odd', selector: { matchLabels: 7 } },
        ],
      },
    },
  },
  [ofCluster]: { status: 200, json: { metadata: { continue: 'more/1' }, items: [object('b'), object('x', {})] } },
  [`${ofCluster}&continue=more%2F1`]: { status: 200, json: { metadata: {}, items: [object('a')] } },
  [ofNamespace]: { status: 200, json: { items: [object('c'), 'odd', {}] } },
}
const namesIn = async (
  cluster: MemberCluster,
  changes: Partial<VariantWish> = {},
): Promise<readonly string[] | string> => {
  const found = await findPresets(cluster, { ...wish, ...changes }, signal)
  return isRight(found) ? found.right.map(({ name }) => name) : `${found.left.tag}: ${found.left.message}`
}

test('presets of a variant are found by its ResourceEditor, over pages', async (t) => {
  const cluster = clusterOf(served)
  t.deepEqual(await namesIn(cluster), ['a', 'b', 'c'])
  t.deepEqual(await namesIn(cluster, { name: '', kind: 'Deployment', namespace: '' }), ['a', 'b'])
  t.deepEqual(await namesIn(cluster, { variant: 'large' }), [], 'a variant that selects nothing')
  t.true(cluster.asked.every((target) => target.startsWith('/apis/')))
})

const troubles: readonly (readonly [string, Partial<VariantWish>, Answers, string])[] = [
  [
    'an unknown variant',
    { variant: 'huge' },
    {},
    'VariantMissing: The cluster knows no variant huge of deployments.apps.',
  ],
  ['an unknown resource', { name: 'boats' }, {}, 'VariantMissing: The cluster serves no resource boats.apps.'],
  [
    'an unknown group',
    { group: 'sea.example.com' },
    {},
    'VariantMissing: The cluster serves no resource deployments.sea.example.com.',
  ],
  [
    'no editor',
    {},
    { [editor]: { status: 404 } },
    'VariantMissing: The cluster knows no variant small of deployments.apps.',
  ],
  [
    'a selector that is none',
    { variant: 'odd' },
    {},
    'VariantMissing: The selector of the variant odd cannot be read.',
  ],
  [
    'editors that may not be read',
    {},
    { [editor]: { status: 403 } },
    'PresetsRefused: The cluster does not let you read ResourceEditors.',
  ],
  [
    'presets that may not be read',
    {},
    { [ofCluster]: { status: 403 } },
    'PresetsRefused: The cluster does not let you read ClusterChartPresets.',
  ],
  [
    'presets of the namespace that may not be read',
    {},
    { [ofNamespace]: { status: 403 } },
    'PresetsRefused: The cluster does not let you read ChartPresets of the namespace shop.',
  ],
  [
    'a cluster in trouble',
    {},
    { [ofNamespace]: { status: 500 } },
    'ClusterUnreachable: The cluster answered 500 when asked for ChartPresets of the namespace shop.',
  ],
  [
    'a list that is none',
    {},
    { [ofNamespace]: { status: 200, json: 'x' } },
    'ClusterUnreachable: The cluster answered 200 when asked for ChartPresets of the namespace shop.',
  ],
  [
    'pages without an end',
    {},
    { [`${ofCluster}&continue=more%2F1`]: { status: 200, json: { metadata: { continue: 'more/1' }, items: [] } } },
    'PresetsRefused: The cluster has more than 5000 ClusterChartPresets.',
  ],
]
for (const [what, changes, answers, told] of troubles)
  test(`presets are not guessed: ${what}`, async (t) =>
    t.is(await namesIn(clusterOf({ ...served, ...answers }), changes), told))

test('a cluster without the kinds has no presets; one that does not answer is reported', async (t) => {
  t.deepEqual(await namesIn(clusterOf({ ...served, [ofCluster]: { status: 404 }, [ofNamespace]: { status: 404 } })), [])
  const away = { ...stubCluster(), request: async () => left(ClusterUnreachable('It is away.')) }
  const found = await findPresets(away, wish, signal)
  t.is(isLeft(found) ? found.left.tag : 'found', 'ClusterUnreachable')
})

const card = (name: string, changes: Partial<ChartCard> = {}): { readonly chart: ChartCard } => ({
  chart: { name, sourceRef: harbour, versions: [{ version: '1.0.0', selected: true }], required: true, ...changes },
})
const view = (name: string, packages: readonly PackageCard[]): BundleOptionView => ({
  name,
  version: '2.0.0',
  sourceRef: harbour,
  displayName: name,
  packages,
})
const order = (
  root: BundleOptionView,
  authors: ReadonlyMap<BundleOptionView, Bundle> = new Map(),
  licenseKey?: string,
) => {
  const choices = choicesOf(root)
  return isLeft(choices) ? choices : bundleSelections(choices.right, authors, licenseKey)
}
const items = (...given: Parameters<typeof order>) => {
  const made = order(...given)
  if (isLeft(made)) throw new Error(made.left.message)
  return made.right
}
const refusal = (...given: Parameters<typeof order>): string | undefined => {
  const made = order(...given)
  return isLeft(made) ? `${made.left.tag}: ${made.left.message}` : undefined
}

test('one item for each chosen version, in the order of the view, bundles within at their place', (t) => {
  const inner = view('inner', [card('b'), card('c', { required: false, selected: true })])
  const made = items(
    view('outer', [
      card('a'),
      { bundle: inner },
      card('skipped', { required: false, selected: false }),
      card('d', {
        multiSelect: true,
        versions: [
          { version: '1.0.0', selected: true },
          { version: '2.0.0' },
          { version: '3.0.0+Build_7', selected: true },
        ],
      }),
    ]),
  )
  t.deepEqual(
    made.map(({ releaseName, version, bundle }) => `${releaseName} ${version} of ${bundle?.name ?? ''}`),
    [
      'a 1.0.0 of outer',
      'b 1.0.0 of inner',
      'c 1.0.0 of inner',
      'd-1.0.0 1.0.0 of outer',
      'd-3.0.0-build-7 3.0.0+Build_7 of outer',
    ],
  )
})

const named = (text: string, length: number): string => text.repeat(length)
const refusals: readonly (readonly [string, BundleOptionView, RegExp])[] = [
  [
    'an open choice',
    view('x', [{ oneOf: { description: '', bundles: [view('diesel', []), view('sail', [])] } }]),
    /Choose one of the bundles diesel, sail in x/,
  ],
  [
    'an open choice in a bundle within',
    view('x', [{ bundle: view('y', [{ oneOf: { description: '', bundles: [] } }]) }]),
    /in y/,
  ],
  [
    'no version selected',
    view('x', [card('a', { versions: [{ version: '1' }, { version: '2' }] })]),
    /Select a version of a/,
  ],
  [
    'two versions where there is one release',
    view('x', [
      card('a', {
        versions: [
          { version: '1', selected: true },
          { version: '2', selected: true },
        ],
      }),
    ]),
    /one version of a, not 2/,
  ],
  ['a release name of 54 characters', view('x', [card(named('a', 54))]), /longer than 53/],
  [
    'a name with its version of 54 characters',
    view('x', [card(named('a', 48), { multiSelect: true })]),
    /longer than 53/,
  ],
  ['a name that no release has', view('x', [card('Ferry')]), /cannot be the name of a release/],
  ['nothing selected', view('x', [card('a', { required: false })]), /Nothing is selected/],
  [
    'two releases that would be one',
    view('x', [card('a'), { bundle: view('y', [card('a')]) }]),
    /would both be the release a in the namespace default/,
  ],
  [
    'a patch that is none',
    view('x', [card('a', { versions: [{ version: '1', valuesPatch: { op: 'add' } }] })]),
    /must be a list/,
  ],
  [
    'bundles seven deep',
    [1, 2, 3, 4, 5, 6].reduce((inner, level) => view(`b${level}`, [{ bundle: inner }]), view('b0', [card('a')])),
    /5 levels/,
  ],
  [
    'twenty-one bundles',
    view(
      'x',
      Array.from({ length: 20 }, (_, at) => ({ bundle: view(`b${at}`, []) })),
    ),
    /20 bundles/,
  ],
]
for (const [what, given, message] of refusals)
  test(`a view makes no order for ${what}`, (t) =>
    t.regex(refusal(given) ?? 'made', new RegExp(`^OrderRefused: .*${message.source}`)))

test('limits are reached without being broken', (t) => {
  t.is(items(view('x', [card(named('a', 53))])).length, 1)
  t.is(items(view('x', [card(named('a', 47), { multiSelect: true })])).length, 1)
  t.is(
    items([1, 2, 3, 4, 5].reduce((inner, level) => view(`b${level}`, [{ bundle: inner }]), view('b0', [card('a')])))
      .length,
    1,
  )
  t.is(
    items(view('x', [card('a'), ...Array.from({ length: 19 }, (_, at) => ({ bundle: view(`b${at}`, []) }))])).length,
    1,
  )
  t.is(
    items(view('x', [card('a'), card('b', { namespace: 'n' }), { bundle: view('y', [card('a', { namespace: 'n' })]) }]))
      .length,
    3,
    'equal names in two namespaces are two releases',
  )
})

const authored = (changes: Partial<Bundle> = {}): Bundle => ({
  name: 'x',
  descriptor: {},
  displayName: '',
  namespace: 'boats',
  features: [],
  packages: [
    {
      kind: 'chart',
      chart: {
        name: 'a',
        source: { ...harbour, name: 'https://elsewhere' },
        features: [],
        namespace: '',
        multiSelect: false,
        required: true,
        versions: [{ version: '1.0.0', licenseKeyPath: '/wrong' }],
      },
    },
    {
      kind: 'chart',
      chart: {
        name: 'a',
        source: harbour,
        features: [],
        namespace: '',
        multiSelect: false,
        required: true,
        versions: [
          { version: '9' },
          { version: '1.0.0', licenseKeyPath: '/license', resources: { owned: [] }, waitFors: [{ all: true }] },
        ],
      },
    },
  ],
  ...changes,
})

test('what the author says of a version comes along: resources, waits, the namespace and where the licence key goes', (t) => {
  const root = view('x', [
    card('a', {
      versions: [
        { version: '1.0.0', valuesFile: 'values-big.yaml', valuesPatch: [{ op: 'add', path: '/x', value: 1 }] },
      ],
    }),
  ])
  const authors = new Map([[root, authored()]])
  const withKey = items(root, authors, 'LICENSE')
  t.deepEqual(withKey, [
    {
      name: 'a',
      version: '1.0.0',
      sourceRef: harbour,
      releaseName: 'a',
      namespace: 'boats',
      bundle: { name: 'x', version: '2.0.0', sourceRef: harbour },
      valuesFile: 'values-big.yaml',
      valuesPatch: [
        { op: 'add', path: '/x', value: 1 },
        { op: 'replace', path: '/license', value: 'LICENSE' },
      ],
      resources: { owned: [] },
      waitFors: [{ all: true }],
    },
  ])
  t.deepEqual(items(root, authors)[0]?.valuesPatch, [{ op: 'add', path: '/x', value: 1 }], 'no key, nothing replaced')
  t.deepEqual(items(root, new Map(), 'LICENSE')[0], {
    ...withKey[0]!,
    namespace: 'default',
    valuesPatch: [{ op: 'add', path: '/x', value: 1 }],
    resources: null,
    waitFors: null,
  })
  t.is(items(view('x', [card('a', { namespace: 'own' })]), new Map())[0]?.namespace, 'own')
})

const anyCard: fc.Arbitrary<PackageCard> = fc
  .record({
    name: fc.stringMatching(/^[a-z][a-z0-9-]{0,60}$/),
    required: fc.boolean(),
    selected: fc.boolean(),
    multiSelect: fc.boolean(),
    versions: fc.array(
      fc.record({ version: fc.stringMatching(/^[0-9]\.[0-9]\.[0-9](\+[A-Z]{1,4})?$/), selected: fc.boolean() }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ name, ...rest }) => card(name, rest))

test('whatever is chosen: names that Helm takes, none twice, one item for each chosen version', (t) => {
  fc.assert(
    fc.property(fc.array(anyCard, { maxLength: 6 }), fc.array(anyCard, { maxLength: 3 }), (outer, inner) => {
      const root = view('outer', [...outer, { bundle: view('inner', inner) }])
      const made = order(root)
      if (isLeft(made)) return t.not(made.left.message, '')
      const names = made.right.map(({ releaseName, namespace }) => `${namespace}/${releaseName}`)
      t.is(new Set(names).size, names.length)
      for (const { releaseName } of made.right) t.regex(releaseName, /^[a-z0-9](?:[a-z0-9.-]{0,51}[a-z0-9])?$/)
      const chosen = [...outer, ...inner].flatMap((each) =>
        'chart' in each && (each.chart.required === true || each.chart.selected === true) ? [each.chart] : [],
      )
      const expected = chosen.reduce(
        (sum, { versions }) => sum + (versions.length === 1 ? 1 : versions.filter(({ selected }) => selected).length),
        0,
      )
      t.is(made.right.length, expected)
    }),
    { numRuns: 300 },
  )
})

const ferry = fetched(stubChart('ferry', '1.4.0', { 'values.yaml': 'replicas: 1\nimage: {tag: a}\n' }))
const ordersWish = (changes: { releaseName?: string; namespace?: string; values?: FreeObject }) =>
  packageSelection(ferry, { releaseName: changes.releaseName, namespace: changes.namespace, values: changes.values })

test('a chart by itself is ordered with what differs from its defaults', (t) => {
  const made = ordersWish({ releaseName: 'blue', namespace: 'shop', values: { image: { tag: 'b' }, extra: true } })
  t.deepEqual(isRight(made) ? made.right : made.left, {
    name: 'ferry',
    version: '1.4.0',
    sourceRef: harbour,
    releaseName: 'blue',
    namespace: 'shop',
    bundle: null,
    valuesFile: 'values.yaml',
    valuesPatch: [
      { op: 'replace', path: '/image/tag', value: 'b' },
      { op: 'add', path: '/extra', value: true },
    ],
    resources: null,
    waitFors: null,
  })
  const plain = ordersWish({ namespace: '' })
  t.like(isRight(plain) ? plain.right : plain.left, { releaseName: 'ferry', namespace: 'default', valuesPatch: [] })
  const long = ordersWish({ releaseName: named('a', 54) })
  t.is(isLeft(long) ? long.left.tag : 'made', 'OrderRefused')
})
