import type { Knex } from 'knex'

/** A value or a list of values in a statement, named; filled at each run. */
export type Bind = string | number | bigint | boolean | null | Uint8Array

/** The compiled text of a statement and the order in which the driver wants its named binds. */
export interface Statement<Names extends string = string> {
  readonly sql: string
  readonly order: readonly Names[]
  /** Columns may hold integers beyond 2^53: rows carry them as bigint. */
  readonly int64: boolean
}

/** Composes a statement once, with knex, in the database's dialect. `p('name')` stands where a bind will go. */
export type Prepare = <Names extends string>(
  build: (k: Knex, p: (name: Names) => Knex.Value) => Knex.QueryBuilder | Knex.Raw,
  options?: { readonly int64?: boolean },
) => Statement<Names>

/** What a change did. `insertId` is 0 when no row was inserted. */
export interface RunResult {
  readonly affected: number
  readonly insertId: number
}

/** Runs statements on one connection or, outside a transaction, on whichever is free. */
export interface SqlRunner {
  readonly dialect: 'sqlite' | 'mysql'
  all<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row[]>
  first<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row | undefined>
  run(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<RunResult>
  /** For filters that are only known at run time; never with user text outside its bindings. */
  query<Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw): Promise<Row[]>
}

/** An open database: a runner, transactions, and the composer of statements. */
export interface SqlDatabase extends SqlRunner {
  readonly prepare: Prepare
  /** READ COMMITTED (SQLite: BEGIN IMMEDIATE). Commits when `work` resolves, rolls back when it throws. No retry here. */
  transaction<A>(work: (tx: SqlRunner) => Promise<A>): Promise<A>
  /** The database's clock, milliseconds since the epoch. */
  now(): Promise<number>
  close(): Promise<void>
}
