import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { read, signedIn } from '../../plugins/kit/access.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import { freeText, optional, PathName, PathTail, request } from '../../plugins/kit/codecs.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { binary, json, NoContent, orNoContent, orYaml, YamlAnswer } from '../../plugins/kit/reply.ts'
import { body, defineRoute } from '../../plugins/kit/route.ts'
import { httpSend } from '../support/http-send.ts'
import { startStubServer, type StubServer } from './stub-server.ts'

const misc = { summary: 's', tag: 'Miscellaneous', failures: [] as const, access: signedIn, scope: read('misc') }
const getFile = defineRoute({
  ...misc,
  id: 'stub.getFile',
  method: 'GET',
  path: '/shelves/{shelf}/files/*',
  params: request({ shelf: PathName, path: PathTail }, 'FilePath'),
  body: body(request({ name: freeText(50) }, 'FileOf'), { name: 'x' }, { orQuery: true }),
  ok: binary(['text/plain; charset=utf-8']),
})
const listFiles = defineRoute({
  ...misc,
  id: 'stub.listFiles',
  method: 'GET',
  path: '/shelves/{shelf}/files',
  params: request({ shelf: PathName }, 'ShelfPath'),
  ok: json(200, t.array(t.string), ['a']),
})
const getModel = defineRoute({
  ...misc,
  id: 'stub.getModel',
  method: 'GET',
  path: '/model',
  query: request({ format: optional(freeText(16)) }, 'ModelQuery'),
  ok: orYaml(json(200, t.type({ name: t.string }), { name: 'x' })),
})
const makeModel = defineRoute({
  ...misc,
  id: 'stub.makeModel',
  method: 'PUT',
  path: '/model',
  ok: orYaml(json(200, t.type({ name: t.string }), { name: 'x' })),
})
const setModel = defineRoute({
  ...misc,
  id: 'stub.setModel',
  method: 'POST',
  path: '/model',
  body: body(request({ name: optional(freeText(50)) }, 'ModelOf'), {}),
  ok: orNoContent(json(200, t.type({ name: t.string }), { name: 'x' })),
})

let server: StubServer
test.before(async () => {
  server = await startStubServer([
    handle(getFile, async (_call, { params, body: { name } }) =>
      right({
        contentType: 'text/plain; charset=utf-8',
        bytes: new TextEncoder().encode(`${name} of ${params.shelf}: ${params.path}`),
        headers: { 'Content-Disposition': 'attachment', 'Content-Type': 'text/html' },
      }),
    ),
    handle(listFiles, async () => right(['list'])),
    handle(getModel, async (_call, { query }) =>
      right(query.format === 'yaml' ? new YamlAnswer('name: x\n') : { name: 'x' }),
    ),
    handle(makeModel, async (_call: SignedInCall<never>) => right(new YamlAnswer('name: x\n'))),
    handle(setModel, async (_call: SignedInCall<never>, name: string | undefined) => right(name), {
      input: ({ body: { name } }) => name,
      reply: (name) => (name === undefined ? new NoContent() : { name }),
    }),
  ])
})
test.after.always(() => server.stop())

const ask = (server: StubServer, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.baseUrl}/api/v1${path}`, { headers: { authorization: 'token good', ...headers } })

const tails: readonly (readonly [asked: string, seen: string])[] = [
  ['a', 'a'],
  ['templates/deployment.yaml', 'templates/deployment.yaml'],
  ['a/b/c/d/e/f/', 'a/b/c/d/e/f'],
  ['with%20space/%C3%BC.txt', 'with space/ü.txt'],
  ['100%25.txt', '100%.txt'],
  ['a%3Fb%23c', 'a?b#c'],
  ['a+b', 'a+b'],
  ['*', '*'],
  ['files/x', 'files/x'],
  [`${'d'.repeat(500)}/${'e'.repeat(500)}`, `${'d'.repeat(500)}/${'e'.repeat(500)}`],
]
for (const [asked, seen] of tails) {
  test(`the rest of a path is one parameter: ${asked.slice(0, 40)}`, async (each) => {
    const reply = await ask(server, `/shelves/top/files/${asked}?name=n`)
    each.is(reply.status, 200)
    each.is(await reply.text(), `n of top: ${seen}`)
  })
}

const refusedTails: readonly (readonly [asked: string, status: number])[] = [
  ['a%2fb', 400],
  ['a%5cb', 400],
  ['a//b', 400],
  ['%00', 400],
  ['%0a', 400],
  ['a%', 400],
  ['%01', 404],
  ['%7f', 404],
  ['x'.repeat(1025), 404],
]
for (const [asked, status] of refusedTails) {
  test(`the rest of a path is refused with ${status}: ${asked.slice(0, 40)}`, async (each) => {
    const reply = await ask(server, `/shelves/top/files/${asked}?name=n`)
    each.is(reply.status, status)
    each.is(typeof ((await reply.json()) as { message: unknown }).message, 'string')
  })
}

test('the path without a rest is another route', async (each) => {
  for (const path of ['/shelves/top/files', '/shelves/top/files/'])
    each.deepEqual(await (await ask(server, path)).json(), ['list'])
})

test('bytes carry the headers of their answer, and a type of which there is one', async (each) => {
  const reply = await ask(server, '/shelves/top/files/a?name=n')
  each.is(reply.headers.get('content-type'), 'text/plain; charset=utf-8')
  each.is(reply.headers.get('content-disposition'), 'attachment')
  each.is(reply.headers.get('x-content-type-options'), 'nosniff')
  const again = await ask(server, '/shelves/top/files/a?name=n', { 'if-none-match': reply.headers.get('etag') ?? '' })
  each.is(again.status, 304)
})

test('the client fills a rest with its slashes', async (each) => {
  const client = makeClient(httpSend(server.baseUrl), '/api/v1', { authorization: 'token good' })
  const reply = await client.call(getFile, { params: { shelf: 'top', path: 'a b/ü?#%/c' }, body: { name: 'n' } })
  each.is(reply.ok ? new TextDecoder().decode(reply.value.bytes) : reply.text, 'n of top: a b/ü?#%/c')
})

test('a value is returned as JSON, or as YAML on request', async (each) => {
  const client = makeClient(httpSend(server.baseUrl), '/api/v1', { authorization: 'token good' })
  const plain = await client.call(getModel, {})
  each.deepEqual(plain.ok ? plain.value : undefined, { name: 'x' })
  const yaml = await client.call(getModel, { query: { format: 'yaml' } })
  each.deepEqual(yaml.ok ? yaml.value : undefined, new YamlAnswer('name: x\n'))
  each.is(yaml.headers['content-type'], 'application/yaml; charset=utf-8')
  const again = await ask(server, '/model?format=yaml', { 'if-none-match': String(yaml.headers['etag']) })
  each.is(again.status, 304)
  const made = await client.call(makeModel)
  each.deepEqual([made.ok ? made.value : undefined, made.headers['etag']], [new YamlAnswer('name: x\n'), undefined])
})

test('a value is returned as JSON, or as 204', async (each) => {
  const client = makeClient(httpSend(server.baseUrl), '/api/v1', { authorization: 'token good' })
  const named = await client.call(setModel, { body: { name: 'y' } })
  each.deepEqual([named.status, named.ok ? named.value : undefined], [200, { name: 'y' }])
  const unnamed = await client.call(setModel, { body: { name: undefined } })
  each.deepEqual([unnamed.status, unnamed.text, unnamed.ok ? unnamed.value : undefined], [204, '', new NoContent()])
})
