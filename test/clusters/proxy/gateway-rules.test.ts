import test from 'ava'
import fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { judgeAnswer, makeConnectionPools } from '../../../adapters/kubernetes/connections.ts'
import { leavesPrefix, splitsSegment } from '../../../adapters/kubernetes/cluster-api.ts'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { makeClusterConnections, steadyConnections, gatewayPath } from '../../../core/clusters/connections.ts'
import type { ClusterAnswer, ClusterConnections } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../../../core/clusters/ports.ts'
import { parseProxyPath } from '../../../core/formats/kubernetes/proxy-path.ts'
import { impersonated } from '../../../core/clusters/proxy/requests.ts'
import type { ClusterConnection, ClusterCredential, ClusterLink, ManagedPlace } from '../../../core/clusters/types.ts'
import type { AccountId, ClusterId, UserId } from '../../../core/kernel/ids.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { unwrap } from '../../support/outcome.ts'

const owner = 11 as AccountId
const [spokeId, hubId] = [1 as ClusterId, 2 as ClusterId]
const linkTo = (id: ClusterId, version: number, managedBy?: ManagedPlace): ClusterLink => ({
  id,
  ownerId: owner,
  name: 'c',
  ownerName: 'acme',
  version,
  impersonatesUsers: false,
  ...(managedBy === undefined ? {} : { managedBy }),
})
const place: ManagedPlace = { hubClusterUid: 'uid-hub', managedClusterName: 'reef', isOwnHub: false }
const credentialOf = (token: string): ClusterCredential => ({
  server: `https://127.0.0.1:1/${token}`,
  authorityPem: undefined,
  tlsServerName: undefined,
  identity: { kind: 'token', token: secret(token) },
})

/** Records and their credentials, with the queries that were made. */
const fixture = (start: { spoke: ClusterLink | undefined; hub: ClusterLink | undefined }) => {
  const state = { ...start }
  const queries: string[] = []
  const find = (id: ClusterId): ClusterLink | undefined => (id === spokeId ? state.spoke : state.hub)
  const connections = makeClusterConnections({
    clusters: {
      link: async (id) => (queries.push(`link ${id}`), find(id)),
      linkByUid: async (ownerId, uid) => (
        queries.push(`hub ${ownerId} ${uid}`),
        uid === 'uid-hub' ? state.hub : undefined
      ),
      sealed: async (id, version) => {
        queries.push(`sealed ${id}`)
        return find(id)?.version === version
          ? { box: new TextEncoder().encode(`${id}-${version}`), ref: 'r', ownerId: owner }
          : undefined
      },
    },
    secretBox: { open: async (box: Uint8Array) => secret(new TextDecoder().decode(box)) } as never,
    codec: { decode: (text: { reveal(): string }) => credentialOf(text.reveal()) } as never,
    caches: lruCaches,
    memberTokens: undefined,
  })
  const open = async (
    version?: number,
  ): Promise<{
    readonly token: string
    readonly queries: readonly string[]
    readonly connection: ClusterConnection | undefined
  }> => {
    queries.length = 0
    const opened = await connections.open(spokeId, version)
    const { identity } = isLeft(opened) ? { identity: undefined } : opened.right.credential
    return {
      token: identity?.kind === 'token' ? identity.token.reveal() : 'none',
      queries: [...queries],
      connection: isLeft(opened) ? undefined : opened.right,
    }
  }
  return { state, open, connections, queries }
}

test('opening a cluster takes no query for a hub or a known version', async (t) => {
  const { open } = fixture({ spoke: linkTo(spokeId, 3), hub: undefined })
  t.deepEqual((await open(3)).queries, ['link 1', 'sealed 1'])
  t.deepEqual((await open(3)).queries, [])
  t.deepEqual((await open()).queries, ['link 1'])
})

