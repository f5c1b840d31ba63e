import { connect } from 'node:net'
import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import type { StoredAnswer } from '../../core/kernel/idempotency.ts'
import { IdempotencyStorePort } from '../../core/kernel/idempotency.ts'
import { read, signedIn } from '../../plugins/kit/access.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import { optional, QueryInt } from '../../plugins/kit/codecs.ts'
import { handle } from '../../plugins/kit/handle.ts'
import type { Feed } from '../../plugins/kit/reply.ts'
import { feed } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { httpSend } from '../support/http-send.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { password, startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'
import { openFeed } from '../tasks/task-client.ts'
import { startStubServer } from './stub-server.ts'

interface Fixture {
  readonly service: PopulatedService
  readonly alice: string
  /** Answers that were stored after the handler, by their status. */
  readonly storedAfter: number[]
}

let fixture: Fixture

test.before(async () => {
  const service = await startPopulatedService()
  const store = service.running.container.resolve(IdempotencyStorePort)
  const storedAfter: number[] = []
  const { answer } = store
  Object.assign(store, {
    answer: (id: number, stored: StoredAnswer) => {
      storedAfter.push(stored.status)
      return answer(id, stored)
    },
  })
  fixture = { service, alice: await service.tokenFor('alice'), storedAfter }
})
test.after.always(() => fixture.service.stop())

let keys = 0

/** Sends a change under a key of its own, then once more, and compares. Answers the first answer. */
const sendTwice = async (
  service: PopulatedService,
  method: string,
  path: string,
  options: SendOptions,
): Promise<{ readonly first: ServiceAnswer; readonly second: ServiceAnswer }> => {
  const keyed = { ...options, headers: { ...options.headers, 'Idempotency-Key': `kept-${(keys += 1)}` } }
  return { first: await service.send(method, path, keyed), second: await service.send(method, path, keyed) }
}

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Changes that succeed in the populated fixture, by the id of their route; who asks, and with which body. */
const changes: readonly (readonly [id: string, who: 'alice' | 'admin' | 'password', body: unknown])[] = [
  ['identity.createToken', 'password', { name: 'kept', scopes: ['read:user'] }],
  ['identity.createSettingsToken', 'alice', { name: 'kept too' }],
  ['identity.addEmails', 'alice', { emails: ['alice.kept@example.com'] }],
  ['identity.editUserSettings', 'alice', { location: 'Pier 3' }],
  ['identity.editProfile', 'alice', { location: 'Pier 4' }],
  ['identity.changePageSizes', 'alice', { productUI: 20 }],
  ['identity.revokeOtherSessions', 'alice', undefined],
  ['identity.deleteSettingsTokens', 'alice', { tokenIDs: [999_999] }],
  [
    'identity.adminCreateUser',
    'admin',
    { username: 'kim', email: 'kim@example.com', password, must_change_password: false },
  ],
  ['identity.adminEditUser', 'admin', { location: 'Pier 5' }],
  ['identity.adminUpdateProfile', 'admin', { location: 'Pier 6' }],
  ['identity.consoleCreateUser', 'admin', { userName: 'kai', email: 'kai@example.com', password }],
  ['identity.consoleEditUser', 'admin', { location: 'Pier 7' }],
  ['organizations.createOrganization', 'alice', { username: 'quay' }],
  ['organizations.adminCreateOrganization', 'admin', { username: 'mole' }],
  ['organizations.editOrganization', 'alice', { location: 'Pier 8' }],
  ['organizations.createTeam', 'alice', { name: 'Kept', permission: 'read' }],
  ['organizations.editTeam', 'alice', { description: 'kept' }],
  ['organizations.setMembership', 'alice', { role: 'member' }],
  ['organizations.inviteMember', 'alice', { email: 'guest@example.com', role: 'member' }],
  ['organizations.createRobot', 'alice', { name: 'hoist' }],
  ['organizations.editRobot', 'alice', { description: 'kept' }],
  ['organizations.createRobotToken', 'alice', { name: 'kept' }],
  ['organizations.editPolicies', 'alice', { two_factor_grace_days: 5 }],
  ['organizations.setAvatar', 'alice', { image: picture }],
  [
    'authz.createRole',
    'alice',
    { name: 'keeper', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] },
  ],
  [
    'authz.updateRole',
    'alice',
    { name: 'lookout', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] },
  ],
  ['chart-repositories.createNamed', 'alice', { name: 'cellar', url: 'https://127.0.0.1:1/cellar' }],
  ['chart-repositories.editNamed', 'alice', { description: 'kept' }],
  ['clusters.updateCluster', 'alice', { displayName: 'Kept pier', provider: '', accessConfig: '' }],
  ['packages.setDriver', 'alice', { driver: { pkg3: { driverName: 'ConfigMap' } } }],
  ['identity.followUser', 'alice', undefined],
  ['organizations.addTeamMember', 'alice', undefined],
]

