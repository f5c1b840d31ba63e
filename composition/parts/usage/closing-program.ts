import { setTimeout as sleep } from 'node:timers/promises'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { lowerProcessPriority } from '../../../adapters/system/processes.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { makeSqlUnitOfWork, unaudited } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlUsageClusterStore } from '../../../adapters/sql/usage/cluster-store.ts'
import { makeSqlUsageUpkeepStore } from '../../../adapters/sql/usage/interval-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { noCounts, sumOfTimes } from '../../../adapters/system/helper-processes.ts'
import type { HelperCounts } from '../../../adapters/system/helper-processes.ts'
import type { OtlpTracing } from '../../../adapters/tracing/otlp-tracing.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { Tracing } from '../../../core/platform/ports.ts'
import { noTracing } from '../../../core/platform/ports.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import type { GatheredMonth, GatherInput } from '../../../core/usage/months/ports.ts'
import { makeGatherMonth } from '../../../core/usage/months/product-month.ts'
import type { UsageMonth, UsageMonthId } from '../../../core/usage/types.ts'
import type { OtlpTarget } from '../../runtime/service/tracing.ts'
import { countedDatabase } from '../../runtime/service/tracing.ts'
import type { ClosingPlace } from './closing-thread.ts'
import { makeClosingThreads } from './closing-threads.ts'
import type { Ended } from './closing-work.ts'
import { endOf, makeClosingSpools, makeReportWork, sha256 } from './closing-work.ts'

type AskedCall = Pick<Call, 'requestId' | 'sourceIp' | 'operation'>
type AskedInput = Omit<GatherInput, 'call' | 'onProgress'>

/**
 * What the service asks of this process. `month` is a number that the service gives to each month that is gathered, and
 * to each report.
 */
export type Asked =
  | { readonly ask: 'open'; readonly place: ClosingPlace; readonly traces: OtlpTarget | undefined }
  | ((
      | { readonly ask: 'gather'; readonly call: AskedCall; readonly input: AskedInput }
      | { readonly ask: 'writeViews'; readonly monthId: UsageMonthId }
      | { readonly ask: 'writeReport'; readonly revision: UsageMonth }
    ) & {
      readonly month: number
      /** W3C trace context that the work continues. */
      readonly trace?: string | undefined
    })
  | { readonly ask: 'stop'; readonly month: number }
  | { readonly ask: 'remove'; readonly month: number }

/** What the service gets of a month that was gathered. The rest stays in this process. */
export type GatheredFacts = Pick<GatheredMonth, 'inputHash' | 'segments' | 'objectCount'>

/**
 * What this process says: of a month, how far the work is, or how it ended; and what it has done since its start, so
 * that the service knows of it when this process has ended.
 */
export type Said =
  | { readonly month: number; readonly done: number; readonly of: number }
  | { readonly month: number; readonly ended: Ended<GatheredFacts | undefined>; readonly counts: HelperCounts }
  | { readonly counts: HelperCounts }

interface OpenMonth {
  readonly stop: AbortController
  gathered?: GatheredMonth
}

/** The longest time for exporting the last spans. */
const exportMilliseconds = 2_000

/** Opens the traces of the service, if it has some. It says itself that its receiver is away. */
const openTraces = async (target: OtlpTarget | undefined): Promise<Tracing & Pick<OtlpTracing, 'lost' | 'close'>> => {
  if (target === undefined) return { ...noTracing, lost: () => 0, close: async () => undefined }
  const { openOtlpTracing } = await import('../../../adapters/tracing/otlp-tracing.ts')
  return openOtlpTracing({ ...target, onTrouble: () => undefined })
}

