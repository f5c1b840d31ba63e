import test from 'ava'
import fc from 'fast-check'
import { changeTimeline, termsAt } from '../../../core/contracts/terms.ts'
import type { ContractId, TermsVersion } from '../../../core/contracts/types.ts'
import type { BindingTime } from '../../../core/usage/months/coverage.ts'
import { coveragesOf } from '../../../core/usage/months/coverage.ts'
import { quotaOf } from '../../../core/usage/months/product-month.ts'
import { eachPiece } from '../../../core/usage/months/roll-up.ts'
import { segmentsOf } from '../../../core/usage/months/segments.ts'
import { trialsOf } from '../../../core/usage/months/trials.ts'
import type { TermsInMonth } from '../../../core/usage/usage-types.ts'
import type { TrialClaim, UnixSeconds, UsageClusterId, UsageObjectId } from '../../../core/usage/types.ts'
import {
  base,
  date,
  first,
  length,
  second,
  someChange,
  stepsAfter,
  timelineAfter,
  valueAt,
} from '../../contracts/terms-timeline.ts'
import { unwrap } from '../../support/outcome.ts'

/** Terms that are dated, recomputed second by second by rules that know no versions. */

const at = (seconds: number): UnixSeconds => seconds as UnixSeconds
const clusterId = 7 as UsageClusterId

const someBinding: fc.Arbitrary<BindingTime> = fc
  .record({
    contractId: fc.constantFrom(1, 2),
    clusterUid: fc.constant('c'),
    boundFrom: second.map(date),
    boundTo: fc.option(second.map(date), { nil: undefined }),
  })
  .filter(({ boundFrom, boundTo }) => boundTo === undefined || boundTo.getTime() > boundFrom.getTime())
const someContract = fc.record({
  changes: fc.array(someChange, { maxLength: 4 }),
  revokedAt: fc.option(second, { nil: undefined }),
})

test('billed usage equals an addition by second under the terms', (t) => {
  const inputs = fc.record({
    contracts: fc.tuple(someContract, someContract),
    bindings: fc.array(someBinding, { maxLength: 4 }),
    from: second,
    to: second,
  })
  const window = { from: at(base), to: at(base + length) }
  fc.assert(
    fc.property(inputs, ({ contracts, bindings, from, to }) => {
      const billed = contracts.map(({ changes, revokedAt }, index) => ({
        id: (index + 1) as ContractId,
        name: '',
        revokedAt: revokedAt === undefined ? undefined : date(revokedAt),
        timeline: timelineAfter(changes).timeline,
      }))
      const segments = segmentsOf(
        { clusterId, heard: [window], modeChanges: [{ at: at(0), eventId: 'a', mode: 'prod' }] },
        'dbProduct',
        coveragesOf(billed, bindings, 'dbProduct'),
        window,
      )
      const sums = new Map<number, number>()
      const interval = {
        from: at(Math.min(from, to)),
        to: at(Math.max(from, to)),
        cutAt: at(Math.max(from, to)),
        milliCpu: 3,
        memoryMib: 1,
        generation: 1,
        replicas: 1,
      }
      eachPiece([interval], segments, undefined, (piece) => {
        t.is(termsAt(billed[piece.contractId - 1]?.timeline ?? [], date(piece.from))?.number ?? 0, piece.termsNumber)
        sums.set(piece.contractId, (sums.get(piece.contractId) ?? 0) + piece.milliCpu * (piece.to - piece.from))
      })
      const steps = contracts.map(({ changes }) => stepsAfter(changes))
      const ordered = bindings.toSorted(
        (a, b) => a.boundFrom.getTime() - b.boundFrom.getTime() || a.contractId - b.contractId,
      )
      const expected = new Map<number, number>()
      for (let now = Math.max(base, interval.from); now < Math.min(base + length, interval.to); now += 1) {
        const covering = ordered.find(({ contractId, boundFrom, boundTo }) => {
          const [of, about] = [steps[contractId - 1]!, contracts[contractId - 1]!]
          const isBound = boundFrom.getTime() <= now * 1000 && (boundTo === undefined || now * 1000 < boundTo.getTime())
          const isInForce =
            Date.parse(JSON.parse(valueAt(of.startsAt, now))) <= now * 1000 &&
            now * 1000 < Date.parse(JSON.parse(valueAt(of.endsAt, now)))
          // The feature names databases, whatever the product is.
          return isBound && isInForce && (about.revokedAt === undefined || now < about.revokedAt)
        })
        const id = covering?.contractId ?? 0
        expected.set(id, (expected.get(id) ?? 0) + 3)
      }
      t.deepEqual(
        new Map([...sums].toSorted(([a], [b]) => a - b)),
        new Map([...expected].toSorted(([a], [b]) => a - b)),
      )
      return true
    }),
  )
})

