import test from 'ava'
import type { ExecutionContext } from 'ava'
import type { ContractId } from '../../core/contracts/types.ts'
import type { SinkKind } from '../../core/rating/sinks/ports.ts'
import { sinkKinds } from '../../core/rating/sinks/ports.ts'
import type { BilledProductUse } from '../../core/usage/overview-ports.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { eachDatabase } from '../support/databases.ts'
import { ownerOf, useOf } from './stored-billing.ts'
import { makeTestClock, storedSinks } from './stored-sinks.ts'
import type { StrictEngine } from './strict-engines.ts'
import { startEngine } from './strict-engines.ts'

const [sqlite] = eachDatabase()

const environment = async (t: ExecutionContext, kind: SinkKind, database = sqlite!) => {
  const clock = makeTestClock('2026-08-05T10:00:00Z')
  const db = await database.open()
  t.teardown(() => db.close())
  const engine = await startEngine(kind, clock)
  t.teardown(() => engine.close())
  const stored = storedSinks(db, clock, { kind, url: engine.url })
  await stored.create()
  return { clock, engine, ...stored }
}

const use = (owner: number, cpu: string): readonly BilledProductUse[] => useOf(ownerOf(owner), cpu)

/** What an engine has of each customer and meter. */
const sums = ({ counted }: StrictEngine): Readonly<Record<string, number>> => {
  const found: Record<string, number> = {}
  for (const { customer, meter, value } of counted)
    found[`${customer} ${meter}`] = Math.round(((found[`${customer} ${meter}`] ?? 0) + Number(value)) * 1000) / 1000
  return found
}

const isEachIdOnce = ({ counted }: StrictEngine): boolean =>
  new Set(counted.map(({ id }) => id)).size === counted.length

for (const kind of sinkKinds) {
  test(`${kind}: usage of a batch whose answer is lost is counted once`, async (t) => {
    const { clock, engine, close, collect, mapped, send, waiting } = await environment(t, kind)
    for (let owner = 1; owner <= 105; owner += 1) {
      close({ owner, revision: 1, uses: use(owner, `${owner}.25`) })
      await mapped(owner, `cus_${owner}`)
    }
    await collect()
    engine.faults.push('answer-lost', 'request-lost', { status: 503 })
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await send()
      clock.hours(1)
    }
    t.is(engine.counted.length, 105)
    t.true(isEachIdOnce(engine))
    t.is(sums(engine)['cus_105 dbProduct_cpu_prod'], 105.25)
    t.deepEqual(engine.counted[0]?.at, new Date('2026-07-31T23:59:59Z'))
    t.deepEqual(await waiting(), [])
  })

  test(`${kind}: usage is sent after an outage of 30 hours`, async (t) => {
    const { clock, engine, close, collect, mapped, send, sinks, waiting } = await environment(t, kind)
    for (const owner of [1, 2, 3]) {
      close({ owner, revision: 1, uses: use(owner, '2') })
      await mapped(owner, `cus_${owner}`)
    }
    await collect()
    // Nothing listens at the address.
    const sink = (await sinks.find('engine'))!
    await sinks.put({ ...sink, address: 'http://127.0.0.1:1' })
    const before = clock.now()
    for (let hour = 0; hour < 30; hour += 1) {
      await send()
      clock.hours(1)
    }
    const down = (await sinks.find('engine'))!
    t.true(down.failures > 20)
    t.not(down.lastError, '')
    t.is((await waiting()).filter(({ state }) => state === 'pending').length, 3)
    await sinks.put({ ...down, address: engine.url, nextAttemptAt: before })
    await send()
    t.deepEqual(sums(engine), {
      'cus_1 dbProduct_cpu_prod': 2,
      'cus_2 dbProduct_cpu_prod': 2,
      'cus_3 dbProduct_cpu_prod': 2,
    })
    t.is((await sinks.find('engine'))?.lastError, '')
  })

  test(`${kind}: a new revision sends the differences`, async (t) => {
    const { engine, clock, close, collect, mapped, send } = await environment(t, kind)
    await mapped(1, 'cus_1')
    const other = { ...use(1, '5')[0]!, contractId: 9 as ContractId }
    close({ owner: 1, revision: 1, uses: [...use(1, '2.5'), other] })
    await collect()
    await send()
    // Contract 9 is gone, and another product is used.
    close({
      owner: 1,
      revision: 2,
      uses: [...use(1, '1.25'), { ...use(1, '0')[0]!, nonProd: { cpu: '0', memory: '3' } }],
    })
    clock.hours(24)
    await Promise.all([collect(), collect()])
    await send()
    await collect()
    await send()
    t.deepEqual(sums(engine), { 'cus_1 dbProduct_cpu_prod': 1.25, 'cus_1 dbProduct_memory_non_prod': 3 })
    t.true(isEachIdOnce(engine))
    t.deepEqual(engine.counted.at(-1)?.at, clock.now())
  })

  test(`${kind}: an event that the engine refuses is held alone`, async (t) => {
    const { engine, close, collect, mapped, resolve, send, waiting } = await environment(t, kind)
    for (const owner of [1, 2, 3]) close({ owner, revision: 1, uses: use(owner, '2') })
    await mapped(1, 'cus_1')
    await mapped(2, 'gone')
    await collect()
    await send()
    t.deepEqual(sums(engine), { 'cus_1 dbProduct_cpu_prod': 2 })
    const held = await waiting()
    t.deepEqual(
      held.map(({ state }) => state),
      ['refused', 'unmapped'],
    )
    t.regex(held[0]!.reason, /^Status 4/)
    await mapped(2, 'cus_2')
    await mapped(3, 'cus_3')
    t.is((await resolve(held[1]!.id, 'sent'))._tag, 'Left')
    t.is((await resolve(held[0]!.id, 'send-again'))._tag, 'Right')
    await send()
    t.is(engine.counted.length, 3)
    t.deepEqual(await waiting(), [])
  })

  test(`${kind}: nothing is sent before the time that the engine asks for`, async (t) => {
    const { clock, engine, close, collect, mapped, send } = await environment(t, kind)
    await mapped(1, 'cus_1')
    close({ owner: 1, revision: 1, uses: use(1, '2') })
    await collect()
    engine.faults.push({ status: 429, headers: { 'retry-after': '7200' } })
    await send()
    clock.hours(1.9)
    await send()
    t.is(engine.requests(), 1)
    clock.hours(0.2)
    await send()
    t.is(engine.counted.length, 1)
  })
}

