import type { Knex } from 'knex'
import type { TermsVersion } from '../../../core/contracts/types.ts'
import type { Columns, Row } from '../kit/columns.ts'
import { aliased, computed, pick, qualified, snakeCase, without } from '../kit/columns.ts'
import type { Slot } from '../kit/statement.ts'
import { contractTerms, contracts } from '../tables/contracts.ts'

/** The columns of dated terms, which `contracts` has too. A new column of `contract_terms` belongs to them. */
const datedTerms = without(
  contractTerms,
  'id',
  'contractId',
  'number',
  'from',
  'to',
  'recordedAt',
  'recordedBy',
  'supersededAt',
)
/** The fields of dated terms. */
export const datedFields = Object.keys(datedTerms) as readonly (keyof typeof datedTerms)[]

const fieldsInForce = [...datedFields, 'termsNumber'] as const
type FieldInForce = (typeof fieldsInForce)[number]

/**
 * The value that is in force of `contracts as c`, after `joinInForce`. Without an earlier version in force, it is that
 * of the contract's row.
 */
export const inForce = (field: FieldInForce): string =>
  `coalesce(v.${field === 'termsNumber' ? 'number' : snakeCase(field)}, c.${snakeCase(field)})`

/** The terms in force, under the names of the columns of `contracts`. */
export const termsInForce = Object.fromEntries(
  fieldsInForce.map((field) => [field, computed(contracts[field] as Columns[string], inForce(field))]),
) as unknown as Pick<typeof contracts, FieldInForce>

/**
 * Joins `contracts as c` with the version that is in force at an instant where that is not the newest one: most
 * contracts have no version that is planned, and no row is looked up for them.
 */
export const joinInForce = (rows: Knex.QueryBuilder, now: Slot<'integer'>): Knex.QueryBuilder =>
  rows.leftJoin('contract_terms as v', (on) =>
    on
      .on('v.contract_id', 'c.id')
      .onVal('c.terms_from', '>', now)
      .onVal('v.from_at', '<=', now)
      .onVal('v.to_at', '>', now)
      .onNull('v.superseded_at'),
  )

/** Narrows to contracts that are in force at an instant, after `joinInForce`. */
export const activeAt = (rows: Knex.QueryBuilder, at: Slot<'integer'>): Knex.QueryBuilder =>
  rows
    .whereRaw(`${inForce('startsAt')} <= ?`, [at])
    .whereRaw(`${inForce('endsAt')} > ?`, [at])
    .whereNull('c.revoked_at')

/** A version, of `contract_terms as v`. */
export const versionRow = qualified(without(contractTerms, 'id', 'contractId'), 'v')

const c = aliased(contracts, 'c')

/** The newest version, of `contracts as c`. It has no end. */
export const newestRow = {
  ...pick(c, ...datedFields),
  number: c.termsNumber,
  from: c.termsFrom,
  recordedAt: c.termsRecordedAt,
  recordedBy: c.termsRecordedBy,
}

export const newestVersionOf = (row: Row<typeof newestRow>): TermsVersion => ({
  ...row,
  to: undefined,
  supersededAt: undefined,
})
