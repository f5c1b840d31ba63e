import test from 'ava'
import fc from 'fast-check'
import type { HubObject } from '../../core/clusters/hubs/ports.ts'
import { clusterSetLabel } from '../../core/clusters/hubs/ports.ts'
import { countMembers } from '../../core/hubs/clustersets/cluster-sets.ts'
import { selects, includes } from '../../core/hubs/clustersets/types.ts'
import type { FreeObject } from '../../core/kernel/json.ts'

/** Few words, so that keys and values meet. `toString` is a key of every object of JavaScript. */
const key = fc.constantFrom('berth', 'tier', 'toString', clusterSetLabel)
const value = fc.constantFrom('', 'a', 'b', 'c')
const labels = fc.dictionary(key, value, { maxKeys: 4 })
const requirement = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
)
const selector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(requirement, { maxLength: 3 }) },
  { requiredKeys: [] },
)

type Requirement = { readonly key: string; readonly operator: string; readonly values?: readonly string[] }

/**
 * The definition in the reference of Kubernetes: a matchLabel is `In` with one value, NotIn also selects objects
 * without the key.
 */
const oracle = (
  {
    matchLabels = {},
    matchExpressions = [],
  }: { readonly matchLabels?: Readonly<Record<string, string>>; readonly matchExpressions?: readonly Requirement[] },
  on: Readonly<Record<string, string>>,
): boolean => {
  const all: Requirement[] = [...matchExpressions]
  for (const [name, wanted] of Object.entries(matchLabels)) all.push({ key: name, operator: 'In', values: [wanted] })
  let isSelected = true
  for (const each of all) {
    const pairs = Object.entries(on).filter(([name]) => name === each.key)
    const isAmong =
      pairs.length === 1 && (each.values ?? []).filter((candidate) => candidate === pairs[0]?.[1]).length > 0
    if (each.operator === 'In' && !isAmong) isSelected = false
    if (each.operator === 'NotIn' && isAmong) isSelected = false
    if (each.operator === 'Exists' && pairs.length === 0) isSelected = false
    if (each.operator === 'DoesNotExist' && pairs.length === 1) isSelected = false
  }
  return isSelected
}

test('a label selector selects as the reference of Kubernetes says', (t) => {
  fc.assert(
    fc.property(selector, labels, (chosen, on) => selects(chosen, on) === oracle(chosen, on)),
    { numRuns: 2000 },
  )
  t.true(selects({}, {}))
  t.true(selects({ matchLabels: {}, matchExpressions: [] }, { a: 'b' }))
  t.false(selects(undefined, { a: 'b' }))
})

test('a selector that Kubernetes refuses selects nothing', (t) => {
  const refused = [
    { key: 'a', operator: 'in', values: ['b'] },
    { key: 'a', operator: 'In' },
    { key: 'a', operator: 'In', values: [] },
    { key: 'c', operator: 'NotIn', values: [] },
    { key: 'a' },
    'a',
    null,
  ]
  for (const each of refused) t.false(selects({ matchExpressions: [each] }, { a: 'b' }), JSON.stringify(each))
})

const objectOf = (name: string, spec: FreeObject, on: Readonly<Record<string, string>>): HubObject => ({
  name,
  namespace: '',
  uid: name,
  resourceVersion: '1',
  isDeleting: false,
  body: { metadata: { name, labels: on }, spec },
})
const setSpec = fc.oneof(
  fc.constantFrom(
    {},
    { clusterSelector: {} },
    { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } },
    { clusterSelector: { selectorType: 'LabelSelector' } },
  ),
  selector.map((labelSelector) => ({ clusterSelector: { selectorType: 'LabelSelector', labelSelector } })),
  selector.map((labelSelector) => ({ clusterSelector: { selectorType: 'ExclusiveClusterSetLabel', labelSelector } })),
)

test('a set counts clusters by label, or by its own selector', (t) => {
  const sets = fc.uniqueArray(
    fc.tuple(
      value.filter((name) => name !== ''),
      setSpec,
    ),
    { selector: ([name]) => name, maxLength: 3 },
  )
  fc.assert(
    fc.property(sets, fc.array(labels, { maxLength: 8 }), (named, clusterLabels) => {
      const clusters = clusterLabels.map((on, index) => objectOf(`c${index}`, {}, on))
      const counts = countMembers(
        named.map(([name, spec]) => objectOf(name, spec as FreeObject, {})),
        clusters,
      )
      return named.every(([name, spec]) => {
        const { selectorType, labelSelector } =
          (spec as { clusterSelector?: { selectorType?: string; labelSelector?: Parameters<typeof oracle>[0] } })
            .clusterSelector ?? {}
        const isIn = (on: Readonly<Record<string, string>>): boolean =>
          selectorType === 'LabelSelector'
            ? labelSelector !== undefined && oracle(labelSelector, on)
            : Object.entries(on).some(([label, set]) => label === clusterSetLabel && set === name)
        const expected = clusterLabels.filter(isIn)
        return (
          counts.get(name) === expected.length &&
          clusterLabels.every(
            (on, index) => includes(objectOf(name, spec as FreeObject, {}), clusters[index]!) === isIn(on),
          )
        )
      })
    }),
  )
  t.pass()
})
