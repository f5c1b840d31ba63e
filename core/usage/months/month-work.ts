import { getOrMake } from '../../kernel/cache.ts'
import { monthEnd, monthStart } from '../month.ts'
import type {
  BilledContract,
  MonthKey,
  UnixSeconds,
  UsageClass,
  UsageClusterId,
  UsageMonthId,
  UsageObject,
  UsageObjectId,
  UsageProduct,
  UsageSegment,
} from '../types.ts'
import { usageProducts } from '../types.ts'
import type { ViewsPart } from '../views/build-views.ts'
import { buildViews } from '../views/build-views.ts'
import type { UsageViewSink } from '../views/view-writer.ts'
import { stringText } from '../views/view-writer.ts'
import { readWindow, segmentsOfCluster } from './cluster-time.ts'
import type { ClusterFacts, ReportedObject, SpoolId, SpoolRange, Spools, SpoolWriter, UsageInputs } from './ports.ts'
import { addDays, DaySums, parseIntervals, sumOfDays, usageOfObject } from './roll-up.ts'
import { modesIn } from './segments.ts'
import { withTrial } from './trials.ts'
import type { DayUsage, ObjectUsage, ProductMonth } from '../usage-types.ts'
import { toWireJson } from '../../kernel/json.ts'

/**
 * A digest to which texts are added. Texts end with a line break and have no other, so that no two lists of texts have
 * the same digest.
 */
export interface RunningDigest {
  add(text: string): void
  /** Returns 64 hexadecimal digits. */
  end(): string
}

/**
 * How work learns that it is to end: an AbortSignal, or on a thread a number in shared memory, which needs no event
 * loop.
 */
export interface Stop {
  /** Throws if the work is to end. */
  throwIfAborted(): void
}

/** Clusters whose objects are to be read. Tasks and results can be sent to a thread. */
export interface GatherTask {
  readonly clusters: readonly ClusterFacts[]
  readonly contracts: readonly BilledContract[]
  /** Of all clusters: the objects that are trials. */
  readonly trials: ReadonlySet<UsageObjectId>
  readonly month: MonthKey
  readonly asOf: UnixSeconds
  /** One for each of `usageProducts`. No other task uses them at the same time. */
  readonly spools: readonly SpoolId[]
}

/** What was read of one cluster. */
export interface GatheredCluster {
  /** Of everything that was read. */
  readonly digest: string
  readonly objectCount: number
  readonly segments: ReadonlyMap<UsageProduct, readonly UsageSegment[]>
  /** Where the objects and days of the products are that have any. */
  readonly ranges: ReadonlyMap<UsageProduct, ClusterRanges>
}

/** What was read of the clusters of a task. */
export interface Gathered {
  /** In their order. */
  readonly clusters: readonly GatheredCluster[]
  /** Of all products, the sums of all clusters. */
  readonly days: readonly DayUsage[]
}

/** Where the objects and the days of a cluster and product are. */
export interface ClusterRanges {
  readonly objects: SpoolRange
  readonly days: SpoolRange
}

/** The objects and days of one cluster and product in a spool. */
export interface SpooledCluster extends ClusterRanges {
  readonly clusterUid: string
  readonly clusterId: ClusterFacts['id']
  readonly segments: readonly UsageSegment[]
}

/** Which views are to be written, and of what. */
export interface ViewsTask extends Omit<ProductMonth, 'objects' | 'daysOf'> {
  readonly monthId: UsageMonthId
  readonly parts: readonly ViewsPart[]
  /** Ascending by cluster UID. */
  readonly spooled: readonly SpooledCluster[]
}

/**
 * The steps of closing a month that take time. Each call is a task of its own, so that they can run on several threads
 * at the same time.
 */
export interface MonthWork {
  /** How many tasks of each kind run at the same time. */
  readonly lanes: { readonly gather: number; readonly views: (objectCount: number) => number }
  /** Reads the objects of clusters into spools. */
  gather(task: GatherTask, signal: AbortSignal): Promise<Gathered>
  writeViews(task: ViewsTask, signal: AbortSignal): Promise<void>
}

export interface MonthWorkDeps {
  readonly inputs: Pick<UsageInputs, 'objectsOf'>
  readonly spools: Pick<Spools, 'writer' | 'read'>
  readonly digest: () => RunningDigest
  readonly views: UsageViewSink
}

/** Does the work where it is called. */
export const makeMonthWork = (deps: MonthWorkDeps) => ({
  lanes: { gather: 1, views: () => 1 },
  gather: async (task: GatherTask, stop: Stop): Promise<Gathered> => {
    const clusters: GatheredCluster[] = []
    let days: readonly DayUsage[] = []
    for (const cluster of task.clusters) {
      const { days: own, ...gathered } = await gatherCluster(deps, task, cluster, stop)
      clusters.push(gathered)
      days = sumOfDays([days, own])
    }
    return { clusters, days }
  },
  writeViews: ({ monthId, parts, spooled, ...month }: ViewsTask, stop: Stop): Promise<void> =>
    buildViews(
      deps.views,
      monthId,
      { ...month, objects: objectsIn(deps.spools, month, spooled, stop), daysOf: daysIn(deps.spools, month, spooled) },
      parts,
    ),
})

interface Spooling {
  readonly writer: SpoolWriter
  lines: string[]
}

