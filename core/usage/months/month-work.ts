import { getOrMake } from '../../kernel/cache.ts'
import { monthEnd, monthStart } from '../month.ts'
import type {
  BilledContract,
  MonthKey,
  UnixSeconds,
  UsageMonthId,
  UsageObjectId,
  UsageProduct,
  UsageSegment,
} from '../types.ts'
import { usageProducts } from '../types.ts'
import type { ViewsPart } from '../views/build-views.ts'
import { buildViews } from '../views/build-views.ts'
import type { UsageViewSink } from '../views/view-writer.ts'
import { readWindow, segmentsOfCluster } from './cluster-time.ts'
import type { ClusterFacts, ReportedObject, SpoolId, SpoolRange, Spools, SpoolWriter, UsageInputs } from './ports.ts'
import { addDays, DaySums, sumOfDays, usageOfObject } from './roll-up.ts'
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
  readonly spools: Pick<Spools, 'writer' | 'objects' | 'days'>
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
  objects: ReportedObject[]
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
      objects: [],
    }))
  let objectCount = 0
  for await (const objects of inputs.objectsOf(cluster.id, readWindow(month))) {
    stop.throwIfAborted()
    for (const { object: reported, intervals } of objects) {
      const object = withTrial(reported, trials)
      // What did not run in the month is not in its report: an object that was lost before it, or whose cluster was
      // silent all the time.
      if (!addDays(days, object, intervals, segments.get(object.product) ?? [])) continue
      spoolingOf(object.product).objects.push({ object, intervals })
      objectCount += 1
    }
    for (const each of spooling.values()) {
      await each.writer.addObjects(each.objects)
      each.objects = []
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
    await writer.addDays(allDays.filter((day) => day.product === product))
    ranges.set(product, { objects: written.range, days: (await writer.end()).range })
  }
  return { digest: hash.end(), objectCount, segments, days: allDays, ranges }
}

/** Returns the objects of clusters from their spools, with what they used. @internal */
export async function* objectsIn(
  spools: Pick<Spools, 'objects'>,
  { product, month }: Pick<ProductMonth, 'product' | 'month'>,
  spooled: readonly SpooledCluster[],
  stop: Stop,
): AsyncGenerator<readonly ObjectUsage[]> {
  for (const { clusterUid, clusterId, objects, segments } of spooled) {
    for await (const found of spools.objects(objects, { clusterId, product })) {
      stop.throwIfAborted()
      yield found.map(({ object, intervals }) => usageOfObject(object, clusterUid, month, intervals, segments))
    }
  }
}

const daysIn = (
  spools: Pick<Spools, 'days'>,
  { product }: Pick<ProductMonth, 'product'>,
  spooled: readonly SpooledCluster[],
): ProductMonth['daysOf'] => {
  const ranges = new Map(spooled.map(({ clusterUid, days }) => [clusterUid, days]))
  return async (clusterUid) => {
    const range = ranges.get(clusterUid)
    return range === undefined ? [] : spools.days(range, product)
  }
}
