import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { monthText } from '../month.ts'
import type { ClusterItem } from '../reports/view-items.ts'
import { itemsOf } from '../reports/view-items.ts'
import type { MonthKey, UsageClass, UsageMonth, UsageObject, UsageProduct, UsageSegment, UsedAmount } from '../types.ts'
import type { Amounts } from '../views/measures.ts'
import { addUse, noAmounts } from '../views/measures.ts'
import type { UsageViewStore } from '../views/ports.ts'
import { perCoreMonth, perGibMonth } from '../amounts.ts'
import type { MonthStore, UsageInputs } from './ports.ts'
import { UsageMonthMissing } from './ports.ts'
import { readWindow } from './cluster-time.ts'
import type { UsagePiece } from './roll-up.ts'
import { eachPiece } from './roll-up.ts'
import { trialsOf, withTrial } from './trials.ts'

/** Which figure is explained: the use of a product in one cluster, narrowed as far as the filters are given. */
export interface ExplainInput {
  readonly ownerId: AccountId
  readonly month: MonthKey
  readonly product: UsageProduct
  readonly clusterUid: string
  readonly objectUid: string | undefined
  readonly contractId: number | undefined
  readonly use: UsageClass | undefined
}

/** A piece of an interval: what one object used in a time of one mode, contract and class. */
export interface ExplainedPiece extends UsagePiece {
  readonly object: UsageObject
}

export interface Explanation {
  readonly month: UsageMonth
  /** Of the cluster, from which the revision was computed. */
  readonly segments: readonly UsageSegment[]
  /** In the order of objects and time. Add up their amounts times their seconds: that is the figure. */
  readonly pieces: AsyncIterable<readonly ExplainedPiece[]>
  /**
   * Reports whether the figures of the revision come from other intervals, to a thousandth: those that are stored have
   * what was reported since then, and are removed after 14 months. Known once all pieces were read.
   */
  hasChanged(): Promise<boolean>
}

interface ExplainDeps {
  readonly months: Pick<MonthStore, 'newest' | 'segmentsOf'>
  readonly inputs: UsageInputs
  readonly views: Pick<UsageViewStore, 'find' | 'pieces'>
}

/**
 * Explains a figure of the newest revision of a month: returns the segments of the cluster and the pieces that add up
 * to the figure. The segments are those of the revision, the intervals are the present ones.
 */
export const makeExplain =
  ({ months, inputs, views }: ExplainDeps) =>
  async (input: ExplainInput): Outcome<Failure<'UsageMonthMissing'>, Explanation> => {
    const { ownerId, month: key, product, clusterUid } = input
    const month = await months.newest(ownerId, key)
    if (month === undefined) return left(UsageMonthMissing(`The month ${monthText(key)} was not closed yet.`))
    const facts = await inputs.factsOf(ownerId, readWindow(key))
    const cluster = facts.clusters.find(({ uid }) => uid === clusterUid)
    if (cluster === undefined)
      return left(UsageMonthMissing(`No cluster with the UID ${clusterUid} reports usage to the account.`))
    const segments = await months.segmentsOf(month.id, cluster.id, product)
    const sums = noAmounts()
    return right({
      month,
      segments,
      pieces: piecesOf(inputs, input, { clusterId: cluster.id, segments, trials: trialsOf(facts) }, sums),
      hasChanged: async () => differs(key, sums, await figuresOf(views, month, product, clusterUid)),
    })
  }

/** `sums` become those of all pieces of the product in the cluster, whatever the filters are. */
async function* piecesOf(
  inputs: UsageInputs,
  { product, month, objectUid, contractId, use }: ExplainInput,
  {
    clusterId,
    segments,
    trials,
  }: {
    readonly clusterId: UsageSegment['clusterId']
    readonly segments: readonly UsageSegment[]
    readonly trials: ReturnType<typeof trialsOf>
  },
  sums: Amounts,
): AsyncGenerator<readonly ExplainedPiece[]> {
  for await (const objects of inputs.objectsOf(clusterId, readWindow(month))) {
    const pieces: ExplainedPiece[] = []
    for (const { object: reported, intervals } of objects) {
      const object = withTrial(reported, trials)
      if (object.product !== product) continue
      const isAsked = objectUid === undefined || object.uid === objectUid
      eachPiece(intervals, segments, object.trialEndsAt, (piece) => {
        addUse(sums, piece.use, amountOf(piece))
        if (!isAsked) return
        if (contractId !== undefined && piece.contractId !== contractId) return
        if (use === undefined || piece.use === use) pieces.push({ object, ...piece })
      })
    }
    yield pieces
  }
}

const amountOf = ({ from, to, milliCpu, memoryMib }: UsagePiece): UsedAmount => ({
  milliCpuSeconds: BigInt(milliCpu * (to - from)),
  mebibyteSeconds: BigInt(memoryMib * (to - from)),
})

/**
 * Returns what a revision shows of a product in a cluster, in the order of amounts; undefined if the cluster reported
 * nothing before.
 */
const figuresOf = async (
  views: ExplainDeps['views'],
  { ownerId, month, revision }: UsageMonth,
  product: UsageProduct,
  clusterUid: string,
): Promise<readonly number[] | undefined> => {
  const view = await views.find(
    ownerId,
    month,
    { product, view: 'clusters-usage-view', viewType: 'billable' },
    revision,
  )
  if (view === undefined) return undefined
  for await (const items of itemsOf<ClusterItem>(views, view)) {
    const item = items.find(({ clusterUID }) => clusterUID === clusterUid)
    if (item !== undefined)
      return [item.prod, item.nonProd, item.free.trial, item.free.freeContract].flatMap(({ cpu, memory }) => [
        cpu,
        memory,
      ])
  }
  return undefined
}

/** A figure of one class of a cluster is less than a thousandth off. */
const differs = (month: MonthKey, sums: Amounts, figures: readonly number[] | undefined): boolean => {
  const units = [perCoreMonth(month), perGibMonth(month)]
  return sums.some((sum, slot) => {
    const unit = units[slot % 2] ?? 1n
    const off = BigInt(Math.round((figures?.[slot] ?? 0) * 1000)) * unit - sum * 1000n
    return off >= unit || off <= -unit
  })
}