test.serial('a retry of a change of any kind gets the stored answer byte for byte', async (t) => {
  const { service, alice, storedAfter } = fixture
  const credentials = {
    alice: { token: alice },
    admin: { token: service.adminToken },
    password: { basic: ['alice', password] as const },
  }
  const wrong: string[] = []
  for (const [id, who, body] of changes) {
    const route = service.running.assembly.routes.find(({ bound }) => bound.route.id === id)
    if (route === undefined) throw new Error(`There is no route ${id}`)
    const target = targetOf(route, service.fixture).replace('/users/vera/tokens', '/users/alice/tokens')
    storedAfter.length = 0
    const { first, second } = await sendTwice(service, route.methods[0] ?? '', target, {
      ...credentials[who],
      ...(body === undefined ? {} : { body }),
    })
    const told = `${id}: ${first.status} ${first.text}`
    if (first.status >= 300) wrong.push(told)
    if (storedAfter.length > 0) wrong.push(`${told} was stored after its change`)
    const isSame =
      second.status === first.status && second.text === first.text && second.headers['etag'] === first.headers['etag']
    if (!isSame || second.headers['idempotency-replayed'] !== 'true')
      wrong.push(`${told}, then ${second.status} ${second.text}`)
  }
  t.deepEqual(wrong, [])
})

test.serial('a retry after removing or renaming its object gets the first answer', async (t) => {
  const { service, alice } = fixture
  const as = { token: alice }
  const made = await service.send('POST', '/api/v1/orgs', { ...as, body: { username: 'shoal' } })
  t.is(made.status, 201)
  const renamed = await sendTwice(service, 'POST', '/api/v1/orgs/shoal/rename', { ...as, body: { new_name: 'reef' } })
  t.deepEqual([renamed.first.status, renamed.second.status], [204, 204], renamed.second.text)
  const headers = { 'Idempotency-Key': 'end-of-the-reef' }
  const remove = (options: SendOptions, query = '') => service.send('DELETE', `/api/v1/orgs/reef${query}`, options)
  t.is((await remove({ ...as, headers })).status, 204)
  const again = await remove({ ...as, headers })
  t.deepEqual([again.status, again.headers['idempotency-replayed'], again.text], [204, 'true', ''])
  t.is((await remove(as)).status, 404)
  t.is((await remove({ ...as, headers: { 'Idempotency-Key': 'another' } })).status, 404)
  t.is((await remove({ ...as, headers }, '?another=request')).status, 404)
  t.is((await remove({ token: await service.tokenFor('olga'), headers })).status, 404)
  t.is((await service.send('GET', '/api/v1/orgs/reef', { ...as, headers })).status, 404)
})

test.serial('an answer with a body is replayed only to one who may still send the request', async (t) => {
  const { service, alice } = fixture
  const dora = await service.tokenFor('dora')
  t.is(
    (
      await service.send('PUT', `/api/v1/teams/${service.of(organizations).teamIds.Owners}/members/dora`, {
        token: alice,
      })
    ).status,
    204,
  )
  const invite = {
    token: dora,
    body: { email: 'pilot@example.com', role: 'member' },
    headers: { 'Idempotency-Key': 'pilot' },
  }
  t.is((await service.send('POST', '/api/v1/orgs/harbour/invitations', invite)).status, 201)
  t.is((await service.send('DELETE', '/api/v1/orgs/harbour/members/dora', { token: alice })).status, 204)
  const refused = await service.send('POST', '/api/v1/orgs/harbour/invitations', invite)
  t.true(refused.status === 403 || refused.status === 404, refused.text)
  t.false(refused.text.includes('pilot@example.com'))
})

const Gone = defineFailure('Gone', 'NotFound', 'A failure of this test.')
const Tide = t.type({ height: t.number, note: t.string })

