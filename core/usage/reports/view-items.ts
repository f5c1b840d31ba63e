import type { UsageClass } from '../types.ts'
import type { StoredUsageView, UsageViewStore } from '../views/ports.ts'

/** What was used, in units of the month: as numbers of JSON with three decimals. */
export interface ShownPair {
  readonly cpu: number
  readonly memory: number
}

/** What views of the type `billable` show of amounts. */
export interface ShownUse extends ShownPair {
  readonly prod: ShownPair
  readonly nonProd: ShownPair
  readonly free: { readonly trial: ShownPair; readonly freeContract: ShownPair }
}

export interface ViewTotals extends ShownUse {
  readonly objectCount: number
  /** Of the view of clusters only. */
  readonly clusterHours?: number
}

export interface KindItem extends ShownUse {
  readonly group: string
  readonly kind: string
  readonly objectCount: number
  /** Of each day of the month. */
  readonly matrix: readonly ShownUse[]
}

export interface ClusterItem extends ShownUse {
  readonly clusterUID: string
  readonly displayName: string
  readonly modes: readonly { readonly mode: string }[]
  readonly clusterHours: number
  readonly objectCount: number
}

export interface NamespaceItem extends ShownUse {
  readonly clusterUID: string
  readonly namespace: string
  readonly namespaceUID: string
  readonly objectCount: number
}

export interface ContractItem extends ShownUse {
  /** 0 for what was used without a contract. */
  readonly contractID: number
  readonly name: string
  readonly product: string
  readonly features: readonly string[]
  /** Instants: from when it is in force, and until just before when. Null without a contract. */
  readonly start: string | null
  readonly end: string | null
  readonly quota: {
    readonly metric: string
    readonly limit: number
    readonly billed: number
    readonly excess: number
    readonly usedPercent: number
  } | null
  /**
   * The versions of the terms that were in force in the month, ascending by time. Absent in months that were computed
   * before they were dated.
   */
  readonly terms?: readonly TermsItem[]
  readonly objectCount: number
}

/** One version of the terms of a contract; instants within the month. */
interface TermsItem {
  readonly number: number
  readonly from: string
  readonly to: string
  readonly product: string
  readonly features: readonly string[]
  readonly quota: { readonly metric: string; readonly limit: number } | null
}

/** What an object used for one contract in one class. */
interface UseItem extends ShownPair {
  readonly contractID: number
  readonly class: UsageClass
}

export interface ObjectItem extends ShownPair {
  readonly clusterUID: string
  readonly objectID: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uses: readonly UseItem[]
}

/** Yields the items of a view, piece by piece. `Item` is what this service has written into views of its name. */
export async function* itemsOf<Item>(
  views: Pick<UsageViewStore, 'pieces'>,
  view: StoredUsageView,
): AsyncGenerator<readonly Item[]> {
  for await (const items of views.pieces(view)) yield JSON.parse(`[${items}]`) as readonly Item[]
}

/** Returns the totals of a view. Its head and tail are a JSON object around its items. */
export const totalsOf = ({ head, tail }: StoredUsageView): ViewTotals =>
  (JSON.parse(head + tail) as { readonly totals: ViewTotals }).totals

const threeDecimals = new Intl.NumberFormat('en-US', { minimumFractionDigits: 3, maximumFractionDigits: 3 })
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** Returns a quantity or a percentage as it is shown in documents: `1,012.340`. */
export const decimals = (value: number): string => threeDecimals.format(value)

/** Returns a count as it is shown in documents: `1,012`. */
export const countText = (value: number): string => whole.format(value)

/** Returns a difference of quantities with its sign: `+1.500`. */
export const change = (now: number, before: number): string => {
  const thousandths = Math.round(now * 1000) - Math.round(before * 1000)
  return `${thousandths > 0 ? '+' : ''}${decimals(thousandths / 1000)}`
}
