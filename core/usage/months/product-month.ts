import type { Contract } from '../../contracts/types.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { MonthKey, UnixSeconds, UsageObject, UsageProduct, UsageSegment } from '../types.ts'
import { usageProducts } from '../types.ts'
import { laterByMonths, monthEnd, monthStart } from '../month.ts'
import { coverageOf, covers } from './coverage.ts'
import type { ClusterFacts, OwnerFacts, ReadWindow, ReportedObject, Spool, Spools, UsageInputs } from './ports.ts'
import { heardHours } from '../events/presence.ts'
import { clipped, heardSpans, longestSilenceSeconds } from './presence.ts'
import type { CutInterval } from './roll-up.ts'
import { addDays, DaySums, usageOfObject } from './roll-up.ts'
import type { Coverage } from './segments.ts'
import { modesIn, segmentsOf } from './segments.ts'
import type { ClusterInMonth, ContractInMonth, ObjectUsage, ProductMonth } from './usage-types.ts'

/** A digest to which texts are added. */
export interface RunningDigest {
  add(text: string): void
  /** Returns 64 hexadecimal digits. */
  end(): string
}

const [zero, nine] = [48, 57]

/** Parses intervals as they are read: fields are joined by commas, intervals by semicolons. Returns them in the order of time. */
export const parseIntervals = (text: string): readonly CutInterval[] => {
  const numbers: number[] = []
  let value = 0
  // Split and Number take several times as long, and a month has millions of intervals.
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code >= zero && code <= nine) value = value * 10 + (code - zero)
    else {
      numbers.push(value)
      value = 0
    }
  }
  numbers.push(value)
  const intervals: CutInterval[] = []
  let isOrdered = true
  for (let at = 0; at + 6 < numbers.length; at += 7) {
    const from = numbers[at] as UnixSeconds
    const last = intervals.at(-1)
    if (last !== undefined && last.from > from) isOrdered = false
    intervals.push({
      from,
      to: numbers[at + 1] as UnixSeconds,
      cutAt: numbers[at + 2] as UnixSeconds,
      milliCpu: numbers[at + 3] ?? 0,
      memoryMib: numbers[at + 4] ?? 0,
      generation: numbers[at + 5] ?? 0,
      replicas: numbers[at + 6] ?? 0,
    })
  }
  return isOrdered ? intervals : intervals.toSorted((a, b) => a.from - b.from)
}

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
export const segmentsOfCluster = (facts: ClusterFacts, contracts: readonly Contract[], month: MonthKey, asOf: UnixSeconds): ReadonlyMap<UsageProduct, readonly UsageSegment[]> => {
  const window = { from: monthStart(month), to: monthEnd(month) }
  const hours = facts.presence.flatMap((each) => heardHours(each.month, each.bits))
  const heard = heardSpans({ hours, outages: facts.outages, asOf })
  const coverages = facts.bindings.flatMap((binding): readonly { readonly contract: Contract; readonly coverage: Coverage }[] => {
    const contract = contracts.find(({ id }) => id === binding.contractId)
    return contract === undefined ? [] : [{ contract, coverage: coverageOf(contract, binding) }]
  })
  const times = { clusterId: facts.id, heard, modeChanges: facts.modeChanges }
  return new Map(
    usageProducts.map((product) => [product, segmentsOf(times, product, coverages.filter(({ contract }) => covers(contract, product)).map(({ coverage }) => coverage), window)]),
  )
}

/** What was read of a month, before anything of it is written. */
export interface GatheredMonth {
  /** Of everything that was read. */
  readonly inputHash: string
  readonly segments: readonly UsageSegment[]
  readonly products: readonly ProductMonth[]
  /** How many objects were read. */
  readonly objectCount: number
  /** Removes what is kept outside of memory. */
  remove(): Promise<void>
}

export interface GatherDeps {
  readonly inputs: UsageInputs
  readonly spools: Spools
  readonly digest: () => RunningDigest
}

export interface GatherInput {
  readonly ownerId: AccountId
  readonly month: MonthKey
  readonly asOf: UnixSeconds
  readonly signal: AbortSignal
  /** Called after each cluster. */
  readonly onProgress: (done: number, of: number) => void
}

/**
 * Reads everything that was reported of a month, once. Objects are kept in a spool until the views are written, because those begin with
 * totals: so both see the same data, although events arrive in between, and it is known whether anything has changed.
 */
