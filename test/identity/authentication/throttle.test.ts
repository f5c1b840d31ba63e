import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { makeSqlAttemptCounters } from '../../../adapters/sql/identity/attempt-counters.ts'
import { makeAllowances } from '../../../adapters/system/allowances.ts'
import { lockSeconds } from '../../../adapters/system/attempt-throttle.ts'
import type { AttemptCounters } from '../../../core/identity/attempt-ports.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { eachDatabase } from '../../support/databases.ts'
import { declareSuite } from '../../support/declare-suite.ts'
import { attemptCountersSuite } from '../attempt-counters.suite.ts'
import { passForAttempts } from '../pass-for-attempts.ts'
import type { ThrottleFixture } from '../throttle.fixture.ts'
import { ada, makeThrottleFixture, throttleOver } from '../throttle.fixture.ts'

/** The numbers of docs/decisions/lockout.md. */
const attemptLimits = {
  subject: { points: 5, seconds: 15 * 60 },
  total: { points: 20 },
  address: { seconds: 10 * 60 },
  lock: { longestSeconds: 3600, quietSeconds: 24 * 3600 },
}

const wrongGuesses = async (
  fixture: ThrottleFixture,
  count: number,
  attempt: Parameters<ThrottleFixture['guess']>[1] = {},
): Promise<readonly string[]> => {
  const answers: string[] = []
  for (let i = 0; i < count; i++) answers.push(await fixture.guess(false, { instance: i, ...attempt }))
  return answers
}

test('five failures lock the subject on every instance', async (t) => {
  const fixture = makeThrottleFixture()
  t.deepEqual(await wrongGuesses(fixture, 6), ['wrong', 'wrong', 'wrong', 'wrong', 'wrong, locks', 'subject-locked'])
  for (const instance of [0, 1]) t.is(await fixture.guess(true, { instance }), 'subject-locked')
  fixture.passSeconds(29)
  t.is(await fixture.guess(true, { instance: 1 }), 'subject-locked')
  fixture.passSeconds(1)
  t.is(await fixture.guess(true, { instance: 1 }), 'right')
})

test('a lock doubles from half a minute to an hour and resets after a quiet day', async (t) => {
  const fixture = makeThrottleFixture()
  const lengths: number[] = []
  for (let lock = 0; lock < 9; lock++) {
    await wrongGuesses(fixture, 5)
    const refused = await fixture
      .on(0)
      .guard({ kind: 'password', subject: ada, sourceIp: '198.51.100.7' }, async () => right('it'))
    lengths.push('retryAfterSeconds' in refused ? refused.retryAfterSeconds : 0)
    fixture.passSeconds(lengths.at(-1) as number)
  }
  t.deepEqual(lengths, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
  fixture.passSeconds(24 * 3600)
  await wrongGuesses(fixture, 5)
  fixture.passSeconds(30)
  t.is(await fixture.guess(true), 'right')
  t.deepEqual([1, 2, 8, 9, 1000].map(lockSeconds), [30, 60, 3600, 3600, 3600])
})

test('failures are forgotten after a success and after a quarter of an hour', async (t) => {
  const fixture = makeThrottleFixture()
  await wrongGuesses(fixture, 4)
  t.is(await fixture.guess(true, { instance: 1 }), 'right')
  t.is((await wrongGuesses(fixture, 4)).at(-1), 'wrong')
  fixture.passSeconds(attemptLimits.subject.seconds)
  t.is((await wrongGuesses(fixture, 4)).at(-1), 'wrong')
})

test('subjects and kinds count separately without name collisions', async (t) => {
  const fixture = makeThrottleFixture()
  await wrongGuesses(fixture, 5, { subject: 7 as UserId })
  for (const subject of [8 as UserId, '7', 'ada', 'user:7'])
    t.is(await fixture.guess(true, { subject }), 'right', String(subject))
  t.is(await fixture.guess(true, { kind: 'one-time-code' }), 'right')
  t.is(await fixture.guess(true, { kind: 'password' }), 'subject-locked')
})

const spread = (fixture: ThrottleFixture, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => fixture.guess(false, { sourceIp: `203.0.113.${i}` })))

