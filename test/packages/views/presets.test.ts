import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ChartPreset, RequestedVariant } from '../../../core/packages/views/presets.ts'
import {
  findPresets,
  labelTest,
  presetsInForce,
  readPreset,
  withPresets,
} from '../../../core/packages/views/presets.ts'
import { signal, stubCluster } from './stub-charts.ts'

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

test("presets are sorted by name, and the namespace's hides its namesake", (t) => {
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

test('each preset name counts once in an order independent of the lists', (t) => {
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

test('values merge over the defaults by key, and null removes a default', (t) => {
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

test('a preset is read from its object, and other types are ignored', (t) => {
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

const requested: RequestedVariant = {
  group: 'apps',
  name: 'deployments',
  kind: '',
  variant: 'small',
  namespace: 'shop',
}
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
  changes: Partial<RequestedVariant> = {},
): Promise<readonly string[] | string> => {
  const found = await findPresets(cluster, { ...requested, ...changes }, signal)
  return isRight(found) ? found.right.map(({ name }) => name) : `${found.left.tag}: ${found.left.message}`
}

test('presets of a variant are found by its ResourceEditor, over pages', async (t) => {
  const cluster = clusterOf(served)
  t.deepEqual(await namesIn(cluster), ['a', 'b', 'c'])
  t.deepEqual(await namesIn(cluster, { name: '', kind: 'Deployment', namespace: '' }), ['a', 'b'])
  t.deepEqual(await namesIn(cluster, { variant: 'large' }), [], 'a variant that selects nothing')
  t.true(cluster.asked.every((target) => target.startsWith('/apis/')))
})

const troubles: readonly (readonly [string, Partial<RequestedVariant>, Answers, string])[] = [
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
  test(`presets are explicit: ${what}`, async (t) =>
    t.is(await namesIn(clusterOf({ ...served, ...answers }), changes), told))

test('a cluster without preset kinds has none, an unreachable one is reported', async (t) => {
  t.deepEqual(await namesIn(clusterOf({ ...served, [ofCluster]: { status: 404 }, [ofNamespace]: { status: 404 } })), [])
  const away = { ...stubCluster(), request: async () => left(ClusterUnreachable('It is away.')) }
  const found = await findPresets(away, requested, signal)
  t.is(isLeft(found) ? found.left.tag : 'found', 'ClusterUnreachable')
})
