import { heardHours } from '../events/presence.ts'
import { laterByMonths, monthEnd, monthStart } from '../month.ts'
import type { BilledContract, MonthKey, UnixSeconds, UsageProduct, UsageSegment } from '../types.ts'
import { usageProducts } from '../types.ts'
import { coveragesOf } from './coverage.ts'
import type { ClusterFacts, ReadWindow } from './ports.ts'
import { heardSpans, longestSilenceSeconds } from './presence.ts'
import { segmentsOf } from './segments.ts'

/** Returns what is read for a month. */
export const readWindow = (month: MonthKey): ReadWindow => ({
  month,
  from: monthStart(month),
  to: monthEnd(month),
  firstPresence: laterByMonths(month, -2),
  lastPresence: laterByMonths(month, 2),
  outagesFrom: (monthStart(month) - longestSilenceSeconds) as UnixSeconds,
})

/** Returns the segments of each product in a cluster. */
export const segmentsOfCluster = (
  facts: ClusterFacts,
  contracts: readonly BilledContract[],
  month: MonthKey,
  asOf: UnixSeconds,
): ReadonlyMap<UsageProduct, readonly UsageSegment[]> => {
  const window = { from: monthStart(month), to: monthEnd(month) }
  const hours = facts.presence.flatMap((each) => heardHours(each.month, each.bits))
  const heard = heardSpans({ hours, outages: facts.outages, asOf })
  const times = { clusterId: facts.id, heard, modeChanges: facts.modeChanges }
  // An account may have thousands of contracts, of which a cluster is bound to a few.
  const ids = new Set(facts.bindings.map(({ contractId }) => contractId))
  const bound = contracts.filter(({ id }) => ids.has(id))
  return new Map(
    usageProducts.map((product) => [
      product,
      segmentsOf(times, product, coveragesOf(bound, facts.bindings, product), window),
    ]),
  )
}