test('a lock by one network does not reach another one', async (t) => {
  const fixture = makeThrottleFixture()
  await wrongGuesses(fixture, 5, { sourceIp: '203.0.113.1' })
  t.is(await fixture.guess(true, { sourceIp: '203.0.113.1' }), 'subject-locked')
  t.is(await fixture.guess(true, { sourceIp: '198.51.100.7' }), 'right')
})

test('guesses from many networks lock all networks but those of earlier sign-ins', async (t) => {
  const fixture = makeThrottleFixture()
  t.is(await fixture.guess(true, { sourceIp: '198.51.100.7' }), 'right')
  await spread(fixture, attemptLimits.total.points)
  t.is(await fixture.guess(true, { sourceIp: '192.0.2.1' }), 'subject-locked')
  t.is(await fixture.guess(true, { instance: 1, sourceIp: '198.51.100.7' }), 'right')
  t.true(await fixture.on(0).unlock(ada))
  t.is(await fixture.guess(true, { sourceIp: '192.0.2.1' }), 'right')
})

test('a caller who has proven a session is counted apart from all networks', async (t) => {
  const fixture = makeThrottleFixture()
  await wrongGuesses(fixture, 5)
  await spread(fixture, attemptLimits.total.points)
  const proven = { provenBy: 'session 1' }
  t.is(await fixture.guess(true, proven), 'right')
  await wrongGuesses(fixture, 5, proven)
  t.is(await fixture.guess(true, proven), 'subject-locked')
  t.is(await fixture.guess(true, { provenBy: 'session 2' }), 'right')
})

test('a network is familiar for 90 days after the last sign-in', async (t) => {
  const fixture = makeThrottleFixture()
  await fixture.guess(true)
  fixture.passSeconds(89 * 24 * 3600)
  await fixture.guess(true)
  fixture.passSeconds(89 * 24 * 3600)
  await spread(fixture, attemptLimits.total.points)
  t.is(await fixture.guess(true), 'right')
  fixture.passSeconds(90 * 24 * 3600)
  await spread(fixture, attemptLimits.total.points)
  t.is(await fixture.guess(true), 'subject-locked')
})

test('codes are locked by five failures whatever the network', async (t) => {
  const fixture = makeThrottleFixture()
  const kind = 'one-time-code' as const
  await fixture.guess(true, { kind })
  for (let i = 0; i < 5; i++) await fixture.guess(false, { kind, sourceIp: `203.0.113.${i}` })
  t.is(await fixture.guess(true, { kind }), 'subject-locked')
})

test('the owner is notified of the first, second, fourth and eighth lock', async (t) => {
  const fixture = makeThrottleFixture()
  await fixture.guess(true)
  const notices: number[] = []
  for (let lock = 1; lock <= 8; lock++) {
    if ((await wrongGuesses(fixture, 5)).includes('wrong, locks')) notices.push(lock)
    fixture.passSeconds(3600)
  }
  t.deepEqual(notices, [1, 2, 4, 8])
})

test('an unknown name is locked in the same way', async (t) => {
  const fixture = makeThrottleFixture()
  t.deepEqual(await wrongGuesses(fixture, 6, { subject: 'nobody' }), [
    'wrong',
    'wrong',
    'wrong',
    'wrong',
    'wrong, locks',
    'subject-locked',
  ])
})

test("an administrator's unlock ends the lock on every instance in seconds", async (t) => {
  const fixture = makeThrottleFixture()
  await wrongGuesses(fixture, 5)
  fixture.passSeconds(30)
  await wrongGuesses(fixture, 5)
  t.is(await fixture.guess(true, { instance: 1 }), 'subject-locked')
  t.true(await fixture.on(0).unlock(ada))
  t.false(await fixture.on(0).unlock(ada))
  t.is(await fixture.guess(true, { instance: 0 }), 'right')
  fixture.passSeconds(5)
  t.is(await fixture.guess(true, { instance: 1 }), 'right')
  await wrongGuesses(fixture, 5)
  fixture.passSeconds(30)
  t.is(await fixture.guess(true), 'right', 'the next lock is a first one')
})

