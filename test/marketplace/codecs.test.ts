import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import test from 'ava'
import fc from 'fast-check'
import { waitSeconds } from '../../core/marketplace/claims/claims.ts'
import { applicationKey, parseApplicationId } from '../../core/marketplace/notifications/applications.ts'
import type { BindingInfo } from '../../core/marketplace/notifications/bindings.ts'
import { parseBinding } from '../../core/marketplace/notifications/bindings.ts'
import { parseTicks, ticksOf } from '../../core/marketplace/notifications/event-times.ts'

const subscription = '6f1c5e0d-0d6f-4a53-9c39-5f1d2f6f2a11'
const id = (more: { first?: string; group?: string; provider?: string; name?: string } = {}) =>
  `${more.first ?? '/'}subscriptions/${subscription}/resourceGroups/${more.group ?? 'production'}` +
  `/providers/${more.provider ?? 'Microsoft.Solutions'}/applications/${more.name ?? 'product'}`

test('an application id has four parts in any case', (t) => {
  const parts = {
    clientSubscriptionId: subscription,
    resourceGroup: 'production',
    provider: 'Microsoft.Solutions',
    application: 'product',
  }
  t.deepEqual(parseApplicationId(id()), parts)
  t.deepEqual(parseApplicationId(id({ first: '' })), parts)
  const other = parseApplicationId(id().toUpperCase())
  t.is(other && applicationKey(other), applicationKey(parts))
})

test('an invalid application id is refused', (t) => {
  const wrong = [
    '',
    id({ first: '//' }),
    id({ group: '' }),
    id({ group: 'g'.repeat(91) }),
    id({ name: 'ab' }),
    id({ name: 'a'.repeat(65) }),
    id({ provider: 'Microsoft.Compute' }),
    `${id()}/`,
    `${id()}\n`,
    id().replace(subscription, 'x'),
  ]
  for (const text of wrong) t.is(parseApplicationId(text), undefined, text)
})

test('times are read to 100 ns, in any zone', (t) => {
  t.is(parseTicks('2019-08-14T19:20:08.1707163Z'), 15_658_104_081_707_163n)
  t.is(parseTicks('2019-08-14T21:20:08.1707163+02:00'), parseTicks('2019-08-14T19:20:08.1707163Z'))
  t.is(parseTicks('2019-08-14T19:20:08Z'), 15_658_104_080_000_000n)
  t.is(parseTicks('2019-08-14T19:20:08.17071639Z'), parseTicks('2019-08-14T19:20:08.1707163Z'))
  for (const text of ['', 'now', '2019-02-30T00:00:00Z', '2019-08-14 19:20:08Z'])
    t.is(parseTicks(text), undefined, text)
})

test('ticks have the order of the instants, and agree with the clock', (t) => {
  const instant = fc.date({ min: new Date(0), max: new Date('9998-01-01T00:00:00Z'), noInvalidDate: true })
  fc.assert(fc.property(instant, (at) => parseTicks(at.toISOString()) === ticksOf(at)))
  const digits = fc.integer({ min: 0, max: 9_999_999 })
  fc.assert(
    fc.property(digits, digits, (a, b) => {
      const at = (ticks: number) => parseTicks(`2026-11-20T12:00:00.${String(ticks).padStart(7, '0')}Z`) ?? -1n
      return at(a) < at(b) === a < b
    }),
  )
  t.pass()
})

const info: BindingInfo = {
  marketplace: 'CloudA',
  installerId: 'a'.repeat(32),
  clusterId: 'c1',
  cloudAAccountID: undefined,
  adminUsername: undefined,
}

test('a bind names its marketplace, an installer and a cluster', (t) => {
  const parsed = parseBinding({ ...info, installerId: 'A'.repeat(32), adminUsername: 'root' }, 'CloudA')
  t.true(isRight(parsed) && parsed.right.installerRef === 'a'.repeat(32))
  t.true(isRight(parsed) && parsed.right.adminUsername === 'root')
  const wrong: readonly (BindingInfo | undefined)[] = [
    undefined,
    { ...info, marketplace: 'CloudB' },
    { ...info, marketplace: undefined },
    { ...info, installerId: ' ' },
    { ...info, clusterId: '' },
    { ...info, cloudAAccountID: '12345678901' },
  ]
  for (const each of wrong) t.true(isLeft(parseBinding(each, 'CloudA')), JSON.stringify(each))
})

test('the wait between claim checks doubles to an hour with a fifth of jitter', (t) => {
  t.deepEqual(
    [0, 1, 2, 6, 7, 1000].map((attempts) => waitSeconds(attempts, 0.5)),
    [30, 60, 120, 1920, 3600, 3600],
  )
  fc.assert(
    fc.property(fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true }), (attempts, chance) => {
      const [wait, middle] = [waitSeconds(attempts, chance), waitSeconds(attempts, 0.5)]
      return wait >= middle * 0.799 && wait <= middle * 1.201
    }),
  )
})
