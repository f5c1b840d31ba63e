import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connections.ts'
import { makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { kubernetes } from '../support/components/available.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { until } from '../support/until.ts'
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

test('a path that leads upwards is not requested', async (t) => {
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

test('when the service stops a watch ends after a whole event, and what is no watch is not made to look whole', async (t) => {
  const server = await startFakeKubernetes()
  t.teardown(() => server.stop())
  const streams = new Map<string, ServerResponse>()
  server.on('/streams/', (req, res) => {
    res.writeHead(200, { 'content-type': req.url?.includes('log') === true ? 'text/plain' : 'application/json' })
    res.flushHeaders()
    streams.set(String(req.url), res)
  })
  const connection: ClusterConnection = {
    link: { id: 79 as ClusterId, ownerId: 1 as AccountId, ownerName: 'acme', version: 1, impersonatesUsers: false },
    credential: credentialOf(server.kubeconfig()),
  }
  const open = async (target: string, isWatch: boolean) => {
    const exchange = recordedExchange('GET', target)
    const upstream = { method: 'GET', target, headers: [], isLongLived: true, isWatch, createdAsOk: false, answerHeaders: () => [], acceptHeaders: () => [] }
    const ended = adapters.transport.relay(connection, upstream, exchange, new AbortController().signal)
    const stream = await until('the stream is open', () => (exchange.hasResponded ? streams.get(target) : undefined))
    return { exchange, ended, stream }
  }
  const [quiet, halfway, log] = [await open('/streams/quiet', true), await open('/streams/halfway', true), await open('/streams/log', false)]
  quiet.stream.write('{"n":1}\n')
  halfway.stream.write('{"n":1}\n{"n":')
  log.stream.write('line\n')
  const first = [await quiet.exchange.next(), await halfway.exchange.next(), await log.exchange.next()]
  t.deepEqual(first, ['{"n":1}\n', '{"n":1}\n{"n":', 'line\n'])
  for (const { exchange } of [quiet, halfway, log]) exchange.stop()
  await quiet.ended
  t.true(quiet.exchange.answer.ended)
  t.false(halfway.exchange.answer.ended)
  halfway.stream.write('2}\n{"n":3}\n')
  await halfway.ended
  t.true(halfway.exchange.answer.ended)
  t.is(await halfway.exchange.whole(), '2}\n')
  t.false(log.exchange.answer.ended)
  await until('the cluster gets no further request', () => (quiet.stream.destroyed && halfway.stream.destroyed ? true : undefined))
  log.stream.end()
  await log.ended
})