const openPlace = async (place: ClosingPlace, target: OtlpTarget | undefined) => {
  const tracing = await openTraces(target)
  const { db, counts } = countedDatabase(await openDatabase(place.databaseUrl, place.database), tracing)
  const threads = makeClosingThreads(place, { tracing })
  const renderer = makePdfRenderer()
  const [clusters, upkeep] = [makeSqlUsageClusterStore(db), makeSqlUsageUpkeepStore(db)]
  const unitOfWork = makeSqlUnitOfWork(db, (tx) => ({ clusters: clusters(tx), upkeep: upkeep(tx) }), unaudited)
  const deps = {
    inputs: makeSqlUsageInputs(db, { isAlone: true }),
    spools: makeClosingSpools(place.dataDir),
    digest: sha256,
    work: threads,
  }
  return {
    tracing,
    /** It is now `asOf`, by the clock of the service. */
    gather: (input: GatherInput) =>
      makeGatherMonth({
        ...deps,
        settle: makeSettleMonth({
          clock: { now: () => new Date(input.asOf * 1000) },
          clusters: clusters(db),
          unitOfWork,
        }),
      })(input),
    report: makeReportWork(db, renderer),
    counts: (): HelperCounts => {
      const [onThreads, own, load] = [threads.counts(), counts.statements(), db.load()]
      return {
        statements: sumOfTimes(own, onThreads.statements),
        spansLost: tracing.lost(),
        pools: {
          'closing-threads': onThreads.load,
          'closing-database': {
            running: load.used,
            waiting: load.waiting,
            waits: load.waits + onThreads.waits.count,
            waitSeconds: load.waitSeconds + onThreads.waits.seconds,
            refusals: 0,
          },
          reports: renderer.load(),
        },
      }
    },
    close: async () => {
      await threads.close()
      await renderer.close()
      await db.close()
      await Promise.race([tracing.close(), sleep(exportMilliseconds)])
    },
  }
}
type Place = Awaited<ReturnType<typeof openPlace>>

let opened: Promise<Place> | undefined
let place: Place | undefined
const months = new Map<number, OpenMonth>()

const say = (said: Said): void => void process.send?.(said)
const countsNow = (): HelperCounts => place?.counts() ?? noCounts

/** While it works, the service gets the counts of this process each second: it may be killed. */
setInterval(() => months.size > 0 && say({ counts: countsNow() }), 1_000).unref()

const begin = async (month: number) => {
  const own: OpenMonth = { stop: new AbortController() }
  months.set(month, own)
  place = await opened
  if (place === undefined) throw new Error('The database is not known yet.')
  return { own, place }
}

const gather = async (month: number, call: AskedCall, input: AskedInput): Promise<GatheredFacts> => {
  const { own, place } = await begin(month)
  own.gathered = await place.gather({
    ...input,
    call: { ...call, principal: undefined, signal: own.stop.signal },
    onProgress: (done, of) => say({ month, done, of }),
  })
  const { inputHash, segments, objectCount } = own.gathered
  return { inputHash, segments, objectCount }
}

const writeViews = async (month: number, monthId: UsageMonthId): Promise<undefined> => {
  const own = months.get(month)
  if (own?.gathered === undefined) throw new Error('The month was not gathered.')
  await own.gathered.writeViews(monthId, own.stop.signal, (done, of) => say({ month, done, of }))
}

const writeReport = async (month: number, revision: UsageMonth): Promise<undefined> => {
  try {
    const { own, place } = await begin(month)
    await place.report.write(revision, own.stop.signal)
  } finally {
    months.delete(month)
  }
}

const remove = async (month: number): Promise<undefined> => {
  const own = months.get(month)
  months.delete(month)
  await own?.gathered?.remove()
}

type AskedWork = Exclude<Asked, { readonly ask: 'open' | 'stop' }>

const workOf = (asked: AskedWork): Promise<GatheredFacts | undefined> => {
  const { month } = asked
  if (asked.ask === 'gather') return gather(month, asked.call, asked.input)
  if (asked.ask === 'writeViews') return writeViews(month, asked.monthId)
  return asked.ask === 'writeReport' ? writeReport(month, asked.revision) : remove(month)
}

/** Does work in a span of the trace that requested it. */
const tracedWorkOf = async (asked: AskedWork): Promise<GatheredFacts | undefined> => {
  if (asked.ask === 'remove' || asked.trace === undefined) return workOf(asked)
  const { tracing } = (await opened) ?? { tracing: noTracing }
  return tracing.span({ name: `closing ${asked.ask}`, parent: asked.trace }, () => workOf(asked))
}

process.on('message', (asked: Asked) => {
  if (asked.ask === 'open') opened = openPlace(asked.place, asked.traces)
  else if (asked.ask === 'stop') months.get(asked.month)?.stop.abort(new Error('The work was stopped.'))
  else {
    const { month } = asked
    void endOf(tracedWorkOf(asked)).then((ended) => say({ month, ended, counts: countsNow() }))
  }
})

/**
 * The service has let go of this process, or has died: then what is half done has no effect, and a statement that still
 * runs must not keep the process.
 */
process.on('disconnect', () => {
  if (months.size > 0) process.kill(process.pid, 'SIGKILL')
  void opened?.then((last) => last.close()).finally(() => process.exit())
})

// A terminal and a supervisor send these to all processes of the service, which ends this one when its work is done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

process.title = 'moorage: closes months of usage'
lowerProcessPriority()
