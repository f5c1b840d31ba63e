import test from 'ava'
import fc from 'fast-check'
import { openSharedClock } from '../../adapters/system/shared-clock.ts'
import type { Log } from '../../core/kernel/log.ts'

/** How long a clock rests after a reading that failed. */
const restMs = 60_000

const second = 1000
const hour = 3600 * second
const day = 24 * hour
const epoch = Date.UTC(2026, 2, 1)

/** A machine and a database whose clocks the test sets. Time passes by `pass` and on the way to the database. */
const makeFixture = (machineAhead = 0) => {
  const fixture = { steady: 500, machineAhead, databaseAhead: 0, there: 1, back: 1, isAway: false, asked: 0 }
  const lines: string[] = []
  const line = (level: string) => (_fields: object, message: string) => void lines.push(`${level} ${message}`)
  const log: Log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  const databaseMs = (): number => epoch + fixture.steady + fixture.databaseAhead
  const ask = async (): Promise<number> => {
    fixture.asked += 1
    fixture.steady += fixture.there
    const answer = Math.floor(databaseMs())
    fixture.steady += fixture.back
    if (fixture.isAway) throw new Error('away')
    return answer
  }
  const local = { wallMs: () => epoch + fixture.steady + fixture.machineAhead, steadyMs: () => fixture.steady }
  return {
    fixture,
    lines,
    log,
    databaseMs,
    open: () => openSharedClock({ ask, local }),
    pass: (ms: number) => void (fixture.steady += ms),
  }
}

type Fixture = ReturnType<typeof makeFixture>
/** How far the clock is from the database. */
const errorOf = (clock: { now(): Date }, { databaseMs }: Fixture): number =>
  Math.abs(clock.now().getTime() - databaseMs())

const watched = async (fixture: Fixture, t: { teardown(end: () => Promise<void>): void }) => {
  const clock = await fixture.open()
  clock.watch(fixture.log)
  t.teardown(() => clock.stop())
  return clock
}

for (const ahead of [400 * day, -400 * day, hour, 6 * second]) {
  test(`a machine ${ahead / second} s ahead uses the database's time and reports it once`, async (t) => {
    const fixture = makeFixture(ahead)
    const clock = await watched(fixture, t)
    t.true(errorOf(clock, fixture) <= 2)
    t.true(clock.isSkewed())
    t.true(Math.abs(clock.skewMs() - ahead) <= 2)
    for (let i = 0; i < 5; i += 1) {
      fixture.pass(5 * second)
      t.is(await clock.trusted(), undefined)
    }
    t.false(clock.isTrusted())
    t.is(fixture.lines.length, 1)
    t.regex(fixture.lines[0] ?? '', /^error the clocks of this machine and of the database differ/)

    fixture.fixture.machineAhead = 4.9 * second
    fixture.pass(5 * second)
    await clock.trusted()
    t.true(clock.isSkewed(), 'a skew at the limit does not come and go')
    fixture.fixture.machineAhead = 3 * second
    fixture.pass(5 * second)
    t.false((await clock.trusted())?.aborted)
    t.false(clock.isSkewed())
    t.is(fixture.lines.length, 2)
    t.regex(fixture.lines[1] ?? '', /^info .* agree again/)
  })
}

test("clocks within five seconds are trusted, on the database's time", async (t) => {
  const fixture = makeFixture(4.9 * second)
  const clock = await watched(fixture, t)
  t.true(errorOf(clock, fixture) <= 2)
  t.true(clock.isTrusted())
  t.deepEqual(fixture.lines, [])
})

test("a step of the machine's clock ends expiring work only", async (t) => {
  for (const isAway of [false, true]) {
    const fixture = makeFixture()
    const clock = await watched(fixture, t)
    const trust = await clock.trusted()
    fixture.pass(2 * second)
    Object.assign(fixture.fixture, { machineAhead: -hour, isAway })
    t.true(errorOf(clock, fixture) <= 2)
    await clock.trusted().catch(() => undefined)
    t.true(errorOf(clock, fixture) <= 2)
    t.true(trust?.aborted)
    t.true(clock.isSkewed())
  }
})

test('asking for the time costs no query, and measurements of one moment are one', async (t) => {
  const fixture = makeFixture()
  const clock = await watched(fixture, t)
  for (let i = 0; i < 100; i += 1) clock.now()
  await Promise.all([clock.trusted(), clock.trusted()])
  t.is(fixture.fixture.asked, 1)
  fixture.pass(2 * second)
  await Promise.all([clock.trusted(), clock.trusted(), clock.trusted()])
  t.is(fixture.fixture.asked, 2)
})

