import test from 'ava'
import fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { OpenChart } from '../../../core/packages/charts/chart-cache.ts'
import { makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import { atATime } from '../../../core/kernel/concurrency.ts'
import type { Chart, ChartSource } from '../../../core/packages/charts/ports.ts'
import { ChartSourceUnreachable } from '../../../core/packages/charts/ports.ts'
import type { HelmRunner } from '../../../core/packages/releases/ports.ts'
import { HelmMissing } from '../../../core/packages/releases/ports.ts'
import { firstBundle, looksLikeBundle, readBundle } from '../../../core/packages/views/bundles.ts'
import type { FindBundle } from '../../../core/packages/views/orders.ts'
import { makeFindBundle, makeViewBundle } from '../../../core/packages/views/orders.ts'
import { fetched, harbour, reader, refOf, signal, stubChart, stubSource, stubTexts } from './stub-charts.ts'

const clockAt = (start = 0) => {
  const clock = { at: start, now: () => new Date(clock.at) }
  return clock
}

test('a chart is fetched once a minute, for the same user of the same cluster', async (t) => {
  const source = stubSource([stubChart('ferry', '1.0.0')])
  const clock = clockAt()
  const open = makeOpenChart({ source, clock, caches: lruCaches })
  const ask = async (version: string, userId: number, clusterId: number): Promise<number> => {
    const opened = await open(refOf('ferry', version), reader(userId, clusterId), signal)
    t.is(isRight(opened) ? opened.right.ref.version : opened.left.message, '1.0.0')
    return source.asked.length
  }
  t.is(await ask('1.0.0', 1, 1), 1)
  t.is(await ask('1.0.0', 1, 1), 1)
  t.is(await ask('1.0.0', 2, 1), 2, 'another user')
  t.is(await ask('1.0.0', 1, 2), 3, 'another cluster, and another account')
  t.is(await ask('', 1, 1), 4, 'the newest one')
  t.is(await ask('', 1, 1), 4)
  clock.at = 59_999
  t.is(await ask('1.0.0', 1, 1), 4)
  clock.at = 60_000
  t.is(await ask('1.0.0', 1, 1), 5)
  t.is(await ask('', 1, 1), 6)
  clock.at = 120_000
  t.is(await ask('', 3, 1), 7)
  t.is(await ask('1.0.0', 3, 1), 7, 'the version that the newest one resolved to')
})

test('views that are asked for at once share one fetch, each for its own user', async (t) => {
  const source = stubSource([stubChart('ferry', '1.0.0')])
  const open = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  const gone = new AbortController()
  const asked = [
    open(refOf('ferry'), reader(1), signal),
    open(refOf('ferry'), reader(1), gone.signal),
    open(refOf('ferry'), reader(2), signal),
  ]
  gone.abort()
  t.deepEqual(
    (await Promise.allSettled(asked)).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.is(source.asked.length, 2)
})

test('what could not be fetched is asked for again', async (t) => {
  const source = stubSource([])
  const open = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  for (const times of [1, 2]) {
    const opened = await open(refOf('ferry'), reader(), signal)
    t.is(isLeft(opened) ? opened.left.tag : 'opened', 'ChartMissing')
    t.is(source.asked.length, times)
  }
})

test('the cache stays within its bytes, the least recently used leaving first, and keeps nothing large', async (t) => {
  const sized = (name: string, bytes: number): Chart => ({
    ...stubChart(name, '1.0.0'),
    files: new Map([['x', new Uint8Array(bytes)]]),
  })
  const source = stubSource([sized('a', 1000), sized('b', 1000), sized('c', 1000), sized('large', 5000)])
  const open = makeOpenChart(
    { source, clock: clockAt(), caches: lruCaches },
    { maxBytes: 8000, maxChartBytes: 8000, keepMs: 1000 },
  )
  const isFetched = async (name: string): Promise<boolean> => {
    const before = source.asked.length
    await open(refOf(name), reader(), signal)
    return source.asked.length > before
  }
  t.deepEqual([await isFetched('a'), await isFetched('b'), await isFetched('a')], [true, true, false])
  t.true(await isFetched('c'), 'a third one does not fit beside two')
  t.deepEqual([await isFetched('a'), await isFetched('b')], [false, true])
  t.deepEqual([await isFetched('large'), await isFetched('large')], [true, true])
})

const bundleYaml = (packages: readonly object[], extra = ''): string =>
  `apiVersion: releases.x-helm.dev/v1alpha1\nkind: Bundle\nmetadata: {name: b}\nspec:\n  namespace: boats\n${extra}  packages: ${JSON.stringify(packages)}\n`
const chartOf = (name: string, changes: object = {}): object => ({
  chart: { name, sourceRef: harbour, versions: [{ version: '1.0.0' }], ...changes },
})
const bundleOf = (name: string): object => ({ bundle: { name, sourceRef: harbour, version: '1.0.0' } })
const oneOf = (...names: readonly string[]): object => ({
  oneOf: { description: 'One', bundles: names.map((name) => ({ name, sourceRef: harbour, version: '1.0.0' })) },
})
const bundleChart = (name: string, ...packages: readonly object[]): Chart =>
  stubChart(name, '1.0.0', { 'templates/bundle.yaml': bundleYaml(packages) })

const noHelm: Pick<HelmRunner, 'template'> = { template: async () => left(HelmMissing('There is no helm.')) }
const rendering = (manifest: string): Pick<HelmRunner, 'template'> & { runs: number } => {
  const helm = {
    runs: 0,
    template: async () => (helm.runs++, right({ manifest, hooks: [], notes: '', release: undefined })),
  }
  return helm
}
const finder = (helm = noHelm) =>
  makeFindBundle({ texts: stubTexts, tools: { pack: async () => new Uint8Array(1) }, helm })
const told = <A>(result: Either<{ readonly tag: string; readonly message: string }, A>): A | string =>
  isLeft(result) ? `${result.left.tag}: ${result.left.message}` : result.right

test('only a chart that looks like a bundle is rendered, and only where its template is no plain YAML', async (t) => {
  const plain = await finder()(fetched(bundleChart('fleet', chartOf('a'))), reader(), signal)
  t.like(told(plain), { name: 'b', namespace: 'boats' })
  t.is(
    told(
      await finder()(fetched(stubChart('ferry', '1.0.0', { 'templates/a.yaml': '{{ .Values.x }}' })), reader(), signal),
    ),
    undefined,
  )
  const templated = fetched(
    stubChart('fleet', '1.0.0', { 'templates/bundle.yaml': `${bundleYaml([])}# {{ .Release.Name }}` }),
  )
  t.is(told(await finder()(templated, reader(), signal)), 'HelmMissing: There is no helm.')
  const helm = rendering(
    `---\n# Source: a\napiVersion: v1\nkind: ConfigMap\ndata: {broken: [\n---\n# Source: b\n${bundleYaml([chartOf('x')])}`,
  )
  t.like(told(await finder(helm)(templated, reader(), signal)), { name: 'b', packages: [{ kind: 'chart' }] })
  t.is(
    told(await finder(rendering('---\nkind: ConfigMap\n'))(templated, reader(), signal)),
    undefined,
    'what was conditional and is not there',
  )
  t.is(helm.runs, 1)
})

test('a bundle that cannot be read is refused with its place', async (t) => {
  const broken = fetched(stubChart('fleet', '1.0.0', { 'templates/bundle.yaml': bundleYaml([{}]) }))
  t.is(
    told(await finder()(broken, reader(), signal)),
    'ChartRefused: The bundle of the chart fleet 1.0.0 cannot be read: spec.packages.0: one of chart, bundle and oneOf is expected.',
  )
  const notes = fetched(
    stubChart('fleet', '1.0.0', {
      'templates/NOTES.txt': bundleYaml([{}]),
      'templates/big.yaml': bundleYaml([{}]) + '#'.repeat(300_000),
      'crds/bundle.yaml': bundleYaml([{}]),
    }),
  )
  t.is(
    told(await finder()(notes, reader(), signal)),
    undefined,
    'neither in notes, nor in long files, nor outside of templates',
  )
})

const viewOf = (
  deps: { readonly open: OpenChart; readonly find: FindBundle },
  name: string,
  stopped = signal,
  mostMs?: number,
) => {
  const { cluster, userId } = reader()
  const view = makeViewBundle({ ...deps, memberClusters: { open: async () => right(cluster) } }, mostMs)
  return view({ principal: { userId }, signal: stopped } as SignedInCall, {
    grant: {} as AccessGrant,
    ref: refOf(name),
  })
}
const world = (charts: readonly Chart[], helm = noHelm, source: ChartSource = stubSource(charts)) => {
  const open: OpenChart = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  return async (name: string) => told(await viewOf({ open, find: finder(helm) }, name))
}
const descriptor = (name: string) => ({ description: `The ${name}` })
const reference = (name: string) => ({ name, version: '1.0.0', sourceRef: harbour })

test('a chart that is no bundle is shown as a bundle of itself', async (t) => {
  t.deepEqual(await world([stubChart('kube-ui', '1.0.0')])('kube-ui'), {
    ...descriptor('kube-ui'),
    ...reference('kube-ui'),
    displayName: 'Kube Ui',
    packages: [
      {
        chart: {
          name: 'kube-ui',
          sourceRef: harbour,
          ...descriptor('kube-ui'),
          features: ['The kube-ui'],
          namespace: 'default',
          versions: [{ version: '1.0.0', selected: true }],
          multiSelect: false,
          required: true,
          selected: true,
        },
      },
    ],
  })
})

test('a bundle is expanded with all that it names; only its own charts can be required', async (t) => {
  const charts = [
    bundleChart(
      'fleet',
      chartOf('a', { required: true, features: ['Fast'] }),
      bundleOf('inner'),
      oneOf('sail', 'diesel'),
      chartOf('b', {
        namespace: 'own',
        multiSelect: true,
        versions: [
          { version: '2.0.0' },
          { version: '1.0.0', selected: true, valuesFile: 'values-x.yaml', licenseKeyPath: '/key', resources: {} },
        ],
      }),
    ),
    bundleChart('inner', chartOf('a', { required: true })),
    bundleChart('sail'),
    bundleChart('diesel'),
    stubChart('a', '1.0.0'),
    stubChart('b', '1.0.0'),
  ]
  const card = (name: string, changes: object) => ({
    chart: {
      name,
      sourceRef: harbour,
      ...descriptor(name),
      namespace: 'boats',
      versions: [{ version: '1.0.0', selected: true }],
      multiSelect: false,
      ...changes,
    },
  })
  const bundle = (name: string, packages: readonly object[]) => ({
    ...descriptor(name),
    ...reference(name),
    displayName: 'B',
    packages,
  })
  t.deepEqual(
    (await world(charts)('fleet')) as unknown,
    bundle('fleet', [
      card('a', { features: ['Fast'], required: true, selected: true }),
      { bundle: bundle('inner', [card('a', { required: false, selected: true })]) },
      { oneOf: { description: 'One', bundles: [bundle('sail', []), bundle('diesel', [])] } },
      card('b', {
        namespace: 'own',
        multiSelect: true,
        required: false,
        selected: false,
        versions: [{ version: '2.0.0' }, { version: '1.0.0', selected: true, valuesFile: 'values-x.yaml' }],
      }),
    ]),
  )
})

const tooMuch: readonly (readonly [string, readonly Chart[], RegExp])[] = [
  ['a bundle in itself', [bundleChart('top', bundleOf('top'))], /The bundle top 1\.0\.0 contains itself/],
  [
    'a bundle in itself by way of others',
    [bundleChart('top', bundleOf('mid')), bundleChart('mid', oneOf('low')), bundleChart('low', bundleOf('mid'))],
    /The bundle mid 1\.0\.0 contains itself/,
  ],
  [
    'bundles too deep',
    [
      ...Array.from({ length: 8 }, (_, at) => bundleChart(at === 0 ? 'top' : `b${at}`, bundleOf(`b${at + 1}`))),
      bundleChart('b8'),
    ],
    /5 levels deep/,
  ],
  [
    'too many bundles',
    [bundleChart('top', ...Array.from({ length: 21 }, () => bundleOf('b'))), bundleChart('b')],
    /20 bundles/,
  ],
  [
    'bundles that double at each level',
    [
      bundleChart('top', bundleOf('b1'), bundleOf('b1')),
      ...[1, 2, 3, 4].map((at) => bundleChart(`b${at}`, bundleOf(`b${at + 1}`), bundleOf(`b${at + 1}`))),
      bundleChart('b5'),
    ],
    /20 bundles/,
  ],
  [
    'too many charts',
    [bundleChart('top', ...Array.from({ length: 61 }, () => chartOf('a'))), stubChart('a', '1.0.0')],
    /60 charts/,
  ],
  [
    'a chart that is not there',
    [bundleChart('top', chartOf('a'))],
    /The bundle top 1\.0\.0 names a: There is no chart a 1\.0\.0/,
  ],
  [
    'a chart in place of a bundle',
    [bundleChart('top', bundleOf('a')), stubChart('a', '1.0.0')],
    /names a 1\.0\.0 as a bundle, which it is not/,
  ],
]
for (const [what, charts, message] of tooMuch)
  test(`a view is refused for ${what}`, async (t) =>
    t.regex(String(await world(charts)('top')), new RegExp(`^ChartRefused: .*${message.source}`)))

test('a missing chart and an unreachable repository are reported for the requested chart', async (t) => {
  t.regex(String(await world([])('top')), /^ChartMissing: /)
  const away: ChartSource = { fetch: async () => left(ChartSourceUnreachable('It is away.')) }
  t.is(await world([], noHelm, away)('top'), 'ChartSourceUnreachable: It is away.')
  const top = stubSource([bundleChart('top', chartOf('a'))])
  const half: ChartSource = { fetch: (ref, from, aborted) => (ref.name === 'a' ? away : top).fetch(ref, from, aborted) }
  t.is(await world([], noHelm, half)('top'), 'ChartSourceUnreachable: The bundle top 1.0.0 names a: It is away.')
})

test('a view that takes too long is ended, with words', async (t) => {
  const stuck: ChartSource = {
    fetch: (_ref, _from, stopped) =>
      new Promise((_, reject) => stopped.addEventListener('abort', () => reject(new Error('stopped')))),
  }
  const open = makeOpenChart({ source: stuck, clock: clockAt(), caches: lruCaches })
  // The limit alone does not keep the process alive.
  const alive = setTimeout(() => undefined, 60_000)
  const viewed = await viewOf({ open, find: finder() }, 'top', signal, 1)
  clearTimeout(alive)
  t.is(told(viewed), 'ChartSourceUnreachable: Not everything that the chart names came within 0.001 seconds.')
  const gone = AbortSignal.abort()
  const away: OpenChart = async (_ref, _reader, stopped) => (
    stopped.throwIfAborted(),
    left(ChartSourceUnreachable('It is away.'))
  )
  await t.throwsAsync(viewOf({ open: away, find: finder() }, 'top', gone), { name: 'AbortError' })
})

test('work at a time: in order, never wider than allowed, nothing begun after a failure', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (goesWell, width) => {
        let open = 0
        let widest = 0
        let failed = false
        const done = await atATime([...goesWell.keys()], width, async (at): Promise<Either<string, number>> => {
          t.false(failed)
          open += 1
          widest = Math.max(widest, open)
          await new Promise((resolve) => setImmediate(resolve))
          open -= 1
          if (goesWell[at] === true) return right(at)
          failed = true
          return left(`${at}`)
        })
        t.true(widest <= width)
        t.is(open, 0)
        if (isRight(done)) t.deepEqual(done.right, [...goesWell.keys()])
        t.is(isLeft(done), goesWell.includes(false))
      },
    ),
    { numRuns: 50 },
  )
})

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

test('no bundle, whatever its shape, is read with anything but what belongs there', (t) => {
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

test('the first bundle among objects is the one; its group tells it from others of that kind', (t) => {
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
