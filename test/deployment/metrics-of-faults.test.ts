// process: own - fills a small disk, and starts a database server
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import anyTest from 'ava'
import { createConnection } from 'mysql2/promise'
import { Pool } from 'undici'
import { stringify } from 'yaml'
import { fromRoot } from '../docs/asvs-table.ts'
import { alerts } from '../docs/monitoring/alerts.ts'
import { promtool } from '../support/components/available.ts'
import { startDatabaseServer } from '../support/components/database-server.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { mustRun } from '../support/components/run-command.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { startSmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'

/**
 * Two metrics by which an operator learns of a fault that requests may not show: the database takes no changes, and
 * lines of the log are lost. Each fault is real, and ends. The alerts are then evaluated on the lines as they were
 * scraped.
 */

const takesChanges = 'moorage_database_takes_changes'
const linesLost = 'moorage_log_lines_lost_total'

const folder = mkdtempSync(join(tmpdir(), 'moorage-faults-'))
const disk = await startSmallDisk(24)
anyTest.after.always(async () => {
  await disk?.close()
  rmSync(folder, { recursive: true, force: true })
})
const onDisk = disk === undefined ? anyTest.skip : anyTest.serial
const onPromtool = needing('promtool')

/** The line of a metric, which has no labels of its own: its name with its labels, and its value. */
const scrape = async ({ opsUrl }: Pick<ServiceProcess, 'opsUrl'>, metric: string) => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith(metric))
  const [series = '', value] = lines[0]?.split(' ') ?? []
  if (lines.length !== 1) throw new Error(`${metric} has ${lines.length} lines`)
  return { series, value: Number(value) }
}

/** The values of a metric before, while and after a fault, as they were scraped. */
interface Phases {
  readonly series: string
  readonly before: number
  readonly during: number
  readonly after: number
}
const seen: { readonly changes: Phases[]; readonly lines: Phases[] } = { changes: [], lines: [] }

const valueWhen = (service: ServiceProcess, metric: string, isSo: (value: number) => boolean): Promise<number> =>
  until(`${metric} moves`, async () => {
    const { value } = await scrape(service, metric)
    return isSo(value) ? value : undefined
  })

/** The metric falls to 0 while the fault lasts, without a request, and is 1 again afterwards. */
const changesAreRefused = async (
  t: ExecutionContext,
  service: ServiceProcess,
  begin: () => unknown,
  end: () => unknown,
): Promise<void> => {
  const { series, value: before } = await scrape(service, takesChanges)
  t.is(before, 1)
  await begin()
  let during: number
  try {
    during = await valueWhen(service, takesChanges, (value) => value === 0)
    t.regex(await (await fetch(`${service.opsUrl}/readyz?verbose`)).text(), /^\[-\] database changes: /m)
    t.regex(
      await (await fetch(`${service.opsUrl}/metrics`)).text(),
      /^moorage_degraded\{check="database changes"\} 1$/m,
    )
  } finally {
    await end()
  }
  const after = await valueWhen(service, takesChanges, (value) => value === 1)
  const body = { username: adminLogin, password: adminPassword }
  t.is((await service.send('POST', '/api/v1/user/signin', { body })).status, 200)
  seen.changes.push({ series, before, during, after })
}

/** Each request is a line of about 350 characters, of which 8 MiB may wait. */
const mostRequests = 100_000
const perRound = 2_000

const writeLines = async ({ baseUrl }: ServiceProcess, isEnough: () => Promise<boolean>): Promise<void> => {
  const pool = new Pool(baseUrl, { connections: 16, pipelining: 8 })
  try {
    for (let sent = 0; sent < mostRequests && !(await isEnough()); sent += perRound)
      await Promise.all(
        Array.from({ length: perRound }, async () => {
          const { body } = await pool.request({ method: 'GET', path: '/api/v1/nowhere' })
          await body.dump()
        }),
      )
  } finally {
    await pool.close()
  }
}

/** The metric grows while the log is not taken, and grows no more when it is. */
const linesAreLost = async (
  t: ExecutionContext,
  service: ServiceProcess,
  end: () => unknown,
  log: () => string,
  why: RegExp,
): Promise<void> => {
  const { series, value: before } = await scrape(service, linesLost)
  t.is(before, 0)
  await writeLines(service, async () => (await scrape(service, linesLost)).value > 0)
  const during = (await scrape(service, linesLost)).value
  t.true(during > 0)
  await end()
  const told = await until(
    'the log says how many were lost',
    () => /"msg":"(\d+) log lines were dropped: ([^"]+)"/.exec(log()) ?? undefined,
  )
  const after = (await scrape(service, linesLost)).value
  t.is(Number(told[1]), after)
  t.regex(told[2] ?? '', why)
  seen.lines.push({ series, before, during, after })
}

