import test from 'ava'
import fc from 'fast-check'
import {
  acceptedHeaders,
  clientHeaders,
  upgradeHeaders,
  upstreamHeaders,
} from '../../../core/formats/kubernetes/proxy-headers.ts'

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

test('links of a cluster pass if they name pages of a list', (t) => {
  const linkOf = (link: string) =>
    clientHeaders({ link }, { ...origin, isForeign: true }).find(([name]) => name === 'link')?.[1]
  for (const link of ['</v2/_catalog?n=2>; rel="next"', '<a>; rel=next, <b>; rel="prev last"']) t.is(linkOf(link), link)
  for (const link of [
    '</x.js>; rel=preload; as=script',
    '</x.css>; rel="stylesheet"',
    '</x.css>;REL = StyleSheet',
    '<a>; rel=next, <b>; rel=modulepreload',
    '<a>; rel="next preload"',
    '<https://evil.example>; rel=preconnect',
  ])
    t.is(linkOf(link), undefined, link)
})

const locationOf = (location: string, from: Partial<typeof origin> = {}): string | undefined =>
  clientHeaders({ location }, { ...origin, ...from }).find(([name]) => name === 'location')?.[1]

test('a redirect of the cluster stays below the root of the proxy', (t) => {
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

test('answers carry only listed headers', (t) => {
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
