import * as t from 'io-ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { defineFailure, Unavailable } from '../../core/kernel/failure.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import {
  anyone,
  path,
  query,
  read,
  requires,
  siteAdmin,
  signedIn,
  withPassword,
  write,
  memberOf,
} from '../../plugins/kit/access.ts'
import { freeText, Id, listOf, optional, PathId, QueryInt, repeatable, request } from '../../plugins/kit/codecs.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { cookies, empty, json, list, listWithin, packed, paged, versioned } from '../../plugins/kit/reply.ts'
import type { AnyBoundRoute } from '../../plugins/kit/route.ts'
import { body, defineRoute, handleStream } from '../../plugins/kit/route.ts'

const Thing = t.type({ name: t.string })
const Taken = defineFailure('Taken', 'Conflict', 'A failure of this test.')
const Slow = defineFailure('Slow', 'Backoff', 'A failure of this test.')
const example = { name: 'x' }
const misc = { summary: 's', tag: 'Miscellaneous', failures: [] as const }

/** How often the counting route's handler ran. */
export const counter = { runs: 0 }

const getThing = defineRoute({
  ...misc,
  id: 'stub.get',
  method: 'GET',
  path: '/things/{id}',
  access: signedIn,
  scope: read('misc'),
  params: t.type({ id: PathId }),
  query: request({ n: optional(QueryInt), many: repeatable(t.string) }, 'ThingQuery'),
  ok: json(200, t.type({ name: t.string, n: t.union([t.number, t.undefined]), many: t.readonlyArray(t.string) }), {
    name: 'x',
    many: [],
  }),
  failures: [Taken, Slow],
})
const postThing = defineRoute({
  ...misc,
  id: 'stub.post',
  method: 'POST',
  path: '/things',
  access: signedIn,
  scope: write('misc'),
  body: body(
    request(
      {
        name: freeText(10),
        id: optional(Id),
        visibility: optional(freeText(10)),
        parts: optional(listOf(request({ teamIDs: optional(listOf(Id, 9)) }, 'Part'), 9)),
      },
      'NewThing',
    ),
    example,
    { limitBytes: 1000 },
  ),
  ok: versioned(201, Thing, example),
})
const putThing = defineRoute({
  ...misc,
  id: 'stub.put',
  method: 'PUT',
  path: '/things/{id}',
  access: signedIn,
  scope: write('misc'),
  params: t.type({ id: PathId }),
  ok: versioned(200, t.type({ expected: t.union([t.number, t.undefined]) }), { expected: 1 }),
})
const countThing = defineRoute({
  ...misc,
  id: 'stub.count',
  method: 'POST',
  path: '/count',
  access: signedIn,
  scope: write('misc'),
  body: body(request({ name: freeText(10) }, 'Counted'), example),
  ok: json(201, t.type({ runs: t.number }), { runs: 1 }),
  failures: [Taken, Slow],
})
const listThings = defineRoute({
  ...misc,
  id: 'stub.list',
  method: 'GET',
  path: '/things',
  access: anyone,
  ok: packed(list(Thing, example)),
})
const listPages = defineRoute({
  ...misc,
  id: 'stub.listPages',
  method: 'GET',
  path: '/pages',
  access: anyone,
  ok: paged(list(Thing, example)),
})
const countLong = defineRoute({
  ...misc,
  id: 'stub.listLong',
  method: 'GET',
  path: '/long',
  access: anyone,
  query: request({ length: QueryInt }, 'LongQuery'),
  ok: packed(
    listWithin(Thing, example, {
      codec: t.type({ ok: t.boolean, data: t.array(Thing) }),
      key: 'data',
      constants: { ok: true },
    }),
  ),
})
const adminOnly = defineRoute({
  ...misc,
  id: 'stub.admin',
  method: 'GET',
  path: '/admin/x',
  access: siteAdmin,
  scope: read('admin'),
  ok: empty(204),
})
const passwordOnly = defineRoute({
  ...misc,
  id: 'stub.password',
  method: 'POST',
  path: '/password',
  access: withPassword,
  ok: empty(204),
  refusesSudo: true,
})
const granted = defineRoute({
  ...misc,
  id: 'stub.granted',
  method: 'GET',
  path: '/orgs/{org}/x',
  access: requires('can_view', { type: 'organization', name: path('org') }),
  scope: read('misc'),
  ok: empty(204),
})
const denied = defineRoute({
  ...misc,
  id: 'stub.denied',
  method: 'GET',
  path: '/orgs/{org}/never',
  access: requires('can_never', { type: 'organization', name: path('org') }),
  scope: read('misc'),
  ok: empty(204),
})
const member = defineRoute({
  ...misc,
  id: 'stub.member',
  method: 'GET',
  path: '/authz/x',
  access: memberOf(query('org')),
  scope: read('misc'),
  ok: empty(204),
})
const readsBody = defineRoute({
  ...misc,
  id: 'stub.getBody',
  method: 'GET',
  path: '/view',
  access: signedIn,
  scope: read('misc'),
  body: body(request({ name: freeText(50) }, 'ViewOf'), example, { orQuery: true }),
  ok: json(200, Thing, example),
})
const signIn = defineRoute({
  ...misc,
  id: 'stub.signin',
  method: 'POST',
  path: '/signin',
  access: anyone,
  ok: cookies(200),
})
const thrown = defineRoute({ ...misc, id: 'stub.throw', method: 'GET', path: '/throw', access: anyone, ok: empty(204) })
const away = defineRoute({ ...misc, id: 'stub.away', method: 'GET', path: '/away', access: anyone, ok: empty(204) })