onDisk('a full disk: the metrics of changes and of lost lines say so, and that it is over', async (t) => {
  t.timeout(600_000)
  const log = join(disk!.folder, 'log')
  const outside = join(disk!.outside, 'log')
  const service = await startServiceProcess({
    settings: { MOORAGE_DATABASE_URL: `sqlite:${join(disk!.folder, 'moorage.sqlite')}` },
    enter: [...disk!.enter, 'sh', '-c', 'log=$0; exec "$@" 2>>"$log"', log],
  })
  t.teardown(() => service.stop())
  let isFull = true
  const free = (): void => {
    if (isFull) disk!.free()
    isFull = false
  }
  await changesAreRefused(
    t,
    service,
    () => disk!.fill(),
    () =>
      linesAreLost(t, service, free, () => readFileSync(outside, 'utf8'), /^the log could not be written \(ENOSPC\)$/),
  )
})

anyTest.serial('a file of SQLite that is gone, and a reader of the log that is slow', async (t) => {
  t.timeout(600_000)
  const [file, fifo] = [join(folder, 'moorage.sqlite'), join(folder, 'log')]
  execFileSync('mkfifo', [fifo])
  // Open for both, so that no open waits. Nothing is read.
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(reader))
  const service = await startServiceProcess({
    settings: { MOORAGE_DATABASE_URL: `sqlite:${file}` },
    enter: ['sh', '-c', 'log=$0; exec "$@" 2>"$log"', fifo],
  })
  t.teardown(() => service.stop())
  let text = ''
  let reading: NodeJS.Timeout | undefined
  const buffer = Buffer.alloc(1 << 20)
  const readAll = (): void => {
    try {
      for (let length = readSync(reader, buffer); length > 0; length = readSync(reader, buffer))
        text += buffer.toString('utf8', 0, length)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
  t.teardown(() => clearInterval(reading))
  const read = (): void => void (reading = setInterval(readAll, 5))
  await linesAreLost(t, service, read, () => text, /^the reader is too slow$/)
  await changesAreRefused(
    t,
    service,
    () => renameSync(file, `${file}.away`),
    () => renameSync(`${file}.away`, file),
  )
})

needing('mariadb').serial('a MariaDB that is read-only', async (t) => {
  t.timeout(600_000)
  const server = await startDatabaseServer()
  t.teardown(() => server.stop())
  const administer = async (sql: string): Promise<void> => {
    const connection = await createConnection({ socketPath: server.socket, user: 'root' })
    await connection.query(sql)
    await connection.end()
  }
  const url = new URL(await server.createDatabase())
  // An account with every right could still change a server that is read-only.
  await administer('create user app')
  await administer(`grant all on ${url.pathname.slice(1)}.* to app`)
  url.username = 'app'
  const service = await startServiceProcess({ settings: { MOORAGE_DATABASE_URL: url.href } })
  t.teardown(() => service.stop())
  await changesAreRefused(
    t,
    service,
    () => administer('set global read_only = 1'),
    () => administer('set global read_only = 0'),
  )
})

/** Of a rule test: minutes of a good time, of the fault, and afterwards. */
const minutes = { before: 20, during: 10, after: 30 }

/** Prometheus adds where it scraped. */
const scrapedAs = (series: string): string => `${series}{instance="a:3002",job="moorage"}`

const valuesOf = ({ before, during, after }: Phases): string =>
  [`${before}x${minutes.before - 1}`, `${during}x${minutes.during - 1}`, `${after}x${minutes.after - 1}`].join(' ')

onPromtool.serial('both alerts fire on the scraped lines and end with the fault', async (t) => {
  const most = isSwitchedOff('mariadb') ? 2 : 3
  t.is(seen.changes.length, disk === undefined ? most - 1 : most)
  t.true(seen.lines.length > 0)
  const inFault = minutes.before + minutes.during - 1
  const cases = [
    ...seen.changes.map((phases) => ({ phases, alert: 'MoorageChangesRefused', labels: {}, endsAfter: 1 })),
    ...seen.lines.map((phases) => ({
      phases,
      alert: 'MoorageLogLinesLost',
      labels: { instance: 'a:3002' },
      // It looks at fifteen minutes.
      endsAfter: 17,
    })),
  ]
  const rules = {
    rule_files: [fromRoot('deploy/monitoring/alerts.yaml')],
    evaluation_interval: '1m',
    tests: cases.map(({ phases, alert, labels, endsAfter }) => {
      const { severity, summary } = alerts.find(({ name }) => name === alert)!
      const firing = {
        exp_labels: { severity, ...labels },
        exp_annotations: {
          summary: summary.replace('{{ $labels.instance }}', 'a:3002'),
          runbook: `docs/runbook.md#${alert.toLowerCase()}`,
        },
      }
      const at = (minute: number, exp_alerts: readonly object[]) => ({
        eval_time: `${minute}m`,
        alertname: alert,
        exp_alerts,
      })
      return {
        interval: '1m',
        input_series: [{ series: scrapedAs(phases.series), values: valuesOf(phases) }],
        alert_rule_test: [
          at(minutes.before - 1, []),
          at(inFault, [firing]),
          at(inFault + 1 + endsAfter, []),
          at(minutes.before + minutes.during + minutes.after - 1, []),
        ],
      }
    }),
  }
  const path = join(folder, 'rules.yaml')
  writeFileSync(path, stringify(rules))
  await mustRun((await promtool())!, ['test', 'rules', path])
  t.pass()
})
