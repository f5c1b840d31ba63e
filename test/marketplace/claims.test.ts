import { isLeft } from 'fp-ts/lib/Either.js'
import test from 'ava'
import { makeClaimAllowance } from '../../adapters/marketplace/claim-allowance.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import type { ClaimDeps } from '../../core/marketplace/claims/claims.ts'
import { makeCheckClaim } from '../../core/marketplace/claims/claims.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import type { Claim, InstallerId } from '../../core/marketplace/types.ts'
import { tagOf, unwrap } from '../support/outcome.ts'

const ref = 'a'.repeat(32)
const call = makeOwnCall(systemEntropy)('test.checkClaim')
const start = new Date('2026-11-20T12:00:00Z')

/** A claim in memory, with rules that answer what they are told. */
const fixture = (changes: Partial<Claim> = {}) => {
  const state = { nowMs: start.getTime(), asked: 0, rule: async (): Promise<boolean> => false, isKnown: false }
  let claim: Claim = {
    ref,
    installerId: 1 as InstallerId,
    isClaimable: false,
    attempts: 0,
    nextCheckAt: start,
    claimedAt: undefined,
    ...changes,
  }
  const deps: ClaimDeps = {
    claims: {
      find: async (asked) => (asked === ref ? claim : undefined),
      oldestClaimable: async () => undefined,
      reserveCheck: async ({ attempts }, nextCheckAt) => {
        if (claim.attempts !== attempts) return false
        claim = { ...claim, attempts: attempts + 1, nextCheckAt }
        return true
      },
      setClaimable: async () => void (claim = { ...claim, isClaimable: true }),
    },
    clock: { now: () => new Date(state.nowMs) },
    entropy: systemEntropy,
    rules: {
      isClaimable: () => ((state.asked += 1), state.rule()),
      isKnownClaimable: async () => state.isKnown,
    },
  }
  const check = makeCheckClaim({ ...deps, allowance: { take: async () => undefined } })
  return { state, check: () => check(call, ref), checkOther: () => check(call, 'b'.repeat(32)), claim: () => claim }
}

test('a claim is missing, taken, claimable, early or subject to the rules', async (t) => {
  t.is(tagOf(await fixture().checkOther()), 'ClaimMissing')
  t.is(tagOf(await fixture({ isClaimable: true, claimedAt: start }).check()), 'ClaimTaken')
  const later = new Date(start.getTime() + 60_000)
  t.true(unwrap(await fixture({ isClaimable: true, nextCheckAt: later }).check()).isClaimable, 'even inside the wait')
  const waiting = await fixture({ nextCheckAt: later }).check()
  t.is(tagOf(waiting), 'ClaimCheckTooSoon')
  t.is(isLeft(waiting) ? waiting.left.retryAfterSeconds : undefined, 60)
  const { check, claim } = fixture()
  t.false(unwrap(await check()).isClaimable)
  t.is(claim().attempts, 1)
})

test('concurrent callers consult the rules once in a waiting time', async (t) => {
  const { state, check, claim } = fixture()
  const answers = await Promise.all([check(), check(), check()])
  t.deepEqual(answers.map(tagOf).sort(), ['ClaimCheckTooSoon', 'ClaimCheckTooSoon', 'done'])
  t.is(state.asked, 1)
  state.nowMs = claim().nextCheckAt.getTime() - 1
  t.is(tagOf(await check()), 'ClaimCheckTooSoon')
  state.nowMs += 1
  state.rule = async () => true
  t.true(unwrap(await check()).isClaimable)
  t.is(state.asked, 2)
  t.true(claim().isClaimable)
})

test('rules of a plugin allow a claim from known data without waiting', async (t) => {
  const { state, check, claim } = fixture()
  t.false(unwrap(await check()).isClaimable)
  t.is(tagOf(await check()), 'ClaimCheckTooSoon')
  state.isKnown = true
  t.true(unwrap(await check()).isClaimable)
  t.true(claim().isClaimable)
  t.is(state.asked, 1)
})

test('failing rules are not consulted again at once', async (t) => {
  const { state, check, claim } = fixture()
  state.rule = async () => {
    throw new Error('The vendor does not answer.')
  }
  await t.throwsAsync(check)
  t.is(claim().attempts, 1)
  t.is(tagOf(await check()), 'ClaimCheckTooSoon')
  t.is(state.asked, 1)
})

test('an address that polls too often waits, and others do not', async (t) => {
  const allowance = makeClaimAllowance({ points: 2, seconds: 600 })
  const waits = []
  for (let asked = 0; asked < 3; asked += 1) waits.push(await allowance.take('198.51.100.7'))
  t.deepEqual(waits.slice(0, 2), [undefined, undefined])
  t.true(Number(waits[2]) > 500 && Number(waits[2]) <= 600)
  t.is(await allowance.take('198.51.100.8'), undefined)
  for (const address of ['2001:db8::1', '2001:db8::2']) t.is(await allowance.take(address), undefined)
  t.true(Number(await allowance.take('2001:db8::ffff')) > 500, 'a host has its whole network')
  t.is(await allowance.take('2001:db8:0:1::1'), undefined)
  const check = makeCheckClaim({ ...({} as ClaimDeps), allowance: { take: async () => 7 } })
  t.is(tagOf(await check(call, ref)), 'ClaimCheckTooSoon')
})
