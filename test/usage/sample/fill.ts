import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSqlBindingStore } from '../../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractStore } from '../../../adapters/sql/contracts/contract-store.ts'
import { newDetails, newTerms } from '../../../core/contracts/types.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import { daySeconds, monthEnd, monthStart } from '../../../core/usage/month.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { recorderOn } from '../events/event-fixture.ts'
import { clusterEvents } from './cluster-events.ts'
import type { SampleCustomer } from './vendor.ts'

const maxEvents = 1000

/** Adds the contracts of a customer, with bindings as of their own times. */
export const addContracts = async (
  db: SqlDatabase,
  ownerId: AccountId,
  { contracts, clusters }: SampleCustomer,
): Promise<void> => {
  const [stored, bindings] = [makeSqlContractStore(db, systemClock)(db), makeSqlBindingStore(db, systemClock)(db)]
  for (const { name, product, features, quota, start, end, bindings: bound } of contracts) {
    const id = await stored.insert(
      ownerId,
      {
        ...newTerms,
        ...newDetails,
        name,
        product,
        features,
        quota: {
          ...newTerms.quota,
          enabled: quota !== undefined,
          metric: quota?.metric ?? 'cpu_core_month',
          limit: quota?.limit ?? 0,
        },
        startsAt: new Date(start * 1000),
        endsAt: new Date(end * 1000),
        allowsTrials: true,
        maxTrials: 1000,
        enablesClientBilling: true,
      },
      new Date(start * 1000),
    )
    for (const { cluster, at } of bound) {
      const about = clusters[cluster]
      if (about !== undefined)
        await bindings.add({ id, ownerId }, [{ clusterUid: about.uid, displayName: about.name }], new Date(at * 1000))
    }
  }
}

/** Registers clusters of a customer, so that those without a contract are known too. */
export const addClusters = async (
  db: SqlDatabase,
  ownerId: AccountId,
  { clusters }: SampleCustomer,
  newRef: () => string,
): Promise<void> => {
  for (const [n, { uid, name }] of clusters.entries()) {
    const row = {
      owner_id: ownerId,
      name: `cluster-${n + 1}`,
      display_name: name,
      uid,
      provider: 'generic',
      endpoint: 'https://192.0.2.1',
      phase: 'Active',
      ref: newRef(),
      created_at: 0,
    }
    await db.query((k) => k('clusters').insert(row))
  }
}

export interface SampleRun {
  readonly db: SqlDatabase
  readonly seed: number
  readonly months: readonly MonthKey[]
  readonly customers: readonly { readonly ownerId: AccountId; readonly customer: SampleCustomer }[]
  readonly onProgress: (text: string, done: number, of: number) => void
}

/**
 * Reports the events of all clusters month by month, by a clock that is at the end of each, as if they had been
 * reported then. Returns the number of events.
 */
export const reportEvents = async ({ db, seed, months, customers, onProgress }: SampleRun): Promise<number> => {
  let now = new Date(0)
  const clock: Clock = { now: () => now }
  const [first, last] = [months[0], months.at(-1)]
  if (first === undefined || last === undefined) return 0
  const all = customers.flatMap(({ ownerId, customer }) =>
    customer.clusters.map((cluster) => ({
      ownerId,
      cluster,
      events: clusterEvents(seed, cluster, monthStart(first), monthEnd(last)),
    })),
  )
  let count = 0
  for (const [index, month] of months.entries()) {
    const [start, end] = [monthStart(month), monthEnd(month)]
    now = new Date((start + 60) * 1000)
    const recorder = recorderOn(db, clock)
    await recorder.carry()
    now = new Date((end - 1) * 1000)
    for (const [n, { ownerId, cluster, events }] of all.entries()) {
      const own = events.filter(([at]) => at >= start && at < end).map(([, event]) => event)
      for (let from = 0; from < own.length; from += maxEvents) {
        const results = await recorder.reports.record({
          ownerId,
          clusterUid: cluster.uid,
          events: own.slice(from, from + maxEvents),
        })
        if (isLeft(results)) throw new Error(results.left.message)
        const refused = results.right.find(({ result }) => result === 'refused')
        if (refused !== undefined) throw new Error(`an event was refused: ${JSON.stringify(refused)}`)
        count += results.right.length
      }
      if (n % 10 === 9 || n === all.length - 1)
        onProgress('clusters reported', index * all.length + n + 1, months.length * all.length)
    }
  }
  now = new Date((monthEnd(last) + daySeconds) * 1000)
  await recorderOn(db, clock).carry()
  return count
}