export const gatherMonth = async ({ inputs, spools, digest }: GatherDeps, input: GatherInput): Promise<GatheredMonth> => {
  const { ownerId, month, asOf, signal, onProgress } = input
  const window = readWindow(month)
  const facts = await inputs.factsOf(ownerId, window)
  const hash = digest()
  hash.add(JSON.stringify(facts.contracts.map(({ id, name, product, features, quota }) => [id, name, product, features, quota])))
  const files = new Map<UsageProduct, Spool>()
  const remove = async (): Promise<void> => {
    for (const file of files.values()) await file.remove()
  }
  try {
    for (const product of usageProducts) files.set(product, await spools.open())
    const days = new Map(usageProducts.map((product) => [product, new DaySums(month)]))
    const segments = new Map<string, readonly UsageSegment[]>()
    let objectCount = 0
    for (const [index, cluster] of facts.clusters.entries()) {
      const ofCluster = segmentsOfCluster(cluster, facts.contracts, month, asOf)
      hash.add(JSON.stringify([cluster.uid, cluster.displayName, modesIn(cluster.modeChanges, { from: monthStart(month), to: monthEnd(month) }), [...ofCluster]]))
      for (const [product, each] of ofCluster) segments.set(keyOf(cluster.uid, product), each)
      for await (const objects of inputs.objectsOf(cluster.id, window)) {
        signal.throwIfAborted()
        for (const [product, own] of Map.groupBy(objects, ({ object }) => object.product)) {
          const lines = own.map((each) => lineOf(cluster.uid, each))
          for (const line of lines) hash.add(line)
          const sums = days.get(product)
          if (sums !== undefined) for (const { object, intervals } of own) addDays(sums, cluster.uid, object, parseIntervals(intervals), ofCluster.get(product) ?? [])
          objectCount += own.length
          await files.get(product)?.append(lines)
        }
      }
      onProgress(index + 1, facts.clusters.length)
    }
    const products = usageProducts.map((product): ProductMonth => ({
      product,
      month,
      objects: objectsIn(files.get(product), month, (uid) => segments.get(keyOf(uid, product)) ?? [], signal),
      days: days.get(product)?.result() ?? [],
      ...aboutProduct(facts, product, month, (uid) => segments.get(keyOf(uid, product)) ?? []),
    }))
    return { inputHash: hash.end(), segments: [...segments.values()].flat(), products, objectCount, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const keyOf = (clusterUid: string, product: UsageProduct): string => `${product} ${clusterUid}`

const lineOf = (clusterUid: string, { object, intervals }: ReportedObject): string => JSON.stringify([clusterUid, object, intervals])

async function* objectsIn(file: Spool | undefined, month: MonthKey, segmentsOf: (clusterUid: string) => readonly UsageSegment[], signal: AbortSignal): AsyncGenerator<readonly ObjectUsage[]> {
  if (file === undefined) return
  for await (const lines of file.read()) {
    signal.throwIfAborted()
    yield lines.map((line) => {
      const [clusterUid, object, intervals] = JSON.parse(line) as [string, UsageObject, string]
      return usageOfObject(object, clusterUid, month, parseIntervals(intervals), segmentsOf(clusterUid))
    })
  }
}

const overlaps = (a: { readonly from: number; readonly to: number }, b: { readonly from: number; readonly to: number }): boolean => a.from < b.to && b.from < a.to

/** Returns the clusters and contracts of a product in a month. */
const aboutProduct = (
  facts: OwnerFacts,
  product: UsageProduct,
  month: MonthKey,
  segmentsOf: (clusterUid: string) => readonly UsageSegment[],
): { readonly clusters: readonly ClusterInMonth[]; readonly contracts: readonly ContractInMonth[] } => {
  const window = { from: monthStart(month), to: monthEnd(month) }
  const contracts = facts.contracts.filter((contract) => covers(contract, product))
  const inForce = contracts.filter((contract) => overlaps(window, coverageOf(contract, { contractId: contract.id, clusterUid: '', boundFrom: contract.startsAt, boundTo: undefined })))
  return {
    clusters: facts.clusters.map((cluster) => ({
      clusterUid: cluster.uid,
      displayName: cluster.displayName,
      modes: modesIn(cluster.modeChanges, window),
      heardSeconds: segmentsOf(cluster.uid).reduce((sum, { from, to }) => sum + (to - from), 0),
      contractIds: contracts
        .filter((contract) => cluster.bindings.some((binding) => binding.contractId === contract.id && clipped([coverageOf(contract, binding)], window).length > 0))
        .map(({ id }) => id),
    })),
    contracts: inForce.map(({ id, name, product: ofContract, quota }) => ({
      id,
      name,
      product: ofContract,
      quota: quota.enabled ? { metric: quota.metric, limit: quota.limit } : undefined,
    })),
  }
}
