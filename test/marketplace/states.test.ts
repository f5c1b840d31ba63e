import test from 'ava'
import fc from 'fast-check'
import type { LifecycleEvent } from '../../core/marketplace/subscriptions/states.ts'
import { isEnded, transition } from '../../core/marketplace/subscriptions/states.ts'
import type { Lifecycle, SubscriptionState } from '../../core/marketplace/types.ts'
import { subscriptionStates } from '../../core/marketplace/types.ts'

const installer = 'a'.repeat(32)
const put = (outcome: 'Accepted' | 'Succeeded' | 'Failed', ticks: number): LifecycleEvent => ({
  kind: 'put',
  outcome,
  ticks: BigInt(ticks),
})
const remove = (outcome: 'Deleting' | 'Deleted' | 'Failed', ticks: number): LifecycleEvent => ({
  kind: 'delete',
  outcome,
  ticks: BigInt(ticks),
})
const bind: LifecycleEvent = { kind: 'bind', installerRef: installer }

/** The state after events, as a store keeps it. */
const after = (events: readonly LifecycleEvent[], from?: Lifecycle): Lifecycle | undefined =>
  events.reduce<Lifecycle | undefined>((known, event) => {
    const change = transition(known, event)
    if (change.kind === 'applied' || change.kind === 'begins-again') return change.next
    return change.kind === 'unknown' ? change.tombstone : known
  }, from)

const inState = (state: SubscriptionState, more: Partial<Lifecycle> = {}): Lifecycle => ({
  state,
  installerRef: undefined,
  isProvisioned: false,
  lastTicks: 10n,
  isTombstone: false,
  ...more,
})

test('the ways through the life of a subscription', (t) => {
  const ways: readonly [string, readonly LifecycleEvent[], SubscriptionState][] = [
    ['bought, bound, provisioned', [put('Accepted', 1), bind, put('Succeeded', 2)], 'Running'],
    ['bought, provisioned, bound', [put('Accepted', 1), put('Succeeded', 2), bind], 'Running'],
    ['bound first', [bind, put('Accepted', 1), put('Succeeded', 2)], 'Running'],
    ['provisioned without an installer', [put('Accepted', 1), put('Succeeded', 2)], 'Pending'],
    ['bound, not provisioned', [put('Accepted', 1), bind], 'Bounded'],
    ['failed', [put('Accepted', 1), put('Failed', 2)], 'Failed'],
    ['failed, then provisioned', [put('Failed', 1), put('Succeeded', 2)], 'Pending'],
    ['an update fails', [bind, put('Succeeded', 1), put('Failed', 2)], 'Running'],
    ['deleted', [put('Succeeded', 1), remove('Deleting', 2), remove('Deleted', 3)], 'Deleted'],
    ['not deleted', [put('Succeeded', 1), remove('Deleting', 2), remove('Failed', 3)], 'DeletionFailed'],
    ['deleted after all', [put('Succeeded', 1), remove('Failed', 2), remove('Deleted', 3)], 'Deleted'],
    ['a late creation', [put('Succeeded', 2), remove('Deleted', 3), put('Accepted', 1)], 'Deleted'],
    ['a creation after the deletion', [put('Succeeded', 2), remove('Deleted', 3), put('Accepted', 4)], 'Pending'],
    ['the deletion comes first', [remove('Deleted', 3), put('Accepted', 1), put('Succeeded', 2)], 'Deleted'],
  ]
  for (const [name, events, state] of ways) t.is(after(events)?.state, state, name)
})

test('a deletion revokes contracts at once, in each state in which there can be some', (t) => {
  for (const state of ['Pending', 'Bounded', 'Running', 'Failed'] as const)
    for (const outcome of ['Deleting', 'Deleted', 'Failed'] as const) {
      const change = transition(inState(state), remove(outcome, 11))
      t.true(change.kind === 'applied' && change.revokesContracts, `${state} ${outcome}`)
      t.is(change.kind === 'applied' && change.alerts, outcome === 'Failed')
    }
})

test('a bind is refused after the end, after a fault, and by another installer', (t) => {
  for (const state of ['Failed', 'Deleting', 'DeletionFailed', 'Deleted', 'Revoked'] as const)
    t.deepEqual(transition(inState(state), bind), { kind: 'refused', reason: 'ended' }, state)
  const bound = inState('Bounded', { installerRef: 'b'.repeat(32) })
  t.deepEqual(transition(bound, bind), { kind: 'refused', reason: 'other-installer' })
  t.deepEqual(transition(inState('Running', { installerRef: installer }), bind), {
    kind: 'unchanged',
    reason: 'repeated',
  })
})

