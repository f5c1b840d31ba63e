import type { Knex } from 'knex'

/** One step of the schema, never edited once merged. Expand first, contract in a later release. */
export interface Migration {
  /** `NNNN-part-what`, the file's name. */
  readonly id: string
  /** What it does, one line, shown by `moorage migrate plan`. */
  readonly summary: string
  up(knex: Knex, dialect: 'sqlite' | 'mysql'): Promise<void>
}
