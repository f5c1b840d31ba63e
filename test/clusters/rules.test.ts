import test from 'ava'
import fc from 'fast-check'
import { statedUrl } from '../../core/clusters/hub-types.ts'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { parse } from 'yaml'
import { leavesPrefix } from '../../adapters/kubernetes/connections.ts'
import { AccessDenied, ObjectHidden } from '../../core/authz/ports.ts'
import { shortAge } from '../../core/kernel/clock.ts'
import { clientConfig } from '../../core/clusters/client-config.ts'
import {
  detectLocation,
  detectManagers,
  detectProject,
  detectProvider,
  factsOf,
  steadyConnections,
} from '../../core/clusters/connections.ts'
import { checkClusterName } from '../../core/clusters/imports.ts'
import { makeClustersAsCaller } from '../../core/clusters/member-clusters.ts'
import type { ClusterConnections, ClusterRequest } from '../../core/clusters/ports.ts'
import { ClusterMissing } from '../../core/clusters/ports.ts'
import { acceptedHeaders, clientHeaders, upgradeHeaders, upstreamHeaders } from '../../core/clusters/proxy/headers.ts'
import { checkProxyQuery, isForeignPath, parseProxyPath } from '../../core/clusters/proxy/path.ts'
import { judge } from '../../core/clusters/status.ts'
import type { Cluster, ClusterConnection, ClusterFacts, ClusterManager } from '../../core/clusters/types.ts'
import { fromManagerMask, managerBits, toManagerMask } from '../../core/clusters/types.ts'
import { SecondFactorDemanded } from '../../core/kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../../core/kernel/ids.ts'
import type { ScopeSet, SignedInCall } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'

const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

test('a cluster name is a DNS label and no word of the interface', (t) => {
  for (const name of ['a', 'prod', 'prod-1', '1', 'a'.repeat(63), 'importer', 'check-1'])
    t.true(isRight(checkClusterName(name)), name)
  for (const name of [
    '',
    '-a',
    'a-',
    'A',
    'a.b',
    'a_b',
    'a b',
    'é',
    'a'.repeat(64),
    'a\n',
    'hubs',
    'import',
    'check',
    'validate',
    'vcluster',
    'all-clusters',
    'hub-info',
    'has-hub',
  ])
    t.true(isLeft(checkClusterName(name)), JSON.stringify(name))
})

test('managers and their mask are inverse, and unknown bits are left out', (t) => {
  const names = Object.keys(managerBits) as ClusterManager[]
  fc.assert(
    fc.property(fc.subarray(names), fc.integer({ min: 0, max: 3 }), (managers, unknown) => {
      t.deepEqual(fromManagerMask(toManagerMask(managers) + unknown * 1024), managers)
    }),
  )
})

test('managers are recognized by the APIs that a cluster serves', (t) => {
  const bare = { groups: [], servesManagedClusters: false, servesDeployments: true, hasKlusterlet: false }
  t.deepEqual(detectManagers(bare), [])
  t.deepEqual(detectManagers({ ...bare, servesManagedClusters: true }), ['OCMHub'])
  t.deepEqual(detectManagers({ ...bare, servesManagedClusters: true, servesDeployments: false }), [
    'OCMHub',
    'OCMMulticlusterControlplane',
  ])
  t.deepEqual(detectManagers({ ...bare, servesDeployments: false }), [])
  t.deepEqual(
    detectManagers({ ...bare, hasKlusterlet: true, groups: ['config.openshift.io', 'management.cattle.io'] }),
    ['OCMSpoke', 'OpenShift', 'Rancher'],
  )
})

const node = (providerId: string, ...labels: string[]) => ({
  providerId,
  labels: Object.fromEntries(labels.map((label) => [label, 'x'])),
})