test('a spoke is opened with one query more, and the version of its hub counts at once', async (t) => {
  const { state, open } = fixture({ spoke: linkTo(spokeId, 3, place), hub: linkTo(hubId, 7) })
  const first = await open(3)
  t.deepEqual(first.queries, ['link 1', 'hub 11 uid-hub', 'sealed 2'])
  t.is(first.token, '2-7')
  t.like(first.connection?.via, { path: gatewayPath('reef'), managedClusterName: 'reef' })
  t.deepEqual((await open(3)).queries, ['hub 11 uid-hub'])
  t.deepEqual((await open()).queries, ['link 1', 'hub 11 uid-hub'])
  state.hub = linkTo(hubId, 8)
  t.is((await open(3)).token, '2-8')
  state.hub = undefined
  t.is((await open(3)).token, 'none')
})

test('a connection has the newest required credential or is refused', async (t) => {
  const change = fc.constantFrom('own', 'managed', 'hub-newer', 'hub-gone', 'itself')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(change, fc.boolean()), { maxLength: 8 }), async (changes) => {
      const { state, open } = fixture({ spoke: linkTo(spokeId, 1, place), hub: linkTo(hubId, 1) })
      let [version, hubVersion] = [1, 1]
      for (const [what, tellsVersion] of changes) {
        if (what === 'hub-newer') state.hub = linkTo(hubId, (hubVersion += 1))
        else if (what === 'hub-gone') state.hub = undefined
        else
          state.spoke = linkTo(
            spokeId,
            (version += 1),
            what === 'own' ? undefined : { ...place, isOwnHub: what === 'itself' },
          )
        const { token, connection } = await open(tellsVersion ? version : undefined)
        const { managedBy } = state.spoke!
        const expected =
          managedBy === undefined
            ? `1-${version}`
            : state.hub === undefined || managedBy.isOwnHub
              ? 'none'
              : `2-${hubVersion}`
        t.is(token, expected)
        t.is(connection?.via !== undefined, expected.startsWith('2-'))
      }
    }),
    { numRuns: 60 },
  )
})

test("every request through a hub carries the caller's identity", (t) => {
  const via = { hub: linkTo(hubId, 1), path: '/x', managedClusterName: 'reef' }
  for (const impersonatesUsers of [true, false]) {
    const as = impersonated(
      { link: { ...linkTo(spokeId, 1), impersonatesUsers }, via },
      { userId: 7 as UserId, login: 'ann' },
    )
    t.deepEqual(as, { login: 'ace.user.7', groups: [], extra: { 'ace.appscode.com/org-id': '11' } })
  }
})

test('only a DNS label is the name of a cluster on a hub', (t) => {
  for (const name of ['', '.', '..', 'a/b', 'a%2fb', 'A', 'a.b', '-a', 'a-', 'a?b', 'é', 'a'.repeat(64)])
    t.is(gatewayPath(name), undefined, name)
  t.is(gatewayPath('reef-1'), '/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways/reef-1/proxy')
})

test('an accepted path stays below its prefix for every URL reader', (t) => {
  const segment = fc.oneof(
    fc.constantFrom(
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '%2f',
      '%5c',
      '..%2f..',
      'api',
      'v1',
      'pods',
      '%252e%252e',
      'a;b',
      '\\..\\',
    ),
    fc.string({ maxLength: 6 }),
  )
  const prefix = gatewayPath('reef')!
  fc.assert(
    fc.property(
      fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
      (path) => {
        const parsed = parseProxyPath(path)
        if (isLeft(parsed) || !('path' in parsed.right)) return
        const { pathname } = new URL(`https://hub.example${prefix}${parsed.right.path}`)
        t.true(pathname.startsWith(`${prefix}/`), pathname)
        // The API server splits the decoded path.
        t.false(decodeURIComponent(parsed.right.path).split('/').includes('..'))
        t.false(leavesPrefix(parsed.right.path))
      },
    ),
  )
  for (const target of ['/a/../b', '/%2e%2E/b', '/a%2F..%2fb', '/a%5c.%2e', '/..', '/a\\b/..', '/a/%2e%5Cb'])
    t.true(leavesPrefix(target), target)
  for (const target of ['/api/v1/pods?fieldSelector=a%2Fb&x=../..', '/a%2Fb', '/a..b/...', '/a%5cb'])
    t.false(leavesPrefix(target), target)
  t.true(splitsSegment('/a%2fb') && !splitsSegment('/a?b=%2f'))
})

