import test from 'ava'
import fc from 'fast-check'
import type { AccountKey, LimitedCall, LimiterChanges, LimiterCapacity } from '../../core/kernel/fair-queue.ts'
import { FairLimiter } from '../../core/kernel/fair-queue.ts'

interface Call extends LimitedCall {
  readonly id: number
}

const limits: LimiterCapacity = {
  inAll: 1,
  perAccount: 1,
  waitingPerAccount: 1000,
  waitingInAll: 1000,
  bytesPerAccount: Number.POSITIVE_INFINITY,
  bytesInAll: Number.POSITIVE_INFINITY,
}

/** A queue whose work takes as long as the test says, with all that happened to its calls. */
const makeFixture = (given: Partial<LimiterCapacity> = {}) => {
  const rule = new FairLimiter<Call>({ ...limits, ...given })
  const running: Call[] = []
  const waiting: Call[] = []
  const started: Call[] = []
  const refused: Call[] = []
  let [made, nowMs] = [0, 0]
  const drop = (calls: Call[], call: Call): void => void calls.splice(calls.indexOf(call), 1)
  const apply = (changes: LimiterChanges<Call>): void => {
    for (const call of changes.started) {
      drop(waiting, call)
      running.push(call)
      started.push(call)
    }
    for (const call of changes.refused) {
      drop(waiting, call)
      refused.push(call)
    }
  }
  return {
    rule,
    running,
    waiting,
    started,
    refused,
    add(account: AccountKey, { length = 1, bytes = 0, named }: Partial<LimitedCall> = {}): Call {
      made += 1
      const call: Call = { id: made, account, named, length, bytes }
      waiting.push(call)
      apply(rule.add(call, nowMs))
      return call
    },
    /** Ends the running call that started first, or the given one. */
    end(call = running[0]): void {
      if (call === undefined) return
      nowMs += call.length * 1000
      drop(running, call)
      apply(rule.end(call, nowMs))
    },
    leave(call: Call | undefined): void {
      if (call !== undefined && rule.leave(call)) drop(waiting, call)
    },
    made: () => made,
  }
}
type Fixture = ReturnType<typeof makeFixture>

const accountsOf = (calls: readonly Call[]): readonly AccountKey[] => calls.map(({ account }) => account)
const drain = (fixture: Fixture): void => {
  while (fixture.running.length > 0) fixture.end()
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      account: fc.integer({ min: 1, max: 5 }),
      length: fc.integer({ min: 1, max: 20 }),
      bytes: fc.integer({ min: 0, max: 9 }),
      named: fc.option(fc.constantFrom('ada', 'bob'), { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), at: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), at: fc.nat(20) }) },
)
const steps = fc.array(step, { maxLength: 120 })
const anyLimits = fc
  .record({
    inAll: fc.integer({ min: 1, max: 4 }),
    perAccount: fc.integer({ min: 1, max: 4 }),
    waitingPerAccount: fc.integer({ min: 1, max: 8 }),
    waitingInAll: fc.integer({ min: 1, max: 16 }),
    bytesPerAccount: fc.integer({ min: 9, max: 40 }),
    bytesInAll: fc.integer({ min: 45, max: 80 }),
  })
  .map((given) => ({ ...given, perAccount: Math.min(given.perAccount, given.inAll) }))

const walk = (
  fixture: Fixture,
  given: readonly (typeof step extends fc.Arbitrary<infer A> ? A : never)[],
  check: () => void,
) => {
  for (const each of given) {
    if (each.do === 'add') fixture.add(each.account, each)
    else if (each.do === 'end') fixture.end(fixture.running[each.at % Math.max(1, fixture.running.length)])
    else fixture.leave(fixture.waiting[each.at % Math.max(1, fixture.waiting.length)])
    check()
  }
}

const countOf = (calls: readonly Call[], account: AccountKey): number =>
  calls.filter((each) => each.account === account).length
const bytesOf = (calls: readonly Call[]): number => calls.reduce((sum, { bytes }) => sum + bytes, 0)

test('no limit is exceeded, and every call ends once', (t) => {
  fc.assert(
    fc.property(anyLimits, steps, (given, walked) => {
      const fixture = makeFixture(given)
      const { running, waiting } = fixture
      walk(fixture, walked, () => {
        t.true(running.length <= given.inAll && waiting.length <= given.waitingInAll)
        t.true(bytesOf([...running, ...waiting]) <= given.bytesInAll)
        for (const account of [1, 2, 3, 4, 5]) {
          const own = [...running, ...waiting].filter((call) => call.account === account)
          t.true(countOf(running, account) <= given.perAccount && countOf(waiting, account) <= given.waitingPerAccount)
          t.true(bytesOf(own) <= given.bytesPerAccount)
          const mayStart = countOf(waiting, account) > 0 && countOf(running, account) < given.perAccount
          t.false(mayStart && running.length < given.inAll, 'a turn is unused')
        }
        t.is(fixture.rule.running, running.length)
        t.is(fixture.rule.waiting, waiting.length)
        const seconds = fixture.rule.secondsToWait(1)
        t.true(Number.isInteger(seconds) && seconds >= 1)
      })
      drain(fixture)
      t.is(fixture.rule.running + fixture.rule.waiting, 0)
      const ended = new Set([...fixture.started, ...fixture.refused])
      t.is(ended.size, fixture.started.length + fixture.refused.length)
      fixture.add(9, { bytes: 9 })
      t.is(fixture.running.length, 1, 'nothing is left of the calls before')
    }),
    { numRuns: 300 },
  )
})

