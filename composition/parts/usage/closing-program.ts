import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { lowerProcessPriority } from '../../../adapters/system/processes.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { makeSqlUnitOfWork, unaudited } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlUsageClusterStore } from '../../../adapters/sql/usage/cluster-store.ts'
import { makeSqlUsageUpkeepStore } from '../../../adapters/sql/usage/interval-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import type { GatheredMonth, GatherInput } from '../../../core/usage/months/ports.ts'
import { makeGatherMonth } from '../../../core/usage/months/product-month.ts'
import type { UsageMonth, UsageMonthId } from '../../../core/usage/types.ts'
import type { ClosingPlace } from './closing-thread.ts'
import { makeClosingThreads } from './closing-threads.ts'
import type { Ended } from './closing-work.ts'
import { endOf, makeClosingSpools, sha256 } from './closing-work.ts'
import { makeReportWork } from './report-work.ts'

type AskedCall = Pick<Call, 'requestId' | 'sourceIp' | 'operation'>
type AskedInput = Omit<GatherInput, 'call' | 'onProgress'>

/**
 * What the service asks of this process. `month` is a number that the service gives to each month that is gathered, and
 * to each report.
 */
export type Asked =
  | { readonly ask: 'open'; readonly place: ClosingPlace }
  | { readonly ask: 'gather'; readonly month: number; readonly call: AskedCall; readonly input: AskedInput }
  | { readonly ask: 'writeViews'; readonly month: number; readonly monthId: UsageMonthId }
  | { readonly ask: 'writeReport'; readonly month: number; readonly revision: UsageMonth }
  | { readonly ask: 'stop'; readonly month: number }
  | { readonly ask: 'remove'; readonly month: number }

/** What the service gets of a month that was gathered. The rest stays in this process. */
export type GatheredFacts = Pick<GatheredMonth, 'inputHash' | 'segments' | 'objectCount'>

/** What this process says of a month: how far the work is, or how it ended. */
export type Said = { readonly month: number } & (
  { readonly done: number; readonly of: number } | { readonly ended: Ended<GatheredFacts | undefined> }
)

interface OpenMonth {
  readonly stop: AbortController
  gathered?: GatheredMonth
}

const openPlace = async (place: ClosingPlace) => {
  const db = await openDatabase(place.databaseUrl, place.database)
  const threads = makeClosingThreads(place)
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
    close: async () => {
      await threads.close()
      await renderer.close()
      await db.close()
    },
  }
}

let opened: ReturnType<typeof openPlace> | undefined
const months = new Map<number, OpenMonth>()

const say = (said: Said): void => void process.send?.(said)

const begin = async (month: number) => {
  const own: OpenMonth = { stop: new AbortController() }
  months.set(month, own)
  const place = await opened
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

const workOf = (
  asked: Extract<Asked, { readonly ask: 'gather' | 'writeViews' | 'writeReport' | 'remove' }>,
): Promise<GatheredFacts | undefined> => {
  const { month } = asked
  if (asked.ask === 'gather') return gather(month, asked.call, asked.input)
  if (asked.ask === 'writeViews') return writeViews(month, asked.monthId)
  return asked.ask === 'writeReport' ? writeReport(month, asked.revision) : remove(month)
}

process.on('message', (asked: Asked) => {
  if (asked.ask === 'open') opened = openPlace(asked.place)
  else if (asked.ask === 'stop') months.get(asked.month)?.stop.abort(new Error('The work was stopped.'))
  else {
    const { month } = asked
    void endOf(workOf(asked)).then((ended) => say({ month, ended }))
  }
})

/**
 * The service has let go of this process, or has died: then what is half done has no effect, and a statement that still
 * runs must not keep the process.
 */
process.on('disconnect', () => {
  if (months.size > 0) process.kill(process.pid, 'SIGKILL')
  void opened?.then((place) => place.close()).finally(() => process.exit())
})

// A terminal and a supervisor send these to all processes of the service, which ends this one when its work is done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

process.title = 'moorage: closes months of usage'
lowerProcessPriority()
