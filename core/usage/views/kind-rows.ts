import { daysOfMonth } from '../month.ts'
import type { DayUsage, ProductMonth } from '../months/usage-types.ts'
import { stringText } from './item-texts.ts'
import type { Amounts, Rounding, ShownAmounts } from './measures.ts'
import { addAmounts, addUse, noAmounts } from './measures.ts'
import { kindsOfClusters } from './ports.ts'
import type { RowsGiven, RowsOfMonth } from './rows-of-month.ts'
import { startBoth } from './view-writer.ts'

/** The objects of one kind, in one cluster or in all of them. */
interface KindRow {
  readonly clusterUid: string
  readonly group: string
  readonly kind: string
  objectCount: number
  readonly sum: Amounts
  /** Of each day of the month. */
  readonly days: readonly Amounts[]
}

/** The views of kinds: of all clusters together, and of each cluster for the filter by cluster. */
export const makeKindRows = async ({ views, monthId, month, rounding }: RowsGiven): Promise<RowsOfMonth> => {
  const all = makeKindTable(month.month)
  const ofClusters = makeKindTable(month.month)
  for (const day of month.days) {
    all.addDay('', day)
    ofClusters.addDay(day.clusterUid, day)
  }
  let objectCount = 0
  return {
    add: ({ clusterUid, object: { group, kind } }) => {
      objectCount += 1
      all.rowOf('', group, kind).objectCount += 1
      ofClusters.rowOf(clusterUid, group, kind).objectCount += 1
    },
    finish: async () => {
      for (const [view, table] of [['gks-usage-view', all], [kindsOfClusters, ofClusters]] as const) {
        const writers = await startBoth(views, monthId, month, view)
        const rows = rounding.rows()
        for (const row of table.sorted()) {
          const shown = rows.next(row.sum)
          const days = rounding.parts(shown, row.days)
          for (const { text, writer } of writers) await writer.add(itemText(row, shown, days, text), row.clusterUid === '' ? '' : `${row.clusterUid}/`)
        }
        for (const { text, writer } of writers) await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
      }
    },
  }
}

const itemText = ({ clusterUid, group, kind, objectCount }: KindRow, shown: ShownAmounts, days: ReturnType<Rounding['parts']>, text: (shown: ShownAmounts) => string): string =>
  `{${clusterUid === '' ? '' : `"clusterUID":${stringText(clusterUid)},`}"group":${stringText(group)},"kind":${stringText(kind)},"objectCount":${objectCount},${text(shown)},` +
  `"matrix":[${days.map((day) => `{${text(day)}}`).join(',')}]}`

const makeKindTable = (month: ProductMonth['month']) => {
  const rows = new Map<string, KindRow>()
  const rowOf = (clusterUid: string, group: string, kind: string): KindRow => {
    const key = `${clusterUid}\n${group}\n${kind}`
    const known = rows.get(key)
    if (known !== undefined) return known
    const made = { clusterUid, group, kind, objectCount: 0, sum: noAmounts(), days: Array.from({ length: daysOfMonth(month) }, noAmounts) }
    rows.set(key, made)
    return made
  }
  return {
    rowOf,
    addDay: (clusterUid: string, usage: DayUsage): void => {
      const { sum, days } = rowOf(clusterUid, usage.group, usage.kind)
      const used = noAmounts()
      addUse(used, usage.use, usage)
      addAmounts(sum, used)
      const day = days[usage.day - 1]
      if (day === undefined) throw new RangeError(`The month ${month} has no day ${usage.day}.`)
      addAmounts(day, used)
    },
    sorted: (): readonly KindRow[] => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  }
}