const watchTide = defineRoute({
  id: 'stub.watchTide',
  method: 'GET',
  path: '/tide',
  summary: 'The tide',
  tag: 'Miscellaneous',
  access: signedIn,
  scope: read('misc'),
  query: t.type({ after: optional(QueryInt) }),
  ok: feed(Tide, { height: 1, note: '' }),
  failures: [Gone],
})

const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Three that are there, then nothing until the end. */
const slowTide = (seen: { afters: number[]; left: number } = { afters: [], left: 0 }): Feed<t.TypeOf<typeof Tide>> => {
  const there = [1, 2, 3].map((id) => ({ id, value: { height: id, note: 'line\nbreak' } }))
  return {
    now: async (after) => there.filter(({ id }) => id > after),
    async *follow(after, signal) {
      seen.afters.push(after)
      for (const item of there) if (item.id > after) yield item
      await abortOf(signal)
      seen.left += 1
    },
  }
}

test('one declaration serves events, and an array for clients of JSON', async (a) => {
  const server = await startStubServer([handle(watchTide, async () => right(slowTide()))])
  a.teardown(() => server.stop())
  const client = makeClient(httpSend(server.baseUrl), '/api/v1', { authorization: 'Bearer good' })
  const reply = await client.call(watchTide, { query: { after: 1 } })
  if (!reply.ok) throw new Error(reply.text)
  const heights: readonly number[] = reply.value.map(({ height }) => height)
  a.deepEqual(heights, [2, 3])
  for (const accept of ['text/event-stream', '*/*', 'application/json, text/event-stream']) {
    const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good', { accept })
    a.is(open.contentType, 'text/event-stream; charset=utf-8', accept)
    await until('three', () => (open.events.length === 3 ? true : undefined))
    open.cut()
  }
})

test('the stream is readable by a browser and resumes at its position', async (a) => {
  const seen = { afters: [] as number[], left: 0 }
  const server = await startStubServer([handle(watchTide, async () => right(slowTide(seen)))])
  a.teardown(() => server.stop())
  const open = await openFeed(server.baseUrl, '/api/v1/tide?after=1', 'good', { 'last-event-id': '2' })
  await until('one', () => (open.events.length === 1 ? true : undefined))
  a.is(open.text(), 'retry: 2000\n\nid: 3\ndata: {"height":3,"note":"line\\nbreak"}\n\n')
  a.deepEqual(seen.afters, [2])
  open.cut()
  await until('the handler learns that the client has left', () => (seen.left === 1 ? true : undefined))
})

test('a refusal is an ordinary answer, and an invalid position is 400', async (a) => {
  const server = await startStubServer([handle(watchTide, async () => left(Gone('There is no tide.')))])
  a.teardown(() => server.stop())
  const ask = async (headers: Record<string, string>) =>
    httpSend(server.baseUrl)({ method: 'GET', path: '/api/v1/tide', headers, body: undefined })
  a.is((await ask({ accept: 'text/event-stream' })).status, 401)
  const gone = await ask({ accept: 'text/event-stream', authorization: 'Bearer good' })
  a.is(gone.status, 404)
  a.is((JSON.parse(gone.body) as { code: string }).code, 'Gone')
  const other = await startStubServer([handle(watchTide, async () => right(slowTide()))])
  a.teardown(() => other.stop())
  for (const id of ['x', '-1', '1e3', '9'.repeat(30)]) {
    a.is(
      (
        await httpSend(other.baseUrl)({
          method: 'GET',
          path: '/api/v1/tide',
          headers: { authorization: 'Bearer good', 'last-event-id': id },
          body: undefined,
        })
      ).status,
      400,
      id,
    )
  }
})

test('a stop ends a feed in order and is not held up by it', async (a) => {
  const seen = { afters: [] as number[], left: 0 }
  const server = await startStubServer([handle(watchTide, async () => right(slowTide(seen)))])
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  await until('three', () => (open.events.length === 3 ? true : undefined))
  await server.stop({ requests: 60_000, streams: 50_000 })
  await a.notThrowsAsync(open.ended)
  a.true(open.text().endsWith('\n\n: the service stops\n\n'), open.text())
  a.is(seen.left, 1)
})

