import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import test from 'ava'
import { startFakeKubernetes, type SeenRequest } from '../../support/fake-kubernetes.ts'
import { makeSendJson } from '../../support/send-json.ts'
import { expectStatus, importCluster } from '../cluster-fixture.ts'
import { foreignHeaders, foreignTargets, ownHeaders } from './foreign-requests.ts'
import { type RawAnswer, answering, fake, proxy, raw, reply, seenAt, service, valuesOf } from './proxy-wire.fixture.ts'

/** The same request without this service: from the client to the cluster, with the stored credential. */
const direct = (method: string, path: string, headers: readonly string[]): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const sent = httpsRequest(
      {
        hostname: '127.0.0.1',
        port: fake.port,
        rejectUnauthorized: false,
        method,
        path,
        headers: ['Host', 'x', 'Authorization', `Bearer ${fake.token}`, ...headers],
        setDefaultHeaders: false,
      },
      (answer) => {
        answer.resume()
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.alloc(0) }),
        )
      },
    )
    sent.on('error', reject)
    sent.end()
  })

test('the cluster sees our identity and never the client’s', async (t) => {
  answering('/api/v1/namespaces/identity', (_req, res) => void res.end('{}'))
  const answer = await raw(
    'GET',
    `${proxy}/api/v1/namespaces/identity?fieldSelector=a%3Db&token=${service.adminToken}&limit=5`,
    [
      'Cookie',
      'moorage_session=steal-me',
      'X-Remote-User',
      'root',
      'X-Remote-Group',
      'system:masters',
      'X-Forwarded-For',
      '10.1.2.3',
      'Proxy-Authorization',
      'Basic x',
      'TE',
      'trailers',
      'Accept',
      'application/json',
      'User-Agent',
      'kubectl/v1.34',
      'Kubectl-Command',
      'get',
      'X-Csrf-Token',
      'c',
    ],
  )
  t.is(answer.status, 200)
  const seen = seenAt('/api/v1/namespaces/identity')
  t.deepEqual(valuesOf(seen, 'authorization'), [`Bearer ${fake.token}`])
  const names = new Set(seen.headers.map(([name]) => name))
  for (const name of [
    'cookie',
    'x-remote-user',
    'x-remote-group',
    'x-forwarded-for',
    'proxy-authorization',
    'te',
    'x-csrf-token',
  ])
    t.false(names.has(name), name)
  t.deepEqual(valuesOf(seen, 'accept'), ['application/json'])
  t.deepEqual(valuesOf(seen, 'kubectl-command'), ['get'])
  t.false(JSON.stringify(seen).includes(service.adminToken))
  t.is(seen.url, '/api/v1/namespaces/identity?fieldSelector=a%3Db&limit=5')
})

for (const victim of [
  'Authorization',
  'authorization',
  'Impersonate-User',
  'impersonate-group',
  'Host',
  'Content-Type',
]) {
  test(`Connection: ${victim} removes nothing that we add`, async (t) => {
    const at = `/api/v1/namespaces/hop-${victim}`
    answering(at, (_req, res) => void res.end('{}'))
    await raw('GET', `${proxy}${at}`, ['Connection', `keep-alive, ${victim}`])
    const seen = seenAt(at)
    t.deepEqual(valuesOf(seen, 'authorization'), [`Bearer ${fake.token}`])
    t.deepEqual(valuesOf(seen, 'impersonate-user'), [])
    t.is(valuesOf(seen, 'host').length, 1)
  })
}