const stream = handleStream(
  {
    id: 'stub.stream',
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    path: '/c/{owner}/{cluster}/proxy/*',
    summary: 's',
    tag: 'Kubernetes Proxy',
    access: requires('can_connect', { type: 'cluster', account: path('owner'), name: path('cluster') }),
    scopeCategory: 'cluster',
    failures: [],
  },
  {
    handler: async ({ exchange, call }) => {
      if (exchange.path === '/endless') {
        exchange.respond(200, [['content-type', 'text/plain']])
        exchange.write(Buffer.from('first'))
        exchange.onStop(() => undefined)
        await new Promise<void>((resolve) => call.signal.addEventListener('abort', () => resolve()))
        return right(undefined)
      }
      if (exchange.path === '/flood') {
        exchange.respond(200, [['content-type', 'text/plain']])
        while (!call.signal.aborted) {
          if (!exchange.write(Buffer.alloc(65_536)))
            await new Promise<void>((resolve) => {
              exchange.onDrain(resolve)
              call.signal.addEventListener('abort', () => resolve())
            })
        }
        return right(undefined)
      }
      const chunks: Uint8Array[] = []
      // As a receiver does that waits to pass a chunk on, or gives up.
      if (exchange.path === '/waits') await exchange.body?.[Symbol.asyncIterator]().next()
      else
        for await (const chunk of exchange.body ?? []) {
          if (exchange.path === '/gives-up') break
          chunks.push(chunk)
        }
      exchange.respond(201, [
        ['content-type', 'application/octet-stream'],
        ['x-seen', `${exchange.method} ${exchange.path} ${exchange.query}`],
      ])
      exchange.write(Buffer.concat(chunks))
      exchange.end()
      return right(undefined)
    },
    upgrade: async ({ exchange }) => {
      if (exchange.path === '/refused') {
        exchange.refuse(403, [['content-type', 'text/plain']], Buffer.from('no tunnel'))
        return right(undefined)
      }
      if (exchange.path === '/away') throw new Unavailable('The database does not answer.')
      const socket = exchange.accept([
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
      ])
      if (exchange.path === '/breaks') throw new Error('tunnel broke')
      if (exchange.path === '/regrets') return left(Taken('It is taken.'))
      if (exchange.head.length > 0) socket.write(exchange.head)
      socket.on('data', (chunk) => socket.write(chunk))
      socket.on('end', () => socket.end())
      return right(undefined)
    },
  },
)

const count = async (
  _call: SignedInCall<never>,
  name: string,
): Outcome<Failure<'Taken'> | Failure<'Slow'>, { readonly runs: number }> => {
  counter.runs += 1
  if (name === 'boom') throw new Error('handler broke')
  return name === 'taken'
    ? left(Taken('It is taken.'))
    : name === 'slow'
      ? left(Slow('Wait.'))
      : right({ runs: counter.runs })
}

const things = Array.from({ length: 65 }, (_, index) => ({ name: `thing ${index}` }))

export const stubRoutes: readonly AnyBoundRoute[] = [
  handle(getThing, async (_call, { params, query: { n, many } }) =>
    params.id === 9
      ? left(Taken('It is taken.', { errors: ['a', 'b'] }))
      : params.id === 10
        ? left(Slow('Wait.', { retryAfterSeconds: 2.2 }))
        : right({ name: `thing ${params.id}`, n, many }),
  ),
  handle(postThing, async (_call: SignedInCall<never>, name: string) => right({ name, version: 4 }), {
    input: ({ body: { name } }) => name,
    reply: ({ name }) => ({ name }),
  }),
  handle(
    putThing,
    async (_call: SignedInCall<never>, expected: number | undefined) => right({ expected, version: 5 }),
    {
      input: ({ expectedVersion }) => expectedVersion,
      reply: ({ expected }) => ({ expected }),
    },
  ),
  handle(countThing, count, { input: ({ body: { name } }) => name }),
  handle(listThings, async (_call, { page }) => right(pageWithin(things, page))),
  handle(listPages, async (_call, { page }) => right(pageWithin(things, page))),
  handle(countLong, async (_call, { page, query: { length } }) =>
    right(
      pageWithin(
        Array.from({ length }, (_, index) => ({ name: `"${index}` })),
        page,
      ),
    ),
  ),
  handle(adminOnly, async () => right(undefined)),
  handle(passwordOnly, async () => right(undefined)),
  handle(granted, async () => right(undefined)),
  handle(denied, async () => right(undefined)),
  handle(member, async () => right(undefined)),
  handle(readsBody, async (_call, { body: { name } }) => right({ name })),
  handle(signIn, async () =>
    right([
      { name: 'moorage_session', value: 'k', httpOnly: true, path: '/', maxAgeSeconds: 60, hostPrefix: true },
      { name: '_csrf', value: 'c', httpOnly: false, path: '/' },
    ]),
  ),
  handle(thrown, () => {
    throw new Error('the password is hunter2')
  }),
  handle(away, async () => {
    throw new Unavailable('The database does not answer.', { cause: new Error('connect mysql://root:hunter2@db') })
  }),
  stream,
]