const gatherCluster = async (
  { inputs, spools, digest }: MonthWorkDeps,
  { contracts, trials, month, asOf, spools: ids }: GatherTask,
  cluster: ClusterFacts,
  stop: Stop,
): Promise<GatheredCluster & { readonly days: readonly DayUsage[] }> => {
  const segments = segmentsOfCluster(cluster, contracts, month, asOf)
  const days = new DaySums(month)
  const spooling = new Map<UsageProduct, Spooling>()
  const spoolingOf = (product: UsageProduct): Spooling =>
    getOrMake(spooling, product, () => ({
      writer: spools.writer(ids[usageProducts.indexOf(product)] as SpoolId),
      lines: [],
    }))
  let objectCount = 0
  for await (const objects of inputs.objectsOf(cluster.id, readWindow(month))) {
    stop.throwIfAborted()
    for (const { object: reported, intervals } of objects) {
      const object = withTrial(reported, trials)
      // What did not run in the month is not in its report: an object that was lost before it, or whose cluster was
      // silent all the time.
      if (!addDays(days, object, parseIntervals(intervals), segments.get(object.product) ?? [])) continue
      spoolingOf(object.product).lines.push(lineOf({ object, intervals }))
      objectCount += 1
    }
    for (const each of spooling.values()) {
      await each.writer.append(each.lines)
      each.lines = []
    }
  }
  const allDays = days.result()
  const ranges = new Map<UsageProduct, ClusterRanges>()
  const hash = digest()
  hash.add(
    `${toWireJson([cluster.uid, cluster.displayName, modesIn(cluster.modeChanges, { from: monthStart(month), to: monthEnd(month) }), [...segments], cluster.clientNamespaces])}\n`,
  )
  for (const product of usageProducts) {
    const own = spooling.get(product)
    if (own === undefined) continue
    const written = await own.writer.end()
    hash.add(`${product} ${written.digest}\n`)
    const writer = spools.writer(written.range.spool)
    await writer.append([lineOfDays(allDays.filter((day) => day.product === product))])
    ranges.set(product, { objects: written.range, days: (await writer.end()).range })
  }
  return { digest: hash.end(), objectCount, segments, days: allDays, ranges }
}

/** Returns the objects of clusters from their spools, with what they used. @internal */
export async function* objectsIn(
  spools: Pick<Spools, 'read'>,
  { product, month }: Pick<ProductMonth, 'product' | 'month'>,
  spooled: readonly SpooledCluster[],
  stop: Stop,
): AsyncGenerator<readonly ObjectUsage[]> {
  for (const { clusterUid, clusterId, objects, segments } of spooled) {
    for await (const lines of spools.read(objects)) {
      stop.throwIfAborted()
      yield lines.map((line) => {
        const { object, intervals } = objectOfLine(line, product, clusterId)
        return usageOfObject(object, clusterUid, month, parseIntervals(intervals), segments)
      })
    }
  }
}

const daysIn = (
  spools: Pick<Spools, 'read'>,
  { product }: Pick<ProductMonth, 'product'>,
  spooled: readonly SpooledCluster[],
): ProductMonth['daysOf'] => {
  const ranges = new Map(spooled.map(({ clusterUid, days }) => [clusterUid, days]))
  return async (clusterUid) => {
    const range = ranges.get(clusterUid)
    const days: DayUsage[] = []
    if (range !== undefined)
      for await (const lines of spools.read(range)) for (const line of lines) days.push(...daysOfLine(line, product))
    return days
  }
}

/**
 * An object with its intervals as one line of a spool, without the facts that all objects of the line's cluster and
 * product have: JSON, a tab, and the intervals as they were read.
 */
const lineOf = ({ object, intervals }: ReportedObject): string =>
  `[${object.id},${stringText(object.uid)},${stringText(object.group)},${stringText(object.kind)},${stringText(object.namespace)},${stringText(object.namespaceUid)},${stringText(object.name)},` +
  `${object.createdAt},${object.deletedAt ?? null},${object.trialEndsAt ?? null}]\t${intervals}\n`

type Line = [
  UsageObjectId,
  string,
  string,
  string,
  string,
  string,
  string,
  UnixSeconds,
  UnixSeconds | null,
  UnixSeconds | null,
]

/** Returns the object of a line that `lineOf` has made. */
const objectOfLine = (line: string, product: UsageProduct, clusterId: UsageClusterId): ReportedObject => {
  // JSON escapes tabs.
  const end = line.indexOf('\t')
  const [id, uid, group, kind, namespace, namespaceUid, name, createdAt, deletedAt, trialEndsAt] = JSON.parse(
    line.slice(0, end),
  ) as Line
  const object: UsageObject = {
    id,
    clusterId,
    uid,
    product,
    group,
    kind,
    namespace,
    namespaceUid,
    name,
    createdAt,
    deletedAt: deletedAt ?? undefined,
    trialEndsAt: trialEndsAt ?? undefined,
  }
  return { object, intervals: line.slice(end + 1) }
}

type Day = readonly [string, string, UsageClass, number, string, string]

/** The days of one cluster and product as one line of a spool. */
const lineOfDays = (days: readonly DayUsage[]): string =>
  `${toWireJson(days.map(({ group, kind, use, day, milliCpuSeconds, mebibyteSeconds }): Day => [group, kind, use, day, String(milliCpuSeconds), String(mebibyteSeconds)]))}\n`

/** Returns the days of a line that `lineOfDays` has made. */
const daysOfLine = (line: string, product: UsageProduct): readonly DayUsage[] =>
  (JSON.parse(line) as readonly Day[]).map(([group, kind, use, day, cpu, memory]) => ({
    product,
    group,
    kind,
    use,
    day,
    milliCpuSeconds: BigInt(cpu),
    mebibyteSeconds: BigInt(memory),
  }))
