import type { AccountId, Brand } from '../kernel/ids.ts'

export type BusIdentityId = Brand<number, 'BusIdentityId'>
export type BusUserId = Brand<number, 'BusUserId'>

/**
 * A key of the bus that this deployment holds. The `operator` signs the claims of accounts; `system` is the account
 * that receives them; `platform` is the service's own account; an `account` belongs to one user or organization.
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
  /** The last claims pushed to the server, signed; empty for an account before its first push. */
  readonly claims: string
  /** Incremented with each change of what the claims must contain. */
  readonly revision: number
  /** The revision that the server has acknowledged. */
  readonly pushedRevision: number
  /** Set once the owner was deleted; no further credentials are issued. */
  readonly closedAt: Date | undefined
}

export type NewBusIdentity = Pick<BusIdentity, 'kind' | 'ownerId' | 'publicKey' | 'ref' | 'sealedSeed' | 'claims'>

/**
 * The purposes of credentials that the bus itself has. `own`: the own account's task progress and notifications;
 * `pass`: the same for a browser, by cookie. The others belong to the platform's account: `admin` everything,
 * `progress` all progress and notifications, `history` what clusters report about their resources.
 */
export const busPurposes = ['own', 'pass', 'admin', 'progress', 'history'] as const

/** One of `busPurposes`, or that of a `SentSubject`. */
export type BusPurpose = string

/**
 * A subject on which programs of accounts send messages to a part of the service. The part declares it, and issues
 * credentials for it. Other accounts have no right to it.
 */
export interface SentSubject {
  /** The purpose of the credentials, in the account of the sender. At most 32 characters. */
  readonly purpose: string
  /**
   * The subject in the account of the sender. In the platform's account it is `<subject>.<tenant>`: the claims of the
   * sender's account set the tenant, not the sender.
   */
  readonly subject: string
}

/** One set of issued credentials; the key itself is not stored, only the requester has it. */
export interface BusUser {
  readonly id: BusUserId
  readonly identityId: BusIdentityId
  /** The owner of the credentials: the user, or the organization for an organization's account. */
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

/** The rights of a user of the bus: subjects to publish and to subscribe to; empty lists allow nothing. */
export interface BusRights {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** The content of an account's claims. */
export interface AccountClaims {
  readonly name: string
  /** Streams of the platform's account that are imported under another subject. `$1` is the first wildcard. */
  readonly imports: readonly { readonly from: string; readonly as: string }[]
  /** Streams that other accounts may import. */
  readonly exports: readonly string[]
  /**
   * Subjects on which the account publishes, and which are subjects of the platform's account there. The platform
   * answers.
   */
  readonly sends: readonly { readonly on: string; readonly to: string }[]
  /** Subjects to which other accounts may publish in this way. */
  readonly receives: readonly string[]
  /**
   * Users that are no longer accepted, by public key; `*` for all. Credentials issued at or before that time are
   * rejected.
   */
  readonly revocations: ReadonlyMap<string, Date>
  /** Maximum number of concurrent connections; undefined for no limit. */
  readonly maxConnections: number | undefined
  readonly hasStreams: boolean
}
