import { keyIdAtStart, startOfSealedBy } from '../../../../adapters/security/keyring.ts'
import type { SealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import { kernelMigrations } from '../../../../adapters/sql/kernel/migrations.ts'
import type { SealedColumn } from '../../../../adapters/sql/kit/declared-tables.ts'
import { sealedColumnsIn, tablesOf } from '../../../../adapters/sql/kit/declared-tables.ts'
import type { AnyPart } from '../../../part/part.ts'

/** Returns the sealed columns of the tables of the runtime and of parts. */
export const sealedColumnsOf = (
  parts: readonly Pick<AnyPart, 'migrations' | 'sealedColumns'>[],
): readonly SealedColumn[] => [
  ...sealedColumnsIn(tablesOf([kernelMigrations, ...parts.flatMap(({ migrations }) => migrations ?? [])])),
  ...parts.flatMap((part) => part.sealedColumns ?? []),
]

export const shownColumn = ({ table, column }: SealedColumn): string => `${table}.${column}`

/** How many values of a column each key seals. */
interface ColumnUse {
  readonly column: SealedColumn
  /** By the id of a key. */
  readonly byKey: ReadonlyMap<string, number>
  /** Values of another format. */
  readonly unreadable: number
}

/** How many values each key seals. */
export interface KeyUse {
  /** The columns that have values. */
  readonly columns: readonly ColumnUse[]
  /** By the id of a key. */
  readonly byKey: ReadonlyMap<string, number>
  /** Keys that values name and the key ring does not hold. */
  readonly missing: readonly string[]
  readonly unreadable: number
}

/** Rows that are read at once. */
const pageSize = 200

/**
 * Counts the values of each column by key. A value of a key that the key ring does not hold is read to learn its name.
 */
export const countKeyUse = async (
  values: SealedValues,
  columns: readonly SealedColumn[],
  keyIds: readonly string[],
): Promise<KeyUse> => {
  const starts = keyIds.map(startOfSealedBy)
  const used: ColumnUse[] = []
  for (const column of columns) {
    const { total, counts } = await values.count(column, starts)
    const byKey = new Map(keyIds.map((id, at) => [id, counts[at] ?? 0] as const).filter(([, count]) => count > 0))
    const known = counts.reduce((sum, count) => sum + count, 0)
    const unreadable = known < total ? await countOthers(values, column, starts, byKey) : 0
    if (total > 0) used.push({ column, byKey, unreadable })
  }
  const byKey = new Map<string, number>()
  for (const each of used) for (const [id, count] of each.byKey) byKey.set(id, (byKey.get(id) ?? 0) + count)
  return {
    columns: used,
    byKey,
    missing: [...byKey.keys()].filter((id) => !keyIds.includes(id)).sort(),
    unreadable: used.reduce((sum, each) => sum + each.unreadable, 0),
  }
}

/** Adds the keys of values that no known key seals. Returns the number of those that name none. */
const countOthers = async (
  values: SealedValues,
  column: SealedColumn,
  starts: readonly Uint8Array[],
  byKey: Map<string, number>,
): Promise<number> => {
  let unreadable = 0
  for (let after; ;) {
    const page = await values.others(column, { starts, after, limit: pageSize })
    for (const { start } of page) {
      const id = keyIdAtStart(start)
      if (id === undefined) unreadable += 1
      else byKey.set(id, (byKey.get(id) ?? 0) + 1)
    }
    after = page.at(-1)?.key
    if (page.length < pageSize) return unreadable
  }
}

/** Returns what keeps values from being opened. */
export const faultsOf = ({ byKey, missing, unreadable }: KeyUse): readonly string[] => [
  ...missing.map((id) => `The key ${id} seals ${byKey.get(id) ?? 0} values, and the key ring does not hold it.`),
  ...(unreadable === 0 ? [] : [`${unreadable} values are no sealed values.`]),
]
