import 'reflect-metadata'
import type { JsonWebKey } from 'node:crypto'
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'ava'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { parse as parseYaml, stringify } from 'yaml'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connections.ts'
import { jsonCredentialCodec, makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { joinStreams } from '../../adapters/kubernetes/tunnel.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { kubernetes } from '../support/components/available.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { datedCertificate } from '../support/dated-certificate.ts'
import { installHubCrds } from '../support/hub/install-hub-crds.ts'
import type { ServerCertificate } from '../support/server-certificate.ts'
import { makeServerCertificate } from '../support/server-certificate.ts'
import { until } from '../support/until.ts'
import { clusterAdaptersSuite } from './cluster-adapters.suite.ts'
import { recordedExchange } from './recorded-exchange.ts'
import { declareSuite } from '../support/declare-suite.ts'

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

declareSuite(clusterAdaptersSuite, 'fake', async () => ({
  ...adapters,
  credential: credentialOf((await fake).kubeconfig()),
  isHub: false,
  namespace: () => Promise.resolve(`test-${randomBytes(6).toString('hex')}`),
}))

if (!isSwitchedOff('kubernetes')) {
  declareSuite(clusterAdaptersSuite, 'kube-apiserver', async () => {
    const server = (await kubernetes())!
    return { ...adapters, credential: credentialOf(server.kubeconfig()), namespace: () => server.createNamespace() }
  })

  test('kube-apiserver: a survey of a hub tells that it serves managed clusters', async (t) => {
    const server = (await kubernetes())!
    await installHubCrds(server)
    const surveyed = await adapters.api.survey(credentialOf(server.kubeconfig()), new AbortController().signal)
    t.true(isRight(surveyed) && surveyed.right.servesManagedClusters)
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
    link: {
      id: 77 as ClusterId,
      ownerId: 1 as AccountId,
      name: 'c',
      ownerName: 'acme',
      version,
      impersonatesUsers: false,
    },
    credential: credentialOf(kubeconfig),
  })
  const before = connectionOf(1, old.kubeconfig())
  const after = connectionOf(2, next.kubeconfig())
  const ask = (connection: ClusterConnection) =>
    adapters.api.request(connection, { method: 'GET', target: '/version' }, new AbortController().signal)
  t.is((await ask(before))._tag, 'Right')
  t.is((await ask(after))._tag, 'Right')
  // As a long batch does that began before the change.
  t.is((await ask(before))._tag, 'Right')
  const upstream = {
    method: 'GET',
    target: '/version',
    headers: [],
    isLongLived: false,
    createdAsOk: false,
    answerHeaders: () => [],
    acceptHeaders: () => [],
  }
  await adapters.transport.relay(before, upstream, recordedExchange('GET', '/version'), new AbortController().signal)
  const sent = next.seen.map(({ headers }) => headers.find(([name]) => name === 'authorization')?.[1])
  t.deepEqual([...new Set(sent)], [`Bearer ${next.token}`])
  t.is(sent.length, 3)
})

test('a path that leads upwards is not requested', async (t) => {
  const server = await startFakeKubernetes()
  t.teardown(() => server.stop())
  const connection: ClusterConnection = {
    link: {
      id: 78 as ClusterId,
      ownerId: 1 as AccountId,
      name: 'c',
      ownerName: 'acme',
      version: 1,
      impersonatesUsers: true,
    },
    credential: credentialOf(server.kubeconfig()),
  }
  const ask = (target: string) =>
    adapters.api.request(connection, { method: 'GET', target }, new AbortController().signal)
  for (const target of [
    '/apis/a/../../../v3/users',
    '/api/%2e%2E/x',
    '/api/..',
    '/api\\..\\x',
    '/api/.%2e?x=1',
    '/apis/\t../x',
  ])
    t.is((await ask(target))._tag, 'Left', target)
  t.deepEqual(server.seen, [])
  t.is((await ask('/version?x=/../y'))._tag, 'Right')
})

