import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'ava'
import type { ExecutionContext } from 'ava'
import * as t from 'io-ts'
import { right } from 'fp-ts/lib/Either.js'
import { makeAccountLimiter } from '../../adapters/outbound/account-limiter.ts'
import { pauseInLongTurn } from '../../adapters/sql/engine/event-loop-turns.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import { accountOf } from '../../composition/runtime/http/request/request-context.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import { anyone, read, signedIn } from '../../plugins/kit/access.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { json } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { until } from '../support/until.ts'
import type { StubServer } from './stub-server.ts'
import { startStubServer } from './stub-server.ts'

const reply = json(200, t.type({ done: t.boolean }), { done: true })
const common = {
  summary: 's',
  tag: 'Miscellaneous',
  method: 'GET',
  scope: read('misc'),
  ok: reply,
  failures: [],
} as const
const longWork = defineRoute({ ...common, id: 'stub.work', path: '/work', access: signedIn })
const strangersWork = defineRoute({ ...common, id: 'stub.strangers', path: '/strangers', access: anyone })

/** A service whose work waits for its turn, as that of threads does, and ends when the test says so. */
const startQueue = async (test: ExecutionContext) => {
  const readings = makeReadingBudgets()
  const limiter = makeAccountLimiter({ pool: 'test', inAll: 2, perAccount: 1, waitingPerAccount: 32 })
  const started: AccountKey[] = []
  const running: (() => void)[] = []
  const work = async () => {
    const account = readings.account()
    await limiter.run({ account, signal: readings.signal() }, () => {
      started.push(account)
      return new Promise<void>((resolve) => running.push(resolve))
    })
    return right({ done: true })
  }
  const server = await startStubServer([handle(longWork, work), handle(strangersWork, work)], { readings })
  test.teardown(() => server.stop())
  return { server, limiter, started, endOne: () => running.shift()?.() }
}

