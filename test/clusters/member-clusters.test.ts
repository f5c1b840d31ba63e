import test from 'ava'
import fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { makeMemberClusters } from '../../core/clusters/member-clusters.ts'
import type {
  ClusterConnections,
  ClusterRequest,
  MemberCluster,
  ReachFailure,
  UpstreamRequest,
} from '../../core/clusters/ports.ts'
import {
  AddressRefused,
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
} from '../../core/clusters/ports.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { recordedExchange } from '../kubernetes/recorded-exchange.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { clusterStoreSuite } from './cluster-store.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

const call = (login = 'ann'): SignedInCall =>
  ({
    principal: { userId: 7 as UserId, login, isSiteAdmin: false, method: 'token', scopes: fullScope },
    signal: new AbortController().signal,
  }) as unknown as SignedInCall
const grant = { objectId: 4, objectVersion: 3 } as unknown as AccessGrant
const record = {
  id: 4,
  ownerId: 2,
  ownerName: 'quay',
  name: 'wharf',
  uid: 'uid-4',
  hasCredential: true,
} as unknown as Cluster
const signal = new AbortController().signal

interface MemberClustersFixture {
  cluster: Cluster | undefined
  version: number
  impersonatesUsers: boolean
  opening: 'open' | 'missing' | 'bare'
  failure: ReachFailure | undefined
}

const fixture = (start: Partial<MemberClustersFixture> = {}) => {
  const state: MemberClustersFixture = {
    cluster: record,
    version: 3,
    impersonatesUsers: true,
    opening: 'open',
    failure: undefined,
    ...start,
  }
  const asked: { readonly version: number; readonly request: ClusterRequest; readonly signal: AbortSignal }[] = []
  const relayed: { readonly version: number; readonly upstream: UpstreamRequest; readonly signal: AbortSignal }[] = []
  const opened: (number | undefined)[] = []
  let gets = 0
  const connections: ClusterConnections = {
    async open(id, version) {
      opened.push(version)
      if (state.opening === 'missing') return left(ClusterMissing('gone'))
      if (state.opening === 'bare') return left(ClusterNotConnected('bare'))
      return right({
        link: { id, version: state.version, ownerName: 'quay', impersonatesUsers: state.impersonatesUsers },
        credential: { server: 'https://wharf.example' },
      } as never)
    },
  }
  const members = makeMemberClusters({
    clusters: { get: async (id) => (gets++, id === 4 ? state.cluster : undefined) },
    connections,
    api: {
      request: async ({ link }, request, during) => {
        asked.push({ version: link.version, request, signal: during })
        return state.failure === undefined ? right({ status: 200, json: {}, text: '{}' }) : left(state.failure)
      },
    },
    transport: {
      relay: async ({ link }, upstream, _exchange, during) => {
        relayed.push({ version: link.version, upstream, signal: during })
        return state.failure === undefined ? right(200) : left(state.failure)
      },
    },
  })
  const open = async (login?: string): Promise<MemberCluster> => unwrap(await members.open(call(login), grant))
  return { state, asked, relayed, opened, members, open, gets: () => gets }
}

const headersOf = (headers: ClusterRequest['headers']): readonly string[] =>
  (headers ?? []).map(([name, value]) => `${name}: ${value}`)

test('one query identifies a member cluster', async (t) => {
  const { open, gets, opened } = fixture()
  const { id, ownerId, ownerName, name, uid } = await open()
  t.deepEqual(
    { id, ownerId, ownerName, name, uid },
    { id: 4 as ClusterId, ownerId: 2 as AccountId, ownerName: 'quay', name: 'wharf', uid: 'uid-4' },
  )
  t.is(gets(), 1)
  t.deepEqual(opened, [])
})

test('a record that is gone, or holds no credential, is not opened', async (t) => {
  const tagOf = async (
    cluster: Cluster | undefined,
    opening: MemberClustersFixture['opening'] = 'open',
  ): Promise<string> => {
    const opened = await fixture({ cluster, opening }).members.open(call(), grant)
    return isLeft(opened) ? opened.left.tag : 'opened'
  }
  t.is(await tagOf(undefined), 'ClusterMissing')
  t.is(await tagOf({ ...record, hasCredential: false }, 'bare'), 'ClusterNotConnected')
})

test('the cluster sees the caller and the groups in every request', async (t) => {
  const { open, asked, relayed } = fixture()
  const cluster = await open('bob')
  unwrap(
    await cluster.request({ method: 'GET', target: '/version', headers: [['accept', 'application/json']] }, signal),
  )
  unwrap(
    await cluster.relay(
      recordedExchange('GET', '/api/v1/namespaces', {
        headers: { 'x-remote-user': 'root', accept: 'application/json', authorization: 'Bearer x' },
      }),
      signal,
    ),
  )
  const identity = [
    'impersonate-user: moorage:bob',
    'impersonate-group: moorage:authenticated',
    'impersonate-group: moorage:org:quay',
    'impersonate-extra-moorage-user-id: 7',
  ]
  t.deepEqual(headersOf(asked[0]?.request.headers), ['accept: application/json', ...identity])
  t.deepEqual(headersOf(relayed[0]?.upstream.headers), ['accept: application/json', ...identity])
})

