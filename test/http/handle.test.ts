import test from 'ava'
import * as io from 'io-ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import type { Page } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { portKey } from '../../core/kernel/port-key.ts'
import { read, signedIn, write } from '../../plugins/kit/access.ts'
import { answer, Instant } from '../../plugins/kit/codecs.ts'
import { defineGroup } from '../../plugins/kit/group.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { definePlugin } from '../../plugins/kit/plugin.ts'
import { list, orRedirect, Redirect, versioned } from '../../plugins/kit/reply.ts'
import { defineRoute, routesOf } from '../../plugins/kit/route.ts'
import type { StubServer } from './stub-server.ts'
import { memoryIdempotency, startStubServer } from './stub-server.ts'

interface Boat {
  readonly name: string
  readonly builtAt: Date
  readonly version: number
}
const BoatWire = answer({ name: io.string, built_at: Instant }, 'Boat')
const example = { name: 'Ada', built_at: '2026-05-01T08:00:00.000Z' }
const boatToWire = ({ name, builtAt }: Boat) => ({ name, built_at: builtAt })
const ada: Boat = { name: 'Ada', builtAt: new Date('2026-05-01T08:00:00Z'), version: 4 }

const BoatMissing = defineFailure('BoatMissing', 'NotFound', 'A failure of this test.')
const BoatSunk = defineFailure('BoatSunk', 'Conflict', 'A failure of this test.')
type BoatMissing = Failure<'BoatMissing'>

const route = routesOf({ tag: 'Miscellaneous', access: signedIn, scopeCategory: 'misc', failures: [BoatMissing] })
const listBoats = route({
  id: 'stub.listBoats',
  method: 'GET',
  path: '/boats',
  summary: 's',
  ok: list(BoatWire, example),
})
const getBoat = route({
  id: 'stub.getBoat',
  method: 'GET',
  path: '/boat',
  summary: 's',
  ok: orRedirect(versioned(200, BoatWire, example), 307),
  failures: [BoatSunk],
})
const changeBoat = route({
  id: 'stub.changeBoat',
  method: 'PUT',
  path: '/boat',
  summary: 's',
  ok: versioned(200, BoatWire, example),
})

const find = async (_call: SignedInCall<never>, name: string): Outcome<BoatMissing, Boat> =>
  name === 'Ada' || name === 'Old' ? right({ ...ada, name }) : left(BoatMissing('There is no such boat.'))
/** Commits under the key of the call, as a unit of work does. */
const change = async ({ keyed }: SignedInCall<Boat>): Outcome<BoatMissing, Boat> => {
  if (keyed?.answer !== undefined) await committing(keyed.recordId, await keyed.answer(ada))
  keyed?.committed()
  return right({ ...ada, name: 'read later' })
}

const idempotency = memoryIdempotency()
const { answer: committing } = idempotency

let server: StubServer
let wanted = 'Ada'
test.before(async () => {
  server = await startStubServer(
    [
      handle(listBoats, async (_call, { page }) => right<never, Page<Boat>>({ items: [ada], total: page.limit }), {
        reply: boatToWire,
      }),
      handle(getBoat, find, {
        input: () => wanted,
        reply: (boat) => (boat.name === 'Old' ? new Redirect(307, '/boats') : boatToWire(boat)),
      }),
      handle(changeBoat, change, { reply: boatToWire }),
    ],
    { idempotency },
  )
})
test.after.always(() => server.stop())

const ask = (server: StubServer, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.baseUrl}/api/v1${path}`, {
    redirect: 'manual',
    ...init,
    headers: { authorization: 'token good', ...init.headers },
  })

test.serial('the items of a page, the version of a result and its instants are answered', async (t) => {
  const listed = await ask(server, '/boats?limit=7')
  t.deepEqual([listed.headers.get('x-total-count'), await listed.json()], ['7', [example]])
  const got = await ask(server, '/boat')
  t.deepEqual([got.status, await got.json()], [200, example])
  t.regex(got.headers.get('etag') ?? '', /^"4-/)
})

test.serial('a failure is answered with its status, and a redirect as it is', async (t) => {
  wanted = 'Eve'
  t.is((await ask(server, '/boat')).status, 404)
  wanted = 'Old'
  const moved = await ask(server, '/boat')
  t.deepEqual([moved.status, moved.headers.get('location')], [307, '/api/v1/boats'])
})

test.serial('the answer of a change under a key is made from the result of its transaction', async (t) => {
  const put = () => ask(server, '/boat', { method: 'PUT', headers: { 'idempotency-key': 'k' } })
  t.deepEqual(await (await put()).json(), example)
  const again = await put()
  t.deepEqual([again.headers.get('idempotency-replayed'), await again.json()], ['true', example])
  t.is(((await (await ask(server, '/boat', { method: 'PUT' })).json()) as Boat).name, 'read later')
})

test('a shared declaration gives each route its tag, failures and scope', (t) => {
  t.deepEqual([getBoat.tag, getBoat.scope, getBoat.failures], ['Miscellaneous', read('misc'), [BoatMissing, BoatSunk]])
  t.deepEqual(changeBoat.scope, write('misc'))
})

test('groups of one plugin may use one name for different ports', (t) => {
  const one = portKey<string>('stub.One')
  const two = portKey<string>('stub.Two')
  const seen: string[] = []
  const group = (port: typeof one) =>
    defineGroup({
      needs: { port },
      routes: (given) => {
        seen.push(given.port)
        return []
      },
    })
  const plugin = definePlugin({
    id: 'stub',
    summary: 's',
    listener: 'api',
    gate: 'always',
    groups: [group(one), group(two)],
  })
  t.deepEqual(Object.values(plugin.needs), [one, two])
  plugin.routes(Object.fromEntries(Object.keys(plugin.needs).map((name) => [name, name])))
  t.deepEqual(seen, ['stub.One', 'stub.Two'])
})

// These must not compile.
const plain = defineRoute({
  id: 'stub.plain',
  method: 'GET',
  path: '/plain',
  summary: 's',
  tag: 'Miscellaneous',
  access: signedIn,
  ok: list(BoatWire, example),
  failures: [],
})
export const refused = () => [
  // @ts-expect-error the route does not declare BoatMissing
  handle(plain, find, { input: () => 'Ada', reply: boatToWire }),
  // @ts-expect-error the use case needs a name
  handle(getBoat, find, { reply: boatToWire }),
  // @ts-expect-error the instants of a boat need a wire form
  handle(changeBoat, change),
  // @ts-expect-error the transaction of this change has another result
  handle(changeBoat, async (_call: SignedInCall<number>) => right<BoatMissing, Boat>(ada), { reply: boatToWire }),
]
