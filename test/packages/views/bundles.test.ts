import test from 'ava'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { OpenChart } from '../../../core/packages/charts/chart-cache.ts'
import { makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import type { Chart, ChartSource } from '../../../core/packages/charts/ports.ts'
import { ChartSourceUnreachable } from '../../../core/packages/charts/ports.ts'
import type { HelmRunner } from '../../../core/packages/releases/ports.ts'
import { HelmMissing } from '../../../core/packages/releases/ports.ts'
import type { FindBundle } from '../../../core/packages/views/orders.ts'
import { makeFindBundle, makeViewBundle } from '../../../core/packages/views/orders.ts'
import { clockAt, fetched, harbour, reader, refOf, signal, stubChart, stubSource, stubTexts } from './stub-charts.ts'

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

test('a chart is rendered only for a bundle template that is not plain YAML', async (t) => {
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
const fixture = (charts: readonly Chart[], helm = noHelm, source: ChartSource = stubSource(charts)) => {
  const open: OpenChart = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  return async (name: string) => told(await viewOf({ open, find: finder(helm) }, name))
}
const descriptor = (name: string) => ({ description: `The ${name}` })
const reference = (name: string) => ({ name, version: '1.0.0', sourceRef: harbour })

test('a chart that is no bundle is shown as a bundle of itself', async (t) => {
  t.deepEqual(await fixture([stubChart('kube-ui', '1.0.0')])('kube-ui'), {
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

test('a bundle expands its charts, and only those can be required', async (t) => {
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
    (await fixture(charts)('fleet')) as unknown,
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
    t.regex(String(await fixture(charts)('top')), new RegExp(`^ChartRefused: .*${message.source}`)))

test('missing charts and repositories are reported for the requested chart', async (t) => {
  t.regex(String(await fixture([])('top')), /^ChartMissing: /)
  const away: ChartSource = { fetch: async () => left(ChartSourceUnreachable('It is away.')) }
  t.is(await fixture([], noHelm, away)('top'), 'ChartSourceUnreachable: It is away.')
  const top = stubSource([bundleChart('top', chartOf('a'))])
  const half: ChartSource = { fetch: (ref, from, aborted) => (ref.name === 'a' ? away : top).fetch(ref, from, aborted) }
  t.is(await fixture([], noHelm, half)('top'), 'ChartSourceUnreachable: The bundle top 1.0.0 names a: It is away.')
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
