import { toWireJson } from '../../../core/kernel/json.ts'
import type { Knex } from 'knex'
import type { ContractTerms, DatedTerms, TermsVersion } from '../../../core/contracts/types.ts'
import type { Bind } from '../kit/statement.ts'

/** The columns of dated terms, in `contracts` and `contract_terms`. */
export const datedColumns = [
  'product',
  'features',
  'quota',
  'restrictions',
  'starts_at',
  'ends_at',
  'allows_offline',
  'allows_trials',
  'max_trials',
  'disables_analytics',
  'enables_client_billing',
] as const
export type DatedColumn = (typeof datedColumns)[number]

export const datedBinds = (terms: DatedTerms): Record<DatedColumn, Bind> => ({
  product: terms.product,
  features: toWireJson(terms.features),
  quota: toWireJson(terms.quota),
  restrictions: terms.restrictions,
  starts_at: terms.startsAt.getTime(),
  ends_at: terms.endsAt.getTime(),
  allows_offline: terms.allowsOffline ? 1 : 0,
  allows_trials: terms.allowsTrials ? 1 : 0,
  max_trials: terms.maxTrials,
  disables_analytics: terms.disablesAnalytics ? 1 : 0,
  enables_client_billing: terms.enablesClientBilling ? 1 : 0,
})

/** Columns of `contracts` that are no terms. */
export const detailColumns = ['name', 'emails', 'binds_new_clusters'] as const
export type DetailColumn = (typeof detailColumns)[number]

export const detailBinds = ({
  name,
  emails,
  bindsNewClusters,
}: Pick<ContractTerms, 'name' | 'emails' | 'bindsNewClusters'>): Record<DetailColumn, Bind> => ({
  name,
  emails: toWireJson(emails),
  binds_new_clusters: bindsNewClusters ? 1 : 0,
})

type Column = DatedColumn | 'terms_number'

/**
 * The value that is in force of `contracts as c`, after `joinInForce`. Without an earlier version in force, it is that
 * of the contract's row.
 */
export const inForce = (column: Column): string =>
  `coalesce(v.${column === 'terms_number' ? 'number' : column}, c.${column})`

/**
 * Joins `contracts as c` with the version that is in force at an instant, in milliseconds, where that is not the newest
 * one: most contracts have no version that is planned, and no row is looked up for them.
 */
export const joinInForce = (rows: Knex.QueryBuilder, now: Knex.Value): Knex.QueryBuilder =>
  rows.leftJoin('contract_terms as v', (on) =>
    on
      .on('v.contract_id', 'c.id')
      .onVal('c.terms_from', '>', now)
      .onVal('v.from_at', '<=', now)
      .onVal('v.to_at', '>', now)
      .onNull('v.superseded_at'),
  )

/** Selects the terms in force, under the names of the columns of `contracts`. */
export const selectInForce = (k: Pick<Knex, 'raw'>): readonly Knex.Raw[] =>
  [...datedColumns, 'terms_number' as const].map((column) => k.raw(`${inForce(column)} as ${column}`))

/** Narrows to contracts that are in force at an instant, in milliseconds, after `joinInForce`. */
export const activeAt = (rows: Knex.QueryBuilder, at: Knex.Value): Knex.QueryBuilder =>
  rows
    .whereRaw(`${inForce('starts_at')} <= ?`, [at])
    .whereRaw(`${inForce('ends_at')} > ?`, [at])
    .whereNull('c.revoked_at')

/** A version as statements select it. */
export interface TermsRow {
  readonly contract_id: number
  readonly number: number
  readonly from_at: number
  readonly to_at: number | null
  readonly product: string
  readonly features: string
  readonly quota: string
  readonly restrictions: string
  readonly starts_at: number
  readonly ends_at: number
  readonly allows_offline: number
  readonly allows_trials: number
  readonly max_trials: number
  readonly disables_analytics: number
  readonly enables_client_billing: number
  readonly recorded_at: number
  readonly recorded_by: string
  readonly superseded_at: number | null
}

/** Of `contract_terms as v`. */
export const versionColumns = [
  'v.contract_id',
  'v.number',
  'v.from_at',
  'v.to_at',
  ...datedColumns.map((column) => `v.${column}` as const),
  'v.recorded_at',
  'v.recorded_by',
  'v.superseded_at',
] as const
/** Of `contracts as c`: its newest version, which has no end. */
export const newestColumns = [
  'c.id as contract_id',
  'c.terms_number as number',
  'c.terms_from as from_at',
  ...datedColumns.map((column) => `c.${column}` as const),
  'c.terms_recorded_at as recorded_at',
  'c.terms_recorded_by as recorded_by',
] as const

type DatedRow = Pick<TermsRow, DatedColumn>

export const datedTermsOf = (row: DatedRow): DatedTerms => ({
  product: row.product,
  features: JSON.parse(row.features) as readonly string[],
  quota: JSON.parse(row.quota) as DatedTerms['quota'],
  restrictions: row.restrictions,
  startsAt: new Date(row.starts_at),
  endsAt: new Date(row.ends_at),
  allowsOffline: row.allows_offline === 1,
  allowsTrials: row.allows_trials === 1,
  maxTrials: row.max_trials,
  disablesAnalytics: row.disables_analytics === 1,
  enablesClientBilling: row.enables_client_billing === 1,
})

const instantOf = (at: number | null | undefined): Date | undefined =>
  at === null || at === undefined ? undefined : new Date(at)

export const versionOf = (
  row: Omit<TermsRow, 'to_at' | 'superseded_at'> & Partial<Pick<TermsRow, 'to_at' | 'superseded_at'>>,
): TermsVersion => ({
  ...datedTermsOf(row),
  number: row.number,
  from: new Date(row.from_at),
  to: instantOf(row.to_at),
  recordedAt: new Date(row.recorded_at),
  recordedBy: row.recorded_by,
  supersededAt: instantOf(row.superseded_at),
})
