import type { Knex } from 'knex'

/** A value in a statement, named; filled at each run. Numbers are finite; text columns take strings. */
export type Bind = string | number | bigint | boolean | null | Uint8Array

/** How a driver gives a BIGINT or a boolean. */
export type Num = number | string

/** A value that stands in the statement itself and is the same at each run. */
export interface Constant {
  readonly constant: Bind
}

/** The compiled text of a statement and the order in which the driver wants its binds: a name, or a fixed value. */
export interface Statement<Names extends string = string> {
  readonly sql: string
  readonly order: readonly (Names | Constant)[]
  /** Every integer of the rows is a bigint. Without it an integer beyond 2^53 throws instead of being rounded. */
  readonly int64: boolean
}

/** The binds that a statement names: `p('name')` is a placeholder in it. */
export type Params<Names extends string> = (name: Names) => Knex.Value & number

/**
 * Composes a statement once, with knex, in the database's dialect. `p('name')` stands where a bind will go, also in
 * `limit` and `offset`.
 */
export type Prepare = <Names extends string>(
  build: (k: Knex, p: Params<Names>) => Knex.QueryBuilder | Knex.Raw,
  options?: { readonly int64?: boolean },
) => Statement<Names>

/** What a change did. `insertId` is 0 when no row was inserted. */
export interface RunResult {
  /** Rows that matched, also where the new value is the old one. */
  readonly affected: number
  readonly insertId: number
}

/**
 * Runs statements on one connection or, outside a transaction, on whichever is free.
 * On MySQL numbers travel as text, because there a number compared with a text column matches every row; where a
 * function's type follows its arguments (`greatest`), write `cast(? as signed)`.
 */
export interface SqlRunner {
  readonly dialect: 'sqlite' | 'mysql'
  all<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row[]>
  /** The first row. The statement itself limits to one. */
  first<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row | undefined>
  run(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<RunResult>
  /** For filters that are only known at run time; never with user text outside its bindings. */
  query<Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw): Promise<Row[]>
}

/** One connection for changes of the schema, without the time limits of ordinary statements. */
export interface SchemaSession {
  /** Runs one statement and answers its rows, if it has any. */
  execute(sql: string, binds: readonly Bind[]): Promise<Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

/** An open database: a runner, transactions, and the composer of statements. */
export interface SqlDatabase extends SqlRunner {
  readonly prepare: Prepare
  /**
   * READ COMMITTED (SQLite: BEGIN IMMEDIATE). Commits when `work` resolves, rolls back when it throws. No retry here.
   * While it is open, `work` speaks to the database through `tx` only: a statement on the database itself is refused.
   */
  transaction<A>(work: (tx: SqlRunner) => Promise<A>): Promise<A>
  /** The database's clock, milliseconds since the epoch. */
  now(): Promise<number>
  /** Connections that change things (MySQL: all of them): in use, free, and callers that wait. */
  load(): { readonly used: number; readonly free: number; readonly waiting: number }
  /** For migrations only. */
  openSchemaSession(): Promise<SchemaSession>
  close(): Promise<void>
}
