import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { wallSecondsOf, makeSlots } from '../../../adapters/helm/process/limits.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'

const open = new AbortController().signal
const quick = async () => right('done')

test('a tenant that has its share waits, and does not delay another', async (t) => {
  const slots = makeSlots({ inAll: 2, perTenant: 1, waitingPerTenant: 5 }, 'test')
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const note = (name: string) => async () => right(void order.push(name))
  const held = slots.run(1, open, async () => right(await first.promise))
  const second = slots.run(1, open, note('first tenant again'))
  unwrap(await slots.run(2, open, note('another tenant')))
  first.resolve()
  unwrap(await held)
  unwrap(await second)
  t.deepEqual(order, ['another tenant', 'first tenant again'])
})

test('a refused wait is a failure with its reason, and faults propagate', async (t) => {
  const slots = makeSlots({ inAll: 1, perTenant: 1, waitingPerTenant: 1, waitSeconds: 3600 }, 'test')
  const first = Promise.withResolvers<void>()
  const held = slots.run(1, open, async () => right(await first.promise))
  const leaving = new AbortController()
  const left = slots.run(1, leaving.signal, quick)
  const refused = await slots.run(1, open, quick)
  t.is(tagOf(refused), 'HelmBusy')
  t.true(refused._tag === 'Left' && Number.isInteger(refused.left.retryAfterSeconds))
  leaving.abort()
  t.is(tagOf(await left), 'HelmStopped')
  t.is(tagOf(await slots.run(2, AbortSignal.abort(), quick)), 'HelmStopped')
  first.resolve()
  unwrap(await held)
  await t.throwsAsync(
    slots.run(1, open, async () => Promise.reject(new Error('a fault'))),
    { message: 'a fault' },
  )
  t.is(unwrap(await slots.run(1, open, quick)), 'done')
})

test('a wait ends after its time', async (t) => {
  const slots = makeSlots({ inAll: 1, perTenant: 1, waitingPerTenant: 5, waitSeconds: 0.001 }, 'test')
  const first = Promise.withResolvers<void>()
  const held = slots.run(1, open, async () => right(await first.promise))
  t.is(tagOf(await slots.run(1, open, quick)), 'HelmBusy')
  first.resolve()
  unwrap(await held)
})

test('a change may take as long as all its waits, and a timer never more than it can', (t) => {
  const given = { defaultTimeoutSeconds: 300 }
  t.is(wallSecondsOf(undefined, given), 1260)
  t.is(wallSecondsOf(0, given), 1260)
  t.is(wallSecondsOf(10, given), 100)
  t.true(wallSecondsOf(1e12, given) * 1000 < 2 ** 31)
})