test('an impersonated request names the caller once for any client headers', async (t) => {
  const other = await startFakeKubernetes()
  t.teardown(() => other.stop())
  const send = makeSendJson(service.baseUrl)
  await expectStatus(
    importCluster(send, service.adminToken, 'admin', 'as-user', other.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const answer = await raw('GET', '/api/v1/clusters/admin/as-user/proxy/version', [
    'Connection',
    'Impersonate-User, impersonate-group, impersonate-extra-moorage-user-id',
  ])
  t.is(answer.status, 200)
  const seen = other.seen.at(-1)!
  t.deepEqual(
    seen.headers.filter(([name]) => name.startsWith('impersonate-')),
    [
      ['impersonate-user', 'moorage:admin'],
      ['impersonate-group', 'moorage:authenticated'],
      ['impersonate-group', 'moorage:org:admin'],
      ['impersonate-extra-moorage-user-id', '1'],
    ],
  )
})

const asAnother: readonly (readonly string[])[] = [
  ['Impersonate-User', 'nobody'],
  ['impersonate-user', ''],
  ['IMPERSONATE-GROUP', 'viewers'],
  ['Impersonate-Group', 'a', 'Impersonate-Group', 'b'],
  ['Impersonate-Uid', '7'],
  ['Impersonate-Extra-Scopes', 'view'],
  ['impersonate-extra-acme.com%2fproject', 'x'],
  ['Impersonate-User', 'nobody', 'Connection', 'Impersonate-User'],
  ['Impersonate-Whatever', 'x'],
]
for (const headers of asAnother) {
  test(`a request as another user is refused, and nothing is sent: ${headers.join(' ')}`, async (t) => {
    const mark = headers.join('').replace(/\W/g, '')
    for (const [method, path] of [
      ['GET', '/api/v1/namespaces'],
      ['DELETE', '/api/v1/nodes/a'],
      ['GET', '/api/v1/pods?watch=true'],
      ['POST', '/batch-delete'],
      ['GET', '/api/v1/namespaces/a/services/b/proxy/c'],
    ] as const) {
      const answer = await raw(method, `${proxy}${path}${path.includes('?') ? '&' : '?'}mark=${mark}`, headers)
      t.is(answer.status, 403, path)
      t.like(JSON.parse(answer.body.toString()), {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
      })
      t.regex(answer.body.toString(), /as another user/)
    }
    const upgrade = await raw('GET', `${proxy}/api/v1/namespaces/a/pods/b/exec?mark=${mark}`, [
      'Upgrade',
      'websocket',
      'Connection',
      'Upgrade',
      'Sec-WebSocket-Version',
      '13',
      'Sec-WebSocket-Key',
      'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers.slice(0, 2),
    ])
    t.is(upgrade.status, 403)
    t.false(fake.seen.some(({ url }) => url.includes(`mark=${mark}`)))
  })
}

for (const [index, receiver] of [
  '/api/v1/namespaces/a/services/https:web:443/proxy',
  '/api/v1/namespaces/a/pods/web:8080/proxy',
  '/api/v1/nodes/n1/proxy',
].entries()) {
  test(`below ${receiver} each path and query arrives as it does directly`, async (t) => {
    const urls = async (send: typeof raw, prefix: string): Promise<readonly string[]> => {
      const arrived: string[] = []
      for (const [i, target] of (index === 0 ? foreignTargets : foreignTargets.slice(0, 20)).entries()) {
        const agent = `${prefix.length}-${index}-${i}`
        const { status } = await send('GET', `${prefix}${receiver}${target}`, ['User-Agent', agent])
        const urls = fake.seen.filter((seen) => valuesOf(seen, 'user-agent')[0] === agent).map(({ url }) => url)
        // The colon of a name is encoded, which an API server reads alike.
        arrived.push(urls.length === 1 ? (urls[0] ?? '').replaceAll('%3A', ':') : `${status}, ${urls.length} requests`)
      }
      return arrived
    }
    t.deepEqual(await urls(raw, proxy), await urls(direct, ''))
  })
}

const receivedHeaders = (seen: SeenRequest): readonly string[] =>
  seen.headers
    .filter(([name]) => !['host', 'authorization', 'connection'].includes(name))
    .map(([name, value]) => `${name}: ${value}`)
    .toSorted()

test('a service receives all headers but identity and connection headers', async (t) => {
  const sent = foreignHeaders.flat()
  const at = '/api/v1/namespaces/a/services/headers/proxy/x'
  await direct('GET', `${at}?direct`, sent)
  await raw('GET', `${proxy}${at}?proxied`, [
    ...sent,
    ...ownHeaders.flat(),
    'Cookie',
    'moorage_bus=a; moorage_session_remember=b;lang=c; __Host-moorage_session=d; _csrf=e',
  ])
  const [expected, got] = [receivedHeaders(seenAt(`${at}?direct`)), receivedHeaders(seenAt(`${at}?proxied`))]
  t.deepEqual(
    got,
    expected.map((line) => (line.startsWith('cookie: ') ? `${line}; lang=c` : line)),
  )
  t.true(expected.length >= 30)
  t.false(JSON.stringify(seenAt(`${at}?proxied`)).includes(service.adminToken))
})

test('a service keeps its statuses, headers and redirects, but not our origin', async (t) => {
  const at = '/api/v1/namespaces/a/services/answers/proxy'
  const of = (name: string, status: number, headers: Record<string, string>, body = ''): void =>
    answering(`${at}/${name}`, (_req, res) => reply(res, status, headers, body))
  of(
    'range',
    206,
    {
      'Content-Range': 'bytes 2-5/9',
      'Accept-Ranges': 'bytes',
      'X-Total-Count': '9',
      'X-Accel-Redirect': '/internal',
      'X-Frame-Options': 'ALLOWALL',
      'Set-Cookie': 'a=b',
      'Strict-Transport-Security': 'x',
      'X-Request-Id': 'theirs',
    },
    'cdef',
  )
  of('login', 401, { 'WWW-Authenticate': 'Basic', 'Content-Type': 'text/plain' }, 'log in here')
  of('refused', 401, { 'Content-Type': 'application/json' }, '{"kind":"Status","reason":"Unauthorized","code":401}')
  of('app', 302, { Location: `${at}/app/?a=b` })
  of('signout', 302, { Location: '/api/v1/user/signout' })
  of('away', 302, { Location: 'https://elsewhere.example/' })
  const get = (name: string) => raw('GET', `${proxy}${at}/${name}`, [])
  answering(`${at}/methods`, (req, res) => reply(res, 200, { Allow: 'GET, PURGE', 'X-Method': String(req.method) }, ''))
  t.is((await raw('PATCH', `${proxy}${at}/methods`, [])).headers['allow'], 'GET, PURGE')
  t.is((await raw('HEAD', `${proxy}${at}/methods`, [])).headers['x-method'], 'HEAD')
  const range = await get('range')
  t.like(range, { status: 206, body: Buffer.from('cdef') })
  t.like(range.headers, { 'content-range': 'bytes 2-5/9', 'accept-ranges': 'bytes', 'x-total-count': '9' })
  for (const name of ['x-accel-redirect', 'x-frame-options', 'set-cookie', 'strict-transport-security'])
    t.is(range.headers[name], undefined, name)
  t.not(range.headers['x-request-id'], 'theirs')
  t.like(await get('login'), { status: 401, body: Buffer.from('log in here') })
  t.is((await get('login')).headers['www-authenticate'], undefined)
  t.is((await get('refused')).status, 500)
  t.is((await get('app')).headers.location, `${proxy}${at}/app/?a=b`)
  t.is((await get('signout')).headers.location, `${proxy}/api/v1/user/signout`)
  t.is((await get('away')).headers.location, undefined)
})

test('query credentials belong to the Kubernetes API or to the service', async (t) => {
  const without = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.baseUrl)
      httpRequest({ hostname, port, path }, (answer) => (answer.resume(), resolve(answer.statusCode ?? 0)))
        .on('error', reject)
        .end()
    })
  t.is(await without(`${proxy}/version?token=${service.adminToken}`), 200)
  t.is(await without(`${proxy}/api/v1/namespaces/a/services/b/proxy/?token=${service.adminToken}`), 401)
  // Another spelling of the path is no way around: it is a path of the Kubernetes API like any other.
  t.is(await without(`${proxy}/api/v1/namespaces/a/%73ervices/b/proxy/?token=wrong`), 401)
  const at = '/api/v1/clusters/admin'
  for (const path of [
    `${at}/wire/%70roxy/version`,
    `${at};/wire/proxy/version`,
    `${at}/wire;x/proxy/version`,
    `${at}/wire/proxy;x/version`,
    `${at}/wire%3B/proxy/version`,
  ]) {
    t.is((await raw('GET', `${path}?spelling`, [])).status, 404, path)
  }
  t.false(fake.seen.some(({ url }) => url.includes('spelling')))
})

