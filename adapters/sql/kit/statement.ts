import type { Knex } from 'knex'

/** A named value in a statement, set on each run. Numbers are finite; text columns take strings. */
export type Bind = string | number | bigint | boolean | null | Uint8Array

/** The type of a BIGINT or a boolean as a driver returns it. */
export type Num = number | string

/** A value that is part of the statement and the same on each run. */
export interface Constant {
  readonly constant: Bind
}

/** The compiled text of a statement and the order of its binds for the driver: a name, or a fixed value. */
export interface Statement<Names extends string = string> {
  readonly sql: string
  readonly order: readonly (Names | Constant)[]
  /** Every integer of the rows is a bigint. Without it an integer beyond 2^53 throws instead of being rounded. */
  readonly int64: boolean
  /**
   * Set if the values are part of the text, which is then run once and not prepared: what messages show instead of it.
   */
  readonly shown?: string
}

/** The binds that a statement names: `p('name')` is a placeholder in it. */
export type Params<Names extends string> = (name: Names) => Knex.Value & number

/**
 * Composes a statement once, with knex, in the database's dialect. `p('name')` marks the position of a bind, also in
 * `limit` and `offset`.
 */
export type Prepare = <Names extends string>(
  build: (k: Knex, p: Params<Names>) => Knex.QueryBuilder | Knex.Raw,
  options?: { readonly int64?: boolean },
) => Statement<Names>

/** The result of a change. `insertId` is 0 if no row was inserted. */
export interface RunResult {
  /** Rows that matched, including those whose new value equals the old one. */
  readonly affected: number
  readonly insertId: number
}

/**
 * Runs statements on one connection or, outside a transaction, on any free connection. On MySQL numbers are sent as
 * text, because there a number compared with a text column matches every row; only rows that are inserted have
 * literals. If a function's type follows its arguments (`greatest`), write `cast(? as signed)`.
 */
export interface SqlRunner {
  readonly dialect: 'sqlite' | 'mysql'
  all<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row[]>
  /** Returns the first row. The statement itself must limit to one. */
  first<Row>(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<Row | undefined>
  run(statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<RunResult>
  /** For filters that are known only at run time. User text must be passed only in bindings. */
  query<Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw): Promise<Row[]>
}

/** A connection for schema changes, without the time limits of ordinary statements. */
export interface SchemaSession {
  /** Runs one statement and returns its rows, if it has any. */
  execute(sql: string, binds: readonly Bind[]): Promise<Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

/** An open database: a runner, transactions, and the composer of statements. */
export interface SqlDatabase extends SqlRunner {
  readonly prepare: Prepare
  /**
   * Runs a transaction at READ COMMITTED (SQLite: BEGIN IMMEDIATE). Commits when `work` resolves, rolls back when it
   * throws, and does not retry. While it is open, `work` must use the database through `tx` only: a statement on the
   * database itself is refused.
   */
  transaction<A>(work: (tx: SqlRunner) => Promise<A>): Promise<A>
  /** Returns the database's clock in milliseconds since the epoch. */
  now(): Promise<number>
  /**
   * Returns the numbers of connections that can change data (MySQL: all of them), in use and free, and of waiting
   * callers.
   */
  load(): { readonly used: number; readonly free: number; readonly waiting: number }
  /**
   * Throws `Unavailable` if nothing that is written now would remain: the file of SQLite was removed or replaced. Each
   * change calls it.
   */
  refuseLost(): void
  /** For migrations only. */
  openSchemaSession(): Promise<SchemaSession>
  close(): Promise<void>
}
