// process: own - changes its environment
import type { LookupAddress } from 'node:dns'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connections.ts'
import { clusterNotReached } from '../../adapters/kubernetes/reach-failures.ts'
import type { AddressKind } from '../../adapters/outbound/egress-policy.ts'
import {
  EgressRefused,
  kindOf,
  makeEgressAllowance,
  makeEgressPolicy,
  makeUserUrlPolicy,
  readEgressTarget,
} from '../../adapters/outbound/egress-policy.ts'
import type { Resolver } from '../../adapters/outbound/name-resolver.ts'
import type { GuardedRequest } from '../../adapters/outbound/guarded-fetch.ts'
import { FetchFailed, makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import { secret } from '../../core/kernel/secret.ts'
import { countingSocket } from '../support/charts/counting-socket.ts'
import { startServer } from '../support/charts/https-server.ts'

const resolvesTo =
  (...addresses: readonly string[]): Resolver =>
  (_hostname, _options, done) =>
    done(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

const allowing = (...texts: readonly string[]) =>
  makeEgressAllowance(
    texts.map((text) => {
      const target = readEgressTarget(text)
      if (target === undefined) throw new Error(text)
      return target
    }),
  )

const fetching = (allowed: readonly string[], resolver?: Resolver) => {
  const allowance = allowing(...allowed)
  const fetch = makeGuardedFetch(
    resolver === undefined ? makeUserUrlPolicy(allowance) : makeUserUrlPolicy(allowance, resolver),
  )
  return (url: string, more: Partial<GuardedRequest> = {}) =>
    fetch(
      { url: new URL(url), limitBytes: 1024 * 1024, timeoutMilliseconds: 10_000, ...more },
      new AbortController().signal,
    )
}

const redirectTo = (location: string, response: ServerResponse): void => {
  response.writeHead(302, { location })
  response.end()
}

const loopbackNames: readonly (readonly [string, Resolver?])[] = [
  ['127.0.0.1'],
  ['localhost'],
  ['2130706433'],
  ['0177.0.0.1'],
  ['0x7f.1'],
  ['127.1'],
  ['[::ffff:127.0.0.1]'],
  ['[::ffff:7f00:1]'],
  ['[::1]'],
  ['0.0.0.0'],
  ['[::]'],
  ['named.example', resolvesTo('127.0.0.1')],
  ['one-of-two.example', resolvesTo('93.184.216.34', '127.0.0.1')],
  ['mapped.example', resolvesTo('::ffff:127.0.0.1')],
  ['six.example', resolvesTo('::1')],
  ['nat64.example', resolvesTo('64:ff9b::7f00:1')],
  ['compatible.example', resolvesTo('::7f00:1')],
]
for (const scheme of ['https', 'http']) {
  for (const [host, resolver] of loopbackNames) {
    test(`${scheme}://${host} does not reach this machine`, async (t) => {
      const socket = await countingSocket()
      t.teardown(socket.close)
      await t.throwsAsync(fetching([], resolver)(`${scheme}://${host}:${socket.port}/index.yaml`), {
        instanceOf: EgressRefused,
      })
      t.is(socket.reached(), 0)
    })
  }
}

const never = [
  '169.254.169.254',
  'fe80::1',
  '100.100.100.200',
  'fd00:ec2::254',
  '::ffff:169.254.169.254',
  '0.0.0.0',
  '224.0.0.1',
]
for (const address of never) {
  test(`${address} is refused whatever is allowed`, async (t) => {
    const everything = ['0.0.0.0/0', '::/0', '*.example', 'metadata.example', '169.254.169.254', 'fd00::/8']
    await t.throwsAsync(
      fetching(everything)(`http://${address.includes(':') ? `[${address}]` : address}/latest/meta-data/`),
      { instanceOf: EgressRefused },
    )
    await t.throwsAsync(fetching(everything, resolvesTo(address))('https://metadata.example/'), {
      instanceOf: EgressRefused,
    })
  })
}

test('private addresses are refused without disclosing the resolution', async (t) => {
  const error = await t.throwsAsync(fetching([], resolvesTo('10.20.30.40'))('https://intranet.example/'), {
    instanceOf: EgressRefused,
  })
  t.false(error.message.includes('10.20.30.40'))
})

for (const url of [
  'ftp://example.com/',
  'file:///etc/passwd',
  'https://user:hunter2@example.com/',
  'gopher://example.com/',
  'data:text/plain,x',
]) {
  test(`${url} is refused`, async (t) => {
    const error = await t.throwsAsync(fetching(['example.com'], resolvesTo('127.0.0.1'))(url), {
      instanceOf: EgressRefused,
    })
    t.false(error.message.includes('hunter2'))
  })
}

test('http needs an address that the operator opened', async (t) => {
  const server = await startServer((_request, response) => response.end('plain'), { isPlain: true })
  t.teardown(server.close)
  await t.throwsAsync(fetching([])(server.url), { instanceOf: EgressRefused })
  await t.throwsAsync(fetching([`localhost:${server.port + 1}`])(server.url), { instanceOf: EgressRefused })
  t.is(server.seen.length, 0)
  for (const allowed of ['localhost', `localhost:${server.port}`, '127.0.0.0/8', '127.0.0.1']) {
    const answer = await fetching([allowed], resolvesTo('127.0.0.1'))(server.url)
    t.is(new TextDecoder().decode(answer.bytes), 'plain', allowed)
  }
  await fetching(['127.0.0.0/8'], resolvesTo('127.0.0.1'))(`http://public.example:${server.port}/`)
  t.is(server.seen.length, 5, 'a range allows http to names that lead there')
})

test('a redirect to this machine is not followed', async (t) => {
  const socket = await countingSocket()
  t.teardown(socket.close)
  const targets = [
    `http://127.0.0.1:${socket.port}/`,
    `https://127.0.0.1:${socket.port}/`,
    `http://[::ffff:127.0.0.1]:${socket.port}/`,
    `//127.0.0.1:${socket.port}/x`,
    'http://169.254.169.254/latest/',
    'file:///etc/passwd',
    `https://u:p@localhost:${socket.port}/`,
  ]
  for (const location of targets) {
    const server = await startServer((_request, response) => redirectTo(location, response))
    const fetch = fetching([`localhost:${server.port}`])
    await t.throwsAsync(
      fetch(server.url, { secrets: { authorityPem: server.authorityPem } }),
      { instanceOf: EgressRefused },
      location,
    )
    await server.close()
  }
  t.is(socket.reached(), 0)
})

test('three redirects are followed, a fourth is not', async (t) => {
  const server = await startServer((request, response) => {
    const left = Number(request.url?.slice(1))
    if (left === 0) return void response.end('there')
    response.writeHead(307, { location: `/${left - 1}` })
    response.end()
  })
  t.teardown(server.close)
  const fetch = fetching(['localhost'])
  const secrets = { authorityPem: server.authorityPem }
  t.is(new TextDecoder().decode((await fetch(`${server.url}/3`, { secrets })).bytes), 'there')
  await t.throwsAsync(fetch(`${server.url}/4`, { secrets }), { instanceOf: FetchFailed, message: /redirects more/ })
})

test('credentials stay with their host', async (t) => {
  const other = await startServer((_request, response) => response.end('other'), { isPlain: true })
  const server = await startServer((request, response) =>
    redirectTo(
      request.url === '/own' ? '/here' : request.url === '/here' ? `${other.url}/there` : `${other.url}/`,
      response,
    ),
  )
  t.teardown(async () => Promise.all([server.close(), other.close()]))
  const secrets = { authorization: 'Basic c2VjcmV0', authorityPem: server.authorityPem }
  await fetching(['localhost'])(`${server.url}/own`, { secrets })
  t.deepEqual(
    server.seen.map(({ path, authorization }) => [path, authorization]),
    [
      ['/own', 'Basic c2VjcmV0'],
      ['/here', 'Basic c2VjcmV0'],
    ],
  )
  t.deepEqual(
    other.seen.map(({ path, authorization }) => [path, authorization]),
    [['/there', undefined]],
  )
  await fetching(['localhost'])(`${other.url}/`, { secrets, secretsOrigin: new URL(server.url).origin })
  t.is(other.seen.at(-1)?.authorization, undefined, 'neither where the first address is another host')
})

test('an unsigned certificate is refused, and one of the named authority is not', async (t) => {
  const server = await startServer((_request, response) => response.end('x'))
  t.teardown(server.close)
  await t.throwsAsync(fetching(['localhost'])(server.url), {
    instanceOf: FetchFailed,
    message: /certificate of localhost is not trusted/,
  })
  t.is((await fetching(['localhost'])(server.url, { secrets: { authorityPem: server.authorityPem } })).status, 200)
  t.is(server.seen.length, 1)
})

test('answers are bounded in size and time', async (t) => {
  const server = await startServer(
    (request, response) => {
      if (request.url === '/slow') return
      if (request.url === '/drip') return void response.write('x')
      response.writeHead(200)
      const more = (): void => void (response.destroyed || response.write(Buffer.alloc(65_536), more))
      more()
    },
    { isPlain: true },
  )
  t.teardown(server.close)
  const fetch = fetching(['localhost'])
  await t.throwsAsync(fetch(`${server.url}/endless`, { limitBytes: 100_000 }), {
    instanceOf: FetchFailed,
    message: /larger/,
  })
  for (const path of ['/slow', '/drip'])
    await t.throwsAsync(fetch(`${server.url}${path}`, { timeoutMilliseconds: 300 }), {
      instanceOf: FetchFailed,
      message: /in time/,
    })
})

test('no proxy of the environment is used', async (t) => {
  const socket = await countingSocket()
  const server = await startServer((_request, response) => response.end('direct'), { isPlain: true })
  const before = { ...process.env }
  Object.assign(process.env, {
    HTTP_PROXY: `http://127.0.0.1:${socket.port}`,
    http_proxy: `http://127.0.0.1:${socket.port}`,
    ALL_PROXY: `http://127.0.0.1:${socket.port}`,
    NODE_USE_ENV_PROXY: '1',
  })
  t.teardown(async () => {
    process.env = before
    await Promise.all([socket.close(), server.close()])
  })
  t.is(new TextDecoder().decode((await fetching(['localhost'])(server.url)).bytes), 'direct')
  t.is(socket.reached(), 0)
})

test('a missing host, a forbidden one and a refused connection get the same message', async (t) => {
  const nowhere: Resolver = (_hostname, _options, done) =>
    done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), [])
  const socket = await countingSocket()
  await socket.close()
  const url = `https://harbour.example:${socket.port}/index.yaml`
  const messageOf = async (fetch: ReturnType<typeof fetching>): Promise<string | undefined> =>
    (await t.throwsAsync(fetch(url)))?.message
  const messages = [
    await messageOf(fetching([], nowhere)),
    await messageOf(fetching([], resolvesTo('10.20.30.40'))),
    await messageOf(fetching([], resolvesTo('169.254.169.254'))),
    await messageOf(fetching(['harbour.example'], resolvesTo('127.0.0.1'))),
  ]
  t.regex(
    messages[0] ?? '',
    /^harbour\.example cannot be reached from here: it does not exist, does not answer, or is not allowed/,
  )
  t.is(new Set(messages).size, 1, messages.join('\n'))
  const server = await startServer((_request, response) => redirectTo(url, response), { isPlain: true })
  t.teardown(server.close)
  const redirected = await t.throwsAsync(
    fetching(['localhost'], (hostname, _options, done) =>
      done(null, [{ address: hostname === 'localhost' ? '127.0.0.1' : '10.20.30.40', family: 4 }]),
    )(server.url),
  )
  t.is(redirected?.message, messages[0] ?? '', 'neither where a redirect leads there')
})

