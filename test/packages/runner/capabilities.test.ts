import test from 'ava'
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { capabilitiesOf } from '../../../adapters/helm/process/arguments.ts'
import type { ClusterAnswer, MemberCluster } from '../../../core/clusters/ports.ts'

const answering = (version: unknown, core: unknown, groups: unknown): MemberCluster => {
  const answers: Readonly<Record<string, unknown>> = { '/version': version, '/api': core, '/apis': groups }
  return { request: ({ target }: { target: string }) => Promise.resolve(right({ status: 200, json: answers[target] } as unknown as ClusterAnswer)) } as unknown as MemberCluster
}
const ask = (version: unknown, core: unknown, groups: unknown) => capabilitiesOf(answering(version, core, groups), new AbortController().signal)

const deployments = { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Deployment' } }] }] }

test('version and kinds are read from the discovery of a cluster', async (t) => {
  const core = { items: [{ metadata: { name: '' }, versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Pod' } }, {}] }] }] }
  t.deepEqual(await ask({ gitVersion: 'v1.34.2' }, core, { items: [deployments] }), { kubeVersion: 'v1.34.2', apiVersions: ['v1', 'v1/Pod', 'apps/v1', 'apps/v1/Deployment'] })
})

test('what has a wrong shape is passed over, and the rest is read', async (t) => {
  t.deepEqual((await ask({ gitVersion: 'v1.34.2' }, { items: {} }, { items: [null, { versions: 3 }, { versions: [null, {}, { version: 1 }] }, deployments] }))?.apiVersions, ['apps/v1', 'apps/v1/Deployment'])
  t.is(await ask(null, {}, {}), undefined)
  t.is(await ask({ gitVersion: 1 }, {}, {}), undefined)
})

const broken = fc.letrec((tie) => ({
  node: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), fc.record({ items: tie('list') }), fc.record({ metadata: fc.jsonValue(), versions: tie('list') }, { requiredKeys: [] }), fc.record({ version: fc.jsonValue(), resources: tie('list') }, { requiredKeys: [] }), fc.record({ responseKind: fc.jsonValue() })),
  list: fc.oneof(fc.array(tie('node'), { maxLength: 3 }), tie('node')),
})).node

test('no answer of a cluster makes it throw', async (t) => {
  await t.notThrowsAsync(() =>
    fc.assert(
      fc.asyncProperty(broken, broken, async (core, groups) => {
        const read = await ask({ gitVersion: 'v1.34.2' }, core, groups)
        return read?.apiVersions.every((each) => typeof each === 'string') === true
      }),
    ),
  )
})
