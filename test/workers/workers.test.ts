import test from 'ava'
import fc from 'fast-check'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import type { Log } from '../../core/kernel/log.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { makeMergedMetrics, makeWorkerMetrics } from '../../composition/runtime/http/merged-metrics.ts'
import type { MetricsSnapshot } from '../../composition/runtime/http/metrics.ts'
import { boundedSend, shareOf } from '../../composition/runtime/service/worker-link.ts'
import { makeWorkers } from '../../composition/runtime/service/workers.ts'
import { makeRateLimit } from '../../composition/runtime/http/request/rate-limit.ts'
import { declareSuite } from '../support/declare-suite.ts'
import { until } from '../support/until.ts'
import { taskBusSuite } from '../tasks/task-bus.suite.ts'
import { factsOf, fakeFork } from './fake-workers.ts'

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

const address = { host: '127.0.0.1', port: 3000 }

/** Workers whose processes the test plays. The clock and the pauses are the test's own. */
const makeHouse = (count: number) => {
  const { workers: processes, fork } = fakeFork()
  const state = { now: 0, pauses: [] as number[], ended: [] as number[], givenUp: [] as string[] }
  const workers = makeWorkers({
    count,
    fork,
    log: silent,
    opsAddress: () => ({ host: '127.0.0.1', port: 3002 }),
    address: () => address,
    onEnded: (process) => void state.ended.push(process),
    onGivenUp: (reason) => void state.givenUp.push(reason),
    pause: async (ms) => void state.pauses.push(ms),
    nowMs: () => state.now,
  })
  const process = (index: number) => until(`process ${index}`, () => processes[index])
  const serve = async (index: number) => {
    const link = await (await process(index)).link
    await link.started(factsOf(`instance-${index}`))
    return link
  }
  const startAll = async () => {
    const started = workers.start()
    const links = []
    for (let index = 0; index < count; index++) links.push(await serve(index))
    await started
    return links
  }
  return { workers, processes, state, process, serve, startAll }
}

test('workers number 1 to 64, and 1 for an unshared database', async (t) => {
  for (const wrong of ['0', 'abc', '65', '1.5', '-1']) {
    const error = await t.throwsAsync(loadConfig({ environment: { MOORAGE_WORKERS: wrong } }), {
      instanceOf: StartRefused,
    })
    t.deepEqual(error.problems, ['MOORAGE_WORKERS must be a whole number from 1 to 64.'])
  }
  await t.throwsAsync(loadConfig({ environment: { MOORAGE_WORKERS: '2', MOORAGE_DATABASE_URL: 'sqlite::memory:' } }), {
    message: /MOORAGE_WORKERS must be 1 with sqlite::memory:/,
  })
  t.is((await loadConfig({ environment: {} })).settings.workers, 1)
})

test('the parts of a limit add up to it, and differ by one at most', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 0, max: 20_000 }), (count, total) => {
      const parts = Array.from({ length: count }, (_, index) => shareOf({ index, count })(total))
      t.is(
        parts.reduce((sum, part) => sum + part, 0),
        total,
      )
      t.true(Math.max(...parts) - Math.min(...parts) <= 1)
    }),
  )
})

test('waiting messages are bounded, and their order stays', (t) => {
  const waiting: { readonly message: number; readonly done: () => void }[] = []
  const send = boundedSend<number>((message, done) => void waiting.push({ message, done }), 3)
  t.deepEqual([1, 2, 3, 4].map(send), [true, true, true, false])
  waiting[0]?.done()
  t.true(send(5))
  t.deepEqual(
    waiting.map(({ message }) => message),
    [1, 2, 3, 5],
  )
})

test('the first worker starts alone and migrates, and all have one address', async (t) => {
  const house = makeHouse(3)
  const started = house.workers.start()
  const first = await (await house.process(0)).link
  t.is(house.processes.length, 1)
  t.deepEqual([first.place.address, first.migrates], [address, true])
  t.deepEqual([first.place.processes.count, first.place.processes.share(4)], [3, 2])
  await house.serve(0)
  const others = await Promise.all([house.serve(1), house.serve(2)])
  t.deepEqual(
    others.map(({ place, migrates }) => [place.address, migrates]),
    [
      [address, false],
      [address, false],
    ],
  )
  t.deepEqual((await started).map(({ instanceId }) => instanceId).sort(), ['instance-0', 'instance-1', 'instance-2'])
  t.is(house.workers.serving(), 3)
})