test('one wild answer moves nothing, and no job may run for a minute', async (t) => {
  const fixture = makeFixture()
  const clock = await watched(fixture, t)
  const trust = await clock.trusted()
  fixture.fixture.databaseAhead = 400 * day
  fixture.pass(5 * second)
  await clock.trusted()
  fixture.fixture.databaseAhead = 0
  t.true(errorOf(clock, fixture) <= 2)
  t.false(clock.isSkewed())
  t.true(trust?.aborted)
  fixture.pass(restMs - second)
  t.is(await clock.trusted(), undefined)
  fixture.pass(2 * second)
  t.false((await clock.trusted())?.aborted)
  t.true(errorOf(clock, fixture) <= 2)
  t.deepEqual(
    fixture.lines.map((line) => line.split(' ')[0]),
    ['warn', 'info'],
  )
})

test('a changed database time is followed, and jobs pause', async (t) => {
  const fixture = makeFixture()
  const clock = await watched(fixture, t)
  fixture.fixture.databaseAhead = 400 * day
  fixture.pass(2 * second)
  await clock.trusted()
  await clock.trusted()
  await clock.trusted()
  t.true(errorOf(clock, fixture) > 399 * day, 'questions of one moment are one')
  for (let i = 0; i < 2; i += 1) {
    fixture.pass(2 * second)
    await clock.trusted()
  }
  t.true(errorOf(clock, fixture) <= 2)
  t.true(clock.isSkewed())
  fixture.pass(10 * restMs)
  t.is(await clock.trusted(), undefined)
  t.is(fixture.lines.filter((line) => line.startsWith('error')).length, 1)
})

test('a machine that jumps with its database follows and pauses for a minute', async (t) => {
  const fixture = makeFixture()
  const clock = await watched(fixture, t)
  Object.assign(fixture.fixture, { databaseAhead: 8 * hour, machineAhead: 8 * hour })
  fixture.pass(2 * second)
  await clock.trusted()
  t.true(errorOf(clock, fixture) <= 2)
  t.false(clock.isSkewed())
  t.false(clock.isTrusted())
  fixture.pass(restMs + second)
  t.false((await clock.trusted())?.aborted)
})

test('a database that is away changes nothing, and no job is started', async (t) => {
  const fixture = makeFixture(hour)
  const clock = await watched(fixture, t)
  fixture.fixture.isAway = true
  fixture.pass(3 * hour)
  await t.throwsAsync(() => clock.trusted(), { message: 'away' })
  t.true(errorOf(clock, fixture) <= 2)
  await t.throwsAsync(() => fixture.open(), { message: 'away' })
})

test('slow database answers never worsen the time, and a jump needs proof', async (t) => {
  const trip = fc.record({ there: fc.integer({ min: 0, max: 4000 }), back: fc.integer({ min: 0, max: 4000 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(trip, { minLength: 4, maxLength: 20 }), async (trips) => {
      const fixture = makeFixture()
      Object.assign(fixture.fixture, trips[0])
      const clock = await fixture.open()
      let last = errorOf(clock, fixture)
      for (const each of trips) {
        fixture.pass(2 * second)
        Object.assign(fixture.fixture, each)
        await clock.trusted()
        const error = errorOf(clock, fixture)
        if (error > last + 1) throw new Error(`the error grew from ${last} to ${error}`)
        last = error
      }
    }),
    { numRuns: 200 },
  )
  const fixture = makeFixture()
  const clock = await fixture.open()
  Object.assign(fixture.fixture, { databaseAhead: 400 * day, there: 2 * second, back: 2 * second })
  for (let i = 0; i < 6; i += 1) {
    fixture.pass(2 * second)
    await clock.trusted()
  }
  t.true(errorOf(clock, fixture) > 399 * day)
  t.false(clock.isTrusted())
})

test('the first answer may be slow: the best of three counts', async (t) => {
  const fixture = makeFixture()
  Object.assign(fixture.fixture, { there: 3 * second, back: 0 })
  const opening = fixture.open()
  queueMicrotask(() => void Object.assign(fixture.fixture, { there: 1, back: 1 }))
  t.true(errorOf(await opening, fixture) <= 2)
})
