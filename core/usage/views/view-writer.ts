import { monthName, yearOf } from '../month.ts'
import type { ClusterInMonth, ObjectUsage, ProductMonth } from '../usage-types.ts'
import type { MonthKey, UnixSeconds, UsageMonthId } from '../types.ts'
import type { Rounding, ShownAmounts } from './measures.ts'
import { billableText, numberText, totalText } from './measures.ts'
import type { UsageViewKey, UsageViewStore } from './ports.ts'
import { pieceItems } from './ports.ts'
import { toWireJson } from '../../kernel/json.ts'

/** The part of the store that writes views. */
export type UsageViewSink = Pick<UsageViewStore, 'begin' | 'addPiece' | 'complete'>

/** What a writer of rows gets. */
export interface RowsGiven {
  readonly views: UsageViewSink
  readonly monthId: UsageMonthId
  readonly month: ProductMonth
  readonly rounding: Rounding
  readonly nameOf: NameObject
}

/** Writes the rows of one or more views while the objects of a month are read, in their order. */
export interface RowsOfMonth {
  /** Returns a promise if something is written. */
  add(usage: ObjectUsage): Promise<void> | undefined
  /** Writes what was not written yet, and completes the views. */
  finish(): Promise<void>
}

/** Writes rows with what was used. */
export interface RowsOfUse {
  /** The objects of this cluster follow. */
  startCluster?(cluster: ClusterInMonth): void
  /** `parts` are those of the object, `amounts` their sums. Returns a promise if something is written. */
  add(usage: ObjectUsage, amounts: readonly bigint[], parts: ObjectUsage['parts']): Promise<void> | undefined
  endCluster?(): Promise<void>
  /** Writes what was not written yet, and completes the views. */
  finish(): Promise<void>
}

/** How an object is named in views. */
interface ObjectName {
  /** See `UsageViewPiece.firstKey`. */
  readonly key: string
  /** The JSON members that name it. */
  readonly members: string
}

export type NameObject = (usage: ObjectUsage) => ObjectName

/** Returns how to name objects. The names of the last object are kept: each view asks for them. */
export const makeNameObject = (): NameObject => {
  let last: ObjectUsage | undefined
  let name: ObjectName = { key: '', members: '' }
  return (usage) => {
    if (usage !== last) name = { key: keyOf(usage), members: objectText(usage) }
    last = usage
    return name
  }
}

/** Returns the key of an object in views: see `UsageViewPiece.firstKey`. */
export const keyOf = ({ clusterUid, object }: ObjectUsage): string => `${clusterUid}/${object.uid}`

/** Writes one view in pieces. */
export interface ViewWriter {
  /**
   * `key`: see `UsageViewPiece.firstKey`. Returns a promise only if a piece is written: nothing may be added before it
   * is settled.
   */
  add(item: string, key: string): Promise<void> | undefined
  /** Completes the view. `totals` are the members of its totals. */
  finish(totals: string): Promise<void>
}

const headOf = ({ product, view, viewType }: UsageViewKey, month: MonthKey): string =>
  `{"product":"${product}","view":"${view}","viewType":"${viewType}","year":${yearOf(month)},"month":"${monthName(month)}","timezone":"UTC",` +
  `"units":{"cpu":"core-month","memory":"GiB-month"},"items":[`

const encoder = new TextEncoder()
/** Enough for most pieces. */
const firstBytes = 65_536
/** The most bytes of UTF-8 that a unit of UTF-16 takes. */
const bytesOfUnit = 3

/**
 * Collects texts as UTF-8, each at once: texts that are put together first are copied once more, and kept for so long
 * that collecting the garbage takes as long again.
 */
class TextBytes {
  #bytes = new Uint8Array(firstBytes)
  #length = 0

