import type { Knex } from 'knex'
import { insertRows } from './insert-rows.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner } from './statement.ts'
import type { Bind, Binds, Columns, FamilyOf, Table } from './columns.ts'
import { columnsOf, tableName } from './columns.ts'

type Composer = Pick<SqlDatabase, 'prepare'>

/** A value of a column in an insert or an update: a parameter of its family, a fixed value, or SQL. */
type Value<C> = Slot<FamilyOf<C>> | Knex.Raw | (C extends { encode(value: infer D): Bind } ? D : never)

/** The values of some columns of a table, by their fields. */
export type Values<C extends Columns> = { readonly [K in keyof C]?: Value<C[K]> | undefined }

/** Whether it is a value of the domain, and neither a parameter nor SQL, which are of classes of their own. */
const isFixed = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  value instanceof Date ||
  value instanceof Uint8Array ||
  Array.isArray(value) ||
  Object.getPrototypeOf(value) === Object.prototype

/**
 * Returns values of columns by their names in the database, for `insert` and `update`. A field that is absent or
 * undefined is left out; null is `null`.
 */
export const values = <C extends Columns>(
  of: Table<C>,
  given: { readonly [K in keyof C]?: Value<C[K]> | null | undefined },
): Record<string, Knex.Value> => {
  const columns = columnsOf(of)
  return Object.fromEntries(
    Object.entries(given).flatMap(([field, value]) => {
      const column = columns[field]
      if (column === undefined) throw new Error(`${tableName(of)} has no field ${field}.`)
      if (value === undefined) return []
      return [[column.name, (value === null || !isFixed(value) ? value : column.encode(value as never)) as Knex.Value]]
    }),
  )
}

/** SQL that computes the value of a column: fixed text, without values. */
class Expression {
  readonly sql: string

  constructor(sql: string) {
    this.sql = sql
  }
}

/** Returns SQL as a value that is the same in every row: fixed text, without values. */
export const expression = (sql: string): Expression => new Expression(sql)

/** Returns the parameters of these columns by the names of the columns, for `insert` and `update`. */
export const assigned = <C extends Columns>(columns: C, p: NoInfer<Slots<C>>): Record<string, Knex.Value> =>
  Object.fromEntries(Object.entries(columns).map(([field, { name }]) => [name, p[field] as unknown as Knex.Value]))

/** Returns the values of an update that leaves a column as it is where its parameter is null. */
export const unlessNull = <C extends Columns>(k: Knex, columns: C, p: NoInfer<Slots<C>>): Record<string, Knex.Raw> =>
  Object.fromEntries(
    Object.entries(columns).map(([field, { name }]) => [name, k.raw('coalesce(?, ??)', [p[field] as Slot, name])]),
  )

/** Returns values as places of parameters, for a query that is composed at run time. */
export const fixedSlots = <P extends Columns>(params: P, binds: Binds<P>): Slots<P> =>
  Object.fromEntries(
    Object.entries(params).map(([name, { encode }]) => [name, encode(binds[name] as never)]),
  ) as unknown as Slots<P>

/** The values of a new row: every column that has no default. */
type NewRow<C extends Columns> = {
  readonly [K in Exclude<keyof C, LeftOut<C>>]: Value<C[K]>
} & { readonly [K in LeftOut<C>]?: Value<C[K]> | null | undefined }

/** Like `values`, for `insert`: every column that has no default must be given. */
export const newRow = <C extends Columns>(of: Table<C>, given: NewRow<C>): Record<string, Knex.Value> =>
  values(of, given as Values<C>)

/** The fields that an insert may leave out. */
type LeftOut<C extends Columns> = { [K in keyof C]: C[K] extends { readonly mayBeLeftOut: true } ? K : never }[keyof C]

/** The values that are the same in every row, by their fields. */
type Fixed<C extends Columns> = { readonly [K in keyof C]?: Value<C[K]> | Expression }

interface Given<C extends Columns, O, F> {
  /** Fields that keep the default of the schema. */
  readonly omitted?: readonly O[]
  /** Fields that have the same value in every row, or SQL. */
  readonly fixed?: F & Fixed<C>
}

const fixedValues = <C extends Columns>(k: Knex, of: Table<C>, fixed: Fixed<C> = {}): Record<string, Knex.Value> =>
  values(
    of,
    Object.fromEntries(
      Object.entries(fixed).map(([field, value]) => [field, value instanceof Expression ? k.raw(value.sql) : value]),
    ) as Values<C>,
  )

/** The values of an inserted row: every field of the table but those that are omitted or fixed. */
type Inserted<C extends Columns, O, F> = Binds<Omit<C, (O & string) | (keyof F & string)>>

/** Inserts rows, in order. */
export type InsertAll<B> = (runner: SqlRunner, rows: readonly B[]) => Promise<void>

/**
 * Composes the insert of any number of rows, as `insertRows` does. The values of a row are all columns of the table, so
 * that none is forgotten, but those that are omitted or fixed.
 */
export const insertAllInto = <
  C extends Columns,
  const O extends LeftOut<C> & string = never,
  const F extends Fixed<C> = {},
>(
  db: Pick<SqlDatabase, 'prepare' | 'dialect'>,
  of: Table<C>,
  { omitted = [], fixed }: Given<C, O, F> = {},
  onConflict: (insert: Knex.QueryBuilder) => Knex.QueryBuilder = (insert) => insert,
): InsertAll<Inserted<C, O, F>> => {
  const left = new Set<string>([...omitted, ...Object.keys(fixed ?? {})])
  const own = Object.entries(columnsOf(of)).filter(([field]) => !left.has(field))
  const columns: Columns = Object.fromEntries(own)
  const row = (k: Knex, p: Slots<Columns>) => ({ ...assigned(columns, p), ...fixedValues<C>(k, of, fixed) })
  const insert = insertRows(db, tableName(of), columns, row, onConflict)
  return insert as unknown as InsertAll<Inserted<C, O, F>>
}

/**
 * Composes the insert of a row. Its parameters are all columns of the table, so that none is forgotten, but those that
 * are omitted or fixed. `finish` says what becomes of a row whose key exists; without it, the statement fails.
 */
export const insertInto = <
  C extends Columns,
  const O extends LeftOut<C> & string = never,
  const F extends Fixed<C> = {},
>(
  db: Composer,
  of: Table<C>,
  { omitted = [], fixed }: Given<C, O, F> = {},
  finish: (insert: Knex.QueryBuilder, k: Knex) => Knex.QueryBuilder | Knex.Raw = (insert) => insert,
): Prepared<Inserted<C, O, F>, unknown> => {
  const left = new Set<string>([...omitted, ...Object.keys(fixed ?? {})])
  const params: Columns = Object.fromEntries(Object.entries(columnsOf(of)).filter(([field]) => !left.has(field)))
  return db.prepare(params, (k, p) =>
    finish(k(tableName(of)).insert({ ...assigned(params, p), ...fixedValues<C>(k, of, fixed) }), k),
  ) as unknown as Prepared<Inserted<C, O, F>, unknown>
}

/** Escapes a text for a LIKE pattern with `!` as the escape character. */
export const literally = (text: string): string => text.replace(/[!%_]/g, '!$&')
