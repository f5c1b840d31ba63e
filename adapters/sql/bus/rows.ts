import { createHash } from 'node:crypto'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { LiveBusUser } from '../../../core/bus/ports.ts'
import { busIdentityKinds, busPurposes, type BusIdentity, type BusIdentityId, type BusUser, type BusUserId } from '../../../core/bus/types.ts'

/** A row of `bus_identities`. BIGINT columns may be returned as text. */
export interface IdentityRow {
  readonly id: number | string
  readonly kind: string
  readonly owner_id: number | string
  readonly public_key: string
  readonly ref: string
  readonly sealed_seed: Uint8Array
  readonly claims: string
  readonly revision: number | string
  readonly pushed_revision: number | string
  readonly closed_at: number | string | null
}
export const identityColumns = ['id', 'kind', 'owner_id', 'public_key', 'ref', 'sealed_seed', 'claims', 'revision', 'pushed_revision', 'closed_at'] as const

/** A row of `bus_users`. */
export interface UserRow {
  readonly id: number | string
  readonly identity_id: number | string
  readonly owner_id: number | string
  readonly purpose: string
  readonly public_key: string
  readonly issued_at: number | string
  readonly expires_at: number | string
  readonly revoked_at: number | string | null
}
export const userColumns = ['id', 'identity_id', 'owner_id', 'purpose', 'public_key', 'issued_at', 'expires_at', 'revoked_at'] as const

/** The current state of an owner. An organization has no password and always qualifies. */
export interface OwnerColumns {
  readonly kind: string | null
  readonly password_hash: string | null
  readonly is_admin: number | null
  readonly is_active: number | null
  readonly prohibit_login: number | null
}
export type LiveRow = UserRow & OwnerColumns & { readonly owner_mark: string; readonly sessions: number | string }

const instantOf = (value: number | string): Date => new Date(Number(value))
const wordOf = <A extends string>(words: readonly A[], word: string): A => {
  const found = words.find((each) => each === word)
  if (found === undefined) throw new Error(`The bus tables hold the unknown word ${word}.`)
  return found
}

export const identityOf = (row: IdentityRow): BusIdentity => ({
  id: Number(row.id) as BusIdentityId,
  kind: wordOf(busIdentityKinds, row.kind),
  ownerId: Number(row.owner_id) === 0 ? undefined : (Number(row.owner_id) as AccountId),
  publicKey: row.public_key,
  ref: row.ref,
  sealedSeed: row.sealed_seed,
  claims: row.claims,
  revision: Number(row.revision),
  pushedRevision: Number(row.pushed_revision),
  closedAt: row.closed_at === null ? undefined : instantOf(row.closed_at),
})

export const userOf = (row: UserRow): BusUser => ({
  id: Number(row.id) as BusUserId,
  identityId: Number(row.identity_id) as BusIdentityId,
  ownerId: Number(row.owner_id) as AccountId,
  purpose: wordOf(busPurposes, row.purpose),
  publicKey: row.public_key,
  issuedAt: instantOf(row.issued_at),
  expiresAt: instantOf(row.expires_at),
  revokedAt: row.revoked_at === null ? undefined : instantOf(row.revoked_at),
})

/** Returns a digest, so that no other table contains a copy of a password's hash. */
export const markOf = (owner: OwnerColumns): string | undefined => {
  if (owner.kind === 'organization') return 'organization'
  if (owner.password_hash === null || !owner.is_active || owner.prohibit_login) return undefined
  return createHash('sha256').update(`${owner.password_hash}\n${owner.is_admin ? 'admin' : ''}`).digest('hex')
}

export const liveOf = (row: LiveRow): LiveBusUser => ({
  ...userOf(row),
  ownerMark: row.owner_mark,
  presentMark: markOf(row),
  hasSession: Number(row.sessions) > 0,
})
