import test from 'ava'
import fc from 'fast-check'
import type { RememberedId } from '../../core/identity/types.ts'
import type { RememberedLogin } from '../../core/identity/sessions/ports.ts'
import { hasRememberCookieForm, newRememberSecret, newSeries, parseRememberCookie, rememberCookieValue } from '../../core/identity/sessions/remembered-logins.ts'
import { checkRememberSecret, rotationGraceSeconds } from '../../core/identity/sessions/session-rules.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'

const start = Date.UTC(2026, 4, 1)
const hash = (n: number): Uint8Array => new Uint8Array(32).fill(n % 251, 0, 16).fill(Math.floor(n / 251), 16)

/** A login whose secret was changed at these seconds after its making; the n-th secret has `hash(n)`. */
const changedAt = (seconds: readonly number[]): RememberedLogin => {
  const last = seconds.at(-1)
  return {
    id: 1 as RememberedId, userId: 1 as UserId, createdAt: new Date(start), expiresAt: new Date(start + 2_592_000_000),
    secretHash: hash(seconds.length),
    previousHash: last === undefined ? undefined : hash(seconds.length - 1),
    rotatedAt: last === undefined ? undefined : new Date(start + last * 1000),
  }
}

test('of all secrets that a login ever had, only the last is good for ever, and the one before it for half a minute', (t) => {
  const steps = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 12 })
  fc.assert(
    fc.property(steps, fc.nat(12), fc.nat(120), (gaps, back, wait) => {
      let at = 0
      const login = changedAt(gaps.map((gap) => (at += gap)))
      const presented = gaps.length - back
      fc.pre(presented >= 0)
      const isFresh = gaps.length > 0 && wait <= rotationGraceSeconds
      const expected = back === 0 ? (isFresh ? 'further' : 'rotate') : back === 1 && isFresh ? 'further' : 'stolen'
      t.is(checkRememberSecret(login, hash(presented), new Date(start + (at + wait) * 1000)), expected)
    }),
  )
})

test('tabs of one browser are never thieves, however their requests and answers cross, while none takes more than 15 seconds', (t) => {
  // Each request takes the cookie of its beginning, and is judged and answered later; the jar is the browser's, so all tabs
  // share it. A tab may start just before another's answer brings the new secret: the grace time covers two in a row.
  const requests = fc.array(fc.record({ startsAfter: fc.nat(40), judgedAfter: fc.nat(15), answeredAfter: fc.nat(15) }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(requests, (plan) => {
      let begin = 0
      const events = plan.flatMap(({ startsAfter, judgedAfter, answeredAfter }, tab) => {
        begin += startsAfter
        const judged = begin + judgedAfter
        return [{ at: begin, tab, what: 'start' }, { at: judged, tab, what: 'judge' }, { at: Math.min(judged + answeredAfter, begin + 15), tab, what: 'answer' }]
      }).toSorted((a, b) => a.at - b.at)
      const carried = new Map<number, number>()
      const answers = new Map<number, number>()
      const changes: number[] = []
      let jar = 0
      for (const { at, tab, what } of events) {
        if (what === 'start') carried.set(tab, jar)
        else if (what === 'answer') jar = Math.max(jar, answers.get(tab) ?? 0)
        else {
          const verdict = checkRememberSecret(changedAt(changes), hash(carried.get(tab) as number), new Date(start + at * 1000))
          t.not(verdict, 'stolen')
          if (verdict === 'rotate') answers.set(tab, changes.push(at))
        }
      }
    }),
  )
})

test('a clock that is a little behind that of the other instance makes no thief', (t) => {
  t.is(checkRememberSecret(changedAt([100]), hash(0), new Date(start + 97_000)), 'further')
})

test('a remember cookie reads back as it was made, and nothing else does', (t) => {
  const cookie = { series: newSeries(systemEntropy), secret: newRememberSecret(systemEntropy) }
  t.deepEqual(parseRememberCookie(rememberCookieValue(cookie)), cookie)
  t.true(hasRememberCookieForm(rememberCookieValue(cookie).reveal()))
  fc.assert(fc.property(fc.string(), (text) => {
    t.is(parseRememberCookie(secret(text)), undefined)
    t.false(hasRememberCookieForm(text))
  }))
})
