import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type {
  AccountClaims,
  BusIdentity,
  BusIdentityId,
  BusIdentityKind,
  BusPurpose,
  BusRights,
  BusUser,
  BusUserId,
  NewBusIdentity,
  NewBusUser,
} from './types.ts'

/** Messages stay inside this process, or the bus's keys were not created: there is no server to connect to. */
export const BusHasNoCredentials = defineFailure(
  'BusHasNoCredentials',
  'NotFound',
  'The deployment has no message bus with credentials.',
)
/** The account has no access to the bus: it was disabled or deleted concurrently. */
export const BusRefused = defineFailure(
  'BusRefused',
  'Forbidden',
  'The account has no access to the message bus, or its credential was replaced during the request.',
)
/** The account does not have such credentials. */
export const BusTokenMissing = defineFailure('BusTokenMissing', 'NotFound', 'The bus credentials do not exist.')
/** Another instance created the same key first. */
export const BusIdentityTaken = defineFailure(
  'BusIdentityTaken',
  'Conflict',
  'The key of the message bus exists already.',
)

/** A new or stored key of the bus. */
export interface BusKey {
  readonly publicKey: string
  readonly seed: Secret
}

/** Creates keys and signs claims. Uses no store and no server. */
export interface BusMint {
  newKey(kind: BusIdentityKind | 'user'): BusKey
  operatorClaims(operator: BusKey, systemAccount: string): Promise<string>
  accountClaims(operator: BusKey, publicKey: string, platformAccount: string, claims: AccountClaims): Promise<string>
  /** Returns the signed claims of a user. With `isBearer` they authenticate by themselves, without the user's key. */
  userClaims(account: BusKey, user: string, claims: UserClaims): Promise<string>
  /** Returns a credentials file in the format of the bus's clients. */
  credentialsFile(claims: string, user: BusKey): Secret<Uint8Array>
}
export interface UserClaims {
  readonly name: string
  readonly rights: BusRights
  readonly expiresAt: Date | undefined
  readonly isBearer: boolean
}
export const BusMintPort = portKey<BusMint>('bus.BusMint')

/** The login of this process as a user of the system account, to push claims. */
export interface SystemLogin {
  readonly claims: string
  /** The user's own seed. */
  readonly seed: Secret
}

/** Operations of the system account on the server. Every method throws `Unavailable` if no server responds in time. */
export interface BusServer {
  /** False if messages stay inside this process; no other member is used then. */
  readonly isConfigured: boolean
  /** Addresses for clients, the preferred one first. */
  readonly endpoints: readonly string[]
  /** Returns the server's claims of an account. */
  claimsOf(publicKey: string): Promise<string | undefined>
  /** Pushes an account's claims; resolves when the server has stored them. */
  push(claims: string): Promise<void>
  /** Returns the accounts that the server knows. */
  accounts(): Promise<ReadonlySet<string>>
  /** Starts connecting, with unlimited retries; never throws. */
  start(): void
  isConnected(): boolean
  close(): Promise<void>
}
export const BusServerPort = portKey<BusServer>('bus.BusServer')

/** The stored keys of the deployment. */
export interface BusIdentityStore {
  find(kind: BusIdentityKind, ownerId?: AccountId): Promise<BusIdentity | undefined>
  /** Returns the same row, locked until the transaction ends. */
  lock(id: BusIdentityId): Promise<BusIdentity | undefined>
  insert(identity: NewBusIdentity, at: Date): Outcome<Failure<'BusIdentityTaken'>, BusIdentity>
  /** Records that the claims must change. */
  raiseRevision(id: BusIdentityId): Promise<void>
  /** Records the claims that the server accepted; a revision below the acknowledged one has no effect. */
  acknowledge(id: BusIdentityId, revision: number, claims: string): Promise<void>
  /** Closes the account of a deleted owner. Also raises the revision. */
  close(id: BusIdentityId, at: Date): Promise<void>
  /** Returns accounts (including the platform's) with an unacknowledged change. */
  listDue(limit: number): Promise<readonly BusIdentity[]>
  /** Returns open accounts whose owner was deleted. */
  listOrphans(limit: number): Promise<readonly BusIdentity[]>
  /** Returns accounts (including the platform's) after this id, sorted by id. */
  listAccounts(after: number, limit: number): Promise<readonly BusIdentity[]>
}
/** For use outside a transaction. */
export const BusIdentityStorePort = portKey<BusIdentityStore>('bus.BusIdentityStore')

/** Live credentials, with the current state of their owner. */
export interface LiveBusUser extends BusUser {
  readonly ownerMark: string
  /** The owner's current mark; undefined if the owner was deleted or may not sign in. */
  readonly presentMark: string | undefined
  /** Whether the owner has a live session; a browser's pass is invalid without one. */
  readonly hasSession: boolean
}

/** Issued credentials. */
export interface BusUserStore {
  /**
   * Returns a text that changes with the owner's password and with the right of a site admin; undefined if the owner
   * was deleted or may not sign in.
   */
  ownerMark(ownerId: AccountId): Promise<string | undefined>
  insert(user: NewBusUser): Promise<BusUserId>
  /** Returns the owner's credentials, newest first, including expired ones until they are swept. */
  list(ownerId: AccountId, page: PageRequest): Promise<Page<BusUser>>
  get(ownerId: AccountId, id: BusUserId): Promise<BusUser | undefined>
  /** Returns false if they were already revoked. */
  revoke(id: BusUserId, at: Date): Promise<boolean>
  /** Returns the live credentials of one owner and purpose (not revoked, not expired), oldest first. */
  live(ownerId: AccountId, purpose: BusPurpose, now: Date): Promise<readonly BusUser[]>
  /** Returns the live credentials of all owners after this id, sorted by id. */
  listLive(after: number, limit: number, now: Date): Promise<readonly LiveBusUser[]>
  /** Returns the revoked credentials of one account whose expiry the server would still accept. */
  revokedOf(identityId: BusIdentityId, now: Date): Promise<readonly BusUser[]>
  /** Removes rows that expired before that time. */
  sweep(before: Date): Promise<number>
}
/** For use outside a transaction. */
export const BusUserStorePort = portKey<BusUserStore>('bus.BusUserStore')

/**
 * Reports whether a caller's authentication is still valid. It runs in the same transaction and locks the rows, so that
 * a concurrent revocation waits for it.
 */
export interface BusCallers {
  isStillProven(principal: Principal): Promise<boolean>
}

/** The stores that changes to the bus's keys need, in one transaction. */
export interface BusStores {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly callers: BusCallers
  readonly audit: AuditTrail
}
export const BusUnitOfWorkPort = portKey<UnitOfWork<BusStores>>('bus.BusUnitOfWork')
