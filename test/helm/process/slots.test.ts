// process: own - replaces the clock
import test from 'ava'
import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import sinon from 'sinon'
import type { Release } from '../../../adapters/helm/process/limits.ts'
import { wallSecondsOf, makeSlots } from '../../../adapters/helm/process/limits.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'

const open = new AbortController().signal
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a tenant that has its share waits, and does not hold back another', async (t) => {
  const slots = makeSlots({ inAll: 2, perTenant: 1, waitingPerTenant: 5 }, 'test')
  const order: string[] = []
  const first = unwrap(await slots.take(1, open))
  const second = slots.take(1, open).then((taken) => (order.push('first tenant again'), unwrap(taken)))
  const other = slots.take(2, open).then((taken) => (order.push('another tenant'), unwrap(taken)))
  const giveBack = await other
  t.deepEqual(order, ['another tenant'])
  first()
  first()
  const again = await second
  t.deepEqual(order, ['another tenant', 'first tenant again'])
  again()
  giveBack()
})

test('too many that wait are refused, with a time to come back', async (t) => {
  const slots = makeSlots({ inAll: 1, perTenant: 1, waitingPerTenant: 1 }, 'test')
  const held = unwrap(await slots.take(1, open))
  const waiting = slots.take(1, open)
  const refused = await slots.take(1, open)
  t.is(tagOf(refused), 'HelmBusy')
  t.true(refused._tag === 'Left' && (refused.left.retryAfterSeconds ?? 0) > 0)
  const elsewhere = slots.take(2, open)
  held()
  unwrap(await waiting)()
  t.true(isRight(await elsewhere))
})

test('a wait ends with its signal, and with its time', async (t) => {
  const clock = sinon.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const slots = makeSlots({ inAll: 1, perTenant: 1, waitingPerTenant: 5, waitSeconds: 20 }, 'test')
    unwrap(await slots.take(1, open))
    const leaving = new AbortController()
    const left = slots.take(1, leaving.signal)
    leaving.abort()
    t.is(tagOf(await left), 'HelmStopped')
    t.is(tagOf(await slots.take(1, AbortSignal.abort())), 'HelmStopped')
    const waited = slots.take(1, open)
    clock.tick(20_000)
    t.is(tagOf(await waited), 'HelmBusy')
  } finally {
    clock.restore()
  }
})

test('there are never more than the limits, and no allowed one is left waiting', async (t) => {
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ tenant: fc.integer({ min: 1, max: 3 }), gives: fc.boolean() }), { maxLength: 40 }),
        async (steps) => {
          const limits = { inAll: 3, perTenant: 2, waitingPerTenant: 100 }
          const slots = makeSlots(limits, 'test')
          const held: { readonly tenant: number; readonly release: Release }[] = []
          let waiting = 0
          for (const { tenant, gives } of steps) {
            if (gives) held.shift()?.release()
            else {
              waiting += 1
              void slots.take(tenant, open).then((taken) => (waiting--, held.push({ tenant, release: unwrap(taken) })))
            }
            await turn()
            const of = (wanted: number) => held.filter(({ tenant: each }) => each === wanted).length
            if (held.length > limits.inAll || [1, 2, 3].some((each) => of(each) > limits.perTenant)) return false
          }
          while (held.length > 0) {
            held.shift()?.release()
            await turn()
          }
          return waiting === 0
        },
      ),
      { numRuns: 50 },
    ),
  )
})

test('a change may take as long as all its waits, and a timer never more than it can', (t) => {
  const given = { defaultTimeoutSeconds: 300 }
  t.is(wallSecondsOf(undefined, given), 1260)
  t.is(wallSecondsOf(0, given), 1260)
  t.is(wallSecondsOf(10, given), 100)
  t.true(wallSecondsOf(1e12, given) * 1000 < 2 ** 31)
})