test('a blocked key costs no query while it is remembered', async (t) => {
  const fixture = makeThrottleFixture(1)
  await wrongGuesses(fixture, 5)
  const before = fixture.memory.asked()
  for (let i = 0; i < 10; i++) t.is(await fixture.guess(true), 'subject-locked')
  // One to learn of the address, one to count it, for each: none for the locked subject.
  t.is(fixture.memory.asked() - before, 20)
})

test('an address with a hundred failures is blocked and locks no account', async (t) => {
  const fixture = makeThrottleFixture()
  const from = (host: string) => ({ sourceIp: `2001:db8:1:2::${host}` })
  for (let i = 0; i < 100; i++)
    t.is(await fixture.guess(false, { subject: `name ${i}`, instance: i, ...from(String(i)) }), 'wrong')
  t.is(await fixture.guess(true, from('ffff')), 'address-blocked')
  t.is(await fixture.guess(true, { instance: 1, ...from('1') }), 'address-blocked')
  t.is(await fixture.guess(true, { sourceIp: '2001:db8:1:3::1' }), 'right')
  fixture.passSeconds(attemptLimits.address.seconds)
  t.is(await fixture.guess(true, from('1')), 'right')
})

test('attempts on a locked account count for the address, so that it is no free target', async (t) => {
  const fixture = makeThrottleFixture()
  const answers = await wrongGuesses(fixture, 101)
  t.is(answers.filter((answer) => answer === 'subject-locked').length, 95)
  t.is(answers.at(-1), 'address-blocked')
})

test('a success of one’s own does not forgive the address', async (t) => {
  const fixture = makeThrottleFixture()
  for (let i = 0; i < 100; i++) {
    await fixture.guess(false, { subject: `name ${i}` })
    if (i < 99) t.is(await fixture.guess(true, { subject: 'mine' }), 'right')
  }
  t.is(await fixture.guess(true, { subject: 'mine' }), 'address-blocked')
})

test('a check that could not be made counts for nothing, also when it throws', async (t) => {
  const fixture = makeThrottleFixture()
  const attempt = { kind: 'password', subject: ada, sourceIp: '198.51.100.7' } as const
  for (let i = 0; i < 10; i++) {
    t.deepEqual(await fixture.on(0).guard(attempt, async () => left('saturated')), {
      kind: 'judged',
      answer: left('saturated'),
    })
    await t.throwsAsync(
      fixture.on(0).guard(attempt, () => Promise.reject(new Error('broken'))),
      { message: 'broken' },
    )
  }
  t.is((await wrongGuesses(fixture, 5)).at(-1), 'wrong, locks')
})

test('concurrent wrong guesses at one instance meet the exact limit', async (t) => {
  const fixture = makeThrottleFixture(1)
  let checked = 0
  const answers = await Promise.all(
    Array.from({ length: 200 }, () =>
      fixture.on(0).guard({ kind: 'password', subject: ada, sourceIp: '198.51.100.7' }, async () => {
        checked += 1
        await new Promise((resume) => setImmediate(resume))
        return right(undefined)
      }),
    ),
  )
  t.is(checked, 5)
  t.is(answers.filter((answer) => answer.kind === 'wrong' && answer.hasLocked).length, 1)
  t.true(answers.every((answer) => answer.kind !== 'judged'))
})

test('concurrent attempts at three instances meet each limit', async (t) => {
  const fixture = makeThrottleFixture(3)
  let checked = 0
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, i) =>
      fixture.on(i).guard({ kind: 'password', subject: ada, sourceIp: `198.51.${i % 200}.7` }, async () => {
        checked += 1
        await new Promise((resume) => setImmediate(resume))
        return right(undefined)
      }),
    ),
  )
  t.true(checked >= attemptLimits.total.points && checked <= 3 * attemptLimits.total.points, String(checked))
  t.is(answers.filter((answer) => answer.kind === 'wrong' && answer.hasLocked).length, 1)
})