const via = { hub: linkTo(hubId, 1), path: gatewayPath('reef')!, managedClusterName: 'reef' }
const answerOf = (status: number, text: string): ClusterAnswer => ({
  status,
  text,
  json: text.startsWith('{') ? JSON.parse(text) : undefined,
})
const judged = async (answer: ClusterAnswer, discovery: number | 'refused' | 'silent'): Promise<string> => {
  const failure = await judgeAnswer(answer, via, async () =>
    discovery === 'silent'
      ? left(ClusterUnreachable('silent'))
      : discovery === 'refused'
        ? left(CredentialRefused('refused'))
        : right(answerOf(discovery, '')),
  )
  return failure === undefined ? 'the answer' : `${failure.tag}: ${failure.message}`
}

test('only an answer that the hub gave becomes a failure', async (t) => {
  const [noPath, unauthorized] = [
    answerOf(404, '404 page not found\n'),
    answerOf(401, '{"kind":"Status","message":"Unauthorized"}'),
  ]
  t.is(await judged(noPath, 200), 'the answer')
  t.regex(await judged(noPath, 404), /^ClusterUnreachable: The hub does not serve/)
  t.regex(await judged(noPath, 503), /^ClusterUnreachable: The cluster gateway of the hub does not answer/)
  t.is(await judged(noPath, 'silent'), 'ClusterUnreachable: silent')
  t.regex(await judged(unauthorized, 'refused'), /^CredentialRefused: The hub refused/)
  t.regex(
    await judged(unauthorized, 200),
    /^CredentialRefused: The cluster refused the credential of the cluster gateway/,
  )
  t.is(await judged(answerOf(503, 'upstream of an app is down'), 200), 'the answer')
  // A service behind the cluster refuses a credential of its own.
  t.is(await judgeAnswer(answerOf(401, 'log in here'), via, () => t.fail() as never, true), undefined)
  t.truthy(await judgeAnswer(unauthorized, via, async () => right(answerOf(200, '')), true))
  t.is(
    await judged(answerOf(404, '{"kind":"Status","reason":"NotFound","details":{"kind":"pods"}}'), 404),
    'the answer',
  )
  t.is(
    await judged(
      answerOf(
        403,
        '{"kind":"Status","message":"User \\"ace.user.7\\" cannot get resource \\"clustergateways/proxy\\""}',
      ),
      404,
    ),
    'the answer',
  )
  t.regex(
    await judged(
      answerOf(403, '{"kind":"Status","message":"User \\"sa\\" cannot impersonate resource \\"users\\""}'),
      200,
    ),
    /^CredentialRefused: .*may not impersonate/,
  )
  t.regex(
    await judged(
      answerOf(
        404,
        '{"kind":"Status","details":{"group":"gateway.open-cluster-management.io","kind":"clustergateways"}}',
      ),
      200,
    ),
    /does not know the cluster reef/,
  )
})

test('clusters of a hub share short connections of one kind only', async (t) => {
  const pools = makeConnectionPools(makeEgressPolicy(new Set(['loopback'] as const)))
  t.teardown(() => pools.close())
  const behind = (id: number, version: number, hubVersion = 1): ClusterConnection => ({
    link: linkTo(id as ClusterId, version),
    credential: credentialOf(`hub-${hubVersion}`),
    via: { ...via, hub: linkTo(hubId, hubVersion) },
  })
  const direct = (id: number, version: number): ClusterConnection => ({
    link: linkTo(id as ClusterId, version),
    credential: credentialOf('own'),
  })
  const [a, b] = [pools.of(behind(5, 1))!, pools.of(behind(6, 1))!]
  t.is(a.short, b.short)
  t.is(a.short, pools.of({ link: linkTo(hubId, 1), credential: credentialOf('hub-1') })!.short)
  t.not(a.long, b.long)
  await pools.forget(5 as ClusterId)
  t.true(a.long.destroyed)
  t.false(a.short.destroyed)
  const renewed = pools.of(behind(6, 1, 2))!
  t.not(renewed.short, b.short)
  t.deepEqual(renewed.connection.credential.server, credentialOf('hub-2').server)
  // An older request finds the newer connections of the hub.
  t.is(pools.of(behind(6, 1, 1)), renewed)
  const own = pools.of(direct(6, 2))!
  t.is(own.hub, undefined)
  t.is(pools.of(behind(6, 1, 2)), undefined)
  pools.of(behind(7, 4))
  t.is(pools.of(direct(7, 3)), undefined)
})

