import type { AccountId, Brand } from '../kernel/ids.ts'

export type BusIdentityId = Brand<number, 'BusIdentityId'>
export type BusUserId = Brand<number, 'BusUserId'>

/**
 * A key of the bus that this deployment holds. The `operator` signs the claims of accounts; `system` is the account that
 * takes them; `platform` is the service's own account; an `account` belongs to one user or organization.
 */
export const busIdentityKinds = ['operator', 'system', 'platform', 'account'] as const
export type BusIdentityKind = (typeof busIdentityKinds)[number]

export interface BusIdentity {
  readonly id: BusIdentityId
  readonly kind: BusIdentityKind
  /** Undefined unless the kind is `account`. */
  readonly ownerId: AccountId | undefined
  readonly publicKey: string
  readonly ref: string
  readonly sealedSeed: Uint8Array
  /** What the server was given last, signed; empty for an account before its first time. */
  readonly claims: string
  /** Grows with each change of what the claims must say. */
  readonly revision: number
  /** The revision that the server has acknowledged. */
  readonly pushedRevision: number
  /** Set once the owner is gone: nothing is issued any more. */
  readonly closedAt: Date | undefined
}

export type NewBusIdentity = Pick<BusIdentity, 'kind' | 'ownerId' | 'publicKey' | 'ref' | 'sealedSeed' | 'claims'>

/**
 * What credentials are for. `own`: the own account's task progress and notifications; `pass`: the same for a browser, by
 * cookie. The others belong to the platform's account: `admin` everything, `progress` progress and notifications of
 * everybody, `history` what clusters tell about their resources.
 */
export const busPurposes = ['own', 'pass', 'admin', 'progress', 'history'] as const
export type BusPurpose = (typeof busPurposes)[number]

/** One set of credentials that was issued; the key itself is kept by nobody but whoever asked for it. */
export interface BusUser {
  readonly id: BusUserId
  readonly identityId: BusIdentityId
  /** The user, or for an organization's account the organization, that the credentials are of. */
  readonly ownerId: AccountId
  readonly purpose: BusPurpose
  readonly publicKey: string
  readonly issuedAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | undefined
}

export interface NewBusUser extends Omit<BusUser, 'id' | 'revokedAt'> {
  readonly ownerMark: string
}

/** What a user of the bus may do: subjects it may publish to and subscribe to; empty lists allow nothing. */
export interface BusRights {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** What an account's claims say. */
export interface AccountClaims {
  readonly name: string
  /** Streams of the platform's account that appear here under another subject. `$1` stands for the first wildcard. */
  readonly imports: readonly { readonly from: string; readonly as: string }[]
  /** Streams that other accounts may import. */
  readonly exports: readonly string[]
  /** Users that are no longer accepted, by public key; `*` for all. What was issued at that time or before is refused. */
  readonly revocations: ReadonlyMap<string, Date>
  /** Connections at a time; undefined for no limit. */
  readonly maxConnections: number | undefined
  readonly hasStreams: boolean
}