test('a stop ends a watch after a whole event and marks other bodies cut', async (t) => {
  const server = await startFakeKubernetes()
  t.teardown(() => server.stop())
  const streams = new Map<string, ServerResponse>()
  server.on('/streams/', (req, res) => {
    res.writeHead(200, { 'content-type': req.url?.includes('log') === true ? 'text/plain' : 'application/json' })
    res.flushHeaders()
    streams.set(String(req.url), res)
  })
  const connection: ClusterConnection = {
    link: {
      id: 79 as ClusterId,
      ownerId: 1 as AccountId,
      name: 'c',
      ownerName: 'acme',
      version: 1,
      impersonatesUsers: false,
    },
    credential: credentialOf(server.kubeconfig()),
  }
  const open = async (target: string, isWatch: boolean) => {
    const exchange = recordedExchange('GET', target)
    const upstream = {
      method: 'GET',
      target,
      headers: [],
      isLongLived: true,
      isWatch,
      createdAsOk: false,
      answerHeaders: () => [],
      acceptHeaders: () => [],
    }
    const ended = adapters.transport.relay(connection, upstream, exchange, new AbortController().signal)
    const stream = await until('the stream is open', () => (exchange.hasResponded ? streams.get(target) : undefined))
    return { exchange, ended, stream }
  }
  const [quiet, halfway, log] = [
    await open('/streams/quiet', true),
    await open('/streams/halfway', true),
    await open('/streams/log', false),
  ]
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
  await until('the cluster gets no further request', () =>
    quiet.stream.destroyed && halfway.stream.destroyed ? true : undefined,
  )
  log.stream.end()
  await log.ended
})

const { parse } = makeKubeconfigParser()
let pem: ServerCertificate
test.before(async () => {
  pem = await makeServerCertificate('kubeconfig-test')
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const canary = 'canary-7f3a9c'
type Changes = { cluster?: object; user?: object; file?: object; context?: object }
const kubeconfig = ({ cluster = {}, user = { token: canary }, file = {}, context = {} }: Changes = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: 'https://k8s.example.com:6443/',
          'certificate-authority-data': base64(pem.certificatePem),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
    'current-context': 'x',
    ...file,
  })

const refusal = (text: string): string => {
  const parsed = parse(text)
  if (isRight(parsed)) throw new Error('it was accepted')
  return parsed.left.message
}

test('a kubeconfig with one name twice is refused, as kubectl does', (t) => {
  const twice = (list: 'clusters' | 'users' | 'contexts') => {
    const file = parseYaml(kubeconfig()) as Record<string, unknown[]>
    return parse(stringify({ ...file, [list]: [...(file[list] ?? []), ...(file[list] ?? [])] }))
  }
  for (const list of ['clusters', 'users', 'contexts'] as const)
    t.like(twice(list), { left: { message: `Two of the ${list} of the access config have the same name.` } })
})

test('a token with an inline authority is accepted, and printing it shows no secret', (t) => {
  const parsed = parse(kubeconfig())
  if (isLeft(parsed)) return t.fail(parsed.left.message)
  t.is(parsed.right.server, 'https://k8s.example.com:6443')
  t.is(parsed.right.authorityPem, pem.certificatePem)
  t.true(parsed.right.identity.kind === 'token' && parsed.right.identity.token.reveal() === canary)
  t.false(JSON.stringify(parsed.right).includes(canary))
})

test('a client certificate needs its key', (t) => {
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(pem.keyPem) }
  t.true(isRight(parse(kubeconfig({ user: pair }))))
  t.regex(refusal(kubeconfig({ user: { 'client-key-data': pair['client-key-data'] } })), /only accepted together/)
  t.regex(
    refusal(kubeconfig({ user: { 'client-certificate-data': pair['client-certificate-data'] } })),
    /only accepted together/,
  )
})

test('a prefix of the server’s path and a tls-server-name are kept', (t) => {
  const parsed = parse(
    kubeconfig({
      cluster: { server: 'https://rancher.example/k8s/clusters/c-1/', 'tls-server-name': 'inner.example' },
    }),
  )
  t.true(
    isRight(parsed) &&
      parsed.right.server === 'https://rancher.example/k8s/clusters/c-1' &&
      parsed.right.tlsServerName === 'inner.example',
  )
})