test('entries of the setting', (t) => {
  for (const text of [
    'charts.example.com',
    'charts.example.com:8443',
    '*.example.com',
    '10.0.0.0/8',
    '10.1.2.3',
    'fd00::/8',
    '::1',
    'registry',
    'my_host',
  ])
    t.truthy(readEgressTarget(text), text)
  for (const text of [
    '',
    'https://example.com',
    'example.com/path',
    '10.0.0.0/33',
    '10.0.0',
    '1234',
    'a b',
    '*',
    '*.',
    'example.com:99999',
    'example.com:',
    '-x',
    '10.0.0.0/8/8',
    'user@host',
  ])
    t.is(readEgressTarget(text), undefined, text)
  const allowance = allowing('*.example.com', 'Charts.Example.Org', '10.0.0.0/8')
  const has = (url: string): boolean => allowance.hasHost(new URL(url))
  t.true(has('https://a.example.com/') && has('https://a.b.example.com:1/') && has('http://charts.example.org./'))
  t.false(has('https://example.com/') || has('https://badexample.com/') || has('https://charts.example.org.evil.com/'))
  t.true(allowance.hasAddress('10.9.9.9') && allowance.hasAddress('::ffff:10.9.9.9'))
  t.false(allowance.hasAddress('11.0.0.1') || allowance.hasAddress('169.254.169.254'))
})

