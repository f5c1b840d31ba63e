import type { RowInput } from './row.ts'
import { makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { loadMonth } from '../closing/month-data.ts'
import { getRequest, loadOn } from '../requests.ts'
import type { BenchService } from '../service-process.ts'
import { median, ratio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'

/** Some hundred requests a second: what is measured is waiting, not saturation. */
const connections = 4
const pauseMilliseconds = 5
const sliceSeconds = 2
const intervals = 1e6

const closingOf = async (
  service: BenchService,
): Promise<{ readonly is_running: boolean; readonly seconds: number; readonly failure: string }> =>
  (await (await fetch(`${service.baseUrl}/api/v1/bench/closing`)).json()) as Awaited<ReturnType<typeof closingOf>>

/** Row 26: p50 and p99 of a GET with a token over HTTP, alone and while the same service closes a month. */
export const besideClosing = async (
  { lab, bench, run }: RowInput,
  kind: 'MariaDB' | 'SQLite',
): Promise<readonly BenchLine[]> => {
  const databaseUrl = kind === 'MariaDB' ? await (await lab.mariaDb()).createDatabase() : undefined
  const settings = { MOORAGE_BILLING_ENABLED: 'true' }
  const service = await lab.service(
    databaseUrl === undefined
      ? { name: 'service that closes on SQLite', settings }
      : { name: 'service that closes on MariaDB', databaseUrl, settings },
  )
  const user = await makeUser(service, 'bench-ada')
  bench.progress.doing(`loading ${intervals} intervals into ${kind}`)
  await loadMonth(databaseUrl ?? `sqlite:${service.dataDir}/moorage.sqlite`, intervals)
  const target = loadOn(`others on ${kind}`, service.port, getRequest('/api/v1/user', user.token), connections, {
    pauseMilliseconds,
  })
  const rounds = run.quick ? 1 : 3
  bench.progress.measuring(
    `requests while a month of ${intervals} closes on ${kind}`,
    bench.pace.warmUpSeconds + rounds * 20,
  )
  await bench.generator.slice(target, bench.pace.warmUpSeconds)
  const idle = { p50: [] as number[], p99: [] as number[] }
  const during = { p50: [] as number[], p99: [] as number[], seconds: [] as number[] }
  for (let round = 1; round <= rounds; round += 1) {
    bench.progress.round(round, rounds)
    const calm = []
    for (let slice = 0; slice < 3; slice += 1) calm.push(await bench.generator.slice(target, sliceSeconds))
    const busy = []
    await fetch(`${service.baseUrl}/api/v1/bench/closing`, { method: 'POST' })
    for (;;) {
      const slice = await bench.generator.slice(target, sliceSeconds)
      const closing = await closingOf(service)
      // The last slice is partly after the end.
      if (closing.is_running || busy.length === 0) busy.push(slice)
      if (closing.is_running) continue
      if (closing.failure !== '') throw new Error(`the month was not closed: ${closing.failure}`)
      during.seconds.push(closing.seconds)
      break
    }
    idle.p50.push(median(calm.map(({ p50 }) => p50)))
    idle.p99.push(median(calm.map(({ p99 }) => p99)))
    during.p50.push(median(busy.map(({ p50 }) => p50)))
    during.p99.push(median(busy.map(({ p99 }) => p99)))
  }
  await bench.generator.close(target)
  await service.stop()
  return [
    {
      row: '26',
      what: `others' p99 while a month of 10^6 closes, ${kind}`,
      ours: { p99Ms: median(during.p99) },
      against: 'the same, idle',
      twin: { p99Ms: median(idle.p99) },
      value: median(during.p99.map((each, round) => ratio(each, idle.p99[round] ?? 0))),
      bestValue: ratio(Math.min(...during.p99), Math.min(...idle.p99)),
      unit: 'x',
      bar: bars.besideClosing,
      note: `p50 ${median(during.p50).toFixed(2)} ms against ${median(idle.p50).toFixed(2)} ms; closing took ${median(during.seconds).toFixed(1)} s beside about ${Math.round((connections * 1000) / (pauseMilliseconds + 1))} requests a second`,
    },
  ]
}
