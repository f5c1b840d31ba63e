import { writeFile } from 'node:fs/promises'
import { parseBenchArguments, helpText, type BenchRun } from './arguments.ts'
import { rowTitles, verdictOf, type RowNumber } from './bars.ts'
import { openLab } from './lab.ts'
import { startLoadGenerator } from './load/load-generator.ts'
import { machineLine } from './machine.ts'
import type { Bench, Pace, Series } from './measure.ts'
import { makeProgress } from './progress.ts'
import { manyConnections, userOnMariaDb, userOnSqlite } from './rows/authenticated-read.ts'
import { growth } from './rows/growth.ts'
import { accessLog, listOfFifty, manyRoutes } from './rows/http-layer.ts'
import { consoleScreens } from './rows/console.ts'
import { contractLists, issueLicenses } from './rows/contracts.ts'
import { acceptSpokes, hubLists, silentHubsInList } from './rows/hubs.ts'
import { metricsHook } from './rows/metrics-hook.ts'
import { marketplaceNotifications } from './rows/marketplace-notifications.ts'
import { permissionBatch } from './rows/permission-batch.ts'
import { proxyLarge, proxySmall } from './rows/proxy-bytes.ts'
import { exec, watch } from './rows/proxy-streams.ts'
import { releaseLists } from './rows/release-lists.ts'
import { roundTrips } from './rows/round-trips.ts'
import type { MeasureRow } from './rows/row.ts'
import { fairLimiter } from './rows/fair-queue.ts'
import { rating } from './rows/rating.ts'
import { signInStorm } from './rows/sign-in-storm.ts'
import { backup } from './rows/backup.ts'
import { authorizationServer } from './rows/authorization-server.ts'
import { externalSignIns } from './rows/external-sign-ins.ts'
import { groupPatch } from './rows/group-patch.ts'
import { startTime } from './rows/start-time.ts'
import { traces } from './rows/traces.ts'
import { usageMonths } from './rows/usage-months.ts'
import { usageReport } from './rows/usage-report.ts'
import { usageViews } from './rows/usage-views.ts'
import { usageBatches, usageSingles } from './rows/usage-ingestion.ts'
import { userSearch } from './rows/user-search.ts'
import { formatComparison, formatGoals, summary, type BenchLine } from './table.ts'
import { twoInstances } from './rows/instances.ts'
import { twoWorkers } from './rows/workers.ts'
import { measureUsersView } from './users-view.ts'

/** How each row is measured, and how many pairs of sides it loads, for the estimate of the time. */
const rows: Readonly<
  Record<RowNumber, { readonly measure: MeasureRow; readonly sides: number; readonly extraSeconds: number }>
> = {
  1: { measure: userOnMariaDb, sides: 2, extraSeconds: 5 },
  2: { measure: userOnSqlite, sides: 2, extraSeconds: 3 },
  3: { measure: manyConnections, sides: 2, extraSeconds: 1 },
  4: { measure: roundTrips, sides: 0, extraSeconds: 5 },
  5: { measure: proxySmall, sides: 3, extraSeconds: 3 },
  6: { measure: proxyLarge, sides: 3, extraSeconds: 8 },
  7: { measure: watch, sides: 2, extraSeconds: 3 },
  8: { measure: exec, sides: 2, extraSeconds: 1 },
  9: { measure: listOfFifty, sides: 4, extraSeconds: 8 },
  10: { measure: manyRoutes, sides: 2, extraSeconds: 2 },
  11: { measure: permissionBatch, sides: 2, extraSeconds: 60 },
  15: { measure: signInStorm, sides: 2, extraSeconds: 10 },
  17: { measure: accessLog, sides: 2, extraSeconds: 4 },
  18: { measure: startTime, sides: 0, extraSeconds: 25 },
  19: { measure: releaseLists, sides: 0, extraSeconds: 90 },
  20: { measure: userSearch, sides: 0, extraSeconds: 120 },
  21: { measure: hubLists, sides: 0, extraSeconds: 90 },
  22: { measure: silentHubsInList, sides: 0, extraSeconds: 25 },
  23: { measure: acceptSpokes, sides: 0, extraSeconds: 60 },
  24: { measure: contractLists, sides: 0, extraSeconds: 90 },
  25: { measure: issueLicenses, sides: 0, extraSeconds: 40 },
  26: { measure: usageMonths, sides: 0, extraSeconds: 120 },
  27: { measure: usageReport, sides: 0, extraSeconds: 60 },
  28: { measure: usageViews, sides: 0, extraSeconds: 30 },
  29: { measure: usageBatches, sides: 0, extraSeconds: 60 },
  30: { measure: usageSingles, sides: 0, extraSeconds: 60 },
  31: { measure: marketplaceNotifications, sides: 0, extraSeconds: 50 },
  32: { measure: metricsHook, sides: 2, extraSeconds: 5 },
  33: { measure: traces, sides: 2, extraSeconds: 10 },
  34: { measure: twoWorkers, sides: 12, extraSeconds: 150 },
  35: { measure: backup, sides: 0, extraSeconds: 150 },
  36: { measure: fairLimiter, sides: 8, extraSeconds: 30 },
  37: { measure: twoInstances, sides: 6, extraSeconds: 120 },
  38: { measure: growth, sides: 4, extraSeconds: 60 },
  39: { measure: externalSignIns, sides: 2, extraSeconds: 20 },
  40: { measure: groupPatch, sides: 0, extraSeconds: 20 },
  41: { measure: authorizationServer, sides: 6, extraSeconds: 10 },
  42: { measure: rating, sides: 0, extraSeconds: 15 },
  43: { measure: consoleScreens, sides: 0, extraSeconds: 60 },
}
const usersViewSides = 10
const usersViewExtraSeconds = 20

