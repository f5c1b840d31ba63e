import { mapWithin } from '../../kernel/concurrency.ts'
import type { SettleMonth } from '../events/ports.ts'
import type { BilledContract, MonthKey, UnixSeconds, UsageProduct, UsageSegment } from '../types.ts'
import { usageProducts } from '../types.ts'
import { monthEnd, monthStart, secondOf } from '../month.ts'
import type { ViewsPart } from '../views/build-views.ts'
import { viewsPartsOf } from '../views/build-views.ts'
import { readWindow } from './cluster-time.ts'
import { coveragesOf, covers, inForceOf } from './coverage.ts'
import type { GatheredCluster, MonthWork, RunningDigest, SpooledCluster, ViewsTask } from './month-work.ts'
import type { ClusterFacts, GatheredMonth, GatherInput, OwnerFacts, SpoolId, Spools, UsageInputs } from './ports.ts'
import type { Span } from './presence.ts'
import { clipped } from './presence.ts'
import { sumOfDays } from './roll-up.ts'
import { modesIn } from './segments.ts'
import { trialsOf } from './trials.ts'
import type { ClusterInMonth, ContractInMonth, DayUsage, TermsInMonth } from '../usage-types.ts'
import { toWireJson } from '../../kernel/json.ts'

/** What was read of a month into spools of this process. */
export interface SpooledMonth extends GatheredMonth {
  readonly products: readonly Omit<ViewsTask, 'monthId' | 'parts'>[]
}

export interface GatherDeps {
  readonly settle: SettleMonth
  readonly inputs: Pick<UsageInputs, 'factsOf'>
  readonly spools: Pick<Spools, 'open' | 'remove'>
  readonly digest: () => RunningDigest
  readonly work: MonthWork
}

/** Tasks of each lane: so many that lanes end together, although clusters differ in size. */
const tasksOfLane = 16
/** What one task reads at most, so that progress shows and a stop is seen. */
const clustersOfTask = 64

/**
 * Reads everything that was reported of a month, once. Objects are kept in spools until the views are written, because
 * those begin with totals: so both see the same data, although events arrive in between, and it is known whether
 * anything has changed.
 */
export const makeGatherMonth =
  ({ inputs, settle, spools, digest, work }: GatherDeps) =>
  async (input: GatherInput): Promise<SpooledMonth> => {
    const { call, ownerId, month, asOf, onProgress } = input
    const { signal } = call
    await settle(call, ownerId, month)
    const facts = await inputs.factsOf(ownerId, readWindow(month))
    const opened: SpoolId[] = []
    const remove = async (): Promise<void> => {
      for (const spool of opened) await spools.remove(spool)
    }
    try {
      const { clusters, contracts } = facts
      const trials = trialsOf(facts)
      const size = Math.min(clustersOfTask, Math.max(1, Math.ceil(clusters.length / (work.lanes.gather * tasksOfLane))))
      const chunks = Array.from({ length: Math.ceil(clusters.length / size) }, (_, index) =>
        clusters.slice(index * size, (index + 1) * size),
      )
      const lanes = Math.min(work.lanes.gather, Math.max(1, chunks.length))
      for (let count = 0; count < lanes * usageProducts.length; count += 1) opened.push(await spools.open())
      let done = 0
      const gathered = await mapWithin(chunks, lanes, async (chunk, _index, lane) => {
        signal.throwIfAborted()
        const own = opened.slice(lane * usageProducts.length, (lane + 1) * usageProducts.length)
        const each = await work.gather({ clusters: chunk, contracts, trials, month, asOf, spools: own }, signal)
        done += chunk.length
        onProgress(done, clusters.length)
        return each
      })
      const read = gathered.flatMap((each) => each.clusters)
      const hash = digest()
      for (const each of read) hash.add(`${each.digest}\n`)
      const days = Map.groupBy(sumOfDays(gathered.map((each) => each.days)), ({ product }) => product)
      const products = usageProducts.map((product) => productOf(facts, read, product, month, days.get(product) ?? []))
      // What is shown of contracts beyond the segments: a contract without use, and a cluster on which another one
      // comes first.
      for (const each of products)
        hash.add(`${toWireJson([each.contracts, each.clusters.map(({ contractIds }) => contractIds)])}\n`)
      const objectCount = read.reduce((sum, each) => sum + each.objectCount, 0)
      return {
        inputHash: hash.end(),
        segments: read.flatMap((each) => [...each.segments.values()].flat()),
        objectCount,
        products,
        writeViews: async (monthId, stop, report) => {
          const lanesOfViews = work.lanes.views(objectCount)
          const tasks = products.flatMap((each) =>
            passesOf(each.product, lanesOfViews).map((parts): ViewsTask => ({ ...each, monthId, parts })),
          )
          let written = 0
          await mapWithin(tasks, lanesOfViews, async (task) => {
            stop.throwIfAborted()
            await work.writeViews(task, stop)
            report((written += 1), tasks.length)
          })
        },
        remove,
      }
    } catch (error) {
      await remove()
      throw error
    }
  }