test("headers for the cluster's own origin are dropped", async (t) => {
  answering('/api/v1/namespaces/cookies', (_req, res) => {
    res.writeHead(200, {
      'Content-Type': 'text/html',
      'Set-Cookie': ['moorage_session=x', 'b=c'],
      'WWW-Authenticate': 'Basic',
      'Clear-Site-Data': '"*"',
      'Access-Control-Allow-Origin': '*',
      'Audit-Id': 'a-1',
      Connection: 'X-Secret',
      'X-Secret': '1',
      Warning: '299 - "old"',
    })
    res.end('<script>1</script>')
  })
  const { headers } = await raw('GET', `${proxy}/api/v1/namespaces/cookies`, [])
  for (const name of ['set-cookie', 'www-authenticate', 'clear-site-data', 'access-control-allow-origin', 'x-secret'])
    t.is(headers[name], undefined, name)
  t.is(headers['audit-id'], 'a-1')
  t.is(headers['warning'], '299 - "old"')
  t.is(headers['content-security-policy'], "sandbox; frame-ancestors 'none'")
  t.is(headers['x-content-type-options'], 'nosniff')
})

test('a 401 of the cluster is our fault, not the caller’s', async (t) => {
  answering('/api/v1/namespaces/refused', (_req, res) => reply(res, 401, { 'WWW-Authenticate': 'Basic' }, '{}'))
  const answer = await raw('GET', `${proxy}/api/v1/namespaces/refused`, [])
  t.true(answer.status >= 500, String(answer.status))
  t.is(answer.headers['www-authenticate'], undefined)
  t.regex(answer.body.toString(), /refused the stored credential/)
})

