import type { Knex } from 'knex'
import type { Table } from './columns.ts'

/**
 * `expand` adds what the release before does not know, so its instances may run beside. `contract` removes what it uses,
 * so it waits until every instance that is alive knows the step. docs/upgrades.md has the rule.
 */
export type Phase = 'expand' | 'contract'

/**
 * Sets what a migration adds in the rows that exist, a part of the rows at a time. Progress is stored after each part,
 * so an interrupted run continues there by itself.
 */
export interface Fill {
  /** Its column `id` gives the order. */
  readonly table: string
  readonly rowsAtATime: number
  /**
   * Sets the rows whose `id` is above `after` and at most `upTo`. It may run twice for the same rows, so it must give
   * the same result. Instances of the release before write at the same time.
   */
  readonly rows: (knex: Knex, dialect: 'sqlite' | 'mysql', after: number, upTo: number) => Promise<void>
}

/** One step of the schema, never edited once merged. Expand first, contract in a later release. */
export interface Migration {
  /**
   * `NNNN-part-what` in our own parts, with a number that no other migration of ours has; `part/NNNN-what` in a part
   * from outside. At most 64 characters.
   */
  readonly id: string
  /** What it does, one line, shown by `moorage migrate plan`. */
  readonly summary: string
  /** Migrations of releases up to v2026.11.25, and those of parts from outside, have none: they run in their order. */
  readonly phase?: Phase
  /** Runs after `up`. */
  readonly fill?: Fill
  up(knex: Knex, dialect: 'sqlite' | 'mysql'): Promise<void>
}

/** The migrations of one part, oldest first. */
export interface PartMigrations {
  /**
   * Lower-case letters, digits and hyphens. The tables of a part from outside begin with it: `my_part_` of `my-part`.
   */
  readonly part: string
  /** The parts whose tables the migrations refer to. Those of our own parts run first. */
  readonly needs: readonly string[]
  /**
   * Its tables as the newest of its migrations leaves them. `moorage keys` seals the sealed columns again. A part from
   * outside may leave them out.
   */
  readonly tables?: Readonly<Record<string, Table>>
  readonly migrations: readonly Migration[]
}

/** A migration with its place in the order of all parts. */
export interface OrderedMigration extends Migration {
  readonly part: string
  /**
   * Of a part from outside: returns what is wrong with a statement, such as the change of a table that another part
   * owns. It is asked before each statement runs. It prevents mistakes; it does not confine code.
   */
  readonly faultOf?: (sql: string) => string | undefined
}
