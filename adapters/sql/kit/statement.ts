import type { Knex } from 'knex'
import type { Bind, Binds, Columns, Family, FamilyOf, Row } from './columns.ts'
import type { DriverRow } from './row-reader.ts'

/** The type of a BIGINT or a boolean as a driver returns it. */
export type Num = number | string

/** A place of a value in a statement. */
interface Place {
  /** The value is the number of rows of a `limit` or `offset`. */
  readonly isCount?: true
}

/** A value that is part of the statement and the same on each run. */
export interface Constant extends Place {
  readonly constant: Bind
}

/** A named value, converted as its column says. */
export interface Parameter extends Place {
  readonly name: string
  readonly encode: (value: never) => Bind
}

/** The rows of one table that a statement changes. */
export interface RowChange {
  readonly verb: 'insert' | 'update' | 'delete'
  readonly table: string
  /** The columns that an update assigns. */
  readonly columns: readonly string[]
  /** An insert changes the row that exists. */
  readonly isUpsert: boolean
  /**
   * The values that are known, by column: of each row that is inserted, or of all rows that an update or a deletion
   * changes. Undefined if the rows are not part of the statement.
   */
  readonly rows: readonly ReadonlyMap<string, Parameter | Constant>[] | undefined
}

/** The compiled text of a statement and the order of its binds for the driver. */
export interface StatementText {
  readonly sql: string
  readonly order: readonly (Parameter | Constant)[]
  /** Every integer of the rows is a bigint. Without it an integer beyond 2^53 throws instead of being rounded. */
  readonly int64: boolean
  /**
   * Set if the values are part of the text, which is then run once and not prepared: what messages show instead of it.
   */
  readonly shown?: string
  /** What the statement changes. 'unknown' if it is written as SQL, or changes several tables. */
  readonly change: RowChange | 'nothing' | 'unknown'
  /** Converts a row of the driver. Without it, rows are returned as they are. */
  readonly read?: ((row: DriverRow) => unknown) | undefined
}

/** A statement with the types of its binds and its rows. */
export interface Prepared<B, R> extends StatementText {
  /** Only for the type checker. */
  readonly binds: (binds: B) => R
}

declare const slotFamily: unique symbol
/**
 * The place of a parameter in a statement. knex takes it only where a value of the family belongs:
 * `tables/bound-columns.ts` says where.
 */
export interface Slot<F extends Family = Family> {
  readonly [slotFamily]: F
}

/** The places of the parameters of a statement. */
export type Slots<P extends Columns> = { readonly [K in keyof P]: Slot<FamilyOf<P[K]>> }

type Built = Knex.QueryBuilder | Knex.Raw

/**
 * Composes a statement once, with knex, in the database's dialect. `params` says for each parameter which column it is
 * a value of; `p.name` marks its place, also in `limit` and `offset`. `rows` are the columns that are selected: they
 * are added to the query, and each row is converted as they say.
 */
export interface Prepare {
  <P extends Columns, R extends Columns>(
    params: P,
    rows: R,
    build: (k: Knex, p: Slots<P>) => Built,
  ): Prepared<Binds<P>, Row<R>>
  <P extends Columns>(params: P, build: (k: Knex, p: Slots<P>) => Built): Prepared<Binds<P>, unknown>
}

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
  all<B extends object, R>(statement: Prepared<B, R>, binds: NoInfer<B>): Promise<R[]>
  /** Returns the first row. The statement itself must limit to one. */
  first<B extends object, R>(statement: Prepared<B, R>, binds: NoInfer<B>): Promise<R | undefined>
  run<B extends object, R>(statement: Prepared<B, R>, binds: NoInfer<B>): Promise<RunResult>
  /** For filters that are known only at run time. User text must be passed only in bindings. */
  query<Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw): Promise<Row[]>
}

/** A connection for schema changes, without the time limits of ordinary statements. */
export interface SchemaSession {
  /** Runs one statement and returns its rows, if it has any. */
  execute(sql: string, binds: readonly Bind[]): Promise<Readonly<Record<string, unknown>>[]>
  /**
   * Runs one query and yields its rows as the driver reads them, each as a list of the values of its columns. Until the
   * last one is read, the session runs no other statement. An integer is a bigint on SQLite, and one beyond 2^53 a text
   * on MySQL.
   */
  rows(sql: string): AsyncIterable<readonly unknown[]>
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
   * callers; and how many callers got one since the start, after how many seconds in all.
   */
  load(): {
    readonly used: number
    readonly free: number
    readonly waiting: number
    readonly waits: number
    readonly waitSeconds: number
  }
  /**
   * Returns a number that changes with each commit, of any process; undefined if the database counts none. It costs no
   * statement.
   */
  commits(): number | undefined
  /**
   * Throws `Unavailable` if nothing that is written now would remain: the file of SQLite was removed or replaced. Each
   * change calls it.
   */
  refuseLost(): void
  /** For migrations only. */
  openSchemaSession(): Promise<SchemaSession>
  close(): Promise<void>
}
