import test from 'ava'
import { stubRoutes } from './stub-routes.ts'
import { startStubServer } from './stub-server.ts'
import { auth, bodyOf, jsonHeaders, send, server } from './binder.fixture.ts'

const errorCases: readonly [name: string, path: string, init: RequestInit, status: number, code: string][] = [
  ['no credential', '/things/1', { headers: {} }, 401, 'NotAuthenticated'],
  ['a wrong token', '/things/1', { headers: { authorization: 'token nope' } }, 401, 'NotAuthenticated'],
  ['an unknown scheme', '/things/1', { headers: { authorization: 'Digest x' } }, 401, 'NotAuthenticated'],
  ['an empty Authorization', '/things/1', { headers: { authorization: ' ' } }, 401, 'NotAuthenticated'],
  ['Basic without colon', '/things/1', { headers: { authorization: `Basic ${btoa('ada')}` } }, 401, 'NotAuthenticated'],
  ['two different credentials', '/things/1?token=reader', {}, 401, 'NotAuthenticated'],
  [
    'a wrong credential on a public route',
    '/things',
    { headers: { authorization: 'token nope' } },
    401,
    'NotAuthenticated',
  ],
  [
    'a scope that the token lacks',
    '/things',
    { method: 'POST', headers: { ...jsonHeaders, authorization: 'token reader' }, body: '{"name":"x"}' },
    403,
    'ScopeMissing',
  ],
  ['not a site admin', '/admin/x', {}, 403, 'AccessDenied'],
  ['a token where a password is due', '/password', { method: 'POST' }, 401, 'NotAuthenticated'],
  ['an id that is none', '/things/abc', {}, 404, 'NotFound'],
  ['id zero', '/things/0', {}, 404, 'NotFound'],
  ['an id beyond 64 bits', '/things/99999999999999999999', {}, 404, 'NotFound'],
  ['a repeated query key', '/things/1?n=1&n=2', {}, 400, 'InvalidQuery'],
  ['a query value of another type', '/things/1?n=x', {}, 400, 'InvalidQuery'],
  ['a hidden object', '/orgs/hidden/x', {}, 404, 'NotFound'],
  ['a denied relation', '/orgs/acme/never', {}, 403, 'AccessDenied'],
  ['an outsider of the organization', '/authz/x?org=hidden', {}, 403, 'AccessDenied'],
  ['no org', '/authz/x', {}, 400, 'MissingParameter'],
  ['a declared failure', '/things/9', {}, 409, 'Taken'],
  ['back-off', '/things/10', {}, 429, 'Slow'],
  ['an unknown path', '/nowhere', {}, 404, 'NotFound'],
  ['a method that the path lacks', '/things/1', { method: 'DELETE' }, 405, 'MethodNotAllowed'],
  ['no body', '/things', { method: 'POST' }, 422, 'InvalidBody'],
  ['a body that is no JSON', '/things', { method: 'POST', headers: jsonHeaders, body: '{' }, 400, 'MalformedBody'],
  [
    'a body that does not decode',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: '{"name":5}' },
    422,
    'InvalidBody',
  ],
  [
    'an id written as 1.0',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: '{"name":"a","id":1.0}' },
    422,
    'InvalidBody',
  ],
  [
    'a repeated key',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: '{"name":"x","name":"y"}' },
    422,
    'InvalidBody',
  ],
  [
    'a dry run that the route does not have',
    '/things?dryRun=All',
    { method: 'POST', headers: jsonHeaders, body: '{"name":"x"}' },
    400,
    'InvalidQuery',
  ],
  [
    'a dry run in the body',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: '{"name":"x","dry_run":true}' },
    422,
    'InvalidBody',
  ],
  [
    'preconditions that the route does not have',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: '{"name":"x","preconditions":{"uid":"u"}}' },
    422,
    'InvalidBody',
  ],
  [
    'a change that depends on If-None-Match',
    '/things/1',
    { method: 'PUT', headers: { ...auth, 'if-none-match': '*' } },
    412,
    'StaleVersion',
  ],
  [
    'a form',
    '/things',
    { method: 'POST', headers: { ...auth, 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
    415,
    'UnsupportedMediaType',
  ],
  [
    'text that is JSON',
    '/things',
    { method: 'POST', headers: { ...auth, 'content-type': 'text/plain' }, body: '{"name":"x"}' },
    415,
    'UnsupportedMediaType',
  ],
  [
    'UTF-16',
    '/things',
    { method: 'POST', headers: { ...auth, 'content-type': 'application/json; charset=utf-16' }, body: '{"name":"x"}' },
    415,
    'UnsupportedMediaType',
  ],
  [
    'a compressed body',
    '/things',
    { method: 'POST', headers: { ...jsonHeaders, 'content-encoding': 'gzip' }, body: 'not gzip' },
    415,
    'UnsupportedEncoding',
  ],
  [
    'invalid UTF-8',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: new Uint8Array([0x22, 0xff, 0x22]) },
    400,
    'MalformedBody',
  ],
  [
    'a body over the limit',
    '/things',
    { method: 'POST', headers: jsonHeaders, body: JSON.stringify({ name: 'x'.repeat(1000) }) },
    413,
    'BodyTooLarge',
  ],
  ['a synchronous throw', '/throw', {}, 500, 'InternalError'],
  ['a component that is away', '/away', {}, 503, 'Unavailable'],
  ['two users to act as', '/things/1?sudo=eve', { headers: { ...auth, sudo: 'mallory' } }, 400, 'ContradictingSudo'],
  [
    'a bad idempotency key',
    '/count',
    { method: 'POST', headers: { ...jsonHeaders, 'idempotency-key': 'k'.repeat(256) }, body: '{"name":"x"}' },
    400,
    'BadIdempotencyKey',
  ],
]

