import test from 'ava'
import fc from 'fast-check'
import { attemptLimits, lockSeconds } from '../../adapters/throttle/attempt-throttle.ts'
import { ada, makeThrottleBench } from './throttle-bench.ts'

type Step = { readonly kind: 'wrong' | 'right' | 'unlock' } | { readonly kind: 'pass'; readonly seconds: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Step>({ kind: 'wrong' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'right' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'unlock' }) },
  {
    weight: 5,
    arbitrary: fc
      .oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 7200 }), fc.constantFrom(30, 60, 900, 3600, 24 * 3600, 26 * 3600))
      .map((seconds): Step => ({ kind: 'pass', seconds })),
  },
)

/** The rules of docs/decisions/lockout.md for one subject, in plain words of arithmetic. */
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
    return 'wrong, locks'
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

test('whatever happens in whatever order, the lock is what the rules say', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const bench = makeThrottleBench(1)
      const model = makeModel()
      let attempts = 0
      for (const taken of steps) {
        const expected = model.run(taken)
        if (taken.kind === 'pass') bench.passSeconds(taken.seconds)
        else if (taken.kind === 'unlock') t.is(String(await bench.on(0).unlock(ada)), expected)
        // A new address each time: its own limit is another rule.
        else t.is(await bench.guess(taken.kind === 'right', { sourceIp: `198.51.100.${(attempts += 1)}` }), expected)
      }
    }),
    { numRuns: 300 },
  )
})

test('from any state the right password works at the latest an hour later', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const bench = makeThrottleBench()
      for (const [i, taken] of steps.entries()) {
        if (taken.kind === 'pass') bench.passSeconds(taken.seconds)
        else if (taken.kind === 'unlock') await bench.on(i).unlock(ada)
        else await bench.guess(taken.kind === 'right', { instance: i, sourceIp: `198.51.100.${i}` })
      }
      bench.passSeconds(attemptLimits.lock.longestSeconds)
      t.is(await bench.guess(true, { sourceIp: '203.0.113.1' }), 'right')
    }),
    { numRuns: 100 },
  )
})