test('the provider is recognized by provider ids and the labels of managed services', (t) => {
  t.is(detectProvider([]), 'Generic')
  t.is(detectProvider([node('')]), 'Generic')
  t.is(detectProvider([node('aws:///eu-west-1a/i-1', 'eks.amazonaws.com/nodegroup')]), 'EKS')
  t.is(detectProvider([node('aws:///eu-west-1a/i-1')]), 'Generic')
  t.is(detectProvider([node('gce://proj/zone/n', 'cloud.google.com/gke-nodepool')]), 'GKE')
  t.is(detectProvider([node('azure:///x', 'kubernetes.azure.com/cluster')]), 'AKS')
  t.is(detectProvider([node('kind://x'), node('digitalocean://1')]), 'DigitalOcean')
  t.is(detectProvider([node('linode://1')]), 'Linode')
  t.is(detectProvider([node('k3s://n', 'rke.cattle.io/machine')]), 'Rancher')
  t.is(detectProject([node('gce://proj/zone/n')]), 'proj')
  t.is(detectLocation([node(''), node('', 'topology.kubernetes.io/region')]), 'x')
  t.is(detectLocation([]), '')
})

test('any description of a cluster by itself fits the record', (t) => {
  const said = (nodeCount: number, providerId = '') =>
    factsOf({
      uid: 'u',
      kubernetesVersion: '',
      isReady: true,
      nodeCount,
      groups: [],
      servesManagedClusters: false,
      servesDeployments: true,
      hasKlusterlet: false,
      nodes: [{ providerId, labels: { 'topology.kubernetes.io/region': `${'x'.repeat(127)}😀${'x'.repeat(1000)}` } }],
    })
  t.is(said(3).nodeCount, 3)
  for (const count of [-1, 1e300, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    t.true(Number.isInteger(said(count).nodeCount) && said(count).nodeCount >= 0 && said(count).nodeCount <= 1_000_000)
  t.is(said(1).location.length, 128)
  t.true(said(1).location.isWellFormed())
  t.is(said(1, `gce://${'p'.repeat(1000)}/z/n`).project.length, 128)
})

const facts: ClusterFacts = {
  uid: 'u',
  provider: 'Generic',
  location: '',
  project: '',
  kubernetesVersion: '',
  nodeCount: 0,
  managers: [],
  isReady: true,
}

test('what one look gave decides the phase', (t) => {
  t.deepEqual(judge('u', { kind: 'answered', facts }), { phase: 'Active', reason: undefined, message: '' })
  t.like(judge('u', { kind: 'answered', facts: { ...facts, isReady: false } }), { phase: 'NotReady' })
  t.like(judge('other', { kind: 'answered', facts: { ...facts, isReady: false } }), {
    phase: 'Lost',
    reason: 'ClusterNotFound',
  })
  t.deepEqual(judge('u', { kind: 'refused-credential', message: 'm' }), {
    phase: 'NotConnected',
    reason: 'AuthIssue',
    message: 'm',
  })
  t.deepEqual(judge('u', { kind: 'unreachable', message: 'm' }), {
    phase: 'NotConnected',
    reason: 'Unknown',
    message: 'm',
  })
})

test('an age is shown in its largest whole unit', (t) => {
  const ago = (seconds: number): string => shortAge(new Date(0), new Date(seconds * 1000))
  t.deepEqual([0, 59, 60, 3599, 3600, 86_399, 86_400, 86_400 * 400].map(ago), [
    '0s',
    '59s',
    '1m',
    '59m',
    '1h',
    '23h',
    '1d',
    '400d',
  ])
  t.is(shortAge(new Date(5000), new Date(0)), '0s')
})

test('a client config is YAML whatever the names are', (t) => {
  const config = parse(
    clientConfig({ url: 'https://m.example', caPem: undefined }, { ownerName: 'a"b: c', name: '#x' }),
  )
  t.is(config.clusters[0].cluster.server, 'https://m.example/api/v1/clusters/a%22b%3A%20c/%23x/proxy')
  t.is(config['current-context'], '#x.a"b: c')
  t.is(config.users[0].user.token, tokenPlaceholder)
})

const origin = { server: 'https://cluster.example:6443', gateway: '', path: '/api/v1/x', root: '/p', isForeign: false }
const as = { login: 'ada', groups: ['moorage:authenticated', 'moorage:org:acme'], extra: { 'moorage-user-id': '5' } }

test('no set of client headers can carry an identity, or take ours away', (t) => {
  const names = [
    'authorization',
    'cookie',
    'impersonate-user',
    'impersonate-group',
    'impersonate-uid',
    'impersonate-extra-x',
    'x-remote-user',
    'x-forwarded-for',
    'proxy-authorization',
    'te',
    'upgrade',
    'transfer-encoding',
    'host',
    'connection',
    'accept',
    'content-type',
    'user-agent',
  ]
  const bag = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(
      fc.constantFrom(...names, 'close', 'Impersonate-User, accept', 'a\r\nImpersonate-User: root'),
      fc.array(fc.string(), { maxLength: 3 }),
    ),
  )
  fc.assert(
    fc.property(bag, (headers) => {
      const sent = upstreamHeaders(headers, { as, isForeign: false })
      const allowed = new Set(['accept', 'content-type', 'user-agent'])
      const ours = sent.filter(([name]) => !allowed.has(name))
      t.deepEqual(ours, [
        ['impersonate-user', 'ada'],
        ['impersonate-group', 'moorage:authenticated'],
        ['impersonate-group', 'moorage:org:acme'],
        ['impersonate-extra-moorage-user-id', '5'],
      ])
      t.true(sent.every(([, value]) => !/[\r\n]/.test(value)))
    }),
  )
})

const plain = { as: undefined, isForeign: false }

test('an upgrade is passed on for one known protocol, without our bearer subprotocol', (t) => {
  const base = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'k', 'sec-websocket-version': '13' }
  const sent = Object.fromEntries(
    upgradeHeaders(
      {
        ...base,
        'sec-websocket-protocol':
          'base64url.bearer.authorization.k8s.io.dG9r, v5.channel.k8s.io,BASE64URL.bearer.authorization.k8s.io.x',
      },
      plain,
    ) ?? [],
  )
  t.deepEqual(sent, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'k',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  })
  t.deepEqual(
    upgradeHeaders(
      { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': ['v4.channel.k8s.io', 'v3.channel.k8s.io'] },
      plain,
    ),
    [
      ['connection', 'Upgrade'],
      ['upgrade', 'SPDY/3.1'],
      ['x-stream-protocol-version', 'v4.channel.k8s.io'],
      ['x-stream-protocol-version', 'v3.channel.k8s.io'],
    ],
  )
  for (const upgrade of ['h2c', 'websocket, h2c', 'spdy/2', ''])
    t.is(upgradeHeaders({ ...base, upgrade }, plain), undefined, upgrade)
})

