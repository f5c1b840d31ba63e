import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { firstBundle, looksLikeBundle, readBundle } from '../../../core/packages/views/bundles.ts'

const objectsIn = (text: string): readonly Json[] => {
  const parsed = kubernetesYamlText.parseAll(text)
  if (isLeft(parsed)) throw new Error(parsed.left.message)
  return parsed.right
}

const fleet = `
apiVersion: releases.x-helm.dev/v1alpha1
kind: Bundle
metadata: {name: fleet}
spec:
  displayName: The Fleet
  notes: Mind the gap.
  icons: [{src: 'https://example.com/logo', size: 64x64, type: image/png}, {src: 'javascript:x'}, 7]
  links: [{description: shop, url: 'https://example.com'}, {url: 'file:///x'}]
  maintainers: [{name: Ann}]
  namespace: boats
  features: [{trait: Boats, value: '3'}]
  packages:
  - chart:
      name: ferry
      sourceRef: {name: harbour, namespace: kubeops}
      features: [Two decks]
      namespace: ferries
      multiSelect: true
      required: true
      versions:
      - version: 1.4
        selected: true
        valuesFile: values-big.yaml
        valuesPatch: [{op: replace, path: /decks, value: 2}]
        resources: {owned: [{group: sea, version: v1, resource: boats}], required: []}
        waitFors: [{resource: {group: apps, resource: deployments}, all: true, timeout: 5m, for: condition=available}]
        licenseKeyPath: /license
      - version: 1.3.0
  - bundle: {name: lights, url: 'https://charts.example.com', version: 2.0.0}
  - oneOf:
      description: An engine
      bundles:
      - {name: diesel, sourceRef: {kind: Legacy, apiGroup: other, name: 'https://charts.example.com'}}
`

test('a bundle is read with the defaults of its references', (t) => {
  const read = firstBundle(objectsIn(fleet))
  const legacy = { apiGroup: 'charts.x-helm.dev', kind: 'Legacy', namespace: '', name: 'https://charts.example.com' }
  t.deepEqual(isRight(read) ? read.right : read.left, {
    name: 'fleet',
    descriptor: {
      notes: 'Mind the gap.',
      icons: [{ src: 'https://example.com/logo', size: '64x64', type: 'image/png' }],
      links: [{ description: 'shop', url: 'https://example.com' }],
      maintainers: [{ name: 'Ann' }],
    },
    displayName: 'The Fleet',
    namespace: 'boats',
    features: [{ trait: 'Boats', value: '3' }],
    packages: [
      {
        kind: 'chart',
        chart: {
          name: 'ferry',
          source: {
            apiGroup: 'source.toolkit.fluxcd.io',
            kind: 'HelmRepository',
            namespace: 'kubeops',
            name: 'harbour',
          },
          features: ['Two decks'],
          namespace: 'ferries',
          multiSelect: true,
          required: true,
          versions: [
            {
              version: '1.4',
              selected: true,
              valuesFile: 'values-big.yaml',
              valuesPatch: [{ op: 'replace', path: '/decks', value: 2 }],
              resources: { owned: [{ group: 'sea', version: 'v1', resource: 'boats' }], required: [] },
              waitFors: [
                {
                  resource: { group: 'apps', resource: 'deployments' },
                  all: true,
                  timeout: '5m',
                  for: 'condition=available',
                },
              ],
              licenseKeyPath: '/license',
            },
            { version: '1.3.0' },
          ],
        },
      },
      { kind: 'bundle', bundle: { name: 'lights', version: '2.0.0', source: legacy } },
      { kind: 'oneOf', description: 'An engine', bundles: [{ name: 'diesel', version: '', source: legacy }] },
    ],
  })
})

