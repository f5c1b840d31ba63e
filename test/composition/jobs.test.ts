import { EventEmitter } from 'node:events'
import test from 'ava'
import { runUntilStopped } from '../../composition/runtime/cli/lifecycle.ts'
import { startJobs } from '../../composition/runtime/service/jobs.ts'
import { makeStopSequence } from '../../composition/runtime/service/compose.ts'
import type { Lease, LeaseStore } from '../../core/kernel/instances.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Job } from '../../plugins/kit/group.ts'
import { until } from '../support/until.ts'

const nothing = (): void => undefined
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Leases by a clock that the test moves. */
const makeLeases = () => {
  const held = new Map<string, { holder: string; fence: number; until: number }>()
  const state = { now: 0 }
  const isHeldBy = ({ name, holder, fence }: Lease): boolean => {
    const entry = held.get(name)
    return entry !== undefined && entry.holder === holder && entry.fence === fence && entry.until > state.now
  }
  const store: LeaseStore = {
    acquire: async (name, holder, ttlSeconds, longestSeconds = ttlSeconds) => {
      const entry = held.get(name)
      if (entry !== undefined && entry.until > state.now && entry.until <= state.now + longestSeconds + 60)
        return undefined
      const fence = (entry?.fence ?? 0) + 1
      held.set(name, { holder, fence, until: state.now + ttlSeconds })
      return { name, holder, fence }
    },
    renew: async (lease, ttlSeconds) => {
      if (!isHeldBy(lease)) return false
      held.set(lease.name, { holder: lease.holder, fence: lease.fence, until: state.now + ttlSeconds })
      return true
    },
    release: async (lease) => {
      if (isHeldBy(lease)) held.set(lease.name, { holder: lease.holder, fence: lease.fence, until: 0 })
    },
  }
  return { store, state, until: (name: string) => held.get(name)?.until }
}

/** A sleep that the test ends by hand. */
const makeSleep = () => {
  const waking: (() => void)[] = []
  return {
    sleep: (_ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        waking.push(resolve)
      }),
    wake: async () => {
      for (const resolve of waking.splice(0)) resolve()
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** The time is never in doubt. */
const always = async (): Promise<AbortSignal> => new AbortController().signal

const job = (run: Job['run'], everySeconds = 60): Job => ({ id: 'test.sweep', summary: '', everySeconds, run })

test('of two instances one runs the job, once a period', async (t) => {
  const { store, state } = makeLeases()
  const { sleep, wake } = makeSleep()
  const runs: string[] = []
  const instances = ['a', 'b'].map((holder) =>
    startJobs({
      jobs: [job(async () => void runs.push(holder))],
      leases: store,
      holder,
      log: silent,
      trusted: always,
      sleep,
    }),
  )
  await wake()
  t.is(runs.length, 1)
  state.now = 30
  await wake()
  t.is(runs.length, 1)
  state.now = 61
  await wake()
  t.is(runs.length, 2)
  await Promise.all(instances.map((instance) => instance.stop()))
})

test('a job that ran in the future runs again after the clock is corrected', async (t) => {
  const { store, state } = makeLeases()
  const { sleep, wake } = makeSleep()
  let runs = 0
  state.now = 40 * 86_400
  const jobs = startJobs({
    jobs: [job(async () => void (runs += 1), 3600)],
    leases: store,
    holder: 'a',
    log: silent,
    trusted: always,
    sleep,
  })
  await wake()
  state.now = 0
  await wake()
  t.is(runs, 2)
  // Its lease is longer than the one under which it runs.
  state.now = 100
  await wake()
  t.is(runs, 2)
  state.now = 3599
  await wake()
  t.is(runs, 2)
  await jobs.stop()
})

test('a failing run is reported, keeps its period, and the next one comes', async (t) => {
  const { store, state } = makeLeases()
  const { sleep, wake } = makeSleep()
  const outcomes: string[] = []
  let runs = 0
  const run = async (): Promise<void> => {
    runs += 1
    if (runs === 1) throw new Error('upstream is away')
  }
  const jobs = startJobs({
    jobs: [job(run)],
    leases: store,
    holder: 'a',
    log: silent,
    trusted: always,
    sleep,
    onRun: (id, outcome) => void outcomes.push(`${id} ${outcome}`),
  })
  await wake()
  state.now = 61
  await wake()
  t.deepEqual(outcomes, ['test.sweep failed', 'test.sweep done'])
  await jobs.stop()
})

test('a stop aborts the run, waits for it and hands the lease back', async (t) => {
  const { store, until } = makeLeases()
  const { sleep, wake } = makeSleep()
  let ended = false
  const run = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () =>
        setImmediate(() => {
          ended = true
          resolve()
        }),
      ),
    )
  const jobs = startJobs({ jobs: [job(run)], leases: store, holder: 'a', log: silent, trusted: always, sleep })
  await wake()
  t.false(ended)
  await jobs.stop()
  t.true(ended)
  t.is(until('test.sweep'), 0)
})

test('a job that does not obey the stop is named in the log', async (t) => {
  const { store } = makeLeases()
  const { sleep, wake } = makeSleep()
  let end = (): void => undefined
  const run = (): Promise<void> => new Promise((resolve) => (end = resolve))
  const named = new Promise<unknown>((resolve) => {
    const jobs = startJobs({
      jobs: [job(run), { ...job(async () => undefined), id: 'test.good' }],
      leases: store,
      holder: 'a',
      log: { ...silent, warn: resolve },
      trusted: always,
      sleep,
      lateMs: 1,
    })
    void wake().then(() => jobs.stop())
  })
  t.deepEqual(await named, { job: 'test.sweep' })
  end()
})