test('many right passwords at once all get in, also after failures', async (t) => {
  const fixture = makeThrottleFixture(1)
  await wrongGuesses(fixture, 4)
  const answers = await Promise.all(Array.from({ length: 100 }, () => fixture.guess(true)))
  t.deepEqual([...new Set(answers)], ['right'])
})

test('without the store this process counts at half the limits', async (t) => {
  const fixture = makeThrottleFixture(1)
  fixture.memory.setAway(true)
  t.deepEqual(await wrongGuesses(fixture, 3), ['wrong', 'wrong, locks', 'subject-locked'])
  t.is(await fixture.guess(true), 'subject-locked')
  const other = { subject: 8 as UserId, sourceIp: '203.0.113.1' }
  t.is(await fixture.guess(true, other), 'right', 'who failed nowhere still gets in')
  for (let i = 0; i < 50; i++) await fixture.guess(false, { subject: `name ${i}`, sourceIp: '203.0.113.2' })
  t.is(await fixture.guess(true, { subject: 'x', sourceIp: '203.0.113.2' }), 'address-blocked')
})

test('a store that becomes unavailable and available again is logged, once per minute', async (t) => {
  const fixture = makeThrottleFixture(1)
  const told: string[] = []
  const log = { error: (_fields: unknown, text: string) => void told.push(text) } as never
  const throttle = throttleOver(fixture.memory.counters, fixture.now, log)
  const guess = () =>
    throttle.guard({ kind: 'password', subject: ada, sourceIp: '198.51.100.7' }, async () => right(undefined))
  await guess()
  t.is(told.length, 0)
  fixture.memory.setAway(true)
  await guess()
  await guess()
  t.is(told.length, 1)
  fixture.passSeconds(61)
  await guess()
  t.is(told.length, 2)
  fixture.memory.setAway(false)
})

test('stored counters contain neither names nor addresses', async (t) => {
  const fixture = makeThrottleFixture(1)
  await fixture.guess(false, { subject: 'hunter2-typed-into-the-wrong-field', sourceIp: '203.0.113.77' })
  t.is(fixture.memory.keys().length, 3)
  for (const key of fixture.memory.keys()) t.regex(key, /^[0-9a-f]{64}$/)
})

type Step = { readonly kind: 'wrong' | 'right' | 'unlock' } | { readonly kind: 'pass'; readonly seconds: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Step>({ kind: 'wrong' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'right' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'unlock' }) },
  {
    weight: 5,
    arbitrary: fc
      .oneof(
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 1, max: 7200 }),
        fc.constantFrom(30, 60, 900, 3600, 24 * 3600, 26 * 3600),
      )
      .map((seconds): Step => ({ kind: 'pass', seconds })),
  },
)

/** The rules of docs/decisions/lockout.md for one subject and a familiar network, in plain words of arithmetic. */
const makeModel = () => {
  let now = 0
  let failures = 0
  let failuresUntil = 0
  let lockedUntil = 0
  let locks = 0
  let locksUntil = 0
  const { subject, lock } = attemptLimits
  const wrong = (): string => {
    if (failuresUntil <= now) [failures, failuresUntil] = [0, now + subject.seconds]
    failures += 1
    if (failures < subject.points) return 'wrong'
    if (locksUntil <= now) locks = 0
    locks += 1
    lockedUntil = now + lockSeconds(locks)
    locksUntil = lockedUntil + lock.quietSeconds
    ;[failures, failuresUntil] = [0, 0]
    return 'wrong'
  }
  return {
    run(taken: Step): string {
      if (taken.kind === 'pass') {
        now += taken.seconds
        return ''
      }
      if (taken.kind === 'unlock') {
        const wasLocked = lockedUntil > now
        ;[failures, failuresUntil, lockedUntil, locks, locksUntil] = [0, 0, 0, 0, 0]
        return String(wasLocked)
      }
      if (lockedUntil > now) return 'subject-locked'
      if (taken.kind === 'wrong') return wrong()
      ;[failures, failuresUntil] = [0, 0]
      return 'right'
    },
  }
}

