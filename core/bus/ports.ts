import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type {
  AccountClaims, BusIdentity, BusIdentityId, BusIdentityKind, BusPurpose, BusRights, BusUser, BusUserId, NewBusIdentity, NewBusUser,
} from './types.ts'

/** Messages stay inside this process, or nobody has made the bus's keys: there is nothing to connect to. */
export const BusHasNoCredentials = defineFailure('BusHasNoCredentials', 'NotFound')
/** The account has no access to the bus: it was disabled or deleted this very moment. */
export const BusRefused = defineFailure('BusRefused', 'Forbidden')
/** Nobody was issued such credentials within this account. */
export const BusTokenMissing = defineFailure('BusTokenMissing', 'NotFound')
/** Another instance made the same key first. */
export const BusIdentityTaken = defineFailure('BusIdentityTaken', 'Conflict')

/** A fresh or stored key of the bus. */
export interface BusKey {
  readonly publicKey: string
  readonly seed: Secret
}

/** Makes keys and signs claims. Knows no store and no server. */
export interface BusMint {
  newKey(kind: BusIdentityKind | 'user'): BusKey
  operatorClaims(operator: BusKey, systemAccount: string): Promise<string>
  accountClaims(operator: BusKey, publicKey: string, platformAccount: string, claims: AccountClaims): Promise<string>
  /** Signed claims of a user. `isBearer`: they alone let in, without the user's key. */
  userClaims(account: BusKey, user: string, claims: UserClaims): Promise<string>
  /** A credentials file as clients of the bus read it. */
  credentialsFile(claims: string, user: BusKey): Secret<Uint8Array>
}
export interface UserClaims {
  readonly name: string
  readonly rights: BusRights
  readonly expiresAt: Date | undefined
  readonly isBearer: boolean
}
export const BusMintToken = token<BusMint>('bus.BusMint')

/** How this process logs on as a user of the system account, to hand over claims. */
export interface SystemLogin {
  readonly claims: string
  /** The user's own seed. */
  readonly seed: Secret
}

/** The server's side of the system account. Every method throws `Unavailable` when no server answers in time. */
export interface BusServer {
  /** False where messages stay inside this process: nothing else is called then. */
  readonly isConfigured: boolean
  /** Where clients connect, the preferred address first. */
  readonly endpoints: readonly string[]
  /** The claims that the server has for an account. */
  claimsOf(publicKey: string): Promise<string | undefined>
  /** Hands over an account's claims; done when the server has stored them. */
  push(claims: string): Promise<void>
  /** The accounts that the server knows. */
  accounts(): Promise<ReadonlySet<string>>
  /** Begins to connect, for ever; never throws. */
  start(): void
  isConnected(): boolean
  close(): Promise<void>
}
export const BusServerToken = token<BusServer>('bus.BusServer')

/** The keys that the deployment holds. */
export interface BusIdentityStore {
  find(kind: BusIdentityKind, ownerId?: AccountId): Promise<BusIdentity | undefined>
  /** The same row, kept from others until the transaction ends. */
  lock(id: BusIdentityId): Promise<BusIdentity | undefined>
  insert(identity: NewBusIdentity, at: Date): Outcome<Failure<'BusIdentityTaken'>, BusIdentity>
  /** Says that the claims must change. */
  raiseRevision(id: BusIdentityId): Promise<void>
  /** The server has taken these claims; a lower revision than the acknowledged one changes nothing. */
  acknowledge(id: BusIdentityId, revision: number, claims: string): Promise<void>
  /** The owner is gone. Raises the revision as well. */
  close(id: BusIdentityId, at: Date): Promise<void>
  /** Accounts (and the platform's) with a change that the server has not acknowledged. */
  listDue(limit: number): Promise<readonly BusIdentity[]>
  /** Open accounts whose owner is gone. */
  listOrphans(limit: number): Promise<readonly BusIdentity[]>
  /** Accounts (and the platform's) after this id, by id. */
  listAccounts(after: number, limit: number): Promise<readonly BusIdentity[]>
}
/** Outside of a transaction. */
export const BusIdentityStoreToken = token<BusIdentityStore>('bus.BusIdentityStore')

/** Credentials that count now, beside what their owner is now. */
export interface LiveBusUser extends BusUser {
  readonly ownerMark: string
  /** The owner's present mark; undefined when the owner is gone or may not sign in. */
  readonly presentMark: string | undefined
  /** Whether the owner has a session that is not over: a browser's pass is nothing without. */
  readonly hasSession: boolean
}

/** Credentials that were issued. */
export interface BusUserStore {
  /** A text that changes with the owner's password and with the right of a site admin; undefined when the owner is gone or may not sign in. */
  ownerMark(ownerId: AccountId): Promise<string | undefined>
  insert(user: NewBusUser): Promise<BusUserId>
  /** The owner's, newest first, with those that are over until they are swept. */
  list(ownerId: AccountId, page: PageRequest): Promise<Page<BusUser>>
  get(ownerId: AccountId, id: BusUserId): Promise<BusUser | undefined>
  /** False when they were revoked already. */
  revoke(id: BusUserId, at: Date): Promise<boolean>
  /** Of one owner and purpose: not revoked and not over, oldest first. */
  live(ownerId: AccountId, purpose: BusPurpose, now: Date): Promise<readonly BusUser[]>
  /** Of everybody, after this id, by id: not revoked and not over. */
  listLive(after: number, limit: number, now: Date): Promise<readonly LiveBusUser[]>
  /** Of one account: revoked, and the server would still accept them by their expiry. */
  revokedOf(identityId: BusIdentityId, now: Date): Promise<readonly BusUser[]>
  /** Takes away what was over before that time. */
  sweep(before: Date): Promise<number>
}
/** Outside of a transaction. */
export const BusUserStoreToken = token<BusUserStore>('bus.BusUserStore')

/** Whether what proved a caller still does: inside the same transaction, which whoever takes it away then waits for. */
export interface BusCallers {
  isStillProven(principal: Principal): Promise<boolean>
}

/** What changes to the bus's keys work on, in one transaction. */
export interface BusStores {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly callers: BusCallers
  readonly audit: AuditTrail
}
export const BusUnitOfWorkToken = token<UnitOfWork<BusStores>>('bus.BusUnitOfWork')
