import test from 'ava'
import * as fc from 'fast-check'
import { makeAccountLimiter } from '../../adapters/outbound/account-limiter.ts'
import { joinPieces, JsonUnreadable, piecesOf } from '../../adapters/outbound/json-pieces.ts'
import { makeJsonReader } from '../../adapters/outbound/json-reader.ts'
import { makeReadingBudgets, OverBudget } from '../../adapters/outbound/reading-budgets.ts'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import { Busy } from '../../core/kernel/failure.ts'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import { anyText } from '../support/any-text.ts'

const unsettled = () => Promise.withResolvers<void>()
const quick = async (): Promise<void> => undefined

test('an excess call is Busy with Retry-After, and a failed one frees its slot', async (t) => {
  const turns = makeAccountLimiter({ pool: 'test', inAll: 2, perAccount: 1, waitingPerAccount: 1, waitMilliseconds: 1 })
  const first = unsettled()
  const running = turns.run({ account: 1 }, () => first.promise)
  const late = turns.run({ account: 1 }, quick)
  const refused = await t.throwsAsync<Busy>(turns.run({ account: 1 }, quick), { instanceOf: Busy, message: /Too many/ })
  t.true(Number.isInteger(refused.retryAfterSeconds) && refused.retryAfterSeconds >= 1)
  t.is(await turns.run({ account: 2 }, async () => 'another account'), 'another account')
  await t.throwsAsync(late, { instanceOf: Busy, message: /busy/ })
  first.reject(new Error('the work failed'))
  await t.throwsAsync(running, { message: 'the work failed' })
  t.is(await turns.run({ account: 1 }, async () => 'free'), 'free')
  t.like(turns.load(), { running: 0, waiting: 0, refusals: 2, waits: 3 })
})

test('a caller that leaves gives its waiting place back, and its work does not start', async (t) => {
  const turns = makeAccountLimiter({ pool: 'test', inAll: 1, perAccount: 1, waitingPerAccount: 2 })
  const first = unsettled()
  const order: string[] = []
  const note = (name: string) => async (): Promise<void> => void order.push(name)
  const running = turns.run({ account: 1 }, () => first.promise)
  const leaving = [new AbortController(), new AbortController()]
  const left = leaving.map(({ signal }) => turns.run({ account: 1, signal }, note('left')))
  await t.throwsAsync(turns.run({ account: 1 }, note('third')), { instanceOf: Busy })
  for (const controller of leaving) controller.abort(new Error('gone'))
  for (const each of left) await t.throwsAsync(each, { message: 'gone' })
  t.is(turns.load().waiting, 0)
  const stays = new AbortController()
  const next = turns.run({ account: 1, signal: stays.signal }, note('next'))
  first.resolve()
  await Promise.all([running, next])
  stays.abort()
  await t.throwsAsync(turns.run({ account: 1, signal: AbortSignal.abort(new Error('gone')) }, note('never')))
  t.deepEqual(order, ['next'])
  t.like(turns.load(), { running: 0, waiting: 0 })
})

