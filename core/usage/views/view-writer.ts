import { monthName, yearOf } from '../month.ts'
import type { ProductMonth } from '../months/usage-types.ts'
import type { MonthKey, UsageMonthId } from '../types.ts'
import type { ShownAmounts } from './measures.ts'
import { billableText, totalText } from './measures.ts'
import type { UsageViewKey } from './ports.ts'
import { pieceItems } from './ports.ts'
import type { UsageViewSink } from './rows-of-month.ts'

/** Writes one view in pieces. */
export interface ViewWriter {
  /** `key`: see `UsageViewPiece.firstKey`. */
  add(item: string, key: string): Promise<void>
  /** Completes the view. `totals` are the members of its totals. */
  finish(totals: string): Promise<void>
}

const headOf = ({ product, view, viewType }: UsageViewKey, month: MonthKey): string =>
  `{"product":"${product}","view":"${view}","viewType":"${viewType}","year":${yearOf(month)},"month":"${monthName(month)}","timezone":"UTC",` +
  `"units":{"cpu":"core-month","memory":"GiB-month"},"items":[`

/** Starts a view. */
export const startView = async (views: UsageViewSink, monthId: UsageMonthId, month: MonthKey, key: UsageViewKey): Promise<ViewWriter> => {
  const id = await views.begin(monthId, key)
  let items: string[] = []
  let firstKey = ''
  let pieces = 0
  let itemCount = 0
  const flush = async (): Promise<void> => {
    if (items.length === 0) return
    const content = { firstKey, items: items.join(',') }
    items = []
    await views.addPiece(id, pieces, content)
    pieces += 1
  }
  return {
    add: async (item, itemKey) => {
      if (items.length === 0) firstKey = itemKey
      items.push(item)
      itemCount += 1
      if (items.length === pieceItems) await flush()
    },
    finish: async (totals) => {
      await flush()
      await views.complete(id, { head: headOf(key, month), tail: `],"totals":{${totals}}}`, itemCount, pieceCount: pieces })
    },
  }
}

/** A view of one view type, with the members that this type shows of amounts. */
export interface TypedView {
  readonly text: (shown: ShownAmounts) => string
  readonly writer: ViewWriter
}

/** Starts a view with both view types. */
export const startBoth = async (views: UsageViewSink, monthId: UsageMonthId, { product, month }: ProductMonth, view: UsageViewKey['view']): Promise<readonly TypedView[]> => [
  { text: totalText, writer: await startView(views, monthId, month, { product, view, viewType: 'total' }) },
  { text: billableText, writer: await startView(views, monthId, month, { product, view, viewType: 'billable' }) },
]