test('a start that a worker refuses gives its problems, and stops the others', async (t) => {
  const house = makeHouse(2)
  const started = house.workers.start()
  const first = await house.serve(0)
  const stopped = new Promise<void>((resolve) => first.signals.on('SIGINT', resolve))
  const second = await house.process(1)
  await (await second.link).refused(['MOORAGE_LISTEN is wrong.'])
  second.exit(1)
  await stopped
  house.processes[0]?.exit(0)
  const error = await t.throwsAsync(started, { instanceOf: StartRefused })
  t.deepEqual(error.problems, ['MOORAGE_LISTEN is wrong.'])
})

test('a dead worker is replaced with growing pauses', async (t) => {
  const house = makeHouse(2)
  await house.startAll()
  house.state.now = 60_000
  house.processes[1]?.exit(null, 'SIGKILL')
  const next = await house.serve(2)
  t.is(next.place.replaces, 'instance-1')
  t.is(next.place.processes.share(3), 1, 'it has the place of the second')
  await until('it serves', () => (house.workers.serving() === 2 ? true : undefined))
  t.deepEqual([house.state.pauses, house.state.ended, house.workers.restarts()], [[100], [2], 1])
  house.processes[2]?.exit(1)
  await house.serve(3)
  await until('it serves', () => (house.workers.serving() === 2 ? true : undefined))
  house.processes[3]?.exit(1)
  await house.serve(4)
  await until('it serves', () => (house.workers.serving() === 2 ? true : undefined))
  t.deepEqual(house.state.pauses, [100, 100, 200])
  house.state.now = 120_000
  house.processes[4]?.exit(1)
  await house.process(5)
  t.is(house.state.pauses.at(-1), 100)
  t.deepEqual(house.state.givenUp, [])
})

test('a worker that ends at once again and again ends the service with the reason', async (t) => {
  const house = makeHouse(1)
  await house.startAll()
  for (let index = 0; index < 8; index++) {
    const fake = await house.process(index)
    if (index > 0) await (await fake.link).refused(['The database cannot be used.'])
    await until('it has told', () => new Promise<true>((resolve) => setImmediate(resolve, true)))
    fake.exit(1)
  }
  await until('it was given up', () => house.state.givenUp[0])
  t.deepEqual(house.state.givenUp, [
    'a worker ended 8 times, each time soon after its start: The database cannot be used.',
  ])
  t.deepEqual(house.state.pauses, [100, 200, 400, 800, 1600, 3200, 6400])
  t.is(house.processes.length, 8)
})

test('a stop reaches each worker once, and none is replaced', async (t) => {
  const house = makeHouse(2)
  const links = await house.startAll()
  house.processes[1]?.exit(1)
  const late = await (await house.process(2)).link
  const heard: string[] = []
  links[0]?.signals.on('SIGTERM', () => heard.push('first'))
  const stopped = house.workers.stop({ drains: true })
  await until('the first heard it', () => heard[0])
  // The late one listens for signals after the message arrived.
  late.signals.on('SIGTERM', () => heard.push('late'))
  await until('the late one heard it', () => heard[1])
  house.processes[0]?.exit(0)
  house.processes[2]?.exit(1)
  t.false(await stopped)
  t.is(house.processes.length, 3)
})

test('a worker that dies during a question delays no other', async (t) => {
  const house = makeHouse(2)
  const links = await house.startAll()
  const metrics = { snapshot: async () => [], expose: async () => ({ contentType: '', text: '' }) }
  const check = { name: 'database', check: async () => false, reason: () => 'it is gone' }
  await links[0]?.place
    .makeOpsServer({ checks: [check], isStopping: () => false, metrics })
    .listen({ host: '127.0.0.1', port: 0 })
  const answers: unknown[] = []
  const silentOnes = house.workers.ask('readiness', (process, results) => void answers.push([process, results]))
  await until('the first answered', () => answers[0])
  house.processes[1]?.exit(1)
  t.is(await silentOnes, 0)
  t.deepEqual(answers, [
    [1, [{ name: 'database', passed: false, reason: 'it is gone', isInformative: false, isDegrading: false }]],
  ])
})