test('a cluster whose credential acts for itself gets no identity of a caller', async (t) => {
  const { open, asked, relayed } = fixture({ impersonatesUsers: false })
  const cluster = await open()
  await cluster.request({ method: 'GET', target: '/version' }, signal)
  await cluster.relay(recordedExchange('GET', '/version'), signal)
  t.deepEqual(headersOf(asked[0]?.request.headers), [])
  t.deepEqual(headersOf(relayed[0]?.upstream.headers), [])
})

test('nothing is sent that asks for another identity', async (t) => {
  const { open, relayed } = fixture()
  const cluster = await open()
  const refused = await cluster.relay(
    recordedExchange('GET', '/version', { headers: { 'impersonate-group': 'viewers' } }),
    signal,
  )
  t.true(isLeft(refused) && refused.left.message.includes('impersonate-group'))
  t.is(relayed.length, 0)
})

test('a changed credential counts from the next request on', async (t) => {
  const { open, state, asked, relayed, opened } = fixture()
  const cluster = await open()
  await cluster.request({ method: 'GET', target: '/version' }, signal)
  state.version = 4
  await cluster.request({ method: 'GET', target: '/version' }, signal)
  await cluster.relay(recordedExchange('GET', '/version'), signal)
  t.deepEqual(
    asked.map(({ version }) => version),
    [3, 4],
  )
  t.deepEqual(
    relayed.map(({ version }) => version),
    [4],
  )
  t.deepEqual(opened, [undefined, undefined, undefined])
})

test('a request keeps its limit, body and signal', async (t) => {
  const { open, asked, relayed } = fixture()
  const cluster = await open()
  const body = new TextEncoder().encode('{}')
  const mine = new AbortController().signal
  await cluster.request({ method: 'POST', target: '/apis/a/v1/b', body, limitBytes: 12 }, mine)
  await cluster.relay(recordedExchange('GET', '/api/v1/pods', { query: 'watch=true&limit=5' }), mine)
  t.is(asked[0]?.request.limitBytes, 12)
  t.is(asked[0]?.request.body, body)
  t.is(asked[0]?.signal, mine)
  t.is(relayed[0]?.signal, mine)
  t.is(relayed[0]?.upstream.target, '/api/v1/pods?watch=true&limit=5')
  t.true(relayed[0]?.upstream.isLongLived)
})

test('every failure is reported as a failure of the member cluster', async (t) => {
  const tagsOf = async (start: Partial<MemberClustersFixture>): Promise<readonly string[]> => {
    const { open } = fixture(start)
    const cluster = await open()
    const asked = await cluster.request({ method: 'GET', target: '/version' }, signal)
    const relayed = await cluster.relay(recordedExchange('GET', '/version'), signal)
    return [asked, relayed].map((each) => (isLeft(each) ? each.left.tag : 'answered'))
  }
  const unreachable = ['ClusterUnreachable', 'ClusterUnreachable']
  t.deepEqual(await tagsOf({ opening: 'missing' }), unreachable)
  t.deepEqual(await tagsOf({ opening: 'bare' }), unreachable)
  t.deepEqual(await tagsOf({ failure: ClusterUnreachable('no') }), unreachable)
  t.deepEqual(await tagsOf({ failure: AddressRefused('no') }), unreachable)
  t.deepEqual(await tagsOf({ failure: CredentialRefused('no') }), ['CredentialRefused', 'CredentialRefused'])
})

test('a path that the proxy routes refuse, or compute, is refused here too', async (t) => {
  const { open, relayed } = fixture()
  const cluster = await open()
  const tagOf = async (method: string, path: string, query = ''): Promise<string> => {
    const answered = await cluster.relay(recordedExchange(method, path, { query }), signal)
    return isLeft(answered) ? answered.left.tag : 'relayed'
  }
  const refused = fc.constantFrom(
    '/api/../x',
    '/api/%2e%2e/v1',
    '/api//v1',
    'api/v1',
    '/api/v1/a%2Fb',
    '/api/v1/a%25b',
    '/UPPER',
    '/batch-delete',
    '/apps/v1/all-available',
  )
  await fc.assert(
    fc.asyncProperty(
      refused,
      fc.constantFrom('GET', 'POST', 'DELETE'),
      async (path, method) => (await tagOf(method, path)) === 'ProxyPathRefused',
    ),
  )
  t.is(await tagOf('GET', '/api/v1/pods', 'a=#b'), 'ProxyPathRefused')
  t.is(relayed.length, 0)
})

for (const database of eachDatabase()) {
  declareSuite(clusterStoreSuite, database.name, async () => {
    const db = await database.open()
    await clusterStoreSuite.fill?.(db)
    return { store: makeSqlClusterStore(db)(db), close: () => db.close() }
  })
}
