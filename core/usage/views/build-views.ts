import type { ClusterInMonth, ObjectUsage, ProductMonth } from '../months/usage-types.ts'
import type { UsageMonthId } from '../types.ts'
import { makeClusterRows } from './cluster-rows.ts'
import { makeContractRows } from './contract-rows.ts'
import { makeKindRows } from './kind-rows.ts'
import type { Amounts } from './measures.ts'
import { addAmounts, addUse, makeRounding, noAmounts } from './measures.ts'
import { makeObjectRows } from './object-rows.ts'
import type { RowsOfMonth, UsageViewSink } from './rows-of-month.ts'

/**
 * Writes all views of a product in a month of an owner. It reads the objects once, and keeps no more of them than the sums by cluster,
 * namespace of one cluster, kind and contract. The same use gives the same bytes, in whatever order the days, clusters, contracts and
 * parts of objects come. Throws if the days do not add up to the objects.
 */
export const buildViews = async (views: UsageViewSink, monthId: UsageMonthId, month: ProductMonth): Promise<void> => {
  const exact = noAmounts()
  for (const day of month.days) addUse(exact, day.use, day)
  const given = { views, monthId, month, rounding: makeRounding(month.month, exact) }
  const isDatabase = month.product === 'dbProduct'
  const writers: readonly RowsOfMonth[] = [
    ...(isDatabase ? [await makeObjectRows(given), await makeKindRows(given)] : []),
    await makeClusterRows({ ...given, hasNamespaces: isDatabase }),
    await makeContractRows(given),
  ]
  const seen = await readObjects(month, writers)
  if (seen.some((amount, slot) => amount !== exact[slot])) throw new Error(`The days of ${month.product} in ${month.month} do not add up to its objects.`)
  for (const writer of writers) await writer.finish()
}

const byUid = (a: ClusterInMonth, b: ClusterInMonth): number => (a.clusterUid < b.clusterUid ? -1 : 1)

/** Passes clusters and their objects on, in order. Returns what all objects used. */
const readObjects = async ({ objects, clusters }: ProductMonth, writers: readonly RowsOfMonth[]): Promise<Amounts> => {
  const sum = noAmounts()
  const waiting = [...clusters].sort(byUid)
  let current: string | undefined
  let last = ''
  const start = (cluster: ClusterInMonth): void => {
    current = cluster.clusterUid
    for (const writer of writers) writer.startCluster?.(cluster)
  }
  const end = async (): Promise<void> => {
    if (current !== undefined) for (const writer of writers) await writer.endCluster?.()
    current = undefined
  }
  /** Passes on the clusters before this one, which have no objects, and this one. */
  const advanceTo = async (uid: string): Promise<void> => {
    await end()
    for (let next = waiting[0]; next !== undefined && next.clusterUid < uid; next = waiting[0]) {
      start(next)
      await end()
      waiting.shift()
    }
    start(waiting[0]?.clusterUid === uid ? (waiting.shift() as ClusterInMonth) : unknownCluster(uid))
  }
  for await (const batch of objects) {
    for (const usage of batch) {
      const key = keyOf(usage)
      if (key <= last) throw new Error(`The object ${key} does not follow ${last}.`)
      last = key
      if (usage.clusterUid !== current) await advanceTo(usage.clusterUid)
      const amounts = noAmounts()
      for (const part of usage.parts) addUse(amounts, part.use, part)
      addAmounts(sum, amounts)
      for (const writer of writers) {
        const written = writer.add(usage, amounts)
        if (written !== undefined) await written
      }
    }
  }
  await end()
  for (const cluster of waiting) {
    start(cluster)
    await end()
  }
  return sum
}

const unknownCluster = (clusterUid: string): ClusterInMonth => ({ clusterUid, displayName: clusterUid, modes: [], heardSeconds: 0, contractIds: [] })

/** Returns the key of an object in views: see `UsageViewPiece.firstKey`. */
export const keyOf = ({ clusterUid, object }: ObjectUsage): string => `${clusterUid}/${object.uid}`