test('guesses, pauses and unlocks from a familiar network follow the rules', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const fixture = makeThrottleFixture(1)
      const model = makeModel()
      await fixture.guess(true)
      for (const taken of steps) {
        const expected = model.run(taken)
        if (taken.kind === 'pass') fixture.passSeconds(taken.seconds)
        else if (taken.kind === 'unlock') t.is(String(await fixture.on(0).unlock(ada)), expected)
        else t.is((await fixture.guess(taken.kind === 'right')).replace(', locks', ''), expected)
      }
    }),
    { numRuns: 300 },
  )
})

test('from any state the right password works at the latest an hour later', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const fixture = makeThrottleFixture()
      for (const [i, taken] of steps.entries()) {
        if (taken.kind === 'pass') fixture.passSeconds(taken.seconds)
        else if (taken.kind === 'unlock') await fixture.on(i).unlock(ada)
        else await fixture.guess(taken.kind === 'right', { instance: i, sourceIp: `198.51.100.${i}` })
      }
      fixture.passSeconds(attemptLimits.lock.longestSeconds)
      t.is(await fixture.guess(true, { sourceIp: '203.0.113.1' }), 'right')
    }),
    { numRuns: 100 },
  )
})

const told: string[] = []
const silent = { error: (_fields: object, message: string) => void told.push(message) } as unknown as Log
const allowancesOn = (counters: AttemptCounters) =>
  makeAllowances({ counters, key: secret(new Uint8Array(32).fill(7)), log: silent })
/** Of an hour: docs/decisions/registration.md. */
const points = 10

for (const database of eachDatabase()) {
  test(`${database.name}: several instances share one allowance for each network`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const instances = [allowancesOn(makeSqlAttemptCounters(db)), allowancesOn(makeSqlAttemptCounters(db))] as const
    const taken = await Promise.all(
      Array.from({ length: points + 4 }, (_, n) =>
        instances[n % 2 === 0 ? 0 : 1].take('sign-up', `2001:db8:1:2::${n}`),
      ),
    )
    t.is(taken.filter((wait) => wait === undefined).length, points)
    for (const wait of taken.filter((wait) => wait !== undefined)) t.true(wait > 0 && wait <= 3600)
    t.is(await instances[0].take('sign-up', '2001:db8:1:3::1'), undefined)
    t.is(await instances[1].take('sign-up', '192.0.2.1'), undefined)
    for (let n = 0; n < 3; n++) t.is(await instances[0].take('sign-up-notice', 'ada@example.org'), undefined)
    t.true(Number(await instances[1].take('sign-up-notice', 'ada@example.org')) > 3600)
    t.is(await instances[1].take('sign-up-notice', 'bob@example.org'), undefined)
  })
}

test('while the store is away this process gives out half of it, and says so', async (t) => {
  const away = () => Promise.reject(new Error('away'))
  const allowances = allowancesOn({ find: away, add: away, put: away, remove: away, removeAll: away, purge: away })
  const taken: (number | undefined)[] = []
  for (let n = 0; n < points; n++) taken.push(await allowances.take('sign-up', '192.0.2.1'))
  t.is(taken.filter((wait) => wait === undefined).length, points / 2)
  t.true(told.length > 0)
})

for (const database of eachDatabase()) {
  declareSuite(attemptCountersSuite, database.name, async () => {
    const db = await database.open()
    return {
      counters: makeSqlAttemptCounters(db),
      others: makeSqlAttemptCounters(db),
      pass: (milliseconds) => passForAttempts(db, milliseconds),
      close: () => db.close(),
    }
  })
}
