import test from 'ava'
import { connect } from 'node:net'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { isPacked } from '../../composition/runtime/http/answer/packed-answer.ts'
import type { OpenApiDocument } from '../../composition/runtime/http/openapi/document.ts'
import type { SeenAnswer } from '../support/answer-check.ts'
import { makeAnswerCheck } from '../support/answer-check.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { password, startPopulatedService } from '../support/populated-service.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { targetOf } from '../support/route-targets.ts'
import { startService } from '../support/service.ts'
import { watchAnswers, watchReceivedAnswers } from '../support/watch-answers.ts'

/** The headers of an answer for a client that accepts compressed ones. */
const packedHeaders = async (service: PopulatedService, target: string): Promise<ServiceAnswer['headers']> =>
  (await service.send('GET', target, { token: service.adminToken, headers: { 'accept-encoding': 'br, gzip' } })).headers

const isPackedWrongly = ({ bound }: AssembledRoute, headers: ServiceAnswer['headers']): boolean =>
  headers['content-encoding'] !== undefined &&
  !(bound.kind === 'json' && (isPacked(bound.route) || bound.route.ok.kind === 'streamed'))

// Each answer is held against the document by the service of the test itself (test/support/watch-answers.ts).
test('answers of the service match its own document', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const [alice, olga] = [await service.tokenFor('alice'), await service.tokenFor('olga')]
  const seen = new Map<number, number>()
  const wronglyPacked: string[] = []
  for (const route of service.running.assembly.routes.filter(({ bound }) => bound.kind === 'json')) {
    for (const method of route.methods) {
      const credentials =
        route.bound.route.access.kind === 'password'
          ? [{ basic: [service.fixture.people.owner, password] as const }]
          : [{ token: service.adminToken }, { token: alice }, { token: olga }, {}]
      for (const credential of credentials) {
        // Changes go without a body, or with an If-Match that no version meets: they are refused.
        const { status } = await service.send(method, targetOf(route, service.fixture), {
          ...credential,
          ...(method === 'GET' || route.bound.kind === 'stream' || route.bound.route.body !== undefined
            ? {}
            : { headers: { 'If-Match': 'W/"never"' } }),
        })
        seen.set(status, (seen.get(status) ?? 0) + 1)
      }
      if (method === 'GET' && isPackedWrongly(route, await packedHeaders(service, targetOf(route, service.fixture))))
        wronglyPacked.push(route.bound.route.id)
    }
  }
  t.deepEqual(wronglyPacked, [], 'an answer is compressed whose route does not declare it')
  for (const status of [200, 401, 403, 404, 412, 422])
    t.true((seen.get(status) ?? 0) > 5, `${status}: ${seen.get(status) ?? 0}`)
})

test('answers to malformed requests of a generated client are documented', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const token = service.adminToken
  const statusOf = async (...request: Parameters<typeof service.send>): Promise<number> =>
    (await service.send(...request)).status
  t.is(await statusOf('GET', '/api/v1/user', { token, headers: { Sudo: 'nobody-here' } }), 404)
  t.is(await statusOf('GET', '/api/v1/version', { token, headers: { Sudo: 'nobody-here' } }), 404)
  t.is(await statusOf('GET', '/api/v1/user', { token, headers: { Sudo: 'first' } }), 404)
  for (const page of ['-1', '0', 'x', '1'.repeat(30)])
    t.is(await statusOf('GET', `/api/v1/admin/users?page=${page}&limit=${page}`, { token }), 200)
  const keyed = (username: string) => ({ token, headers: { 'Idempotency-Key': 'one-key' }, body: { username } })
  t.deepEqual(
    [await statusOf('POST', '/api/v1/orgs', keyed('first')), await statusOf('POST', '/api/v1/orgs', keyed('second'))],
    [201, 422],
  )
  t.is(await statusOf('GET', '/api/v1/user', { token, headers: { Sudo: 'first' } }), 422, 'an organization')
  t.is((await service.send('POST', '/api/v1/orgs', keyed('first'))).headers['idempotency-replayed'], 'true')
  t.is(
    await statusOf('POST', '/api/v1/orgs', {
      token,
      headers: { 'Idempotency-Key': 'with a space' },
      body: { username: 'third' },
    }),
    400,
  )
  t.is(
    await statusOf('DELETE', '/api/v1/orgs/first', { token, headers: { 'Content-Type': 'text/plain' }, body: 'text' }),
    415,
  )
  t.is(await statusOf('GET', '/api/v1/clusters/a/b/proxy/api?x=%zz', { token }), 400)
  const raw = async (head: string): Promise<string> => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.end(`GET /api/v1/user HTTP/1.1\r\nHost: localhost\r\n${head}\r\n\r\n`)
    return (await text(socket)).split('\r\n')[0] ?? ''
  }
  t.is(await raw(`X-Large: ${'x'.repeat(70_000)}`), 'HTTP/1.1 431 Request Header Fields Too Large')
  t.is(await raw('Connection: Upgrade\r\nUpgrade: websocket'), 'HTTP/1.1 404 Not Found')
})