for (const kind of ['openmeter', 'stripe'] as const)
  test(`${kind}: an event is not sent again after the engine has forgotten its id`, async (t) => {
    const { clock, engine, close, collect, mapped, resolve, send, waiting } = await environment(t, kind)
    for (const owner of [1, 2]) close({ owner, revision: 1, uses: use(owner, '2') })
    await mapped(1, 'cus_1')
    await collect()
    engine.faults.push('answer-lost')
    await send()
    engine.failAll({ status: 503 })
    for (let hour = 0; hour < 30; hour += 1) {
      clock.hours(1)
      await send()
    }
    engine.failAll(undefined)
    await mapped(2, 'cus_2')
    clock.hours(1)
    await send()
    t.deepEqual(
      engine.counted.map(({ customer }) => customer),
      ['cus_1', 'cus_2'],
    )
    const [held] = await waiting()
    t.is(held?.state, 'unknown')
    t.is((await resolve(held!.id, 'sent'))._tag, 'Right')
    t.deepEqual(await waiting(), [])
  })

test('stripe: an event beyond the age window counts at the time of sending', async (t) => {
  const { clock, engine, close, collect, mapped, send } = await environment(t, 'stripe')
  await mapped(1, 'cus_1')
  close({ owner: 1, revision: 1, uses: use(1, '2'), month: 202606 as MonthKey })
  await collect()
  await send()
  t.deepEqual(engine.counted[0]?.at, clock.now())
})

test('a wrong key holds everything and says so', async (t) => {
  const clock = makeTestClock('2026-08-05T10:00:00Z')
  const db = await sqlite!.open()
  t.teardown(() => db.close())
  const engine = await startEngine('lago', clock)
  t.teardown(() => engine.close())
  const { close, collect, create, mapped, send, sinks } = storedSinks(db, clock, {
    kind: 'lago',
    url: engine.url,
    key: 'wrong',
  })
  await create()
  await mapped(1, 'cus_1')
  close({ owner: 1, revision: 1, uses: use(1, '2') })
  await collect()
  await send()
  t.regex((await sinks.find('engine'))?.lastError ?? '', /refused the key/)
  t.is((await sinks.counts()).values().next().value?.pending, 1)
})

for (const database of eachDatabase())
  test(`${database.name}: two processes collect and send each quantity once`, async (t) => {
    const { engine, close, collect, mapped, send } = await environment(t, 'openmeter', database)
    for (let owner = 1; owner <= 12; owner += 1) {
      close({ owner, revision: 1, uses: use(owner, '2') })
      await mapped(owner, `cus_${owner}`)
    }
    await Promise.all([collect(), collect()])
    await Promise.all([send(), send()])
    t.is(engine.counted.length, 12)
    t.is(engine.requests(), 1)
  })