const locationOf = (location: string, from: Partial<typeof origin> = {}): string | undefined =>
  clientHeaders({ location }, { ...origin, ...from }).find(([name]) => name === 'location')?.[1]

test('a redirect of the cluster leads to what is below the root of the proxy, wherever it comes from', (t) => {
  const app = { path: '/api/v1/namespaces/a/services/web/proxy/app', isForeign: true }
  t.is(locationOf('/api/v1/user/signout', app), '/p/api/v1/user/signout')
  t.is(
    locationOf('/api/v1/namespaces/a/services/web/proxy/app/?a=%20b#c', app),
    '/p/api/v1/namespaces/a/services/web/proxy/app/?a=%20b#c',
  )
  t.is(locationOf('app/', app), '/p/api/v1/namespaces/a/services/web/proxy/app/')
  t.is(locationOf('../../../../../../../../../user/signout', app), '/p/user/signout')
  t.is(locationOf('https://cluster.example:6443/x', app), '/p/x')
  const behind = { server: 'https://rancher.example/k8s/clusters/c-1', gateway: '' }
  t.is(locationOf('/k8s/clusters/c-1/api/v1/x/', behind), '/p/api/v1/x/')
  t.is(locationOf('/api/v1/x/', behind), '/p/api/v1/x/')
  t.is(locationOf('y', behind), '/p/api/v1/y')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webPath(),
        fc.webUrl(),
        fc.string().map((text) => `/${text}`),
      ),
      (location) => locationOf(location)?.startsWith('/p/') !== false,
    ),
  )
})