test('the only context is used, and several need a choice', (t) => {
  t.true(isRight(parse(kubeconfig({ file: { 'current-context': '' } }))))
  t.true(isRight(parse(kubeconfig({ file: { 'current-context': null } }))))
  const two = [
    { name: 'x', context: { cluster: 'c', user: 'u' } },
    { name: 'y', context: { cluster: 'c', user: 'u' } },
  ]
  t.regex(refusal(kubeconfig({ file: { contexts: two, 'current-context': '' } })), /current-context/)
  t.true(isRight(parse(kubeconfig({ file: { contexts: two, 'current-context': 'y' } }))))
  t.regex(refusal(kubeconfig({ file: { 'current-context': 'other' } })), /current-context/)
})

const refused: readonly (readonly [string, Changes])[] = [
  ['exec', { user: { exec: { command: canary } } }],
  ['auth-provider', { user: { 'auth-provider': { name: canary } } }],
  ['client-certificate', { user: { 'client-certificate': `/etc/${canary}` } }],
  ['client-key', { user: { token: 't', 'client-key': `/etc/${canary}` } }],
  ['tokenFile', { user: { tokenFile: `/etc/${canary}` } }],
  ['username', { user: { username: canary, password: canary } }],
  ['password', { user: { token: 't', password: canary } }],
  ['as', { user: { token: canary, as: 'root' } }],
  ['as-groups', { user: { token: canary, 'as-groups': ['system:masters'] } }],
  ['certificate-authority', { cluster: { 'certificate-authority': `/etc/${canary}` } }],
  ['insecure-skip-tls-verify', { cluster: { 'insecure-skip-tls-verify': true } }],
  ['proxy-url', { cluster: { 'proxy-url': `http://${canary}` } }],
]
for (const [key, changes] of refused) {
  test(`${key} is refused by name, without repeating its value`, (t) => {
    const message = refusal(kubeconfig(changes))
    t.true(message.includes(`\`${key}\``), message)
    t.false(message.includes(canary))
  })
}

const broken: readonly (readonly [string, () => string])[] = [
  ['empty text', () => ''],
  ['no YAML', () => '{'],
  ['another kind of document', () => 'kind: Pod'],
  ['two keys of one name', () => 'a: 1\na: 2'],
  ['a server without https', () => kubeconfig({ cluster: { server: 'http://k8s.example.com' } })],
  ['a server with a password', () => kubeconfig({ cluster: { server: `https://u:${canary}@k8s.example.com` } })],
  ['a server that is no address', () => kubeconfig({ cluster: { server: canary } })],
  ['a token with a line break', () => kubeconfig({ user: { token: `${canary}\r\nImpersonate-User: root` } })],
  ['a user without credential', () => kubeconfig({ user: {} })],
  [
    'an authority that is no certificate',
    () =>
      kubeconfig({
        cluster: {
          'certificate-authority-data': base64(`-----BEGIN CERTIFICATE-----\n${canary}\n-----END CERTIFICATE-----`),
        },
      }),
  ],
  ['an authority that is not base64', () => kubeconfig({ cluster: { 'certificate-authority-data': `!${canary}` } })],
  ['a context that leads nowhere', () => kubeconfig({ context: { user: canary } })],
  ['more than 256 KiB', () => `${kubeconfig()}\n# ${'x'.repeat(256 * 1024)}`],
  [
    'a server of more slashes than a pattern could bear',
    () => kubeconfig({ cluster: { server: `https://k8s.example.com${'/'.repeat(100_000)}x` } }),
  ],
  [
    'a server longer than its column',
    () => kubeconfig({ cluster: { server: `https://k8s.example.com/${'x'.repeat(500)}` } }),
  ],
  [
    'a server that encoding makes longer than its column',
    () => kubeconfig({ cluster: { server: `https://k8s.example.com/${'é'.repeat(300)}` } }),
  ],
  [
    'aliases that multiply',
    () =>
      `a: &a [${'x,'.repeat(50)}]\nb: &b [${'*a,'.repeat(50)}]\nc: &c [${'*b,'.repeat(50)}]\nd: [${'*c,'.repeat(50)}]\n${kubeconfig()}`,
  ],
]
for (const [what, text] of broken) {
  test(`refused: ${what}`, (t) => {
    t.false(refusal(text()).includes(canary))
  })
}

test('a map of as many keys as fit is no kubeconfig', (t) => {
  t.regex(refusal(`{${Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join(',')}}`), /not a kubeconfig/)
})

