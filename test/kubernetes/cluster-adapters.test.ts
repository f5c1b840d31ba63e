import { randomBytes } from 'node:crypto'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connection-pools.ts'
import { makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../core/kernel/brand.ts'
import { kubernetes } from '../support/components/available.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { clusterAdaptersSuite } from './cluster-adapters.suite.ts'
import { recordedExchange } from './recorded-exchange.ts'

const egress = makeEgressPolicy(new Set(['loopback'] as const))
const pools = makeConnectionPools(egress)
const adapters = { api: makeUndiciClusterApi(pools, egress), transport: makeUndiciClusterTransport(pools, egress) }

const credentialOf = (kubeconfig: string): ClusterCredential => {
  const parsed = makeKubeconfigParser().parse(kubeconfig)
  if (isLeft(parsed)) throw new Error(parsed.left.message)
  return parsed.right
}

const fake = startFakeKubernetes()
test.after.always(async () => {
  await pools.close()
  await (await fake).stop()
})

clusterAdaptersSuite('fake', async () => ({
  ...adapters,
  credential: credentialOf((await fake).kubeconfig()),
  namespace: () => Promise.resolve(`test-${randomBytes(6).toString('hex')}`),
}))

if (!isSwitchedOff('kubernetes')) {
  clusterAdaptersSuite('kube-apiserver', async () => {
    const server = (await kubernetes())!
    return { ...adapters, credential: credentialOf(server.kubeconfig()), namespace: () => server.createNamespace() }
  })

  test('kube-apiserver: a client certificate proves who we are', async (t) => {
    const server = (await kubernetes())!
    const credential = credentialOf(await server.createUserKubeconfig('cert-admin', ['system:masters']))
    t.is(credential.identity.kind, 'certificate')
    const surveyed = await adapters.api.survey(credential, new AbortController().signal)
    t.is(surveyed._tag, 'Right')
  })
}

test('a credential that was replaced does not follow its record to the new address', async (t) => {
  const [old, next] = [await startFakeKubernetes(), await startFakeKubernetes()]
  t.teardown(async () => {
    await old.stop()
    await next.stop()
  })
  const connectionOf = (version: number, kubeconfig: string): ClusterConnection => ({
    link: { id: 77 as ClusterId, ownerId: 1 as AccountId, ownerName: 'acme', version, impersonatesUsers: false },
    credential: credentialOf(kubeconfig),
  })
  const before = connectionOf(1, old.kubeconfig())
  const after = connectionOf(2, next.kubeconfig())
  const ask = (connection: ClusterConnection) => adapters.api.request(connection, { method: 'GET', target: '/version' }, new AbortController().signal)
  t.is((await ask(before))._tag, 'Right')
  t.is((await ask(after))._tag, 'Right')
  // As a long batch does that began before the change.
  t.is((await ask(before))._tag, 'Right')
  const upstream = { method: 'GET', target: '/version', headers: [], isLongLived: false, createdAsOk: false, answerHeaders: () => [], acceptHeaders: () => [] }
  await adapters.transport.relay(before, upstream, recordedExchange('GET', '/version'), new AbortController().signal)
  const sent = next.seen.map(({ headers }) => headers.find(([name]) => name === 'authorization')?.[1])
  t.deepEqual([...new Set(sent)], [`Bearer ${next.token}`])
  t.is(sent.length, 3)
})

test('a path that leads upwards is asked of nobody', async (t) => {
  const server = await startFakeKubernetes()
  t.teardown(() => server.stop())
  const connection: ClusterConnection = {
    link: { id: 78 as ClusterId, ownerId: 1 as AccountId, ownerName: 'acme', version: 1, impersonatesUsers: true },
    credential: credentialOf(server.kubeconfig()),
  }
  const ask = (target: string) => adapters.api.request(connection, { method: 'GET', target }, new AbortController().signal)
  for (const target of ['/apis/a/../../../v3/users', '/api/%2e%2E/x', '/api/..', '/api\\..\\x', '/api/.%2e?x=1', '/apis/\t../x']) t.is((await ask(target))._tag, 'Left', target)
  t.deepEqual(server.seen, [])
  t.is((await ask('/version?x=/../y'))._tag, 'Right')
})
