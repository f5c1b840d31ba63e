import { getOrMake } from '../../../core/kernel/cache.ts'
import type { Bind, Column } from '../kit/columns.ts'
import { long, longBytes, sealed, text } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import type { SealedColumn } from '../kit/declared-tables.ts'

/** A value of the primary key of a table. */
export type RowKey = string | number

/** The start of a sealed value: the key that seals it, and a wrapped data key that no other value has. */
export interface SealedStart {
  readonly key: RowKey
  readonly start: Uint8Array
}

/** How many values of a column start with some bytes. */
interface StartCounts {
  readonly total: number
  /** In the order of the starts. */
  readonly counts: readonly number[]
}

/** The sealed values of all tables, whatever they are. Statements are composed at run time, from names of columns. */
export interface SealedValues {
  count(column: SealedColumn, starts: readonly Uint8Array[]): Promise<StartCounts>
  /** Returns at most `limit` values that start with none of `starts`, by primary key, after `after`. */
  others(
    column: SealedColumn,
    options: { readonly starts: readonly Uint8Array[]; readonly after: RowKey | undefined; readonly limit: number },
  ): Promise<readonly SealedStart[]>
  /** Returns a value, or undefined if it or its row does not exist any more. */
  find(column: SealedColumn, key: RowKey): Promise<Uint8Array | undefined>
  /** Replaces a value if it still starts as `before`, which no other value does. Reports whether it was replaced. */
  replace(column: SealedColumn, key: RowKey, before: Uint8Array, replacement: Uint8Array): Promise<boolean>
}

/** The primary key of a table that is known by its name alone. */
type KeyColumn = Column<RowKey, 'text' | 'integer'>
const textKey = text(255) as unknown as KeyColumn
const numberKey = long() as unknown as KeyColumn

/** Longer than the start of any value with a data key that the key ring has wrapped. */
const startLength = 160

export const makeSqlSealedValues = (db: SqlDatabase): SealedValues => {
  const changes = new Map<string, ReturnType<typeof composeChange>>()
  return {
    async count({ table, column }, starts) {
      const sums = starts.map((_, at) => `sum(case when substr(??, 1, ?) = ? then 1 else 0 end) as c${at}`)
      const binds = starts.flatMap((start): Bind[] => [column, start.length, start])
      const [row] = await db.query<Readonly<Record<string, number | string | null>>>((k) =>
        k(table)
          .whereNotNull(column)
          .select(k.raw(['count(*) as total', ...sums].join(', '), binds as never)),
      )
      const counts = starts.map((_, at) => Number(row?.[`c${at}`] ?? 0))
      return { total: Number(row?.['total'] ?? 0), counts }
    },

    async others({ table, column, key }, { starts, after, limit }) {
      const rows = await db.query<{ readonly row_key: RowKey; readonly start: Uint8Array }>((k) => {
        const query = k(table)
          .whereNotNull(column)
          .orderBy(key)
          .limit(limit)
          .select(k.raw('?? as row_key, substr(??, 1, ?) as start', [key, column, startLength]))
        for (const start of starts) query.whereRaw('substr(??, 1, ?) <> ?', [column, start.length, start as never])
        return after === undefined ? query : query.where(key, '>', after)
      })
      return rows.map((row) => ({ key: row.row_key, start: row.start }))
    },

    async find({ table, column, key }, rowKey) {
      const [row] = await db.query<{ readonly value: Uint8Array | null }>((k) =>
        k(table)
          .where(key, rowKey)
          .limit(1)
          .select(k.raw('?? as value', [column])),
      )
      return row?.value ?? undefined
    },

    async replace(column, key, before, replacement) {
      const start = before.subarray(0, startLength)
      const isText = typeof key === 'string'
      const change = getOrMake(changes, `${column.table}.${column.column}`, () => composeChange(db, column, isText))
      return (await db.run(change, { key, start, replacement })).affected === 1
    },
  }
}

const composeChange = (db: SqlDatabase, { table, column, key }: SealedColumn, isText: boolean) =>
  db.prepare({ key: isText ? textKey : numberKey, start: longBytes(), replacement: sealed() }, (k, p) =>
    k(table)
      .where(key, p.key)
      .whereRaw(`substr(??, 1, ${startLength}) = ?`, [column, p.start])
      .update({ [column]: p.replacement }),
  )