test('a database that does not answer delays a job and ends nothing', async (t) => {
  const { store } = makeLeases()
  const { sleep, wake } = makeSleep()
  let away = true
  let runs = 0
  const flaky: LeaseStore = {
    ...store,
    acquire: (...given) => (away ? Promise.reject(new Error('away')) : store.acquire(...given)),
  }
  const jobs = startJobs({
    jobs: [job(async () => void (runs += 1))],
    leases: flaky,
    holder: 'a',
    log: silent,
    trusted: always,
    sleep,
  })
  await wake()
  t.is(runs, 0)
  away = false
  await wake()
  t.is(runs, 1)
  await jobs.stop()
})

test('no job starts while the time is uncertain, and running ones are aborted', async (t) => {
  const { store, until } = makeLeases()
  const { sleep, wake } = makeSleep()
  let doubt: AbortController | undefined
  const log: string[] = []
  const run = (signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      log.push('begun')
      signal.addEventListener('abort', () => {
        log.push('aborted')
        reject(new Error('aborted'))
      })
    })
  const jobs = startJobs({
    jobs: [job(run)],
    leases: store,
    holder: 'a',
    log: silent,
    trusted: async () => doubt?.signal,
    sleep,
  })
  await wake()
  t.is(until('test.sweep'), undefined, 'not even the lease is taken')
  doubt = new AbortController()
  await wake()
  t.deepEqual(log, ['begun'])
  doubt.abort()
  doubt = undefined
  await wake()
  t.deepEqual(log, ['begun', 'aborted'])
  t.is(until('test.sweep'), 0, 'another instance need not wait')
  await wake()
  t.deepEqual(log, ['begun', 'aborted'])
  doubt = new AbortController()
  await wake()
  t.deepEqual(log, ['begun', 'aborted', 'begun'])
  await jobs.stop()
})

const makeLog = () => {
  const lines: string[] = []
  const keep = (_fields: object, message: string): void => void lines.push(message)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  return { log, lines }
}

test('resources close in reverse order, and a failure is logged', async (t) => {
  const { log, lines } = makeLog()
  const stops = makeStopSequence(log)
  const closed: string[] = []
  stops.add('database', async () => void closed.push('database'))
  stops.addLast('health', async () => void closed.push('health'))
  stops.add('jobs', async () => Promise.reject(new Error('stuck')))
  stops.add('listener', async () => void closed.push('listener'))
  t.false(await stops.run())
  t.deepEqual(closed, ['listener', 'database', 'health'])
  t.deepEqual(lines, ['could not be closed'])
})

test('a repeated stop runs once', async (t) => {
  const stops = makeStopSequence(makeLog().log)
  let closed = 0
  stops.add('database', async () => void (closed += 1))
  t.deepEqual(await Promise.all([stops.run(), stops.run()]), [true, true])
  t.is(closed, 1)
})

/** A service that starts when it is released, and what became of its process. */
const lifecycle = ({ allClosed = true, hardLimitMs = 60_000, holds = false } = {}) => {
  const signals = new EventEmitter()
  const started = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  if (!holds) released.resolve()
  const asked: boolean[] = []
  const forced: number[] = []
  const stop = async ({ drains }: { readonly drains: boolean }): Promise<boolean> => {
    asked.push(drains)
    await released.promise
    return allClosed
  }
  const start = async () => {
    await started.promise
    return { stop }
  }
  const ended = runUntilStopped({
    signals,
    log: makeLog().log,
    start,
    exitNow: (code) => void forced.push(code),
    hardLimitMs,
  })
  const whenStarted = async (): Promise<void> => {
    started.resolve()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { signals, whenStarted, release: released.resolve, asked, forced, ended }
}

test('the exit code says whether everything closed in order', async (t) => {
  for (const [allClosed, code] of [
    [true, 0],
    [false, 1],
  ] as const) {
    const { signals, whenStarted, ended } = lifecycle({ allClosed })
    await whenStarted()
    signals.emit('SIGTERM')
    t.is(await ended, code)
  }
})

test('SIGTERM drains for a load balancer, and SIGINT at a terminal does not', async (t) => {
  for (const [signal, drains] of [
    ['SIGTERM', true],
    ['SIGINT', false],
    ['SIGHUP', false],
  ] as const) {
    const { signals, whenStarted, asked, ended } = lifecycle()
    await whenStarted()
    signals.emit(signal)
    await ended
    t.deepEqual(asked, [drains])
  }
})

test('a signal during the start stops the service without a drain', async (t) => {
  const { signals, whenStarted, asked, ended } = lifecycle()
  signals.emit('SIGTERM')
  await whenStarted()
  t.is(await ended, 0)
  t.deepEqual(asked, [false])
})

test('a duplicate signal is ignored, and a different second signal counts', async (t) => {
  const { signals, whenStarted, release, forced, ended } = lifecycle({ holds: true })
  await whenStarted()
  for (const name of ['SIGINT', 'SIGINT', 'SIGHUP']) signals.emit(name)
  t.deepEqual(forced, [])
  signals.emit('SIGTERM')
  t.deepEqual(forced, [1])
  release()
  await ended
})

test('a stop beyond the limit ends the process with 1', async (t) => {
  const { signals, whenStarted, release, forced, ended } = lifecycle({ holds: true, hardLimitMs: 20 })
  await whenStarted()
  signals.emit('SIGINT')
  await until('the process is ended', () => (forced.length > 0 ? true : undefined))
  t.deepEqual(forced, [1])
  release()
  await ended
})
