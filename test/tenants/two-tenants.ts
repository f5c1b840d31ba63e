import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { ServiceWithSamples } from '../support/populated-service.ts'
import { startWithSamples } from '../support/populated-service.ts'
import type { TenantPlan } from '../support/part-sample.ts'
import type { MadeTenant } from '../support/samples.ts'
import { makeTenant } from '../support/samples.ts'
import { openPatiently } from '../support/databases.ts'

export interface TwoTenants {
  readonly service: ServiceWithSamples
  readonly database: SqlDatabase
  readonly north: MadeTenant
  readonly south: MadeTenant
  stop(): Promise<void>
}

const planOf = (org: string): TenantPlan => ({
  org,
  prefix: `${org}-`,
  text: `canary-${org}`,
  people: { owner: `${org}-owner`, editor: `${org}-editor`, viewer: `${org}-viewer` },
  mailDomain: `canary-${org}.example`,
  arePrivate: true,
  outsiders: [],
})

/** A service with two organizations of one shape, which know nothing of one another. */
export const startTwoTenants = async (): Promise<TwoTenants> => {
  const service = await startWithSamples({ MOORAGE_TLS: 'false' })
  const database = await openPatiently(service.databaseUrl)
  const make = (org: string) => makeTenant(service.samples.samples, service, database, planOf(org))
  const north = await make('north')
  const south = await make('south')
  return {
    service,
    database,
    north,
    south,
    stop: async () => {
      await service.stop()
      await database.close()
      for (const tenant of [north, south]) await tenant.stop()
    },
  }
}

/** Columns that tell of use, not of change. */
const usage = [
  'last_login_at',
  'last_used_at',
  'last_seen_at',
  'idle_expires_at',
  'checked_at',
  'hash',
  'previous_hash',
]

/** Rows as text, by their table and the column by which they belong to a tenant. */
export type TenantRows = Readonly<Record<string, readonly string[]>>

/** Every row of a tenant, as text, by table and column; denied attempts in its log are no change. */
export const rowsOf = async (database: SqlDatabase, tenant: MadeTenant): Promise<TenantRows> => {
  const read = async (table: string, column: string, ids: readonly (number | string)[]): Promise<readonly string[]> => {
    const rows = await database.query<Record<string, unknown>>((k) =>
      k(table)
        .whereIn(column, [...ids])
        .select('*'),
    )
    return rows
      .filter((row) => row['result'] !== 'denied')
      .map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !usage.includes(name))))
      .sort()
  }
  const found: Record<string, readonly string[]> = {}
  for (const [table, columns] of Object.entries(tenant.tables))
    for (const [column, ids] of Object.entries(columns)) found[`${table} by ${column}`] = await read(table, column, ids)
  return found
}

/** The rows that are in one of the two and not in the other. */
export const changesBetween = (before: TenantRows, after: TenantRows): readonly string[] =>
  Object.keys({ ...before, ...after }).flatMap((place) => {
    const [old, now] = [before[place] ?? [], after[place] ?? []]
    return [
      ...old.filter((row) => !now.includes(row)).map((row) => `${place}: no more ${row}`),
      ...now.filter((row) => !old.includes(row)).map((row) => `${place}: now ${row}`),
    ]
  })
