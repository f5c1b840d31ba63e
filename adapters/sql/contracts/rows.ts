import type {
  BoundCluster,
  Contract,
  ContractClusterId,
  ContractEmails,
  ContractId,
} from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { LicensedBinding } from '../../../core/contracts/ports.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { Num } from '../kit/statement.ts'
import type { DatedColumn, TermsRow } from './terms-in-force.ts'
import { datedTermsOf } from './terms-in-force.ts'

/** Where the objects of this part's types are. An account with contracts cannot be deleted. */
export const contractObjectRows: ObjectRows = {
  type: 'contract',
  table: 'contracts',
  owner: 'owner_id',
  keepsAccount: true,
}

/** A row of `contracts` joined with its owner, with the terms that are in force. */
export interface ContractRow extends Pick<TermsRow, DatedColumn> {
  readonly id: number
  readonly owner_id: number
  readonly owner_name: string
  readonly name: string
  readonly emails: string
  readonly binds_new_clusters: number
  readonly terms_number: number
  readonly document_ref: string
  readonly document_name: string
  readonly document_type: string
  readonly document_size: Num
  readonly revoked_at: number | null
  readonly reminded_45_at: number | null
  readonly reminded_10_at: number | null
  readonly reminded_ends_at: number | null
  readonly created_at: number
  readonly version: number
}

export const contractColumns = [
  'c.id',
  'c.owner_id',
  'c.name',
  'c.emails',
  'c.binds_new_clusters',
  'c.document_ref',
  'c.document_name',
  'c.document_type',
  'c.document_size',
  'c.revoked_at',
  'c.reminded_45_at',
  'c.reminded_10_at',
  'c.reminded_ends_at',
  'c.created_at',
  'c.version',
] as const

const instantOf = (at: number | null): Date | undefined => (at === null ? undefined : new Date(at))

/** A reminder of another end than the present one is none. */
const remindedAt = (row: ContractRow, at: number | null): Date | undefined =>
  row.reminded_ends_at === row.ends_at ? instantOf(at) : undefined

export const contractOf = (row: ContractRow): Contract => ({
  ...datedTermsOf(row),
  id: row.id as ContractId,
  ownerId: row.owner_id as AccountId,
  ownerName: row.owner_name,
  name: row.name,
  emails: JSON.parse(row.emails) as ContractEmails,
  bindsNewClusters: row.binds_new_clusters === 1,
  termsNumber: row.terms_number,
  document:
    row.document_ref === ''
      ? undefined
      : {
          ref: row.document_ref,
          fileName: row.document_name,
          mediaType: row.document_type,
          size: Number(row.document_size),
        },
  revokedAt: instantOf(row.revoked_at),
  remindedAt45Days: remindedAt(row, row.reminded_45_at),
  remindedAt10Days: remindedAt(row, row.reminded_10_at),
  createdAt: new Date(row.created_at),
  version: row.version,
})

/** A row of `contract_clusters` with the tags of its cluster. */
export interface BindingRow {
  readonly id: number
  readonly contract_id: number
  readonly owner_id: number
  readonly cluster_uid: string
  readonly display_name: string
  readonly bound_at: number
  readonly tags: string | null
}

/** A row of `contract_clusters` joined with its contract. */
export interface LicensedBindingRow extends BindingRow {
  readonly product: string
  readonly features: string
  readonly allows_offline: number
}

export const tagsOf = (text: string | null): readonly string[] =>
  text === null ? [] : (JSON.parse(text) as readonly string[])

export const bindingOf = (row: BindingRow): BoundCluster => ({
  id: row.id as ContractClusterId,
  contractId: row.contract_id as ContractId,
  ownerId: row.owner_id as AccountId,
  clusterUid: row.cluster_uid,
  displayName: row.display_name,
  tags: tagsOf(row.tags),
  boundAt: new Date(row.bound_at),
})

export const licensedBindingOf = (row: LicensedBindingRow): LicensedBinding => ({
  binding: bindingOf(row),
  contract: {
    id: row.contract_id as ContractId,
    product: row.product,
    features: JSON.parse(row.features) as readonly string[],
    allowsOffline: row.allows_offline === 1,
  },
})