test('an account with at most an equal share of the waiting places is never refused', (t) => {
  fc.assert(
    fc.property(anyLimits, steps, (given, walked) => {
      const fixture = makeFixture({
        ...given,
        bytesPerAccount: Number.POSITIVE_INFINITY,
        bytesInAll: Number.POSITIVE_INFINITY,
      })
      let known = 0
      walk(fixture, walked, () => {
        for (const { account } of fixture.refused.slice(known)) {
          // The refused call waited as well.
          const own = countOf(fixture.waiting, account) + 1
          const accounts = new Set(accountsOf(fixture.waiting)).add(account).size
          t.true(own > given.waitingPerAccount || own > given.waitingInAll / accounts)
        }
        known = fixture.refused.length
      })
    }),
    { numRuns: 300 },
  )
})

test('forty calls of one account delay another by one running call at most', (t) => {
  for (const [inAll, perAccount] of [
    [1, 1],
    [2, 1],
    [2, 2],
    [4, 3],
  ] as const) {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 1, max: 100 }), (ended, length) => {
        const fixture = makeFixture({ inAll, perAccount })
        for (let at = 0; at < 40; at += 1) fixture.add(1, { length })
        for (let at = 0; at < ended; at += 1) fixture.end()
        const before = fixture.started.length
        const call = fixture.add(2, { length: 1 })
        if (perAccount === inAll && ended < 40) fixture.end()
        t.is(fixture.started.indexOf(call), before, 'it is the next to start')
      }),
    )
  }
})

test('waiting accounts are served alternately', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 6 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 60 }),
      (accounts, extra) => {
        const fixture = makeFixture()
        fixture.add(0)
        // Each account has enough for all rounds; some have many more, in any order.
        for (const account of [...extra, ...Array.from({ length: accounts * 5 }, (_, at) => (at % accounts) + 1)])
          if (account <= accounts) fixture.add(account)
        for (let round = 0; round < 5 * accounts; round += 1) fixture.end()
        const order = accountsOf(fixture.started.slice(1))
        for (let at = 0; at < 5; at += 1)
          t.is(new Set(order.slice(at * accounts, (at + 1) * accounts)).size, accounts, String(order))
      },
    ),
    { numRuns: 100 },
  )
})

test('accounts with long calls and with short ones get equal time', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 12 }), (length) => {
      const fixture = makeFixture()
      for (let at = 0; at < 200; at += 1) {
        fixture.add(1, { length })
        fixture.add(2, { length: 1 })
      }
      for (let at = 0; at < 60; at += 1) fixture.end()
      const timeOf = (account: number): number =>
        fixture.started.reduce((sum, call) => sum + (call.account === account ? call.length : 0), 0)
      t.true(Math.abs(timeOf(1) - timeOf(2)) <= 2 * length, `${timeOf(1)} and ${timeOf(2)}`)
    }),
  )
})

test('a short call precedes a long one, which is not overtaken forever', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 30 }), fc.boolean(), (length, isOwn) => {
      const fixture = makeFixture()
      fixture.add(1)
      const long = fixture.add(1, { length })
      const short = fixture.add(isOwn ? 1 : 2, { length: 1 })
      fixture.end()
      t.is(fixture.running[0], short)
      // New accounts and the own one keep calling.
      let overtaken = 0
      for (let at = 0; fixture.running[0] !== long; at += 1) {
        fixture.add(isOwn ? 1 : 10 + at)
        fixture.end()
        overtaken += 1
      }
      t.true(overtaken <= length + 2, `${overtaken} calls before one of length ${length}`)
    }),
  )
})

test('a blocked account does not save capacity for later', (t) => {
  const fixture = makeFixture({ inAll: 2, perAccount: 1 })
  for (let at = 0; at < 30; at += 1) fixture.add(1)
  const endless = fixture.running[0]
  for (let at = 0; at < 30; at += 1) {
    fixture.add(2)
    fixture.add(3)
  }
  for (let at = 0; at < 20; at += 1) fixture.end(fixture.running.find((call) => call !== endless))
  fixture.end(endless)
  const from = fixture.started.length
  for (let at = 0; at < 12; at += 1) fixture.end()
  for (const account of [1, 2, 3]) t.true(countOf(fixture.started.slice(from), account) >= 3, `account ${account}`)
})

test('calls from many networks for one account share its capacity', (t) => {
  const fixture = makeFixture()
  fixture.add('network 0')
  for (let at = 0; at < 30; at += 1) fixture.add(`network ${at + 10}`, { named: 'ada' })
  for (let at = 0; at < 30; at += 1) fixture.add('network 1', { named: `name ${at}` })
  for (let at = 0; at < 30; at += 1) fixture.add('network 2', { named: 'bob' })
  for (let at = 0; at < 30; at += 1) fixture.end()
  const order = fixture.started.slice(1)
  t.is(order.filter(({ named }) => named === 'ada').length, 10)
  t.is(countOf(order, 'network 1'), 10)
  t.is(countOf(order, 'network 2'), 10)
})

test('the time to wait is that of the own work at the measured speed and the own share', (t) => {
  const fixture = makeFixture({ inAll: 2, perAccount: 1 })
  t.is(fixture.rule.secondsToWait(1), 1)
  for (let at = 0; at < 12; at += 1) fixture.add(1, { length: 3 })
  fixture.end()
  t.is(fixture.rule.secondsToWait(1), 30, 'ten calls of three seconds, one after the other')
  t.is(fixture.rule.secondsToWait(2), 1)
  fixture.add(2)
  for (let at = 0; at < 4; at += 1) {
    fixture.add(2, { length: 5 })
    fixture.add(3, { length: 5 })
  }
  t.is(fixture.rule.secondsToWait(1), 45, 'three accounts share two turns')
  t.is(fixture.rule.secondsToWait(2), 30)
})
