import type { AccountId } from '../../kernel/ids.ts'
import { token } from '../../kernel/token.ts'
import type { MonthKey, UsageMonth, UsageMonthId, UsageProduct, UsageViewName, UsageViewType } from '../types.ts'

/** Which view of a month. */
export interface UsageViewKey {
  readonly product: UsageProduct
  readonly view: UsageViewName
  readonly viewType: UsageViewType
}

/** Up to 1,000 items of a view, in order. */
export interface UsageViewPiece {
  /** Of the first item: the cluster UID, `/` and the object UID in views of objects; empty in others. */
  readonly firstKey: string
  /** The JSON texts of the items, joined by commas. */
  readonly items: string
}

/** A view as it is answered: `head`, the items joined by commas, `tail`. */
export interface UsageViewText {
  readonly key: UsageViewKey
  readonly head: string
  readonly tail: string
  readonly itemCount: number
}

/** The views of all revisions. A view is written once and never changes. */
export interface UsageViewStore {
  /** Adds a piece to a view that `insert` has not completed yet. Pieces are numbered from 0. */
  addPiece(monthId: UsageMonthId, key: UsageViewKey, piece: number, content: UsageViewPiece): Promise<void>
  /** Completes a view. */
  insert(monthId: UsageMonthId, text: UsageViewText): Promise<void>
  /** Returns a view of the newest revision of a month of an owner; undefined if the month was not generated, or has no such view. */
  find(ownerId: AccountId, month: MonthKey, key: UsageViewKey): Promise<StoredUsageView | undefined>
  /** Returns the views of one revision. */
  listOf(monthId: UsageMonthId): Promise<readonly StoredUsageView[]>
  /** Returns the pieces of a view in order. */
  pieces(view: StoredUsageView): AsyncIterable<string>
  /** Returns the piece that has the item of this key, if any piece has it. */
  pieceWith(view: StoredUsageView, key: string): Promise<string | undefined>
}
export const UsageViewStoreToken = token<UsageViewStore>('usage.UsageViewStore')

export interface StoredUsageView extends UsageViewText {
  readonly id: number
  readonly month: UsageMonth
}