test('connections depend on address and credential only', async (t) => {
  const pools = makeConnectionPools(makeEgressPolicy(new Set(['loopback'] as const)))
  t.teardown(() => pools.close())
  const credential = (token: string): ClusterCredential => ({
    ...credentialOf('x'),
    identity: { kind: 'token', token: secret(token) },
  })
  const direct = (version: number, token: string): ClusterConnection => ({
    link: linkTo(spokeId, version),
    credential: credential(token),
  })
  const behind = (version: number, hubVersion: number, token: string, path = via.path): ClusterConnection => ({
    link: linkTo(7 as ClusterId, version),
    credential: credential(token),
    via: { ...via, path, hub: linkTo(hubId, hubVersion) },
  })
  const own = pools.of(direct(1, 'a'))!
  t.is(pools.of(direct(2, 'a')), own)
  // A request that read the record before the change.
  t.is(pools.of(direct(1, 'a')), own)
  const spoke = pools.of(behind(1, 1, 'hub'))!
  t.is(pools.of(behind(1, 2, 'hub')), spoke)
  t.is(pools.of(behind(2, 2, 'hub')), spoke)
  const moved = pools.of(behind(3, 2, 'hub', gatewayPath('other')!))!
  t.not(moved.long, spoke.long)
  t.is(moved.short, spoke.short)
  const replaced = pools.of(direct(3, 'b'))!
  const rehubbed = pools.of(behind(3, 3, 'hub-b', gatewayPath('other')!))!
  t.not(replaced.short, own.short)
  t.not(rehubbed.short, spoke.short)
  // A caller with the credential before gets the new one.
  t.is(pools.of(direct(2, 'a')), replaced)
  t.is(pools.of(behind(2, 2, 'hub')), rehubbed)
  t.false(
    [own, spoke, moved].some(({ short, long }) => short.destroyed || long.destroyed || short.closed || long.closed),
  )
  await pools.forget(spokeId)
  t.true(own.short.destroyed && own.long.destroyed && replaced.short.destroyed)
  t.false(spoke.short.destroyed)
  await pools.forget(hubId)
  t.true([spoke, moved, rehubbed].every(({ short, long }) => short.destroyed && long.destroyed))
})

test('a record that is changed while its credential is read is read again', async (t) => {
  const { connections, state, queries } = fixture({ spoke: linkTo(spokeId, 1), hub: linkTo(hubId, 1) })
  const before = queries.push.bind(queries)
  // The record is renamed after its link was read, twice.
  queries.push = (query) => {
    if (query.startsWith('sealed') && state.spoke!.version < 3) state.spoke = linkTo(spokeId, state.spoke!.version + 1)
    return before(query)
  }
  t.is(unwrap(await connections.open(spokeId, 1)).link.version, 3)
})

test('a task keeps its connection through a hub while the database is away', async (t) => {
  let isAway = false
  const { connections } = fixture({ spoke: linkTo(spokeId, 1, place), hub: linkTo(hubId, 1) })
  const failing: ClusterConnections = {
    open: (id, version) => (isAway ? Promise.reject(new Error('away')) : connections.open(id, version)),
  }
  const steady = steadyConnections(failing, () => 0)
  unwrap(await steady.open(spokeId))
  isAway = true
  t.is(unwrap(await steady.open(spokeId)).via?.managedClusterName, 'reef')
})
