import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Bundle } from '../../../core/packages/views/bundles.ts'
import { bundleSelections, choicesOf, packageSelection } from '../../../core/packages/views/selections.ts'
import type { BundleOptionView, ChartCard, PackageCard } from '../../../core/packages/views/types.ts'
import { fetched, harbour, stubChart } from './stub-charts.ts'

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

test('each chosen version is one item in the order of the view', (t) => {
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

test("an order includes the author's resources, waits and licence key", (t) => {
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

test('any selection has unique names that Helm accepts', (t) => {
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
const ordersRequested = (changes: { releaseName?: string; namespace?: string; values?: FreeObject }) =>
  packageSelection(ferry, { releaseName: changes.releaseName, namespace: changes.namespace, values: changes.values })

test('a single chart is ordered with its changed values', (t) => {
  const made = ordersRequested({ releaseName: 'blue', namespace: 'shop', values: { image: { tag: 'b' }, extra: true } })
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
  const plain = ordersRequested({ namespace: '' })
  t.like(isRight(plain) ? plain.right : plain.left, { releaseName: 'ferry', namespace: 'default', valuesPatch: [] })
  const long = ordersRequested({ releaseName: named('a', 54) })
  t.is(isLeft(long) ? long.left.tag : 'made', 'OrderRefused')
})