const ask = (server: StubServer, path: string, token?: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${server.baseUrl}/api/v1${path}`, {
    headers: token === undefined ? {} : { authorization: `token ${token}` },
    ...(signal === undefined ? {} : { signal }),
  })

test('forty requests of one account delay no other account', async (test) => {
  const { server, limiter, started, endOne } = await startQueue(test)
  const flood = Array.from({ length: 40 }, () => ask(server, '/work', 'good'))
  await until('the queue', () => limiter.load().refusals === 7 || undefined)
  const others = [ask(server, '/work', 'reader'), ask(server, '/work', 'admin'), ask(server, '/strangers')]
  await until('the queue', () => limiter.load().waiting === 34 || undefined)
  test.deepEqual(started, [7, 8], 'another account starts at once beside one job of the flood')
  for (let ended = 0; ended < 3; ended += 1) {
    endOne()
    await until('the queue', () => started.length === 3 + ended || undefined)
  }
  test.is(started.slice(2).filter((account) => account !== 7).length, 2, 'each other account had its turn')
  const drained = Promise.all([...flood, ...others])
  while (limiter.load().running > 0) {
    endOne()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const answers = await drained
  const refused = answers.slice(0, 40).filter(({ status }) => status === 503)
  test.is(refused.length, 7)
  for (const { headers } of refused) test.regex(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  test.deepEqual(
    answers.slice(40).map(({ status }) => status),
    [200, 200, 200],
  )
  test.is(started.at(-1), 7)
  test.true(started.includes('network 127.0.0.1'), 'a stranger counts by network')
  test.false(
    server.lines.some(({ level }) => level === 'error'),
    'a refusal is no fault of the service',
  )
})

test("robots of an organization share its queue, confined tokens their person's", (test) => {
  const scopes = { all: true, sudo: false, publicOnly: false, levels: {} }
  const keyOf = (userId: number, login: string, org?: number): AccountKey =>
    accountOf({
      sourceIp: '192.0.2.1',
      principal: {
        userId: userId as UserId,
        login,
        isSiteAdmin: false,
        method: 'token',
        scopes,
        ...definedFields({ onlyOrgId: org as OrgId | undefined }),
      },
    })
  test.is(keyOf(21, 'acme+a', 5), keyOf(22, 'acme+b', 5))
  test.not(keyOf(21, 'acme+a', 5), keyOf(23, 'other+a', 6))
  test.is(keyOf(7, 'ada', 5), 7)
  test.is(keyOf(7, 'ada'), 7)
  test.is(accountOf({ sourceIp: '192.0.2.1', principal: undefined }), 'network 192.0.2.1')
})

test('a disconnected client frees its queue slot', async (test) => {
  const { server, limiter, started, endOne } = await startQueue(test)
  const first = ask(server, '/work', 'good')
  await until('the queue', () => started.length === 1 || undefined)
  const leaving = new AbortController()
  const left = Promise.allSettled(Array.from({ length: 32 }, () => ask(server, '/work', 'good', leaving.signal)))
  await until('the queue', () => limiter.load().waiting === 32 || undefined)
  leaving.abort()
  await left
  await until('the queue', () => limiter.load().waiting === 0 || undefined)
  const next = ask(server, '/work', 'good')
  await until('the queue', () => limiter.load().waiting === 1 || undefined)
  endOne()
  await until('the queue', () => started.length === 2 || undefined)
  endOne()
  test.deepEqual([(await first).status, (await next).status], [200, 200])
  test.like(limiter.load(), { running: 0, waiting: 0, waits: 2, refusals: 0 })
})

const costly = defineRoute({ ...common, id: 'stub.costly', path: '/costly', access: signedIn })

test.serial('costly requests of one account do not run in a row while another account waits', async (test) => {
  const readings = makeReadingBudgets()
  const order: AccountKey[] = []
  let milliseconds = 0
  const work = async () => {
    order.push(readings.account())
    const end = performance.now() + milliseconds
    while (performance.now() < end);
    return right({ done: true })
  }
  const server = await startStubServer([handle(costly, work)], { readings, pauseInLongTurn })
  test.teardown(() => server.stop())
  const tokens = ['good', 'good', 'good', 'good', 'reader']
  const sockets = tokens.map(() => connect(server.port, '127.0.0.1'))
  test.teardown(() => sockets.map((socket) => socket.destroy()))
  const askAll = async (): Promise<void> => {
    const answers = sockets.map((socket) => once(socket, 'data'))
    for (const [at, socket] of sockets.entries())
      socket.write(`GET /api/v1/costly HTTP/1.1\r\nHost: x\r\nAuthorization: token ${tokens[at]}\r\n\r\n`)
    for (const [head] of await Promise.all(answers)) test.regex(String(head), /^HTTP\/1\.1 200 /)
  }
  // So that all connections are accepted.
  await askAll()
  order.length = 0
  milliseconds = 5
  await askAll()
  test.deepEqual([...order].sort(), [7, 7, 7, 7, 8])
  test.true(order.indexOf(8) <= 1, order.join(' '))
})

test('a long answer is written in slices, each queued for its account', async (test) => {
  const readings = makeReadingBudgets()
  const body = Buffer.alloc(200_000, 'x')
  const accounts: AccountKey[] = []
  const server = await startStubServer([], {
    readings,
    pauseInLongTurn: () => {
      accounts.push(readings.account())
      return new Promise((resolve) => setImmediate(resolve))
    },
    pages: {
      documentation: () => ({ status: 200, headers: { 'Content-Type': 'text/plain' }, body }),
      frontend: () => undefined,
    },
  })
  test.teardown(() => server.stop())
  const answer = await fetch(`${server.baseUrl}/api/v1/openapi.json`)
  test.is(answer.headers.get('content-length'), String(body.length))
  test.true(body.equals(await answer.bytes()))
  test.deepEqual(accounts, Array(4).fill('network 127.0.0.1'))
})