test('OPTIONS names the documented methods of a path', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const document = (await service.send('GET', '/api/v1/openapi.json')).json as OpenApiDocument
  for (const route of service.running.assembly.routes) {
    const target = targetOf(route, service.fixture).split('?')[0] ?? ''
    const { status, headers } = await service.send('OPTIONS', target)
    t.is(status, 204, target)
    const named = String(headers['allow']).split(', ')
    const always = named.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS']
    const template = route.bound.route.path.replace(/\*$/, '{path}')
    const methodsOf = (path: string): readonly string[] =>
      Object.keys(document.paths[path] ?? {}).map((method) => method.toUpperCase())
    const documented = methodsOf(template)
    // A word in the place of a parameter, such as `hubs` for `{cluster}`, is no name of an object.
    t.deepEqual(named, [...documented, ...always].sort(), target)
  }
  for (const path of ['/authz/roles/lookout', '/teams/x', '/nothing'])
    t.is((await service.send('OPTIONS', `/api/v1${path}`)).status, 404, path)
})

test('the check is alive: an answer that is not as documented is found', async (t) => {
  const service = await startService()
  const document = (await service.send('GET', '/api/v1/openapi.json')).json as OpenApiDocument
  const check = makeAnswerCheck(document)
  const { status, headers, text: body } = await service.send('GET', '/api/v1/version')
  const answer: SeenAnswer = {
    method: 'GET',
    target: '/api/v1/version',
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body,
  }
  t.is(check(answer), undefined)
  t.regex(check({ ...answer, body: '{"version":7}' }) ?? '', /must be string/)
  t.regex(check({ ...answer, body: body.replace('{', '{"secret":1,') }) ?? '', /unevaluated/)
  t.regex(check({ ...answer, status: 418 }) ?? '', /418/)
  t.regex(check({ ...answer, headers: { ...answer.headers, 'x-more': '1' } }) ?? '', /x-more is not documented/)
  t.regex(
    check({ ...answer, headers: { ...answer.headers, 'content-type': 'text/csv' } }) ?? '',
    /"text\/csv" is not documented/,
  )
  const { 'x-request-id': _, ...without } = answer.headers
  t.regex(check({ ...answer, headers: without }) ?? '', /x-request-id is missing/)
  t.regex(check({ ...answer, method: 'POST' }) ?? '', /no operation/)
  t.regex(check({ ...answer, target: '/api/v1/not-there' }) ?? '', /no operation/)
  // As of a service in another process: whatever this one receives, by whichever client.
  const outside = watchReceivedAnswers(Number(new URL(service.baseUrl).port), () =>
    makeAnswerCheck({ ...document, paths: {} }),
  )
  await service.send('GET', '/api/v1/version')
  await (await fetch(`${service.baseUrl}/api/v1/user`)).text()
  t.deepEqual(
    outside.takeProblems().map((line) => line.slice(0, 40)),
    ['GET /api/v1/version 200: no operation of'],
  )
  outside.stop()
  await service.stop()
  // The same listener, watched by a document that lacks a path which it serves.
  const port = Number(new URL(service.baseUrl).port)
  const other = await startService({ settings: { MOORAGE_LISTEN: `127.0.0.1:${port}` } })
  const watch = watchAnswers(port, () => makeAnswerCheck({ ...document, paths: {} }))
  await other.send('GET', '/api/v1/version')
  t.deepEqual(
    watch.takeProblems().map((line) => line.slice(0, 80)),
    ['GET /api/v1/version 200: no operation of the document has this path and method; '],
  )
  await other.stop()
})
