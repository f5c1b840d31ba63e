import type { Knex } from 'knex'

/** One step of the schema, never edited once merged. Expand first, contract in a later release. */
export interface Migration {
  /**
   * `NNNN-part-what` in our own parts, with a number that no other migration of ours has; `part/NNNN-what` in a part
   * from outside. At most 64 characters.
   */
  readonly id: string
  /** What it does, one line, shown by `moorage migrate plan`. */
  readonly summary: string
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