const paces: Readonly<Record<'full' | 'quick', Pace>> = {
  full: { warmUpSeconds: 5, sliceSeconds: 1.5, rounds: 5 },
  quick: { warmUpSeconds: 3, sliceSeconds: 1, rounds: 3 },
}

// Not left to an empty event loop: a server that did not stop must not keep anybody waiting.
process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseBenchArguments(args)
  if (parsed.kind === 'help') {
    process.stdout.write(helpText())
    return 0
  }
  if (parsed.kind === 'refused') {
    process.stderr.write(`${parsed.reason}\n`)
    return 2
  }
  // The exit hooks of the components and of the servers under test end them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))
  return measureAll({ ...parsed.run, size: parsed.run.quick ? 'small' : parsed.run.size })
}

async function measureAll(run: BenchRun): Promise<number> {
  const machine = machineLine()
  const pace = paces[run.quick ? 'quick' : 'full']
  const progress = makeProgress(process.stderr)
  const slices: { readonly what: string; readonly series: readonly Series[] }[] = []
  const generator = startLoadGenerator()
  const bench: Bench = { generator, progress, pace, record: (what, series) => void slices.push({ what, series }) }
  const lab = openLab(progress, run.profile)
  const goals: BenchLine[] = []
  let comparison: readonly BenchLine[] = []
  const problems: string[] = []
  const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (cause) {
      problems.push(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`)
      progress.doing(`${name} could not be measured`)
    }
  }
  try {
    for (const [index, row] of run.rows.entries()) {
      progress.expect(secondsLeft(run, run.rows.slice(index), pace))
      await attempt(
        `row ${row} (${rowTitles[row]})`,
        async () => void goals.push(...(await rows[row].measure({ lab, bench, run }))),
      )
    }
    progress.expect(secondsLeft(run, [], pace))
    if (run.usersView)
      await attempt("the user's view", async () => void (comparison = await measureUsersView(lab, bench)))
    progress.doing('stopping')
  } finally {
    generator.stop()
    await lab.stop()
    progress.done()
  }
  process.stdout.write(report(machine, run, pace, goals, comparison, problems))
  if (run.json !== undefined) await writeFile(run.json, jsonReport(machine, goals, comparison, slices, problems))
  return problems.length === 0 ? 0 : 1
}

function secondsLeft(run: BenchRun, left: readonly RowNumber[], pace: Pace): number {
  const perSide = pace.warmUpSeconds + pace.rounds * pace.sliceSeconds
  const ofRows = left.reduce(
    (sum, row) => sum + rows[row].sides * perSide + (row === 11 && run.size === 'small' ? 10 : rows[row].extraSeconds),
    0,
  )
  return ofRows + (run.usersView ? usersViewSides * perSide + usersViewExtraSeconds : 0)
}

function report(
  machine: string,
  run: BenchRun,
  pace: Pace,
  goals: readonly BenchLine[],
  comparison: readonly BenchLine[],
  problems: readonly string[],
): string {
  const parts = [
    machine,
    `Warm-up at least ${pace.warmUpSeconds} s a side and until the CPU for each request stops falling, then ${pace.rounds} rounds of ${pace.sliceSeconds} s a side in turn; medians. The service runs with its rate limit off (MOORAGE_RATE_LIMIT_PER_MINUTE=0), access log on.`,
    ...(run.quick ? ['A quick run: short warm-up and few rounds, so take the figures as a hint.'] : []),
    ...(run.profile === undefined ? [] : [`Profiled into ${run.profile}: the service is slower than it is otherwise.`]),
  ]
  if (goals.length > 0) parts.push('', formatGoals(goals), '', summary(goals))
  if (comparison.length > 0)
    parts.push(
      '',
      "A user's view: kubectl proxy beside ours (ours proves a token, asks for a permission and keeps a log; kubectl proxy lets everybody in)",
      '',
      formatComparison(comparison),
    )
  if (problems.length > 0) parts.push('', 'Could not be measured', ...problems.map((problem) => `  ${problem}`))
  return `${parts.join('\n')}\n`
}

function jsonReport(
  machine: string,
  goals: readonly BenchLine[],
  comparison: readonly BenchLine[],
  slices: readonly { readonly what: string; readonly series: readonly Series[] }[],
  problems: readonly string[],
): string {
  const judged = goals.map((line) => ({ ...line, verdict: verdictOf(line.value, line.bar) }))
  return `${JSON.stringify({ machine, measuredAt: new Date().toISOString(), goals: judged, comparison, slices, problems }, null, 2)}\n`
}