test('a limit that changes within a month is weighted by seconds', (t) => {
  const quota = (limit: number, metric: 'cpu_core_month' | 'memory_gib_month' = 'cpu_core_month') => ({ metric, limit })
  const of = (...parts: readonly (readonly [number, TermsInMonth['quota']])[]): readonly TermsInMonth[] => {
    let from = 0
    return parts.map(([seconds, own], index) => ({
      number: index + 1,
      from: at(from),
      to: at((from += seconds)),
      product: 'database',
      features: [],
      startsAt: date(0),
      endsAt: date(1),
      quota: own,
    }))
  }
  t.deepEqual(quotaOf(of([1000, quota(200)])), quota(200))
  t.deepEqual(quotaOf(of([1000, quota(200)], [3000, quota(400)])), quota(350))
  t.deepEqual(quotaOf(of([1, quota(0.1)], [2, quota(0.2)])), quota(0.167))
  t.deepEqual(quotaOf(of([1000, quota(12.5)], [1, quota(12.5)])), quota(12.5))
  t.deepEqual(quotaOf(of([1000, undefined], [3000, quota(400)])), quota(400))
  t.deepEqual(quotaOf(of([1000, quota(200, 'memory_gib_month')], [3000, quota(400)])), quota(400))
  t.is(quotaOf(of([1000, quota(200)], [3000, undefined])), undefined)
})

const claim = (n: number, changes: Partial<TrialClaim> = {}): TrialClaim => ({
  objectId: n as UsageObjectId,
  clusterId,
  uid: `uid-${String(n)}`,
  product: 'dbProduct',
  group: 'g',
  kind: 'K',
  namespace: 'n',
  name: `db-${String(n)}`,
  createdAt: at(base + n),
  ...changes,
})
const factsOf = (trialClaims: readonly TrialClaim[], timeline: readonly TermsVersion[] = [first]) => ({
  clusters: [
    {
      id: clusterId,
      uid: 'c',
      displayName: '',
      presence: [],
      outages: [],
      modeChanges: [],
      bindings: [{ contractId: 1, clusterUid: 'c', boundFrom: date(base), boundTo: undefined }],
      clientNamespaces: [],
    },
  ],
  contracts: [{ id: 1 as ContractId, name: '', revokedAt: undefined, timeline }],
  trialClaims,
})

test('a trial needs a contract that allows it, within its bound, once', (t) => {
  const trials = (...given: Parameters<typeof factsOf>) => [...trialsOf(factsOf(...given))].toSorted((a, b) => a - b)
  t.deepEqual(trials([claim(1), claim(2), claim(3)]), [1, 2], 'at most two')
  t.deepEqual(trials([claim(-1), claim(1), claim(2)]), [1, 2], 'before the binding no contract covers it')
  t.deepEqual(trials([claim(1), claim(5, { name: 'db-1' }), claim(6)]), [1, 6], 'made again under its name')
  t.deepEqual(trials([claim(1), claim(5, { name: 'db-1', namespace: 'other' })]), [1, 5])
  t.deepEqual(trials([claim(1, { product: 'vaultProduct' })]), [], 'the contract does not cover the product')
  const { timeline } = timelineAfter([{ from: base + 2, draft: { maxTrials: 1 } }])
  t.deepEqual(trials([claim(1), claim(2)], timeline), [1])
  const denied =
    unwrap(changeTimeline([first], { allowsTrials: false }, date(base + 2), { recordedAt: date(base), recordedBy: '' }))
      ?.versions ?? []
  t.deepEqual(trials([claim(1), claim(2)], denied), [1], 'what was a trial stays one')
})

test('trials do not depend on the order in which objects are reported', (t) => {
  const claims = fc
    .uniqueArray(fc.integer({ min: -2, max: 9 }), { maxLength: 8 })
    .map((numbers) =>
      numbers.map((n) => claim(n, { name: `db-${String(n % 3)}`, createdAt: at(base + Math.abs(n % 4)) })),
    )
  fc.assert(
    fc.property(
      claims.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => void t.deepEqual(trialsOf(factsOf(shuffled)), trialsOf(factsOf(all))),
    ),
  )
})