test('answers carry what is listed and nothing else', (t) => {
  const answer = clientHeaders(
    {
      'content-type': 'a',
      'set-cookie': ['x'],
      etag: 'e',
      'x-kubernetes-pf-flowschema-uid': 'u',
      connection: 'etag',
      server: 's',
      'transfer-encoding': 'chunked',
      warning: ['1', '2'],
    },
    origin,
  )
  t.deepEqual(answer, [
    ['content-type', 'a'],
    ['x-kubernetes-pf-flowschema-uid', 'u'],
    ['warning', '1'],
    ['warning', '2'],
    ['content-security-policy', "sandbox; frame-ancestors 'none'"],
  ])
  for (const elsewhere of [
    'https://169.254.169.254/x',
    '//evil.example/x',
    '/\\evil.example',
    'http://cluster.example:6443/x',
    'https://[',
  ])
    t.is(locationOf(elsewhere), undefined, elsewhere)
  t.deepEqual(
    acceptedHeaders({ upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-accept': 'k', 'set-cookie': ['x'] }),
    [
      ['connection', 'Upgrade'],
      ['upgrade', 'websocket'],
      ['sec-websocket-accept', 'k'],
    ],
  )
})

const cluster = (id: number, ownerName: string, uid = 'uid-1') =>
  ({ id, ownerId: id, ownerName, name: `c${id}`, uid }) as unknown as Cluster
const callWith = (scopes: ScopeSet = fullScope) =>
  ({
    principal: { userId: 1 as UserId, login: 'ann', isSiteAdmin: false, method: 'token', scopes },
    signal: new AbortController().signal,
  }) as unknown as SignedInCall
const get: ClusterRequest = { method: 'GET', target: '/api/v1/namespaces/a/secrets/b' }

type Verdict = 'allowed' | 'denied' | 'hidden' | 'barred'

/** A world of clusters by account, those granted directly, and what the authorizer says of each owner. */
const world = (
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

test('the cluster is asked that the caller may connect to, by the relation of the proxy', async (t) => {
  const { asked, sent, tagOf } = world({ 1: cluster(1, 'ann'), 2: cluster(2, 'quay') }, [], {
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
  const { sent, tagOf } = world({}, [cluster(4, 'quay', 'uid-4'), cluster(5, 'quay', 'uid-5')], { quay: 'allowed' })
  t.is(await tagOf('uid-5'), 'asked')
  t.deepEqual(
    sent.map(({ id }) => id),
    [5],
  )
})

test('nothing is sent to a cluster that is unknown, hidden, denied or behind an entry requirement', async (t) => {
  const of = async (verdict: Verdict): Promise<string> => {
    const { sent, tagOf } = world({ 2: cluster(2, 'quay') }, [], { quay: verdict })
    const tag = await tagOf('uid-1')
    return `${tag} ${sent.length}`
  }
  t.is(await of('hidden'), 'ClusterMissing 0')
  t.is(await of('denied'), 'AccessDenied 0')
  t.is(await of('barred'), 'SecondFactorDemanded 0')
  const { asked, tagOf } = world({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' })
  t.is(await tagOf('uid-2'), 'ClusterMissing')
  t.is(await tagOf('x'.repeat(65)), 'ClusterMissing')
  t.is(asked.length, 0)
})

test('a token reaches as far into clusters as its scope says', async (t) => {
  const scope = (levels: ScopeSet['levels']): SignedInCall =>
    callWith({ all: false, sudo: false, publicOnly: false, levels })
  const { sent, tagOf } = world({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' })
  t.is(await tagOf('uid-1', get, scope({ user: 'write' })), 'AccessDenied')
  t.is(await tagOf('uid-1', { ...get, method: 'POST' }, scope({ cluster: 'read' })), 'AccessDenied')
  t.is(sent.length, 0)
  t.is(await tagOf('uid-1', get, scope({ cluster: 'read' })), 'asked')
  t.is(await tagOf('uid-1', { ...get, method: 'POST' }, scope({ cluster: 'write' })), 'asked')
})

test('a cluster gets the identity of the caller only if it impersonates users', async (t) => {
  for (const knows of [true, false]) {
    const { sent, tagOf } = world({ 2: cluster(2, 'quay') }, [], { quay: 'allowed' }, knows)
    await tagOf('uid-1')
    const names = (sent[0]?.request.headers ?? []).map(([name, value]) => `${name}: ${value}`)
    t.is(names.includes('impersonate-user: moorage:ann'), knows)
    t.is(names.length > 0, knows)
  }
})

const upstream = (path: string): string => {
  const parsed = parseProxyPath(path)
  if (isLeft(parsed)) return `refused: ${parsed.left.message}`
  return parsed.right.form === 'raw' || parsed.right.form === 'resource' ? parsed.right.path : parsed.right.form
}

const forwarded: readonly (readonly [string, string])[] = [
  ['/', '/'],
  ['/api', '/api'],
  ['/api/v1/namespaces/default/pods/web', '/api/v1/namespaces/default/pods/web'],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3anode',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/team%20a:view',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/team%20a%3Aview',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/r%C3%B4le',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/r%C3%B4le',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/x|y%23%3F%5C;%0A',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/x%7Cy%23%3F%5C%3B%0A',
  ],
  [`/api/v1/${'a'.repeat(254)}`, `/api/v1/${'a'.repeat(254)}`],
  ['/rbac.authorization.k8s.io/v1/clusterroles/x|y', '/apis/rbac.authorization.k8s.io/v1/clusterroles/x%7Cy'],
  ['/version', '/version'],
  ['/openapi/v3/apis/apps/v1', '/openapi/v3/apis/apps/v1'],
  ['/.well-known/openid-configuration', '/.well-known/openid-configuration'],
  ['/api/v1/namespaces/a/services/https:web:443/proxy', '/api/v1/namespaces/a/services/https%3Aweb%3A443/proxy'],
  [
    '/core/v1/namespaces/a/services/web/proxy//x/?',
    'refused: The path contains a character that must be percent-encoded.',
  ],
  ['/core/v1/namespaces', '/api/v1/namespaces'],
  ['/core/v1/namespaces/a', '/api/v1/namespaces/a'],
  ['/core/v1/namespaces/a/status', '/api/v1/namespaces/a/status'],
  ['/core/v1/namespaces/a/events', '/api/v1/namespaces/a/events'],
  ['/core/v1/namespaces/a/secrets/', '/api/v1/namespaces/a/secrets'],
  ['/core/v1/namespaces/a/pods/web/log', '/api/v1/namespaces/a/pods/web/log'],
  ['/apps/v1/namespaces/a/deployments/web/scale', '/apis/apps/v1/namespaces/a/deployments/web/scale'],
  ['/storage.k8s.io/v1/storageclasses', '/apis/storage.k8s.io/v1/storageclasses'],
  ['/core/v1/nodes/n1/metrics', '/apis/metrics.k8s.io/v1beta1/nodes/n1'],
  ['/core/v1/namespaces/a/pods/web/metrics', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/web'],
  ['/core/v1/all-available', 'all-available'],
  ['/batch-delete', 'batch-delete'],
]
for (const [path, expected] of forwarded)
  test(`${path} is forwarded as ${expected}`, (t) => t.is(upstream(path), expected))

const refused = [
  '',
  'api',
  '//',
  '/api//v1',
  '/api/./v1',
  '/api/../v1',
  '/api/%2e/v1',
  '/api/%2e%2e/v1',
  '/api/%2E%2e/v1',
  '/api/v1/a%2fb',
  '/api/v1/a%2Fb',
  '/api/v1/..%5cb',
  '/api/v1/a%5c..',
  '/api/v1/%5C.%5Cb',
  '/api/v1/%',
  '/api/v1/%e',
  '/api/v1/%252e',
  '/api/v1/%25',
  '/api/v1/%c0%ae',
  '/api/v1/%ff',
  '/apiz',
  '/core',
  '/core/x1/pods',
  '/core/v1/Pods',
  '/core/v1/namespaces/a/PODS',
  '/Core/v1/pods',
  '/ap_ps/v1/pods',
  '/apps/v1/namespaces//pods',
  '/../api',
  '/%2e%2e/api',
  '/ui',
  '/debug/pprof',
  '/logs',
  '/swagger-ui',
]
for (const path of refused) test(`refused: ${path.slice(0, 40)}`, (t) => t.true(isLeft(parseProxyPath(path))))

const hostile = fc
  .array(
    fc.constantFrom(
      '/',
      '.',
      '..',
      '%2f',
      '%2F',
      '%5c',
      '\\',
      '%00',
      '%252f',
      '%2e',
      ';',
      ':',
      'api',
      'apis',
      'v1',
      'core',
      'pods',
      'a',
      '%',
      '%zz',
      '//',
      '?',
      '#',
      'é',
      '%c0%af',
      ' ',
    ),
    { maxLength: 12 },
  )
  .map((parts) => `/${parts.join('')}`)

const check = (path: string): void => {
  const parsed = parseProxyPath(path)
  if (isLeft(parsed) || (parsed.right.form !== 'raw' && parsed.right.form !== 'resource')) return
  const { path: made, segments } = parsed.right
  // A decoder that runs once more, or a resolver of dots, must find nothing left to do.
  if (new URL(`https://cluster${made}`).pathname !== made) throw new Error(`${made} is resolved further`)
  const words = made
    .split('/')
    .slice(1)
    .filter((word) => word !== '')
  if (words.map(decodeURIComponent).join('\0') !== segments.join('\0'))
    throw new Error(`${made} is not ${segments.join(' ')}`)
  if (segments.some((segment) => /[/%]/.test(segment) || segment.split('\\').some((part) => /^\.{1,2}$/.test(part))))
    throw new Error('a segment hides another')
  const again = parseProxyPath(made)
  if (!isRight(again) || again.right.form !== 'raw' || again.right.path !== made)
    throw new Error(`${made} parses otherwise`)
}

test('a forwarded path has the same meaning and only one reading', (t) => {
  const own = fc
    .oneof(
      hostile,
      fc.webPath(),
      fc.string().map((s) => `/api/${s}`),
    )
    .filter((path) => !isForeignPath(path))
  fc.assert(fc.property(own, check), { numRuns: 3000 })
  t.pass()
})

/** The segments up to `proxy`, as an API server reads them. */
const readAs = (path: string): readonly string[] => path.split('/').slice(1).map(decodeURIComponent)

test('whatever precedes proxy in the path of a service, it is the path that was read that is sent, and what follows is sent as it came', (t) => {
  const odd = fc.constantFrom(
    'a',
    'services',
    'pods',
    'nodes',
    'namespaces',
    'proxy',
    'secrets',
    'api',
    'v1',
    '.',
    '..',
    '%2e%2e',
    '%2f',
    '..%2f..',
    '%5c..',
    '%70roxy',
    '%73ervices',
    '%25',
    '%',
    '',
    'https:web:443',
    'x%20y',
    ';',
    '%00',
  )
  const head = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('api', 'core', '%61pi', 'Api'),
        fc.constantFrom('v1', 'v%31', 'v1beta1'),
        odd,
        odd,
        odd,
        odd,
      )
      .map((words) => words.join('/')),
    fc
      .tuple(fc.constantFrom('api/v1/namespaces'), odd, fc.constantFrom('services', 'pods', 'secrets'), odd)
      .map((words) => words.join('/')),
    fc.tuple(fc.constantFrom('api/v1/nodes', 'core/v1/nodes'), odd).map((words) => words.join('/')),
  )
  const tail = fc
    .array(
      fc.oneof(odd, fc.constantFrom('/', '//', '%20', '%C3%BC', '|', '[x]', '&', '?', '\\', ' ', 'a'.repeat(300))),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('/'))
  let foreign = 0
  fc.assert(
    fc.property(head, fc.constantFrom('', '/'), tail, (start, slash, end) => {
      const path = `/${start}/proxy${slash}${slash === '' ? '' : end}`
      const parsed = parseProxyPath(path)
      if (isLeft(parsed) || parsed.right.form !== 'raw' || parsed.right.isForeign !== true)
        return isForeignPath(path) ? isLeft(parsed) : (check(path), true)
      foreign += 1
      const { path: made, segments } = parsed.right
      const own = made
        .split('/')
        .slice(0, segments.length + 1)
        .join('/')
      const readOwn = readAs(own)
      if (
        readOwn.join('\0') !== segments.join('\0') ||
        readOwn.at(-1) !== 'proxy' ||
        !['services', 'pods', 'nodes'].includes(readOwn.at(-3) ?? '')
      )
        return false
      // No URL parser moves the boundary, and the rest is byte for byte what was received.
      return (
        new URL(`https://cluster${made}`).pathname.startsWith(own) &&
        !leavesPrefix(made) &&
        path.endsWith(made.slice(own.length))
      )
    }),
    { numRuns: 3000 },
  )
  t.true(foreign > 100, String(foreign))
})

test('a query passes unless it holds what no HTTP parser would let through', (t) => {
  t.true(isRight(checkProxyQuery('')))
  t.true(isRight(checkProxyQuery('labelSelector=a%3Db&watch=true&fieldSelector=x!=y')))
  for (const query of ['a b', 'a\r\nb', 'a#b', 'é', 'a\0']) t.true(isLeft(checkProxyQuery(query)))
})

const id = 4 as ClusterId
const away = new Error('the database is away')

const start = () => {
  const state: { now: number; answer: 'missing' | 'away' | number } = { now: 0, answer: 1 }
  const connections: ClusterConnections = {
    async open() {
      if (state.answer === 'away') throw away
      return state.answer === 'missing'
        ? left(ClusterMissing('gone'))
        : right({ link: { version: state.answer } } as ClusterConnection)
    },
  }
  const steady = steadyConnections(connections, () => state.now)
  const versionNow = async (): Promise<number> => {
    const opened = await steady.open(id)
    return isRight(opened) ? opened.right.link.version : Number.NaN
  }
  return { state, versionNow }
}

test('a changed credential counts at once while the database answers, the last one while it is away for a moment', async (t) => {
  const { state, versionNow } = start()
  t.is(await versionNow(), 1)
  state.answer = 2
  t.is(await versionNow(), 2)
  state.answer = 'away'
  state.now = 25_000
  t.is(await versionNow(), 2)
  state.now = 25_001
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 3
  t.is(await versionNow(), 3)
})

test('what was never opened, or is gone, is not remembered', async (t) => {
  const { state, versionNow } = start()
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 1
  t.is(await versionNow(), 1)
  state.answer = 'missing'
  t.is(await versionNow(), Number.NaN)
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
})

test('of the address that a spoke states only one of HTTP is shown', (t) => {
  const stated = (url: unknown) => statedUrl({ body: { spec: { managedClusterClientConfigs: [{ url }] } } } as never)
  for (const url of ['https://10.0.0.1:6443', 'http://api.example.com', 'HTTPS://[::1]:6443/prefix'])
    t.is(stated(url), url)
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://x',
    '//x',
    'https://',
    'https://a b',
    'https://x\n',
    'https://x/"onclick=',
    ' https://x',
    5,
    null,
    undefined,
  ])
    t.is(stated(url), '', String(url))
})
