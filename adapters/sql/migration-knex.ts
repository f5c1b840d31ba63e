import type { Knex } from 'knex'
import { makeComposer } from './prepare.ts'
import type { Bind } from './statement.ts'
import type { SchemaParameters } from './migrations/columns.ts'

/** Runs one statement of a migration and answers its rows. */
export type Execute = (sql: string, binds: readonly Bind[]) => Promise<Readonly<Record<string, unknown>>[]>

interface KnexQuery {
  readonly sql: string
  readonly bindings?: readonly Bind[]
  response?: unknown
  context?: unknown
}

/** A knex whose statements all go to `execute`, one after the other. Counts of changed rows are not told. */
export const makeMigrationKnex = (dialect: 'sqlite' | 'mysql', parameters: SchemaParameters, execute: Execute): Knex => {
  const knex = makeComposer(dialect)
  knex.userParams = parameters
  Object.assign(knex.client as object, {
    acquireConnection: async () => ({}),
    releaseConnection: async () => undefined,
    _query: async (_connection: unknown, query: KnexQuery): Promise<KnexQuery> => {
      const rows = await execute(query.sql, query.bindings ?? [])
      query.response = dialect === 'mysql' ? [rows, []] : rows
      query.context = { lastID: 0, changes: 0 }
      return query
    },
  })
  return knex
}
