import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { Bind, Params, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'

/**
 * The lengths for which statements are composed. A shorter list is padded with its last tuple, so that few statements
 * exist.
 */
const lengths = [1, 4, 16, 64, 256, 1000] as const
const longest = 1000

type Tuple = readonly (number | string)[]

/** Runs a statement with any number of tuples, in pieces. Returns the rows of all. */
export type TupleList<Names extends string, Row> = (
  runner: SqlRunner,
  tuples: readonly Tuple[],
  binds?: Readonly<Record<Names, Bind>>,
) => Promise<Row[]>

/** Composes a statement on the rows whose columns have one of the given tuples of values. */
export const tupleList = <Row, Names extends string = never>(
  db: Pick<SqlDatabase, 'prepare'>,
  columns: readonly string[],
  build: (k: Knex, within: (rows: Knex.QueryBuilder) => Knex.QueryBuilder, p: Params<Names>) => Knex.QueryBuilder,
): TupleList<Names, Row> => {
  const statements = new Map<number, Statement>()
  const statementFor = (length: number): Statement =>
    getOrMake(statements, length, () =>
      db.prepare((k, p: Params<string>) =>
        build(
          k,
          (rows) =>
            rows.whereIn(
              [...columns],
              Array.from({ length }, (_, row) => columns.map((_name, column) => p(String(slot(row, column))))),
            ),
          p,
        ),
      ),
    )
  return async (runner, tuples, binds) => {
    const rows: Row[] = []
    for (let at = 0; at < tuples.length; at += longest) {
      const piece = tuples.slice(at, at + longest)
      const length = lengths.find((each) => each >= piece.length) ?? longest
      rows.push(...(await runner.all<Row>(statementFor(length), { ...binds, ...bindsOf(piece, length) })))
    }
    return rows
  }
}

/** Binds are named by small integers, as in `insertRows`. */
const slot = (row: number, column: number): number => row * 4 + column

const bindsOf = (tuples: readonly Tuple[], length: number): Record<number, Bind> => {
  const binds: Record<number, Bind> = {}
  for (let row = 0; row < length; row += 1) {
    for (const [column, value] of (tuples[Math.min(row, tuples.length - 1)] ?? []).entries())
      binds[slot(row, column)] = value
  }
  return binds
}