for (const [name, path, init, status, code] of errorCases) {
  test(`${name} is answered ${status} ${code} in the documented shape`, async (t) => {
    const reply = await send(server, path, init)
    const text = await reply.text()
    const body = JSON.parse(text) as Record<string, unknown>
    t.is(reply.status, status)
    t.is(body['code'], code)
    t.is(typeof body['message'], 'string')
    t.regex(String(body['url']), /^http:\/\/127\.0\.0\.1:3000\/api\/v1\/docs(#operation\/stub\.\w+)?$/)
    t.is(body['requestId'], reply.headers.get('x-request-id'))
    t.is(reply.headers.get('x-content-type-options'), 'nosniff')
    t.false(text.includes('hunter2'), 'no internals on the wire')
  })
}

test('a dry run that is switched off is none, and a read has nothing to try', async (t) => {
  t.is(
    (
      await send(server, '/things?dryRun=false', {
        method: 'POST',
        headers: jsonHeaders,
        body: '{"name":"x","dryRun":false,"dry_run":null}',
      })
    ).status,
    201,
  )
  t.is((await send(server, '/things/1?dryRun=All')).status, 200)
})

test('a refusal links the page of its operation, or the documentation', async (t) => {
  const urlOf = async (path: string, init?: RequestInit) => (await bodyOf(await send(server, path, init)))['url']
  const page = 'http://127.0.0.1:3000/api/v1/docs'
  t.is(await urlOf('/things/9'), `${page}#operation/stub.get`)
  t.is(await urlOf('/things/1', { headers: {} }), `${page}#operation/stub.get`)
  t.is(await urlOf('/throw'), `${page}#operation/stub.throw`)
  t.is(await urlOf('/nowhere'), page)
  t.is(await urlOf('/things/1', { method: 'DELETE' }), page)
})

test('an invalid path parameter is refused with its rule', async (t) => {
  const messages = await Promise.all(
    ['/nowhere', '/things/abc', '/things/0'].map(async (path) => (await bodyOf(await send(server, path)))['message']),
  )
  const invalid = 'The path does not exist: id must be an id (an integer from 1).'
  t.deepEqual(messages, ['The path does not exist.', invalid, invalid])
})

test('an answer names the parameters that had no effect', async (t) => {
  for (const [query, ignored] of [
    ['', null],
    ['?page=2&limit=5', null],
    ['?page=0&limit=abc', 'page, limit'],
    ['?colour=red&colour=blue', 'colour'],
    ['?a%2C%20b=1', 'a%2C%20b'],
  ] as const) {
    const reply = await send(server, `/things${query}`)
    t.is(reply.status, 200, query)
    t.is(reply.headers.get('x-ignored-parameters'), ignored, query)
  }
})

test('a misspelt parameter is refused, and any unknown one where the request is strict', async (t) => {
  for (const [query, message] of [
    ['?limiit=5', 'The query is not valid: limiit is not a known parameter; did you mean limit?'],
    ['?colour=red&strict=true', 'The query is not valid: colour is not a known parameter.'],
  ] as const) {
    const reply = await send(server, `/things${query}`)
    t.is(reply.status, 400, query)
    t.is((await bodyOf(reply))['message'], message)
  }
})

test('neither OPTIONS nor 405 names a method that would then find nothing at the path', async (t) => {
  for (const method of ['OPTIONS', 'DELETE']) {
    const reply = await send(server, '/things/abc', { method })
    t.is(reply.status, 404, method)
    t.is(reply.headers.get('allow'), null, method)
  }
  t.is((await send(server, '/things/1', { method: 'OPTIONS' })).headers.get('allow'), 'GET, HEAD, OPTIONS, PUT')
})

test('every answer carries the protective headers for browsers', async (t) => {
  for (const [path, status] of [
    ['/things/1', 200],
    ['/nowhere', 404],
    ['/throw', 500],
    ['/things?limit=x', 200],
    ['/admin/x', 403],
  ] as const) {
    const reply = await send(server, path)
    t.is(reply.status, status, path)
    const of = (name: string): string | null => reply.headers.get(name)
    t.deepEqual([of('x-content-type-options'), of('referrer-policy')], ['nosniff', 'no-referrer'], path)
    t.is(
      of('content-security-policy'),
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      path,
    )
    t.deepEqual(
      [of('cache-control'), of('content-type'), of('access-control-allow-origin')],
      ['no-store', 'application/json; charset=utf-8', null],
      path,
    )
  }
})

test('an internal error is logged, discloses nothing and ends no service', async (t) => {
  const server = await startStubServer(stubRoutes)
  for (const [path, status] of [
    ['/throw', 500],
    ['/away', 503],
  ] as const) {
    const reply = await send(server, path)
    t.is(reply.status, status)
    t.notRegex(await reply.text(), /hunter2|mysql|Error:|\.ts/)
  }
  t.is((await send(server, '/things/1')).status, 200)
  await server.stop()
  const told = server.lines.filter(({ level }) => level === 'error')
  t.deepEqual(
    told.map(({ message, fields }) => [message, fields['error'] instanceof Error]),
    [
      ['request failed', true],
      ['a component is away', true],
    ],
    'the error itself, so that the log chooses what of it is written',
  )
})

test('401 names the credentials, 405 the methods and 429 the time', async (t) => {
  t.regex((await send(server, '/things/1', { headers: {} })).headers.get('www-authenticate') ?? '', /Basic/)
  t.is((await send(server, '/things/1', { method: 'DELETE' })).headers.get('allow'), 'GET, HEAD, OPTIONS, PUT')
  t.is((await send(server, '/things/10')).headers.get('retry-after'), '3')
})

const carriers: Readonly<Record<string, { path?: string; headers?: Record<string, string> }>> = {
  'Authorization: token': { headers: { authorization: 'token good' } },
  'Authorization: Bearer': { headers: { authorization: 'Bearer good' } },
  'a scheme in capitals': { headers: { authorization: 'TOKEN good' } },
  '?token': { path: '?token=good' },
  '?access_token': { path: '?access_token=good' },
  'the same token twice': { path: '?token=good', headers: { authorization: 'Bearer good' } },
  'Basic with the token as password': { headers: { authorization: `Basic ${btoa('ada:good')}` } },
  'Basic with the token as user': { headers: { authorization: `Basic ${btoa('good:')}` } },
  'Basic with the token as user, x-oauth-basic': { headers: { authorization: `Basic ${btoa('good:x-oauth-basic')}` } },
  'Basic with a password that holds a colon': { headers: { authorization: `Basic ${btoa('ada:pass:word')}` } },
  'a session cookie': { headers: { cookie: 'a=b; moorage_session=session-key' } },
}
for (const [name, { path = '', headers = {} }] of Object.entries(carriers)) {
  test(`${name} proves the caller`, async (t) =>
    t.is((await send(server, `/things/1${path}`, { headers })).status, 200))
}

test('a session cookie needs the CSRF token for a change, and its own site', async (t) => {
  const cookie = { cookie: 'moorage_session=session-key', 'content-type': 'application/json' }
  const post = (headers: Record<string, string>) =>
    send(server, '/things', { method: 'POST', headers: { ...cookie, ...headers }, body: '{"name":"x"}' })
  t.is((await post({})).status, 403)
  t.is((await post({ 'x-csrf-token': 'csrf-of-other' })).status, 403)
  t.is((await post({ 'x-csrf-token': 'csrf-of-session-key' })).status, 201)
  t.is((await post({ 'x-csrf-token': 'csrf-of-session-key', 'sec-fetch-site': 'cross-site' })).status, 403)
})

test('two cookies of one name count as none', async (t) => {
  const headers = { cookie: 'moorage_session=evil; moorage_session=session-key' }
  t.is((await send(server, '/things/1', { headers })).status, 401)
})

test('both spellings of a trailing slash answer', async (t) => {
  t.is((await send(server, '/things/1/')).status, 200)
  t.is((await send(server, '/things/?limit=5')).status, 200)
})

test('HEAD answers as GET without a body, OPTIONS from the route table', async (t) => {
  const head = await send(server, '/things/1', { method: 'HEAD' })
  t.is(head.status, 200)
  t.is(await head.text(), '')
  t.true(Number(head.headers.get('content-length')) > 0)
  const options = await send(server, '/things', { method: 'OPTIONS', headers: {} })
  t.is(options.status, 204)
  t.is(options.headers.get('allow'), 'GET, HEAD, OPTIONS, POST')
})

test('a GET body may be in the query instead, and the query takes precedence', async (t) => {
  t.deepEqual(await bodyOf(await send(server, '/view?name=fromquery')), { name: 'fromquery' })
})

const made = (path: string, value: unknown) =>
  send(server, path, { method: 'POST', headers: jsonHeaders, body: JSON.stringify(value) })

test('ignored fields are named by a header and refused in strict requests', async (t) => {
  const body = { name: 'x', colour: 'red', parts: [{ teamIDs: [1] }, { 'é,': 1 }, { 'é,': 2 }] }
  const taken = await made('/things', body)
  t.deepEqual([taken.status, taken.headers.get('x-ignored-fields')], [201, 'colour, parts.1.%C3%A9%2C'])
  t.is((await made('/things', { name: 'x' })).headers.get('x-ignored-fields'), null)
  for (const strict of ['?strict=true', '?strict=1']) {
    const refused = await made(`/things${strict}`, body)
    t.is(refused.status, 422)
    t.deepEqual((await bodyOf(refused))['errors'], ['colour is not a known field', 'parts.1.é, is not a known field'])
    t.is((await made(`/things${strict}`, { name: 'x', parts: [{ teamIDs: [1] }] })).status, 201)
  }
})

test('a misspelt field is refused with the right name, also inside', async (t) => {
  for (const [value, error] of [
    [{ name: 'x', visibilty: 'private' }, 'visibilty is not a known field; did you mean visibility?'],
    [{ name: 'x', Visibility: 'private' }, 'Visibility is not a known field; did you mean visibility?'],
    [
      { name: 'x', parts: [{ teamIDs: [] }, { team_ids: [1] }] },
      'parts.1.team_ids is not a known field; did you mean teamIDs?',
    ],
  ] as const) {
    const refused = await made('/things', value)
    t.deepEqual([refused.status, (await bodyOf(refused))['errors']], [422, [error]])
  }
  t.deepEqual((await bodyOf(await made('/things', { nam: 'x', visibilty: 'private' })))['errors'], [
    'visibilty is not a known field; did you mean visibility?',
    'name is missing; expected one line of 0 to 10 characters, without control characters',
  ])
  t.is(
    (await made('/things', { name: 'x', visibilty: 'private', visibility: 'public' })).status,
    201,
    'the known field is there',
  )
})

test('a read carries an entity tag, and the client that holds it gets 304', async (t) => {
  const etag = (await send(server, '/things/1')).headers.get('etag') ?? ''
  t.regex(etag, /^"[\w-]{22}"$/)
  for (const held of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
    const again = await send(server, '/things/1', { headers: { ...auth, 'if-none-match': held } })
    t.is(again.status, 304)
    t.is(await again.text(), '')
  }
  t.is((await send(server, '/things/1', { headers: { ...auth, 'if-none-match': '"x"' } })).status, 200)
})

test('If-Match passes the row version where versions exist, and is refused elsewhere', async (t) => {
  const put = (ifMatch: string) =>
    send(server, '/things/1', { method: 'PUT', headers: { ...auth, 'if-match': ifMatch } })
  t.deepEqual(await bodyOf(await put('"4-abc"')), { expected: 4 })
  t.deepEqual(await bodyOf(await put('*')), {})
  t.is((await put('W/"4-abc"')).status, 412)
  t.is((await put('garbage')).status, 412)
  const elsewhere = await send(server, '/count', {
    method: 'POST',
    headers: { ...jsonHeaders, 'if-match': '"4-abc"' },
    body: '{"name":"x"}',
  })
  t.is(elsewhere.status, 412)
})

test('cookies are set as declared', async (t) => {
  const reply = await send(server, '/signin', { method: 'POST', headers: {} })
  t.deepEqual(reply.headers.getSetCookie(), [
    'moorage_session=k; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
    '_csrf=c; Path=/; SameSite=Lax',
  ])
})

test('behind https the session cookie is pinned to the host', async (t) => {
  const server = await startStubServer(stubRoutes, { secureCookies: true })
  const reply = await send(server, '/signin', { method: 'POST', headers: {} })
  t.regex(reply.headers.getSetCookie()[0] ?? '', /^__Host-moorage_session=k;.*Secure/)
  await server.stop()
})

test('a request id is kept when it is harmless and replaced when not', async (t) => {
  const idFor = async (id: string) =>
    (await send(server, '/things/1', { headers: { ...auth, 'x-request-id': id } })).headers.get('x-request-id')
  t.is(await idFor('abc.DEF-1_2'), 'abc.DEF-1_2')
  t.regex((await idFor('x'.repeat(65))) ?? '', /^[0-9a-f-]{36}$/)
  t.regex((await idFor('a b')) ?? '', /^[0-9a-f-]{36}$/)
})

test('the caller learns who acts and when the token ends', async (t) => {
  const reply = await send(server, '/things/1?sudo=eve')
  t.is(reply.headers.get('x-sudo-by'), 'ada')
})

test('refusals and wrong credentials are recorded, missing ones are not', async (t) => {
  const server = await startStubServer(stubRoutes)
  await send(server, '/things/1', { headers: {} })
  await send(server, '/things/1', { headers: { authorization: 'token nope' } })
  await send(server, '/orgs/acme/never')
  await send(server, '/c/acme/one/proxy/api', { headers: {} })
  await send(server, '/c/acme/one/proxy/api', { headers: { authorization: 'token nope' } })
  t.deepEqual(server.denials, [
    { code: 'NotAuthenticated', objectType: '' },
    { code: 'AccessDenied', objectType: 'organization' },
    { code: 'NotAuthenticated', objectType: 'cluster' },
  ])
  await server.stop()
})

test('over the rate limit: 429 with the time to wait, other callers unharmed', async (t) => {
  const server = await startStubServer(stubRoutes, {
    rateLimit: (key) => ({ allowed: key !== 'user:7', limit: 10, remaining: 0, resetSeconds: 6 }),
  })
  const refused = await send(server, '/things/1')
  t.is(refused.status, 429)
  t.is(refused.headers.get('retry-after'), '6')
  t.is(refused.headers.get('x-ratelimit-limit'), '10')
  t.is(
    (await send(server, '/things/1', { headers: { authorization: 'token reader' } })).headers.get('ratelimit-limit'),
    '10',
  )
  await server.stop()
})

test('the access log has one line a request, by template, and nothing that was sent', async (t) => {
  const server = await startStubServer(stubRoutes)
  await send(server, '/things/1?token=good&n=5', { headers: { 'user-agent': 'secret-agent' } })
  await send(server, '/away')
  await server.stop()
  const requests = server.lines.filter((line) => line.message === 'request')
  t.is(requests.length, 2)
  t.like(requests[0], {
    level: 'info',
    fields: { route: '/things/{id}', operation: 'stub.get', status: 200, userId: 7, via: 'token' },
  })
  t.like(requests[1], { level: 'warn', fields: { status: 503, code: 'Unavailable' } })
  t.notRegex(JSON.stringify(requests), /good|n=5|secret-agent/)
})