test('a feed that breaks is cut, so that a client does not take it for complete', async (a) => {
  let breakIt = (): void => undefined
  const broken: Feed<t.TypeOf<typeof Tide>> = {
    now: async () => [],
    async *follow() {
      yield { id: 1, value: { height: 1, note: '' } }
      await new Promise<void>((resolve) => {
        breakIt = resolve
      })
      throw new Error('the store is gone: distinctive')
    },
  }
  const server = await startStubServer([handle(watchTide, async () => right(broken))])
  a.teardown(() => server.stop())
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  await until('one', () => (open.events.length === 1 ? true : undefined))
  breakIt()
  await a.throwsAsync(open.ended)
  a.false(open.text().includes('distinctive'))
  a.true(server.lines.some(({ level }) => level === 'error'))
})

test('a caller who loses the right is disconnected, a busy store cuts none', async (a) => {
  let asked = 0
  const server = await startStubServer(
    [
      handle(watchTide, async () => {
        asked += 1
        if (asked === 2) throw new Error('the store is busy')
        return asked < 4 ? right(slowTide()) : left(Gone('Not any more.'))
      }),
    ],
    { recheckMilliseconds: 20 },
  )
  a.teardown(() => server.stop())
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  await a.throwsAsync(open.ended)
  a.is(asked, 4)
  a.is(open.events.length, 3)
})

test('a feed ends with its right while the caller exhausts the rate limit', async (a) => {
  let isUsedUp = false
  const watch = handle(watchTide, async () => (isUsedUp ? left(Gone('Not any more.')) : right(slowTide())))
  const server = await startStubServer([watch], {
    recheckMilliseconds: 10,
    rateLimit: () => ({ allowed: !isUsedUp, limit: 1, remaining: 0, resetSeconds: 60 }),
  })
  a.teardown(() => server.stop())
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  await until('the events', () => open.events.length === 3 || undefined)
  isUsedUp = true
  await a.throwsAsync(open.ended)
})

test('feeds whose clients left before they began do not count as open', async (a) => {
  let [asked, left] = [0, 0]
  const answer = Promise.withResolvers<void>()
  const watch = handle(watchTide, async (call) => {
    asked += 1
    call.signal.addEventListener('abort', () => (left += 1))
    await answer.promise
    return right(slowTide())
  })
  const server = await startStubServer([watch])
  a.teardown(() => server.stop())
  const head = 'GET /api/v1/tide HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n'
  const clients = Array.from({ length: 100 }, () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    socket.write(head)
    return socket
  })
  await until('the requests', () => asked === 100 || undefined)
  for (const socket of clients) socket.resetAndDestroy()
  await until('the clients to leave', () => left === 100 || undefined)
  answer.resolve()
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  a.is(open.status, 200)
  open.cut()
})

test('a silent feed sends comments', async (a) => {
  const server = await startStubServer([handle(watchTide, async () => right(slowTide()))], {
    feedTimes: { heartbeat: 10 },
  })
  a.teardown(() => server.stop())
  const open = await openFeed(server.baseUrl, '/api/v1/tide', 'good')
  await until('some beats', () =>
    open
      .text()
      .split('\n\n')
      .filter((block) => block === ':').length >= 3
      ? true
      : undefined,
  )
  a.is(open.events.length, 3)
  open.cut()
})

test('a reader that takes nothing is not read ahead for', async (a) => {
  let made = 0
  const endless: Feed<t.TypeOf<typeof Tide>> = {
    now: async () => [],
    async *follow(_, signal) {
      while (!signal.aborted) {
        made += 1
        yield { id: made, value: { height: made, note: 'x'.repeat(1000) } }
        if (made % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
  const server = await startStubServer([handle(watchTide, async () => right(endless))])
  a.teardown(() => server.stop({ requests: 100 }))
  const socket = connect(server.port, '127.0.0.1')
  a.teardown(() => void socket.destroy())
  socket.write(
    'GET /api/v1/tide HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer good\r\naccept: text/event-stream\r\n\r\n',
  )
  socket.pause()
  let last = -1
  await until('it waits', async () => {
    const isStill = made > 0 && made === last
    last = made
    await new Promise((resolve) => setTimeout(resolve, 100))
    return isStill && made === last ? true : undefined
  })
  const heldBack = made
  a.true(heldBack < 50_000, String(heldBack))
  socket.resume()
  await until('it continues', () => (made > heldBack + 1000 ? true : undefined))
  socket.destroy()
  await until('it ends', async () => {
    const before = made
    await new Promise((resolve) => setTimeout(resolve, 50))
    return made === before ? true : undefined
  })
})
