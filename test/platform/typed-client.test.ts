import test from 'ava'
import * as t from 'io-ts'
import { anyone } from '../../plugins/kit/access.ts'
import type { Send, SendReply, SendRequest } from '../../plugins/kit/client.ts'
import { makeClient, UndeclaredAnswer } from '../../plugins/kit/client.ts'
import { answer, Int64, optional, PathId, PathName, QueryInt, repeatable, request } from '../../plugins/kit/codecs.ts'
import { json, list, versioned } from '../../plugins/kit/reply.ts'
import { body, defineRoute } from '../../plugins/kit/route.ts'

const Thing = answer({ id: Int64, name: t.string }, 'Thing')
const common = { summary: 'A thing', tag: 'Test', access: anyone, failures: [] } as const
const putThing = defineRoute({
  ...common,
  id: 'test.putThing',
  method: 'PUT',
  path: '/things/{owner}/{id}',
  params: t.type({ owner: PathName, id: PathId }),
  query: t.type({ limit: optional(QueryInt), label: repeatable(PathName) }),
  body: body(request({ name: t.string, size: optional(Int64) }, 'ThingOption'), { name: 'a' }),
  ok: json(200, Thing, { id: 1, name: 'a' }),
})
const listThings = defineRoute({
  ...common,
  id: 'test.listThings',
  method: 'GET',
  path: '/things',
  ok: list(Thing, { id: 1, name: 'a' }),
})
const getThing = defineRoute({
  ...common,
  id: 'test.getThing',
  method: 'GET',
  path: '/thing',
  body: body(request({ name: t.string }, 'ThingQuery'), { name: 'a' }, { orQuery: true }),
  ok: versioned(200, Thing, { id: 1, name: 'a' }),
})

const answering = (reply: Partial<SendReply>): { readonly send: Send; readonly sent: SendRequest[] } => {
  const sent: SendRequest[] = []
  const send: Send = (asked) => {
    sent.push(asked)
    return Promise.resolve({ status: 200, headers: {}, body: '{"id":1,"name":"a"}', ...reply })
  }
  return { send, sent }
}

test('a call is built from the declaration', async (t) => {
  const { send, sent } = answering({ body: '{"id":9007199254740993,"name":"ü"}' })
  const reply = await makeClient(send, '/api/v1', { authorization: 'token x' }).call(putThing, {
    params: { owner: 'acme', id: 7 },
    query: { label: ['a', 'b'] },
    body: { name: 'ü', size: 9007199254740993n },
    ifVersion: 3,
    extraQuery: { sudo: 'bob' },
  })
  t.deepEqual(sent, [
    {
      method: 'PUT',
      path: '/api/v1/things/acme/7?label=a&label=b&sudo=bob',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'if-match': '"3-"',
        authorization: 'token x',
      },
      body: '{"name":"ü","size":9007199254740993}',
    },
  ])
  t.true(reply.ok)
  t.is(reply.ok ? reply.value.id : undefined, 9007199254740993n)
})

test('a GET never carries a body: its keys go in the query', async (t) => {
  const { send, sent } = answering({ headers: { etag: '"12-abc"' } })
  const reply = await makeClient(send).call(getThing, { body: { name: 'a b' } })
  t.is(sent[0]?.path, '/api/v1/thing?name=a+b')
  t.is(sent[0]?.body, undefined)
  t.deepEqual(reply.ok ? reply.value : undefined, { value: { id: 1, name: 'a' }, version: 12 })
})

test('a list is a page with its total', async (t) => {
  const { send, sent } = answering({ headers: { 'x-total-count': '8' }, body: '[{"id":1,"name":"a"}]' })
  const reply = await makeClient(send).call(listThings, { page: { page: 2, limit: 1 } })
  t.is(sent[0]?.path, '/api/v1/things?page=2&limit=1')
  t.deepEqual(reply.ok ? reply.value : undefined, { items: [{ id: 1, name: 'a' }], total: 8 })
})

test('a refusal is a value', async (t) => {
  const { send } = answering({ status: 404, body: '{"message":"no","url":"u","code":"X","requestId":"r"}' })
  const reply = await makeClient(send).call(listThings)
  t.like(reply, { ok: false, status: 404, error: { message: 'no', code: 'X' } })
})

for (const [why, reply] of [
  ['a body that does not decode', { headers: { 'x-total-count': '1' }, body: '[{"id":"1","name":"a"}]' }],
  ['a body that is no JSON', { headers: { 'x-total-count': '1' }, body: '<html>' }],
  ['a list without its total', { body: '[]' }],
  ['another success than the declared one', { status: 204, body: '' }],
  ['an error without a message', { status: 500, body: '{"error":"boom"}' }],
  ['a redirect', { status: 302, body: '' }],
] as const)
  test(`the client fails loudly on ${why}`, async (t) => {
    await t.throwsAsync(makeClient(answering(reply).send).call(listThings), { instanceOf: UndeclaredAnswer })
  })

const client = makeClient(answering({}).send)
const withoutOwner = { params: { id: 7 }, body: { name: 'a' }, query: { label: [] } }
// @ts-expect-error the owner is missing
export const wrongParams = () => client.call(putThing, withoutOwner)
const withoutBody = { params: { id: 7, owner: 'a' }, query: { label: [] } }
// @ts-expect-error the body is required
export const noBody = () => client.call(putThing, withoutBody)
