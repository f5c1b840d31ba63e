import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { Binds, Column, Columns, Row } from '../kit/columns.ts'
import type { Prepared, Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'

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
