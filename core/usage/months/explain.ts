import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { MonthKey, UsageClass, UsageMonth, UsageObject, UsageProduct, UsageSegment } from '../types.ts'
import { monthText } from '../month.ts'
import type { MonthStore, UsageInputs } from './ports.ts'
import { UsageMonthMissing } from './ports.ts'
import { readWindow } from './cluster-time.ts'
import type { UsagePiece } from './roll-up.ts'
import { eachPiece, parseIntervals } from './roll-up.ts'

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
}

/** Explains a figure of the newest revision of a month: returns the segments of the cluster and the pieces that add up to the figure. */
export const makeExplain =
  ({ months, inputs }: { readonly months: Pick<MonthStore, 'newest' | 'segmentsOf'>; readonly inputs: UsageInputs }) =>
  async (input: ExplainInput): Outcome<Failure<'UsageMonthMissing'>, Explanation> => {
    const { ownerId, month: key, product, clusterUid } = input
    const month = await months.newest(ownerId, key)
    if (month === undefined) return left(UsageMonthMissing(`The month ${monthText(key)} was not closed yet.`))
    const { clusters } = await inputs.factsOf(ownerId, readWindow(key))
    const cluster = clusters.find(({ uid }) => uid === clusterUid)
    if (cluster === undefined) return left(UsageMonthMissing(`No cluster with the UID ${clusterUid} reports usage to the account.`))
    const segments = await months.segmentsOf(month.id, cluster.id, product)
    return right({ month, segments, pieces: piecesOf(inputs, input, cluster.id, segments) })
  }

async function* piecesOf(inputs: UsageInputs, { product, month, objectUid, contractId, use }: ExplainInput, clusterId: UsageSegment['clusterId'], segments: readonly UsageSegment[]): AsyncGenerator<readonly ExplainedPiece[]> {
  for await (const objects of inputs.objectsOf(clusterId, readWindow(month))) {
    const pieces: ExplainedPiece[] = []
    for (const { object, intervals } of objects) {
      if (object.product !== product || (objectUid !== undefined && object.uid !== objectUid)) continue
      eachPiece(parseIntervals(intervals), segments, object.trialEndsAt, (piece) => {
        if (contractId !== undefined && piece.contractId !== contractId) return
        if (use === undefined || piece.use === use) pieces.push({ object, ...piece })
      })
    }
    yield pieces
  }
}