test('a purchase after a deletion begins again, an undatable one is left open', (t) => {
  const known = inState('Deleted', { installerRef: installer, isProvisioned: true })
  const again = transition(known, put('Succeeded', 11))
  t.like(again, { kind: 'begins-again', next: { state: 'Pending', installerRef: undefined, lastTicks: 11n } })
  t.deepEqual(transition(known, put('Succeeded', 10)), { kind: 'unchanged', reason: 'ended' })
  const undated = { kind: 'put', outcome: 'Succeeded', ticks: 11n, isUndated: true } as const
  t.deepEqual(transition(known, undated), { kind: 'unchanged', reason: 'undecided' })
  for (const state of ['Deleting', 'DeletionFailed', 'Revoked'] as const)
    t.deepEqual(transition(inState(state), put('Accepted', 11)), { kind: 'unchanged', reason: 'undecided' }, state)
  const other = 'b'.repeat(32)
  t.like(transition(known, { kind: 'bind', installerRef: other, ticks: 11n }), {
    kind: 'begins-again',
    next: { state: 'Bounded' },
  })
  t.deepEqual(transition(known, { kind: 'bind', installerRef: other, ticks: 9n }), { kind: 'refused', reason: 'ended' })
})

test('deleting an earlier subscription does not end its successor', (t) => {
  const next = { ...inState('Running', { lastTicks: 12n }), floorTicks: 10n }
  t.deepEqual(transition(next, remove('Deleted', 10)), { kind: 'unchanged', reason: 'stale' })
  t.is(transition(next, remove('Deleted', 11)).kind, 'applied')
})

test('deleting an unknown subscription prevents an earlier creation', (t) => {
  const first = transition(undefined, remove('Deleting', 5))
  if (first.kind !== 'unknown') return t.fail(first.kind)
  t.is(transition(first.tombstone, remove('Deleted', 6)).kind, 'unknown')
  t.is(transition(first.tombstone, put('Succeeded', 4)).kind, 'unchanged')
  t.is(transition(first.tombstone, bind).kind, 'refused')
})

const ticks = fc.integer({ min: 0, max: 6 }).map(BigInt)
const anyEvent: fc.Arbitrary<LifecycleEvent> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), outcome: fc.constantFrom('Accepted', 'Succeeded', 'Failed'), ticks }),
  fc.record({ kind: fc.constant('delete' as const), outcome: fc.constantFrom('Deleting', 'Deleted', 'Failed'), ticks }),
  fc.record({ kind: fc.constant('bind' as const), installerRef: fc.constantFrom(installer, 'b'.repeat(32)) }),
  fc.record({ kind: fc.constant('revoke' as const) }),
)
const anyLifecycle: fc.Arbitrary<Lifecycle> = fc.record({
  state: fc.constantFrom(...subscriptionStates),
  installerRef: fc.option(fc.constantFrom(installer, 'b'.repeat(32)), { nil: undefined }),
  isProvisioned: fc.boolean(),
  lastTicks: fc.option(ticks, { nil: undefined }),
  isTombstone: fc.constant(false),
})

test('only a later purchase follows a deletion', (t) => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 12 }), anyEvent, (before, later) => {
      const deleted = after([...before, remove('Deleted', 3)])
      if (deleted?.state !== 'Deleted') return deleted?.lastTicks === undefined || deleted.lastTicks >= 3n
      const change = transition(deleted, later)
      const mayBegin = later.kind === 'put' && later.ticks > (deleted.lastTicks ?? 0n)
      if (deleted.isTombstone) return mayBegin === (change.kind === 'applied')
      return change.kind !== 'applied' && mayBegin === (change.kind === 'begins-again')
    }),
  )
  fc.assert(
    fc.property(anyLifecycle, anyEvent, (known, event) => {
      const change = transition(known, event)
      return !isEnded(known.state) || change.kind !== 'applied' || isEnded(change.next.state)
    }),
  )
  t.pass()
})

test('the time of the newest event never moves back, and an event counts once', (t) => {
  fc.assert(
    fc.property(anyLifecycle, anyEvent, (known, event) => {
      const change = transition(known, event)
      if (change.kind !== 'applied') return true
      const isLater = known.lastTicks === undefined || (change.next.lastTicks ?? -1n) >= known.lastTicks
      return isLater && transition(change.next, event).kind !== 'applied'
    }),
  )
  t.pass()
})

test('the order of arrival of a creation and a bind does not matter', (t) => {
  const events = [put('Accepted', 1), bind, put('Succeeded', 2)]
  fc.assert(
    fc.property(fc.shuffledSubarray(events, { minLength: 3, maxLength: 3 }), (shuffled) => {
      const end = after(shuffled)
      return end?.state === 'Running' && end.lastTicks === 2n
    }),
  )
  t.pass()
})

test('a subscription ends only with its contracts revoked', (t) => {
  fc.assert(
    fc.property(anyLifecycle, anyEvent, (known, event) => {
      const change = transition(known, event)
      if (change.kind !== 'applied') return true
      const ends = !isEnded(known.state) && isEnded(change.next.state)
      return change.revokesContracts ? isEnded(change.next.state) : !ends
    }),
  )
  t.pass()
})
