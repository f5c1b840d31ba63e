import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied, ObjectHidden } from '../../core/authz/ports.ts'
import { makeClustersAsCaller } from '../../core/clusters/member-clusters.ts'
import type { ClusterRequest } from '../../core/clusters/ports.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import { SecondFactorDemanded } from '../../core/kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../../core/kernel/ids.ts'
import type { ScopeSet, SignedInCall } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'

const cluster = (id: number, ownerName: string, uid = 'uid-1') =>
  ({ id, ownerId: id, ownerName, name: `c${id}`, uid }) as unknown as Cluster
const callWith = (scopes: ScopeSet = fullScope) =>
  ({
    principal: { userId: 1 as UserId, login: 'ann', isSiteAdmin: false, method: 'token', scopes },
    signal: new AbortController().signal,
  }) as unknown as SignedInCall
const get: ClusterRequest = { method: 'GET', target: '/api/v1/namespaces/a/secrets/b' }

type Verdict = 'allowed' | 'denied' | 'hidden' | 'barred'

/** A fixture of clusters by account, those granted directly, and what the authorizer says of each owner. */
const fixture = (
  owned: Readonly<Record<number, Cluster>>,
  granted: readonly Cluster[],
  verdicts: Readonly<Record<string, Verdict>>,
  impersonatesUsers = true,
) => {
  const asked: { readonly object: unknown; readonly relation: string }[] = []
  const sent: { readonly id: number; readonly request: ClusterRequest }[] = []
  const asCaller = makeClustersAsCaller({
    clusters: {
      accountsOf: async () =>
        Object.keys(owned).map((id) => ({ id: Number(id) as AccountId, name: `account-${id}`, isOrganization: true })),
      findByUid: async (ownerId, uid) => (owned[ownerId]?.uid === uid ? owned[ownerId] : undefined),
      listGranted: async () => granted,
    },
    authorizer: {
      authorize: async (_principal, object, relation) => {
        asked.push({ object, relation })
        if (object.type !== 'cluster' || !('name' in object)) throw new Error('only clusters are asked about')
        const verdict = verdicts[object.account ?? '']
        if (verdict === 'denied') return left(AccessDenied('no'))
        if (verdict === 'barred') return left(SecondFactorDemanded('no'))
        return verdict === 'allowed'
          ? right({ objectId: Number(object.name.slice(1)), objectVersion: 3 } as never)
          : left(ObjectHidden('no'))
      },
    },
    connections: {
      open: async (id: ClusterId, version) =>
        right({ link: { id, version, ownerName: 'quay', impersonatesUsers } } as never),
    },
    api: {
      request: async (connection, request) => (
        sent.push({ id: connection.link.id, request }),
        right({ status: 200, json: {}, text: '{}' })
      ),
    },
  })
  const tagOf = async (uid: string, request = get, call = callWith()): Promise<string> => {
    const answer = await asCaller.request(call, uid, request)
    return isLeft(answer) ? answer.left.tag : 'asked'
  }
  return { asked, sent, tagOf }
}

test("access needs the proxy's relation to the cluster", async (t) => {
  const { asked, sent, tagOf } = fixture({ 1: cluster(1, 'ann'), 2: cluster(2, 'quay') }, [], {
    ann: 'hidden',
    quay: 'allowed',
  })
  t.is(await tagOf('uid-1'), 'asked')
  t.deepEqual(
    sent.map(({ id }) => id),
    [2],
  )
  t.deepEqual([...new Set(asked.map(({ relation }) => relation))], ['can_connect'])
})

test('a cluster that was granted directly is found, and only by its UID', async (t) => {
  const { sent, tagOf } = fixture({}, [cluster(4, 'quay', 'uid-4'), cluster(5, 'quay', 'uid-5')], { quay: 'allowed' })
  t.is(await tagOf('uid-5'), 'asked')
  t.deepEqual(
    sent.map(({ id }) => id),
    [5],
  )
})

test('unknown, hidden and denied clusters get no request', async (t) => {
  const of = async (verdict: Verdict): Promise<string> => {
    const { sent, tagOf } = fixture({ 2: cluster(2, 'quay') }, [], { quay: verdict })
    const tag = await tagOf('uid-1')
    return `${tag} ${sent.length}`
  }
  t.is(await of('hidden'), 'ClusterMissing 0')
  t.is(await of('denied'), 'AccessDenied 0')
  t.is(await of('barred'), 'SecondFactorDemanded 0')
  const { asked, tagOf } = fixture({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' })
  t.is(await tagOf('uid-2'), 'ClusterMissing')
  t.is(await tagOf('x'.repeat(65)), 'ClusterMissing')
  t.is(asked.length, 0)
})

test('a token reaches as far into clusters as its scope says', async (t) => {
  const scope = (levels: ScopeSet['levels']): SignedInCall =>
    callWith({ all: false, sudo: false, publicOnly: false, levels })
  const { sent, tagOf } = fixture({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' })
  t.is(await tagOf('uid-1', get, scope({ user: 'write' })), 'AccessDenied')
  t.is(await tagOf('uid-1', { ...get, method: 'POST' }, scope({ cluster: 'read' })), 'AccessDenied')
  t.is(sent.length, 0)
  t.is(await tagOf('uid-1', get, scope({ cluster: 'read' })), 'asked')
  t.is(await tagOf('uid-1', { ...get, method: 'POST' }, scope({ cluster: 'write' })), 'asked')
})

test('a cluster gets the identity of the caller only if it impersonates users', async (t) => {
  for (const knows of [true, false]) {
    const { sent, tagOf } = fixture({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' }, knows)
    await tagOf('uid-1')
    const names = (sent[0]?.request.headers ?? []).map(([name, value]) => `${name}: ${value}`)
    t.is(names.includes('impersonate-user: moorage:ann'), knows)
    t.is(names.length > 0, knows)
  }
})
