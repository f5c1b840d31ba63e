import test from 'ava'
import * as fc from 'fast-check'
import type { AccountKey } from '../../adapters/outbound/account-turns.ts'
import { makeAccountTurns, TurnRefused } from '../../adapters/outbound/account-turns.ts'
import { joinPieces, JsonUnreadable, piecesOf } from '../../adapters/outbound/json-pieces.ts'
import { makeJsonReader } from '../../adapters/outbound/json-reader.ts'
import { makeReadingBudgets, OverBudget } from '../../adapters/outbound/reading-budgets.ts'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import { anyText } from '../support/any-text.ts'

const turnLimits = { pool: 'test', inAll: 3, perAccount: 2, waitingPerAccount: 100, waitMilliseconds: 60_000 }
const unsettled = () => Promise.withResolvers<void>()

test('turns never exceed their limits, and every call gets one', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 40 }), async (accounts) => {
      const turns = makeAccountTurns(turnLimits)
      const running: AccountKey[] = []
      const done = await Promise.all(
        accounts.map((account) =>
          turns.run(account, async () => {
            running.push(account)
            t.true(running.length <= turnLimits.inAll)
            t.true(running.filter((each) => each === account).length <= turnLimits.perAccount)
            await Promise.resolve()
            running.splice(running.indexOf(account), 1)
            return account
          }),
        ),
      )
      t.deepEqual(done, accounts)
      t.like(turns.load(), { running: 0, waiting: 0, waits: accounts.length })
    }),
    { numRuns: 50 },
  )
})

test('an account that waits gets the next turn, however many calls of another wait', async (t) => {
  const turns = makeAccountTurns({ ...turnLimits, inAll: 1, perAccount: 1 })
  const order: AccountKey[] = []
  const first = unsettled()
  const note = (account: AccountKey) => turns.run(account, async () => void order.push(account))
  const all = [
    turns.run(1, () => first.promise),
    ...Array.from({ length: 20 }, () => note(1)),
    note(2),
    note(3),
    note(2),
  ]
  first.resolve()
  await Promise.all(all)
  t.deepEqual(order.slice(0, 6), [1, 2, 3, 1, 2, 1])
})

test('calls that may not wait are refused, and the turn of a failed call is free again', async (t) => {
  const turns = makeAccountTurns({ pool: 'test', inAll: 2, perAccount: 1, waitingPerAccount: 1, waitMilliseconds: 1 })
  const first = unsettled()
  const running = turns.run(1, () => first.promise)
  const late = turns.run(1, async () => undefined)
  await t.throwsAsync(
    turns.run(1, async () => undefined),
    { instanceOf: TurnRefused, message: /Too many/ },
  )
  t.is(await turns.run(2, async () => 'another account'), 'another account')
  await t.throwsAsync(late, { instanceOf: TurnRefused, message: /busy/ })
  first.reject(new Error('the work failed'))
  await t.throwsAsync(running, { message: 'the work failed' })
  t.is(await turns.run(1, async () => 'free'), 'free')
})

const limits = {
  request: { bytes: 1000, answers: 20, milliseconds: 60_000, heldBytes: 300 },
  accountHeldBytes: 400,
  heldBytes: 1000,
}

test('a request has one budget for the bytes, the answers and what it keeps', async (t) => {
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

test('what a request keeps counts until it ends, also if it fails; what a task reads counts while it is read', async (t) => {
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

test('a value that is nested too deeply, or has too many members in one place, is refused', (t) => {
  t.throws(() => piecesOf(`${'['.repeat(300)}${']'.repeat(300)}`), { instanceOf: JsonUnreadable, message: /nested/ })
  t.throws(() => piecesOf(`[${'{},'.repeat(30_000)}{}]`), { instanceOf: JsonUnreadable, message: /in one place/ })
  t.throws(() => piecesOf(`{"a":{${Array.from({ length: 30_000 }, (_, at) => `"${at}":1`).join(',')}}}`), {
    instanceOf: JsonUnreadable,
    message: /in one place/,
  })
})

test('a large text is parsed while other work continues, and one that is refused ends no thread', async (t) => {
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
