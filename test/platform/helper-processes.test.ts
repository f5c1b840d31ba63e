// process: own - counts the processor time of all processes that it starts
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { runChild } from '../../adapters/helm/process/child-process.ts'
import type { HelperProcesses, HelperUse } from '../../adapters/system/helper-processes.ts'
import { makeHelperProcesses } from '../../adapters/system/helper-processes.ts'
import { makeMergedMetrics } from '../../composition/runtime/http/merged-metrics.ts'
import { makeMetrics } from '../../composition/runtime/http/metrics.ts'
import { until } from '../support/until.ts'

/** What processes that the service starts use, also when they have ended. */

const megabyte = 1024 * 1024
const onLinux = process.platform === 'linux' ? test.serial : test.serial.skip

const watched = () => {
  const lines: (readonly [level: string, fields: object])[] = []
  const log = {
    debug: (fields: object) => void lines.push(['debug', fields]),
    warn: (fields: object) => void lines.push(['warn', fields]),
  }
  const helpers = makeHelperProcesses(log, ['closing', 'helm'])
  return { helpers, lines, use: () => helpers.uses().get('closing') as HelperUse }
}

/** Takes processor time and memory, says how much time, and ends as it is asked to. */
const busy = `
  const bytes = Buffer.alloc(120 * ${megabyte}, 1)
  const seconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6
  while (seconds() < Number(process.argv[1] ?? 0.25)) Math.sqrt(bytes.length)
  process.stdout.write(seconds() + '\\n')
  process.stdin.once('data', (text) => process.exit(Number(text)))
`

/** Runs the busy program, and returns the processor time of which it knows. */
const run = async (
  helpers: HelperProcesses,
  end: { code: number } | { signal: NodeJS.Signals },
  level?: 'warn',
  seconds = 0.25,
) => {
  const child = spawn(process.execPath, ['-e', busy, String(seconds)], { stdio: ['pipe', 'pipe', 'ignore'] })
  const look = helpers.watch('closing', child, level)
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  look.look()
  const exited = once(child, 'exit')
  if ('signal' in end) child.kill(end.signal)
  else child.stdin.write(String(end.code))
  await exited
  return Number(said.toString())
}

onLinux('processor time, memory and ends remain after the end of a process', async (t) => {
  const { helpers, lines, use } = watched()
  let known = await run(helpers, { code: 0 }, 'warn')
  // The system counts hundredths of seconds.
  t.true(use().cpuSeconds > known - 0.05, `${use().cpuSeconds} of ${known}`)
  t.true(use().peakBytes > 120 * megabyte && use().peakBytes < 2000 * megabyte)
  known += await run(helpers, { code: 3 }, 'warn')
  known += await run(helpers, { signal: 'SIGKILL' })
  t.true(use().cpuSeconds > known - 0.15, `${use().cpuSeconds} of ${known}`)
  t.like(use(), { running: 0, ends: { done: 1, failed: 1, killed: 1 }, lives: { count: 3 } })
  t.like(helpers.uses().get('helm') as HelperUse, { cpuSeconds: 0, lives: { count: 0 } })
  t.like(lines, [
    ['debug', { program: 'closing', end: 'done', exitCode: 0 }],
    ['warn', { program: 'closing', end: 'failed', exitCode: 3 }],
    ['debug', { program: 'closing', end: 'killed', signal: 'SIGKILL' }],
  ])
})

onLinux('a process that runs is counted before its end, and no time twice', async (t) => {
  const { helpers, use } = watched()
  const others = watched()
  const child = spawn(process.execPath, ['-e', busy], { stdio: ['pipe', 'pipe', 'ignore'] })
  helpers.watch('closing', child)
  await until('it is seen to work', () => (use().cpuSeconds > 0.1 ? true : undefined))
  t.is(use().running, 1)
  await once(child.stdout, 'data')
  // What another process used is not this one's.
  const before = use().cpuSeconds
  const ofOther = await run(others.helpers, { code: 0 }, undefined, 2)
  const exited = once(child, 'exit')
  child.stdin.write('0')
  await exited
  t.true(use().cpuSeconds >= before)
  // The end of a process takes time as well, more on a busy machine, and much less than the other one used.
  t.true(use().cpuSeconds < before + ofOther / 2, `${use().cpuSeconds} after ${before}`)
})

test.serial('a program that cannot be started has failed', async (t) => {
  const { helpers, use } = watched()
  const child = spawn('/nowhere/at-all')
  helpers.watch('closing', child)
  await once(child, 'error')
  t.like(use(), { running: 0, ends: { done: 0, failed: 1, killed: 0 }, cpuSeconds: 0 })
})

test.serial('each process of helm is counted', async (t) => {
  const { helpers } = watched()
  const plan = {
    command: '/bin/sh',
    cwd: '/',
    environment: {},
    outputLimitBytes: 1000,
    isPatient: false,
    wallSeconds: 60,
    finishSeconds: 0,
    graceSeconds: 5,
    onLine: () => undefined,
    helpers,
  }
  for (const words of ['exit 0', 'exit 1', 'kill -KILL $$'])
    await runChild({ ...plan, words: ['-c', words] }, new AbortController().signal)
  t.like(helpers.uses().get('helm') as HelperUse, {
    running: 0,
    ends: { done: 1, failed: 1, killed: 1 },
    lives: { count: 3 },
  })
})

/** The value of a line of an exposition. */
const valueOf = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

test.serial('helpers of several processes are counted once after any end', async (t) => {
  const noUse = makeHelperProcesses({ debug: () => undefined, warn: () => undefined }, ['closing', 'helm']).uses()
  const idle = noUse.get('closing') as HelperUse
  const workerWith = (cpuSeconds: number, peakBytes: number) => {
    const metrics = makeMetrics('0.0.0')
    metrics.read({
      helpers: () =>
        new Map(noUse).set('closing', {
          ...idle,
          running: 1,
          ends: { done: 2, failed: 0, killed: 1 },
          lives: { count: 3, seconds: 30 },
          cpuSeconds,
          peakBytes,
          counts: { ...idle.counts, statements: { count: 5, seconds: 1 } },
        }),
    })
    return metrics
  }
  const workers = [workerWith(10, 7e6), workerWith(4, 9e6)]
  const merged = makeMergedMetrics({ snapshot: async () => [] }, async () => {
    for (const [index, worker] of workers.entries()) merged.note(index, await worker.snapshot())
  })
  const shown = async () => {
    const { text } = await merged.expose()
    return [
      'moorage_helper_cpu_seconds_total{program="closing"}',
      'moorage_helper_ends_total{program="closing",end="killed"}',
      'moorage_helper_lifetime_seconds_sum{program="closing"}',
      'moorage_helper_statement_seconds_count{program="closing"}',
      'moorage_helper_processes{program="closing"}',
      'moorage_helper_peak_memory_bytes{program="closing"}',
    ].map((series) => valueOf(text, series))
  }
  t.deepEqual(await shown(), [14, 2, 60, 10, 2, 9e6])
  workers.pop()
  merged.ended(1)
  t.deepEqual(await shown(), [14, 2, 60, 10, 1, 7e6])
})
