import type { Knex } from 'knex'
import type { Binds, Column, Columns, Row } from './columns.ts'
import { chunksOf, listLengths, longestList } from './fragments.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner } from './statement.ts'
import { getOrMake } from '../../../core/kernel/cache.ts'

/** Rows for a list of ids. */
export interface IdList<Id extends number, B, R> {
  /** Only for the type checker. */
  readonly idsAndBinds?: (ids: readonly Id[], binds: B) => R
  statementFor(ids: readonly number[]): Prepared<Record<string, unknown>, R>
}

/**
 * Composes a statement for lists of 1, 10, 100 and 500 ids, so that few statements exist. The first one is composed at
 * once, the others when a list of their length first comes: most processes never need them. `build` gets the
 * placeholders of the ids, which are values of `column`.
 */
export const idList = <Id extends number, P extends Columns, R extends Columns>(
  db: Pick<SqlDatabase, 'prepare'>,
  column: Column<Id, 'integer'>,
  params: P,
  rows: R,
  build: (k: Knex, p: Slots<P>, ids: readonly Slot<'integer'>[]) => Knex.QueryBuilder,
): IdList<Id, Binds<P>, Row<R>> => {
  const statements = new Map<number, Placed<Row<R>>>()
  const statementOf = (length: number): Placed<Row<R>> =>
    getOrMake(statements, length, () => {
      const names = Array.from({ length }, (_, index) => `id${index}`)
      const ids: Columns = Object.fromEntries(names.map((name) => [name, column as Column<never>]))
      const statement = db.prepare({ ...params, ...ids } as P, rows, (k, p) =>
        build(
          k,
          p,
          names.map((name) => (p as unknown as Record<string, unknown>)[name] as Slot<'integer'>),
        ),
      )
      return statement as unknown as Placed<Row<R>>
    })
  statementOf(listLengths[0])
  return {
    statementFor(ids) {
      const length = listLengths.find((each) => each >= ids.length)
      if (length === undefined) throw new RangeError(`A list of ${ids.length} ids is longer than ${longestList}.`)
      return statementOf(length)
    },
  }
}

/** Returns the binds of a list. It is padded to the greatest length with its first value. */
const listBinds = (ids: readonly number[], length: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`id${index}`, ids[index] ?? ids[0] ?? 0]))

/** Returns the rows for any number of ids, which must differ: 500 ids take one statement. */
export const rowsOfIds = async <Id extends number, B, R>(
  runner: SqlRunner,
  list: IdList<Id, B, R>,
  ids: readonly NoInfer<Id>[],
  binds: NoInfer<B>,
): Promise<readonly R[]> => {
  const rows: R[] = []
  for (const chunk of chunksOf(ids)) {
    const length = listLengths.find((each) => each >= chunk.length) ?? longestList
    const found = await runner.all(list.statementFor(chunk), { ...listBinds(chunk, length), ...binds })
    for (const row of found) rows.push(row)
  }
  return rows
}

/**
 * The lengths for which statements are composed. A shorter list is padded with its last tuple, so that few statements
 * exist.
 */
const lengths = [1, 4, 16, 64, 256, 1000] as const
const longest = 1000

/** Runs a statement with any number of tuples, in pieces. Returns the rows of all. */
type TupleList<T, R> = (runner: SqlRunner, tuples: readonly T[]) => Promise<readonly R[]>

type Placed<R> = Prepared<Readonly<Record<string, unknown>>, R>

/** Composes a statement on the rows whose columns have one of the given tuples of values. `rows` are selected. */
export const tupleList = <C extends Columns, R extends Columns>(
  db: Pick<SqlDatabase, 'prepare'>,
  columns: C,
  rows: R,
  build: (k: Knex, within: (rows: Knex.QueryBuilder) => Knex.QueryBuilder) => Knex.QueryBuilder,
): TupleList<Binds<C>, Row<R>> => {
  const own = Object.entries(columns)
  const fields = own.map(([field]) => field)
  const names = own.map(([, { sql }]) => sql)
  const statements = new Map<number, Placed<Row<R>>>()
  const statementFor = (length: number): Placed<Row<R>> =>
    getOrMake(statements, length, () => {
      const places = Array.from({ length }, (_, row) => own.map((_own, column) => String(slot(row, column))))
      const params: Columns = Object.fromEntries(
        places.flatMap((tuple) => tuple.map((place, column) => [place, own[column]?.[1] as Column<never>])),
      )
      const statement = db.prepare(params, rows, (k, p) =>
        build(k, (found) =>
          found.whereIn(
            names,
            places.map((tuple) => tuple.map((place) => p[place] as Slot as unknown as Knex.Value)),
          ),
        ),
      )
      return statement as unknown as Placed<Row<R>>
    })
  statementFor(1)
  return async (runner, tuples) => {
    const found: Row<R>[] = []
    for (let at = 0; at < tuples.length; at += longest) {
      const piece = tuples.slice(at, at + longest) as readonly Readonly<Record<string, unknown>>[]
      const length = lengths.find((each) => each >= piece.length) ?? longest
      found.push(...(await runner.all(statementFor(length), bindsOf(piece, fields, length))))
    }
    return found
  }
}

/** Binds are named by small integers, as in `insertRows`. */
const slot = (row: number, column: number): number => row * 4 + column

const bindsOf = (
  tuples: readonly Readonly<Record<string, unknown>>[],
  fields: readonly string[],
  length: number,
): Record<number, unknown> => {
  const binds: Record<number, unknown> = {}
  for (let row = 0; row < length; row += 1) {
    const tuple = tuples[Math.min(row, tuples.length - 1)]
    for (let column = 0; column < fields.length; column += 1)
      binds[slot(row, column)] = tuple?.[fields[column] as string]
  }
  return binds
}