test('other refusals of the cluster pass with their own Status', async (t) => {
  answering('/api/v1/namespaces/forbidden', (_req, res) =>
    reply(res, 403, { 'Content-Type': 'application/json' }, '{"kind":"Status","code":403}'),
  )
  const answer = await raw('GET', `${proxy}/api/v1/namespaces/forbidden`, [])
  t.is(answer.status, 403)
  t.is(answer.body.toString(), '{"kind":"Status","code":403}')
})

const refusedPaths = [
  '/api/v1/namespaces/default%2fpods',
  '/api/v1/namespaces/default%2Fpods',
  '/api/v1/..%2fsecrets',
  '/api/v1/%2e%2e/secrets',
  '/api/v1/../secrets',
  '/api/v1/./pods',
  '/api//v1/pods',
  '/api/v1\\pods',
  '/api/v1/..%5cpods',
  '/api/v1/%252e%252e/pods',
  '/api/v1/%c0%ae%c0%ae/pods',
  '/api/v1/pods%',
  '/api/v1/%zz',
  '/no-such-root/x',
  '/core/v1/namespaces/..%2f/pods',
  '/api/v1/nodes/a/proxy/../b',
  '/api/v1/nodes/a/proxy/x/%2e%2E',
  '/api/v1/nodes/a/proxy/..%2fb',
  '/api/v1/nodes/a/proxy/b%5c..',
  '/api/v1/nodes/a/proxy\\b',
  '/api/v1/nodes/a/proxy/%zz',
  '/api/v1/nodes/../proxy/x',
  '/api/v1/nodes/a%2fb/proxy/x',
]
for (const [index, path] of refusedPaths.entries()) {
  test(`refused before anything is sent: ${path}`, async (t) => {
    const mark = `mark=refused-${index}.`
    const { hostname, port, host } = new URL(service.baseUrl)
    const socket = connect(Number(port), hostname)
    socket.write(
      `GET ${proxy}${path}?${mark} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.adminToken}\r\nConnection: close\r\n\r\n`,
    )
    const chunks: Buffer[] = []
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('latin1')
    t.regex(text, /^HTTP\/1\.1 400 /)
    t.regex(text, /"message":/)
    t.false(fake.seen.some(({ url }) => url.includes(mark)))
  })
}

test('names that Kubernetes allows reach the cluster', async (t) => {
  for (const [name, sent] of [
    ['team%20a:view', 'team%20a%3Aview'],
    ['r%C3%B4le', 'r%C3%B4le'],
    ['x|y', 'x%7Cy'],
    ['a%23b', 'a%23b'],
    ['a%3Fb', 'a%3Fb'],
    ['a%5Cb;c', 'a%5Cb%3Bc'],
    ['n'.repeat(1500), 'n'.repeat(1500)],
  ] as const) {
    const from = fake.seen.length
    await raw('DELETE', `${proxy}/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`, [])
    t.true(
      fake.seen.slice(from).some(({ url }) => url === `/apis/rbac.authorization.k8s.io/v1/clusterroles/${sent}`),
      name.slice(0, 20),
    )
  }
})

/** The targets are written as they are; the host in the target counts. */
const head = async (lines: readonly string[]): Promise<string> => {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(`${lines.join('\r\n')}\r\nAuthorization: Bearer ${service.adminToken}\r\nConnection: close\r\n\r\n`)
  const chunks: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}

test('a request target in absolute-form is accepted, and names the host', async (t) => {
  t.regex(
    await head([`GET http://moorage.example:81${proxy}/version?x=1 HTTP/1.1`, 'Host: localhost']),
    /^HTTP\/1\.1 200 [^]*gitVersion/,
  )
  t.regex(
    await head(['GET HTTPS://moorage.example/api/v1/user HTTP/1.1', 'Host: localhost']),
    /^HTTP\/1\.1 200 [^]*"login":"admin"/,
  )
  t.regex(await head(['GET http://moorage.example?x=1 HTTP/1.1', 'Host: localhost']), /^HTTP\/1\.1 200 /)
  t.regex(
    await head(['GET http://other.example/api/v1/no-such-path HTTP/1.1', 'Host: localhost']),
    /^HTTP\/1\.1 404 [^]*"url":"http:\/\/other\.example\//,
  )
  for (const [target, host] of [
    ['http://[/api/v1/user', 'localhost'],
    ['http://u@h/api/v1/user', 'localhost'],
    ['http://h:99999/x', 'localhost'],
    ['ftp://h/api/v1/user', 'localhost'],
    ['http://h/a/../b', 'localhost'],
    ['http://h/api/v1/user', '['],
  ] as const) {
    t.regex(await head([`GET ${target} HTTP/1.1`, `Host: ${host}`]), /^HTTP\/1\.1 400 /, target)
  }
})