test('a waiting call that another account pushes out is Busy', async (t) => {
  const turns = makeAccountLimiter({ pool: 'test', inAll: 1, perAccount: 1, waitingPerAccount: 9, waitingInAll: 4 })
  const first = unsettled()
  const running = turns.run({ account: 1 }, () => first.promise)
  const flood = Array.from({ length: 4 }, () => turns.run({ account: 1 }, quick))
  const other = turns.run({ account: 2 }, quick)
  first.resolve()
  await Promise.all([running, other])
  t.deepEqual(
    (await Promise.allSettled(flood)).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
})

const limits = {
  request: { bytes: 1000, answers: 20, milliseconds: 60_000, heldBytes: 300 },
  accountHeldBytes: 400,
  heldBytes: 1000,
}

test('a request has one budget for bytes, answers and kept data', async (t) => {
  const budgets = makeReadingBudgets(limits)
  await budgets.request(
    () => 1,
    async () => {
      for (let at = 0; at < 10; at += 1) {
        const reading = budgets.open()
        reading.take(100)
        reading.end()
      }
      t.throws(() => budgets.open().take(1), { instanceOf: OverBudget }, 'the bytes of all answers count')
      for (let at = 11; at < 20; at += 1) budgets.open().end()
      t.throws(() => budgets.open(), { instanceOf: OverBudget, message: /more often/ })
    },
  )
  await budgets.request(
    () => 1,
    async () => {
      const first = budgets.open()
      first.take(300)
      const release = first.keep()
      t.throws(() => budgets.open().take(1), { instanceOf: OverBudget })
      release()
      budgets.open().take(200)
    },
  )
})

test("a request's data counts until its end, a task's while it is read", async (t) => {
  const budgets = makeReadingBudgets(limits)
  const read = (): void => {
    const reading = budgets.open()
    reading.take(200)
    reading.keep()
  }
  await t.throwsAsync(
    budgets.request(
      () => 1,
      async () => {
        read()
        t.is(budgets.held(), 200)
        throw new Error('failed')
      },
    ),
  )
  t.is(budgets.held(), 0)
  await budgets.task(1, async () => {
    for (let at = 0; at < 50; at += 1) read()
  })
  t.is(budgets.held(), 0)
})

test('accounts that hold all that they may leave room for others', async (t) => {
  const budgets = makeReadingBudgets({ ...limits, request: { ...limits.request, heldBytes: 1000 } })
  const fill = (account: number): number => {
    let taken = 0
    try {
      for (const reading = budgets.open(account); ; taken += 1) reading.take(1)
    } catch (error) {
      t.true(error instanceof OverBudget)
      return taken
    }
  }
  t.deepEqual([1, 2, 3, 4, 5, 6].map(fill), [400, 300, 150, 75, 38, 19])
  t.true(budgets.held() < 1000)
  t.is(fill(1), 0, 'an account has one budget for all its readings')
})

const atOnce: TimeSlices = { run: async (work) => work() }
const unpacked = async (text: string): Promise<unknown> => {
  const piece = piecesOf(text)
  return piece === undefined ? undefined : joinPieces(piece, atOnce)
}

test('a value that was parsed in pieces is the value', async (t) => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      anyText(),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('any'), { maxLength: 6 }),
    object: fc.dictionary(fc.oneof(anyText(), fc.constant('__proto__')), tie('any'), { maxKeys: 6 }),
  })).any
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 5 }), fc.integer({ min: 1, max: 1500 }), async (values, times) => {
      // Repeated and nested, so that some parts are too heavy for one text and others are not.
      const large = {
        items: Array.from({ length: times }, (_, at) => ({ at, values })),
        [`x${times}`]: [values, { deep: Array.from({ length: times }, () => values) }],
        id: 9_007_199_254_740_993n,
      }
      const text = toWireJson(large)
      t.is(toWireJson(await unpacked(text)), toWireJson(fromWireJson(text)))
    }),
    { numRuns: 8 },
  )
  const members = `{${Array.from({ length: 9000 }, (_, at) => `"k${at}":{"a":${at}}`).join(',')},"__proto__":{"polluted":true}}`
  const object = (await unpacked(members)) as Record<string, unknown>
  t.is(Object.getPrototypeOf(object), Object.prototype)
  t.is(toWireJson(object), members)
  t.is(await unpacked('{"a":'), undefined)
})

test('a value with excessive depth or members is refused', (t) => {
  t.throws(() => piecesOf(`${'['.repeat(300)}${']'.repeat(300)}`), { instanceOf: JsonUnreadable, message: /nested/ })
  t.throws(() => piecesOf(`[${'{},'.repeat(30_000)}{}]`), { instanceOf: JsonUnreadable, message: /in one place/ })
  t.throws(() => piecesOf(`{"a":{${Array.from({ length: 30_000 }, (_, at) => `"${at}":1`).join(',')}}}`), {
    instanceOf: JsonUnreadable,
    message: /in one place/,
  })
})

test('parsing a large text yields, and a refused one ends no thread', async (t) => {
  const json = makeJsonReader()
  t.teardown(() => json.close())
  const text = JSON.stringify({
    items: Array.from({ length: 20_000 }, (_, at) => ({
      metadata: { name: `n${at}`, labels: { a: 'b', c: [{}, {}, {}] } },
    })),
  })
  let turns = 0
  const parsing = json.parse(Buffer.from(text), 1)
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const value = await parsing
  isDone = true
  t.is(JSON.stringify(value), text)
  t.true(turns > 40, `the value was joined in ${turns} turns`)
  await t.throwsAsync(json.parse(Buffer.from(`[${'{},'.repeat(60_000)}{}]`), 1), { instanceOf: JsonUnreadable })
  t.is(await json.parse(Buffer.from('no JSON '.repeat(200_000)), 1), undefined)
  t.is(await json.parse(Buffer.from(`{"a":${'['.repeat(30_000)}`), 1), undefined)
  t.deepEqual(await json.parse(Buffer.from('{"a":1}'), 1), { a: 1 })
})