const kinds: readonly (readonly [string, AddressKind | undefined])[] = [
  ['8.8.8.8', 'public'],
  ['2606:4700::1111', 'public'],
  ['10.1.2.3', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'private'],
  ['fd12::1', 'private'],
  ['127.0.0.1', 'loopback'],
  ['127.9.9.9', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:10.0.0.1', 'private'],
  ['::ffff:8.8.8.8', 'public'],
  ['169.254.169.254', undefined],
  ['169.254.0.1', undefined],
  ['fe80::1', undefined],
  ['::ffff:169.254.169.254', undefined],
  ['fd00:ec2::254', undefined],
  ['100.100.100.200', undefined],
  ['168.63.129.16', undefined],
  ['192.0.0.192', undefined],
  ['0.0.0.0', undefined],
  ['::', undefined],
  ['255.255.255.255', undefined],
  ['224.0.0.1', undefined],
  ['ff02::1', undefined],
  ['64:ff9b::7f00:1', undefined],
  ['2002:7f00:1::', undefined],
  ['::127.0.0.1', undefined],
  ['::7f00:1', undefined],
  ['::10.0.0.1', undefined],
  ['::8.8.8.8', undefined],
  ['64:ff9b:1::7f00:1', undefined],
  ['1.2.3', undefined],
  ['2001::1', undefined],
  ['240.0.0.1', undefined],
  ['fe80::1%eth0', undefined],
  ['not an address', undefined],
]
for (const [address, kind] of kinds)
  test(`${address} is ${kind ?? 'never allowed'}`, (t) => t.is(kindOf(address), kind))

const everything = makeEgressPolicy(new Set<AddressKind>(['public', 'private', 'loopback']))
for (const url of [
  'http://10.0.0.1:6443',
  'https://user:secret@10.0.0.1',
  'ftp://10.0.0.1',
  'https://169.254.169.254/',
  'https://[fe80::1]/',
  'https://[::ffff:169.254.169.254]',
]) {
  test(`${url} is refused whatever is allowed, without repeating a password`, (t) => {
    const refusal = everything.refusal(new URL(url))
    t.is(typeof refusal, 'string')
    t.false(refusal?.includes('secret'))
  })
}

const answers = (...lists: readonly (readonly string[])[]): Resolver => {
  let call = 0
  return (_hostname, _options, done) => {
    const list = lists[Math.min(call, lists.length - 1)] ?? []
    call += 1
    done(
      null,
      list.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
}

/** Every way of naming this machine; nothing may reach the socket, which counts. */
const hosts: readonly (readonly [string, Resolver?])[] = [
  ['127.0.0.1'],
  ['localhost'],
  ['2130706433'],
  ['0177.0.0.1'],
  ['0x7f.1'],
  ['127.1'],
  ['[::ffff:127.0.0.1]'],
  ['[::ffff:7f00:1]'],
  ['[::1]'],
  ['0.0.0.0'],
  ['one-private.example', answers(['127.0.0.1'])],
  ['one-of-two.example', answers(['93.184.216.34', '127.0.0.1'])],
  ['mapped.example', answers(['::ffff:127.0.0.1'])],
  ['nat64.example', answers(['64:ff9b::7f00:1'])],
  ['rebinding.example', answers(['127.0.0.1'], ['127.0.0.1'])],
]
for (const [host, resolver] of hosts) {
  test(`nothing is connected to by the name ${host} when loopback is not allowed`, async (t) => {
    let reached = 0
    const server = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const allowed = new Set<AddressKind>(['public', 'private'])
    const egress = resolver === undefined ? makeEgressPolicy(allowed) : makeEgressPolicy(allowed, resolver)
    const pools = makeConnectionPools(egress)
    const api = makeUndiciClusterApi(pools, egress)
    const credential = {
      server: `https://${host}:${port}`,
      authorityPem: undefined,
      tlsServerName: undefined,
      identity: { kind: 'token', token: secret('t') },
    } as const
    const surveyed = await api.survey(credential, new AbortController().signal)
    t.true(isLeft(surveyed))
    // The refusal of a name does not tell where it leads. That of an address, which needs no look-up, says what is
    // wrong with it.
    const isName = resolver !== undefined || host === 'localhost'
    if (isLeft(surveyed))
      t.deepEqual(
        [surveyed.left.tag, surveyed.left.message === clusterNotReached('').message],
        isName ? ['ClusterUnreachable', true] : ['AddressRefused', false],
      )
    t.is(reached, 0)
    await pools.close()
    await new Promise((resolve) => server.close(resolve))
  })
}

test('the connection goes to the address that was checked, not to a second answer', async (t) => {
  let asked = 0
  const resolver: Resolver = (_hostname, _options, done) => {
    asked += 1
    // Refused port on an allowed address first; a rebound name would lead elsewhere.
    done(null, [{ address: asked === 1 ? '127.0.0.1' : '10.255.255.1', family: 4 }])
  }
  const egress = makeEgressPolicy(new Set<AddressKind>(['loopback']), resolver)
  const resolved = await new Promise<unknown>((resolve) =>
    egress.lookup('name.example', { all: true }, (_error, addresses) => resolve(addresses)),
  )
  t.deepEqual(resolved, [{ address: '127.0.0.1', family: 4 }])
  const refused = await new Promise<unknown>((resolve) =>
    egress.lookup('name.example', { all: true }, (error) => resolve(error)),
  )
  t.is((refused as { code?: string }).code, 'EGRESS_REFUSED')
})
