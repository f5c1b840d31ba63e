import test from 'ava'
import fc from 'fast-check'
import { isStillGood, windowOf } from '../../core/contracts/licenses.ts'
import type { Contract, LicenseKind } from '../../core/contracts/types.ts'

/** The window of a license, for any contract, authority and clock. */

const seconds = fc.integer({ min: 0, max: 4_000_000_000 }).map((each) => each * 1000)
const span = fc
  .tuple(seconds, fc.integer({ min: 1, max: 2_000_000_000 }))
  .map(([start, length]) => ({ start, end: start + length * 1000 }))
const days = fc.oneof(
  fc.constant(undefined),
  fc.double({ min: -1, max: 1e300, noNaN: true }),
  fc.integer({ min: 1, max: 400 }),
)
const contractOf = (
  { start, end }: { readonly start: number; readonly end: number },
  offlineTtlDays?: number,
): Contract =>
  ({
    startsAt: new Date(start),
    endsAt: new Date(end),
    restrictions: offlineTtlDays === undefined ? '' : JSON.stringify({ offlineTtlDays }),
  }) as Contract
const validity = ({ start, end }: { readonly start: number; readonly end: number }) => ({
  notBefore: new Date(start),
  notAfter: new Date(end),
})
const kinds = fc.constantFrom<LicenseKind>('online', 'offline')
const day = 86_400_000

test('a license lies within contract and authority, and online ones last 7 days', (t) => {
  fc.assert(
    fc.property(
      span,
      span,
      kinds,
      days,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (contract, authority, kind, ttl, part) => {
        const [from, to] = [Math.max(contract.start, authority.start), Math.min(contract.end, authority.end)]
        fc.pre(from < to)
        const now = new Date(Math.min(to - 1, Math.floor(from + (to - from) * part)))
        const window = windowOf(contractOf(contract, ttl), kind, now, validity(authority))
        const [start, end] = [window.notBefore.getTime(), window.notAfter.getTime()]
        t.true(start >= from && start <= now.getTime() && end <= to)
        t.true(start % 1000 === 0 && end % 1000 === 0)
        t.is(window.latestEnd.getTime(), to)
        if (kind === 'online') t.true(end <= now.getTime() + 7 * day)
        else if (ttl === undefined) t.is(end, to)
      },
    ),
  )
  t.pass()
})

test('a license is reissued after half of its life unless it has its full length', (t) => {
  const at = (instant: number): Date => new Date(instant)
  const contract = contractOf({ start: 0, end: 365 * day })
  const authority = validity({ start: 0, end: 9_999 * day })
  const issuedAt = 100 * day
  const license = { contentKey: 'same', ...windowOf(contract, 'online', at(issuedAt), authority) }
  const good = (now: number, key = 'same', terms = contract, by = authority): boolean =>
    isStillGood(license, key, windowOf(terms, 'online', at(now), by), at(now))
  const half = (license.notBefore.getTime() + license.notAfter.getTime()) / 2
  t.deepEqual(
    [issuedAt, half - 1, half, license.notAfter.getTime()].map((now) => good(now)),
    [true, true, false, false],
  )
  t.false(good(license.notBefore.getTime() - 1), 'a clock that was ahead and was set back')
  t.false(good(issuedAt, 'other'))
  const shortened = contractOf({ start: 0, end: 103 * day })
  t.false(good(issuedAt, 'same', shortened), 'longer than the contract is now')
  const last = { contentKey: 'same', ...windowOf(shortened, 'online', at(issuedAt), authority) }
  t.true(isStillGood(last, 'same', windowOf(shortened, 'online', at(103 * day - 1), authority), at(103 * day - 1)))
  const offline = { contentKey: 'same', ...windowOf(shortened, 'offline', at(issuedAt), authority) }
  t.false(
    isStillGood(offline, 'same', windowOf(contract, 'offline', at(issuedAt), authority), at(issuedAt)),
    'the contract was extended',
  )
})
