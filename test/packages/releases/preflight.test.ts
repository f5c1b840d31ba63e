import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { ManifestObject } from '../../../core/formats/kubernetes/objects.ts'
import { isContained } from '../../../core/formats/kubernetes/manifest-diff.ts'
import { missingRights } from '../../../core/packages/releases/preflight.ts'

test('a definition is the same one when the cluster has only added to it', (t) => {
  const chart = {
    group: 'x.example',
    versions: [{ name: 'v1', served: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    names: { kind: 'W', plural: 'ws', shortNames: [] },
  }
  const added = { ...chart, conversion: { strategy: 'None' }, names: { kind: 'W', plural: 'ws', listKind: 'WList' } }
  t.true(isContained(chart, added))
  t.false(isContained(chart, { ...added, versions: [{ ...chart.versions[0], served: false }] }))
  t.false(isContained({ ...chart, versions: [...chart.versions, { name: 'v2' }] }, added))
  t.false(isContained(chart, undefined))
})

/** What is asked of a cluster before helm is: bounded, whatever a chart renders and the cluster answers. */
const signal = new AbortController().signal
const objectOf = (apiVersion: string, kind: string, name: string): ManifestObject => ({
  apiVersion,
  kind,
  namespace: '',
  name,
  body: {},
})

const clusterOf = (resources: readonly object[], denied: readonly string[]) => {
  const asked: string[] = []
  const cluster = {
    request: ({ target, body }: { readonly target: string; readonly body?: Uint8Array }) => {
      asked.push(target)
      if (body === undefined) return Promise.resolve(right({ status: 200, text: '', json: { resources } }))
      const { spec } = JSON.parse(new TextDecoder().decode(body)) as {
        readonly spec: { readonly resourceAttributes: { readonly resource: string } }
      }
      return Promise.resolve(
        right({
          status: 201,
          text: '',
          json: { status: { allowed: !denied.includes(spec.resourceAttributes.resource) } },
        }),
      )
    },
  }
  return { cluster: cluster as unknown as MemberCluster, asked }
}

test('each kind is checked once by its resource name', async (t) => {
  const { cluster, asked } = clusterOf(
    [
      { name: 'maps', kind: 'Map', namespaced: true },
      { name: 'maps/status', kind: 'Map', namespaced: true },
      { name: 'zones', kind: 'Zone' },
    ],
    ['zones'],
  )
  const objects = [
    objectOf('a/v1', 'Map', 'one'),
    objectOf('a/v1', 'Map', 'two'),
    objectOf('a/v1', 'Zone', 'all'),
    objectOf('a/v1', 'Unknown', 'x'),
  ]
  t.deepEqual(await missingRights(cluster, objects, { home: 'shop', verb: 'create' }, signal), [
    'create zones.a (for the whole cluster)',
  ])
  t.is(asked.length, 3)
})

test('a release of very many kinds costs few questions', async (t) => {
  const { cluster, asked } = clusterOf(
    Array.from({ length: 2_000 }, (_, index) => ({ name: `r${index}`, kind: `K${index}`, namespaced: true })),
    [],
  )
  const objects = Array.from({ length: 20_000 }, (_, index) =>
    objectOf(`g${index % 500}/v1`, `K${index % 2_000}`, `n${index}`),
  )
  t.deepEqual(await missingRights(cluster, objects, { home: 'shop', verb: 'patch' }, signal), [])
  t.true(asked.length <= 80)
})
