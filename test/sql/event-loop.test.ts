import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import test from 'ava'
import { anyTurn } from '../../core/kernel/clock.ts'
import { pauseInLongTurn } from '../../adapters/sql/engine/event-loop-turns.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { long, selectedAs } from '../../adapters/sql/kit/columns.ts'

const busy = (milliseconds = 20): void => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

test.serial('long works alternate in order with the event loop', async (t) => {
  const order: string[] = []
  const work = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step += 1) {
      await pauseInLongTurn()
      order.push(name)
      busy()
    }
  }
  const turning = setInterval(() => order.push('-'), 0)
  // So that the first work finds a long turn as well.
  void pauseInLongTurn()
  busy()
  await Promise.all([work('a'), work('b'), work('c')])
  clearInterval(turning)
  t.is(order.filter((each) => each !== '-').join(''), 'abcabcabc')
  t.true(order.filter((each) => each === '-').length >= 6, order.join(''))
})

test.serial('an account that used its slice waits behind another account', async (t) => {
  const readings = makeReadingBudgets()
  const order: string[] = []
  const ask = (account: number): Promise<void> =>
    readings.request(
      () => account,
      async () => {
        const turn = pauseInLongTurn(anyTurn)
        if (turn !== undefined) await turn
        order.push(String(account))
        busy(5)
      },
    )
  const beginnings: string[] = []
  // On a machine that is busy for 100 ms, the other account may count as gone before it asks.
  for (let tries = 0; tries < 5 && !beginnings.includes('1 2'); tries += 1) {
    // Turns are shared while there is another account.
    await ask(2)
    await setTimeout(20)
    order.length = 0
    await Promise.all([ask(1), ask(1), ask(1), ask(2), ask(1), ask(2)])
    beginnings.push(order.slice(0, 2).join(' '))
    t.deepEqual(order.toSorted(), ['1', '1', '1', '1', '2', '2'])
  }
  t.is(beginnings.at(-1), '1 2')
})

/** Asks for steps of account 4, the first of which uses the share of the turn. */
const startSteps = (count: number, milliseconds: number) => {
  const readings = makeReadingBudgets()
  const order: string[] = []
  // Another account, with which the turns are shared.
  void readings.request(
    () => 5,
    async () => void pauseInLongTurn(anyTurn),
  )
  const ask = (name: string): Promise<void> =>
    readings.request(
      () => 4,
      async () => {
        const turn = pauseInLongTurn(anyTurn)
        if (turn !== undefined) await turn
        order.push(name)
        busy(order.length === 1 ? 5 : milliseconds)
      },
    )
  return { order, ask, all: Array.from({ length: count }, (_, index) => ask(String(index))) }
}

test.serial('a request does not overtake those of its account that wait', async (t) => {
  const { order, ask, all } = startSteps(6, 3)
  await new Promise((resolve) => setImmediate(resolve))
  t.true(order.length < 6)
  // The longest rest is over when the request arrives.
  busy(110)
  await Promise.all([...all, ask('late')])
  t.is(order.join(' '), '0 1 2 3 4 5 late')
})

test.serial('short steps that wait run several in one turn', async (t) => {
  const { order, all } = startSteps(100, 0)
  let turns = 0
  let seen = 1
  const turn = (): void => {
    // Turns in which the account rests have no step: it rests after its first one, and when the machine is busy.
    if (order.length > seen) turns += 1
    seen = Math.max(seen, order.length)
    if (order.length < 100) setImmediate(turn)
  }
  setImmediate(turn)
  await Promise.all(all)
  t.true(turns < 50, String(turns))
})

test.serial('an account that is alone does not rest', async (t) => {
  const readings = makeReadingBudgets()
  const order: string[] = []
  const ask = (account: number, name: string): Promise<void> =>
    readings.request(
      () => account,
      async () => {
        const turn = pauseInLongTurn(anyTurn)
        if (turn !== undefined) await turn
        order.push(name)
        busy(30)
      },
    )
  // Until no other account counts as present.
  await setTimeout(150)
  const timer = setTimeout(10).then(() => order.push('timer'))
  await Promise.all([ask(3, 'a'), ask(3, 'b'), ask(3, 'c')])
  await timer
  t.is(order.filter((each) => each !== 'timer').join(''), 'abc')
  t.not(order.at(-1), 'timer', 'the event loop turns between the steps')
})

test.serial('work that returns 0 takes one step in each slice', async (t) => {
  let turns = 0
  const turning = setInterval(() => (turns += 1), 0)
  t.teardown(() => clearInterval(turning))
  const steps = 20
  const seen = new Set<number>()
  for (let step = 0; step < steps; step += 1) {
    await pauseInLongTurn(0)
    const end = performance.now() + 2
    while (performance.now() < end);
    seen.add(turns)
  }
  // The first step may share the turn of the second one.
  t.true(seen.size >= steps - 2, `${seen.size} turns with a step`)
})

test.serial('the event loop runs between SQLite transactions', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-event-loop-'))
  const database = await openDatabase(`sqlite:${join(folder, 'test.db')}`)
  t.teardown(async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await database.query((k) => k.raw('create table numbers (n integer not null)'))
  const insert = database.prepare({}, (k) =>
    k.raw(
      'insert into numbers (n) with recursive counted (n) as (select 1 union all select n + 1 from counted where n < 20000) select n from counted',
    ),
  )
  const count = database.prepare({}, { n: selectedAs(long()) }, (k) => k('numbers').count({ n: '*' }))
  let [turns, before] = [0, 0]
  const seen = new Set<number>()
  const turning = setInterval(async () => {
    turns += 1
    seen.add((await database.first(count, {}))?.n ?? -1)
  }, 0)
  t.teardown(() => clearInterval(turning))
  const end = performance.now() + 500
  while (performance.now() < end) {
    await database.transaction(async (tx) => {
      for (let times = 0; times < 5; times += 1) await tx.run(insert, {})
      t.is((await tx.first(count, {}))?.n, before + 100_000)
    })
    before += 100_000
  }
  t.true(turns > 3, `${turns} turns of the event loop`)
  t.deepEqual(
    [...seen].filter((n) => n % 100_000 !== 0),
    [],
    'no read outside sees a part of a transaction',
  )
})