  add(text: string): void {
    const most = this.#length + text.length * bytesOfUnit
    if (most > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(most, this.#bytes.length * 2))
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written
  }

  /** Returns the bytes until something is added, and begins again without any. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    return taken
  }
}

/** Starts a view. */
export const startView = async (
  views: UsageViewSink,
  monthId: UsageMonthId,
  month: MonthKey,
  key: UsageViewKey,
): Promise<ViewWriter> => {
  const id = await views.begin(monthId, key)
  const items = new TextBytes()
  let waiting = 0
  let firstKey = ''
  let pieces = 0
  let itemCount = 0
  const flush = async (): Promise<void> => {
    if (waiting === 0) return
    waiting = 0
    const piece = pieces
    pieces += 1
    await views.addPiece(id, piece, { firstKey, items: items.take() })
  }
  return {
    add: (item, itemKey) => {
      if (waiting === 0) firstKey = itemKey
      items.add(waiting === 0 ? item : `,${item}`)
      waiting += 1
      itemCount += 1
      return waiting === pieceItems ? flush() : undefined
    },
    finish: async (totals) => {
      await flush()
      await views.complete(id, {
        head: headOf(key, month),
        tail: `],"totals":{${totals}}}`,
        itemCount,
        pieceCount: pieces,
      })
    },
  }
}

/** A view of one view type, with the members that this type shows of amounts. */
export interface TypedView {
  readonly viewType: UsageViewKey['viewType']
  readonly text: (shown: ShownAmounts) => string
  readonly writer: ViewWriter
}

/** Starts a view with both view types. */
export const startBoth = async (
  views: UsageViewSink,
  monthId: UsageMonthId,
  { product, month }: ProductMonth,
  view: UsageViewKey['view'],
): Promise<readonly TypedView[]> => [
  {
    viewType: 'total',
    text: totalText,
    writer: await startView(views, monthId, month, { product, view, viewType: 'total' }),
  },
  {
    viewType: 'billable',
    text: billableText,
    writer: await startView(views, monthId, month, { product, view, viewType: 'billable' }),
  },
]

// JSON members of items. Millions of them are written when a month is closed: a text is made of parts, not of an
// object.
const instants = new Map<number, string>()
const mostInstants = 10_000

/** Returns an instant as a JSON string: `"2026-06-01T00:00:00Z"`. Many items have the same: the ends of the month. */
export const instantText = (at: UnixSeconds): string => {
  const known = instants.get(at)
  if (known !== undefined) return known
  if (instants.size >= mostInstants) instants.clear()
  const text = `"${new Date(at * 1000).toISOString().slice(0, 19)}Z"`
  instants.set(at, text)
  return text
}

const plain = /^[\w .:/-]*$/

/** Returns a text as a JSON string. */
export const stringText = (text: string): string => (plain.test(text) ? `"${text}"` : toWireJson(text))

/** Returns the members that name an object. */
const objectText = ({ object, clusterUid }: ObjectUsage): string =>
  `"clusterUID":${stringText(clusterUid)},"objectID":${stringText(object.uid)},"group":${stringText(object.group)},"kind":${stringText(object.kind)},` +
  `"namespace":${stringText(object.namespace)},"namespaceUID":${stringText(object.namespaceUid)},"name":${stringText(object.name)}`

export const lifeText = ({ object, dailyEvents }: ObjectUsage): string =>
  `"createdAt":${instantText(object.createdAt)},"deletedAt":${object.deletedAt === undefined ? 'null' : instantText(object.deletedAt)},"dailyEvents":[${dailyEvents.join(',')}]`

/**
 * Returns the smallest, the largest and the time-weighted mean of a quantity over segments, the mean with three
 * decimals.
 */
const summaryText = (segments: ObjectUsage['segments'], of: 'milliCpu' | 'memoryMib'): string => {
  let [min, max, seconds, weighted] = [segments[0]?.[of] ?? 0, 0, 0, 0]
  for (const segment of segments) {
    const value = segment[of]
    const duration = segment.to - segment.from
    if (value < min) min = value
    if (value > max) max = value
    seconds += duration
    // At most 10^9 multiplied by the seconds of a month: below 2^53, but not with the three decimals.
    weighted += value * duration
  }
  if (seconds === 0) return `{"min":${min},"max":${max},"mean":0}`
  const rest = weighted % seconds
  const mean = ((weighted - rest) / seconds) * 1000 + Math.floor((rest * 1000 + Math.floor(seconds / 2)) / seconds)
  return `{"min":${min},"max":${max},"mean":${numberText(mean)}}`
}

/** Returns the item of an object in the view of what it occupied. */
export const quotaItem = ({ segments }: ObjectUsage, { members }: ObjectName): string => {
  let rows = ''
  for (const { from, to, milliCpu, memoryMib, replicas, generation } of segments) {
    rows += `${rows === '' ? '' : ','}{"from":${instantText(from)},"to":${instantText(to)},"milliCPU":${milliCpu},"memMiB":${memoryMib},"replicas":${replicas},"generation":${generation}}`
  }
  return `{${members},"milliCPU":${summaryText(segments, 'milliCpu')},"memMiB":${summaryText(segments, 'memoryMib')},"segments":[${rows}]}`
}