declareSuite(
  taskBusSuite,
  'between two workers',
  async () => {
    const house = makeHouse(2)
    const [here, there] = await house.startAll()
    return {
      here: makeInProcessTaskBus(here?.place.processes.topic('task bus')),
      there: makeInProcessTaskBus(there?.place.processes.topic('task bus')),
      close: async () => undefined,
    }
  },
  test,
)

test('messages reach the others in order, and not their sender', async (t) => {
  const house = makeHouse(3)
  const links = await house.startAll()
  const topics = links.map(({ place }) => place.processes.topic<number>('numbers'))
  const heard = topics.map((topic): number[] => {
    const numbers: number[] = []
    topic?.onMessage((number) => void numbers.push(number))
    return numbers
  })
  const sent = Array.from({ length: 200 }, (_, index) => index)
  for (const number of sent) topics[0]?.send(number)
  await until('all arrived', () => (heard[1]?.length === 200 && heard[2]?.length === 200 ? true : undefined))
  t.deepEqual(heard, [[], sent, sent])
})

test('the rate of a caller is one for the workers of an instance', async (t) => {
  const house = makeHouse(2)
  const links = await house.startAll()
  const limits = links.map(({ place }) => makeRateLimit(60, () => 0, place.processes.topic('rate limit')))
  const spend = (worker: number, key = 'user:1') => limits[worker]?.(key)
  for (let request = 0; request < 40; request++) t.true(spend(0)?.allowed)
  await until('the other knows', () => ((spend(1)?.remaining ?? 60) < 20 ? true : undefined))
  t.is(spend(1, 'user:2')?.remaining, 59, 'of another caller nothing is taken')
  await until('it is spent', () => (spend(1)?.allowed === false && spend(0)?.allowed === false ? true : undefined))
})

test('merged counters never fall, and gauges follow their rule', async (t) => {
  const registries = [1, 2].map((worker) => {
    const registry = new Registry()
    const registers = [registry]
    new Counter({ name: 'served_total', help: 'Served.', labelNames: ['route'], registers }).labels('/a').inc(worker)
    new Histogram({ name: 'took_seconds', help: 'Took.', buckets: [1], registers }).observe(worker / 2)
    new Gauge({ name: 'open', help: 'Open.', aggregator: 'sum', registers }).set(worker)
    new Gauge({ name: 'queued', help: 'Queued.', aggregator: 'max', registers }).set(7)
    new Gauge({ name: 'until', help: 'Until.', aggregator: 'min', registers }).set(10 * worker)
    return registry
  })
  const summary = { name: 'waits', help: 'Waits.', type: 'summary', aggregator: 'sum' }
  const snapshotOf = async (worker: number): Promise<MetricsSnapshot> => {
    const values = [{ metricName: 'waits_count', labels: {}, value: worker }]
    return [...((await registries[worker - 1]?.getMetricsAsJSON()) ?? []), { ...summary, values } as never]
  }
  const merged = makeMergedMetrics(makeWorkerMetrics({ serving: () => 2, restarts: () => 0, dropped: () => 0 }), () =>
    Promise.resolve(),
  )
  const shown = async (): Promise<readonly string[]> => {
    const { text } = await merged.expose()
    return text.split('\n').filter((line) => /^(served_total|took_seconds|open|queued|until|waits)/.test(line))
  }
  for (const worker of [1, 2]) merged.note(worker, await snapshotOf(worker))
  const counts = [
    'served_total{route="/a"} 3',
    'took_seconds_bucket{le="1"} 2',
    'took_seconds_bucket{le="+Inf"} 2',
    'took_seconds_sum 1.5',
    'took_seconds_count 2',
  ]
  t.deepEqual([...(await shown())].sort(), [...counts, 'open 3', 'queued 7', 'until 10', 'waits_count 3'].sort())
  t.regex((await merged.expose()).text, /# HELP open Open\. Sum of the processes\.\n/)
  merged.ended(2)
  t.deepEqual([...(await shown())].sort(), [...counts, 'open 1', 'queued 7', 'until 10', 'waits_count 3'].sort())
  merged.note(3, await snapshotOf(1))
  t.true((await shown()).includes('served_total{route="/a"} 4'))
  t.true((await shown()).includes('waits_count 4'))
})