const head = { apiVersion: 'releases.x-helm.dev/v1alpha1', kind: 'Bundle' }
const chart = { name: 'ferry', sourceRef: { name: 'harbour' }, versions: [{ version: '1' }] }
const wrong: readonly (readonly [string, unknown, string])[] = [
  ['no spec', undefined, 'spec: a map is expected'],
  ['packages that are no list', { packages: {} }, 'spec.packages: a list is expected'],
  [
    'a package of two kinds',
    { packages: [{ chart, bundle: chart }] },
    'spec.packages.0: one of chart, bundle and oneOf is expected',
  ],
  ['a package of none', { packages: [{}] }, 'spec.packages.0: one of chart, bundle and oneOf is expected'],
  [
    'a chart without versions',
    { packages: [{ chart: { ...chart, versions: [] } }] },
    'spec.packages.0.chart.versions: 1 to 50 items are expected',
  ],
  [
    'a chart without a source',
    { packages: [{ chart: { ...chart, sourceRef: null } }] },
    'spec.packages.0.chart.sourceRef: a map is expected; spec.packages.0.chart.sourceRef.name: a text is expected',
  ],
  [
    'a chart without a name',
    { packages: [{ chart: { ...chart, name: '' } }] },
    'spec.packages.0.chart.name: a text is expected',
  ],
  [
    'a flag that is a text',
    { packages: [{ chart: { ...chart, required: 'yes' } }] },
    'spec.packages.0.chart.required: true or false is expected',
  ],
  [
    'a choice of nothing',
    { packages: [{ oneOf: { bundles: [] } }] },
    'spec.packages.0.oneOf.bundles: 1 to 20 items are expected',
  ],
  [
    'too many packages',
    { packages: Array.from({ length: 101 }, () => ({ chart })) },
    'spec.packages: 0 to 100 items are expected',
  ],
  [
    'a patch of no operations',
    { packages: [{ chart: { ...chart, versions: [{ version: '1', valuesPatch: ['x'] }] } }] },
    'spec.packages.0.chart.versions.0.valuesPatch.0: a map is expected',
  ],
]
for (const [what, spec, message] of wrong) {
  test(`a bundle is refused for ${what}`, (t) => {
    const read = readBundle({ ...head, ...(spec === undefined ? {} : { spec: spec as FreeObject }) })
    t.is(isLeft(read) ? read.left : undefined, message)
  })
}

test('no bundle shape bypasses validation', (t) => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constant({ name: 'x', sourceRef: { name: 'y' }, versions: [{ version: '1' }] }),
  )
  const packages = fc.array(
    fc.record(
      { chart: odd, bundle: odd, oneOf: fc.oneof(odd, fc.record({ bundles: fc.array(odd) })) },
      { requiredKeys: [] },
    ),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        odd,
        fc.record({ packages, namespace: odd, displayName: odd, features: odd }, { requiredKeys: ['packages'] }),
      ),
      (spec) => {
        const read = readBundle({ ...head, spec } as unknown as FreeObject)
        if (isLeft(read)) return t.regex(read.left, /^(?:spec|metadata)\b/)
        for (const each of read.right.packages)
          if (each.kind === 'chart') t.true(each.chart.versions.length > 0 && each.chart.name !== '')
        t.is(typeof read.right.namespace, 'string')
      },
    ),
  )
})

test('the first bundle object counts, recognized by its group', (t) => {
  const text = `apiVersion: v1\nkind: ConfigMap\n---\napiVersion: fleet.cattle.io/v1alpha1\nkind: Bundle\nspec: {}\n---\napiVersion: kubepack.com/v1alpha1\nkind: Bundle\nmetadata: {name: old}\nspec: {}\n---${fleet}`
  const read = firstBundle(objectsIn(text))
  t.is(isRight(read) ? read.right?.name : read.left, 'old')
  const none = firstBundle(objectsIn('apiVersion: v1\nkind: Bundle\n---\n7\n---\n- x\n'))
  t.deepEqual(isRight(none) ? none.right : none.left, undefined)
})

const lookalikes: readonly (readonly [string, string, boolean])[] = [
  ['as it is written', 'apiVersion: releases.x-helm.dev/v1alpha1\nkind: Bundle\n', true],
  ['in quotes, with a comment', '"kind": "Bundle" # all of it\r\n\'apiVersion\': \'kubepack.com/v1alpha1\'\r\n', true],
  [
    'within a condition',
    '{{- if .Values.x }}\n  kind: Bundle\n  apiVersion: releases.x-helm.dev/v1alpha1\n{{- end }}',
    true,
  ],
  ['another kind', 'apiVersion: releases.x-helm.dev/v1alpha1\nkind: BundleView\n', false],
  ['another group', 'apiVersion: fleet.cattle.io/v1alpha1\nkind: Bundle\n', false],
  ['in a comment', '# apiVersion: releases.x-helm.dev/v1alpha1\nkind: Bundle\n', false],
  ['in prose', 'A file of kind: Bundle in releases.x-helm.dev/\n', false],
]
for (const [what, text, expected] of lookalikes)
  test(`a text looks like a bundle or does not: ${what}`, (t) => t.is(looksLikeBundle(text), expected))

test('the cost grows linearly with the length of the text', (t) => {
  for (const text of [
    '\n'.repeat(300_000),
    ' '.repeat(300_000),
    `kind: Bundle${' '.repeat(300_000)}x`,
    'kind:'.repeat(60_000),
    `\t"kind"${'\t'.repeat(300_000)}`,
  ])
    t.false(looksLikeBundle(text))
})