/** Objects are read once by one thread, and once for each part of the views if there is a thread for it. */
const passesOf = (product: UsageProduct, lanes: number): readonly (readonly ViewsPart[])[] => {
  const parts = viewsPartsOf(product)
  return lanes === 1 ? [parts] : parts.map((part) => [part])
}

const productOf = (
  facts: OwnerFacts,
  read: readonly GatheredCluster[],
  product: UsageProduct,
  month: MonthKey,
  days: readonly DayUsage[],
): SpooledMonth['products'][number] => {
  const segments = new Map(facts.clusters.map(({ uid }, index) => [uid, read[index]?.segments.get(product) ?? []]))
  const spooled = facts.clusters.flatMap(({ id, uid }: ClusterFacts, index): readonly SpooledCluster[] => {
    const ranges = read[index]?.ranges.get(product)
    return ranges === undefined
      ? []
      : [{ clusterUid: uid, clusterId: id, ...ranges, segments: segments.get(uid) ?? [] }]
  })
  return { product, month, spooled, days, ...aboutProduct(facts, product, month, (uid) => segments.get(uid) ?? []) }
}

/** Returns the clusters and contracts of a product in a month. */
const aboutProduct = (
  facts: OwnerFacts,
  product: UsageProduct,
  month: MonthKey,
  segmentsOf: (clusterUid: string) => readonly UsageSegment[],
): { readonly clusters: readonly ClusterInMonth[]; readonly contracts: readonly ContractInMonth[] } => {
  const window = { from: monthStart(month), to: monthEnd(month) }
  return {
    // A cluster that did not count in the month is not in its report.
    clusters: facts.clusters
      .map((cluster) => ({
        cluster,
        heardSeconds: segmentsOf(cluster.uid).reduce((sum, { from, to }) => sum + (to - from), 0),
      }))
      .filter(({ heardSeconds }) => heardSeconds > 0)
      .map(({ cluster, heardSeconds }) => ({
        clusterUid: cluster.uid,
        displayName: cluster.displayName,
        modes: modesIn(cluster.modeChanges, window),
        heardSeconds,
        contractIds: boundIn(facts.contracts, cluster, product, window),
        clientNamespaces: cluster.clientNamespaces,
      })),
    contracts: facts.contracts.flatMap((contract) => contractIn(contract, product, window) ?? []),
  }
}

/** Returns the contracts that cover a product on a cluster in a window, ascending. */
const boundIn = (
  contracts: readonly BilledContract[],
  { bindings }: ClusterFacts,
  product: UsageProduct,
  window: Span,
): readonly number[] => {
  const covering = coveragesOf(contracts, bindings, product).filter(
    (coverage) => clipped([coverage], window).length > 0,
  )
  return [...new Set(covering.map(({ contractId }) => contractId))].sort((a, b) => a - b)
}

/** Returns a contract with its terms that covered a product in a window; undefined if there are none. */
const contractIn = (contract: BilledContract, product: UsageProduct, window: Span): ContractInMonth | undefined => {
  const terms = contract.timeline.flatMap((version): readonly TermsInMonth[] => {
    const [time] = covers(version, product) ? clipped([inForceOf(contract, version)], window) : []
    if (time === undefined) return []
    const { number, product: named, features, startsAt, endsAt, quota } = version
    return [
      {
        ...time,
        number,
        product: named,
        features,
        startsAt,
        endsAt,
        quota: quota.enabled ? { metric: quota.metric, limit: quota.limit } : undefined,
      },
    ]
  })
  const last = terms.at(-1)
  if (last === undefined) return undefined
  const { id, name, revokedAt } = contract
  const end = secondOf(last.endsAt)
  return {
    id,
    name,
    product: last.product,
    features: last.features,
    from: secondOf(last.startsAt),
    to: revokedAt === undefined ? end : (Math.min(end, secondOf(revokedAt)) as UnixSeconds),
    quota: quotaOf(terms),
    terms,
  }
}

/**
 * Returns the quota of a month: the metric of its last terms, and their limit; if the limit was another one before, the
 * mean of both by the seconds in which each was in force, to thousandths.
 *
 * @internal
 */
export const quotaOf = (terms: readonly TermsInMonth[]): ContractInMonth['quota'] => {
  const quota = terms.at(-1)?.quota
  if (quota === undefined) return undefined
  const alike = terms.filter((each) => each.quota?.metric === quota.metric)
  const seconds = alike.reduce((sum, { from, to }) => sum + (to - from), 0)
  if (seconds === 0 || alike.every((each) => each.quota?.limit === quota.limit)) return quota
  const limit = alike.reduce((sum, each) => sum + (each.quota?.limit ?? 0) * ((each.to - each.from) / seconds), 0)
  return { metric: quota.metric, limit: Math.round(limit * 1000) / 1000 }
}