test('a client key that would take a second to sign with is refused', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = privateKey.export({ format: 'jwk' })
  const wide = Buffer.from(`01${'00'.repeat(2000)}01`, 'hex').toString('base64url')
  const huge = createPrivateKey({ key: { ...jwk, n: wide } as JsonWebKey, format: 'jwk' }).export({
    format: 'pem',
    type: 'pkcs1',
  }) as string
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(huge) }
  t.regex(refusal(kubeconfig({ user: pair })), /larger key/)
})

test('a stored credential reads back as it was', (t) => {
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(pem.keyPem) }
  for (const text of [
    kubeconfig(),
    kubeconfig({ user: pair, cluster: { 'tls-server-name': 'inner.example', 'certificate-authority-data': '' } }),
  ]) {
    const parsed = parse(text)
    if (isLeft(parsed)) return t.fail(parsed.left.message)
    const stored = jsonCredentialCodec.encode(parsed.right)
    t.is(jsonCredentialCodec.encode(jsonCredentialCodec.decode(stored)).reveal(), stored.reveal())
  }
})

test('a credential ends with its certificate or JWT', async (t) => {
  const dated = await datedCertificate(-1, 30)
  const pair = { 'client-certificate-data': base64(dated.certificatePem), 'client-key-data': base64(dated.keyPem) }
  const endOf = (user: object): Date | undefined => jsonCredentialCodec.endOf(credentialOf(kubeconfig({ user })))
  const ofCertificate = endOf(pair)?.getTime() ?? 0
  t.true(Math.abs(ofCertificate - Date.now() - 30 * 86_400_000) < 600_000)
  const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const jwt = (claims: object): string => `${base64url({ alg: 'RS256' })}.${base64url(claims)}.c2lnbmF0dXJl`
  t.deepEqual(endOf({ token: jwt({ sub: 'system:serviceaccount:a:b', exp: 1_900_000_000 }) }), new Date(1.9e12))
  for (const token of [jwt({ sub: 'x' }), jwt({ exp: 'soon' }), 'opaque', 'a.b.c', 'a.b.c.d'])
    t.is(endOf({ token }), undefined, token)
})

/** One side of a tunnel, moved by hand. */
class Side extends EventEmitter {
  received = ''
  isEnded = false
  isPaused = false
  destroyed = false
  takesMore = true

  write(chunk: Uint8Array): boolean {
    this.received += Buffer.from(chunk).toString()
    return this.takesMore
  }
  end(): void {
    this.isEnded = true
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
}

const start = (clientHead = '', clusterHead = '') => {
  const [client, cluster] = [new Side(), new Side()]
  return { client, cluster, joined: joinStreams(client, Buffer.from(clientHead), cluster, Buffer.from(clusterHead)) }
}

test('received bytes arrive although the other direction fails', async (t) => {
  const { client, cluster, joined } = start()
  cluster.emit('data', Buffer.from('last words'))
  cluster.emit('end')
  // Both said goodbye at once: ours could not be written any more.
  cluster.emit('error', new Error('EPIPE'))
  cluster.destroy()
  t.is(client.received, 'last words')
  t.true(client.isEnded)
  t.false(client.destroyed)
  client.destroy()
  await joined
})

test('a side that is torn tears the other, so that half is not taken for the whole', async (t) => {
  for (const [torn, other] of [
    ['client', 'cluster'],
    ['cluster', 'client'],
  ] as const) {
    const { joined, ...sides } = start()
    sides[torn].emit('data', Buffer.from('half'))
    sides[torn].emit('error', new Error('ECONNRESET'))
    sides[torn].destroy()
    t.false(sides[other].isEnded)
    t.true(sides[other].destroyed)
    await joined
  }
})

test('a side that is full holds the other back until it drains', (t) => {
  const { client, cluster } = start()
  client.takesMore = false
  cluster.emit('data', Buffer.from('much'))
  t.true(cluster.isPaused)
  client.emit('drain')
  t.false(cluster.isPaused)
})

test('bytes that came with the heads are sent first', (t) => {
  const { client, cluster } = start('from client', 'from cluster')
  t.is(cluster.received, 'from client')
  t.is(client.received, 'from cluster')
})
