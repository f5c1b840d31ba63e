import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, ClusterId, OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import type { Principal, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { NewAccessToken } from '../types.ts'

/** The cluster that a token is created for. */
export interface TokenCluster {
  readonly id: ClusterId
  readonly name: string
  readonly ownerId: AccountId
  readonly ownerName: string
  /** The maximum token lifetime that the owner of the cluster accepts, in days; 0 means no limit. */
  readonly maxTokenLifeDays: number
}

export interface ClusterToken {
  /** The plain value. It is available only here. */
  readonly value: Secret
  readonly expiresAt: Date
}

/** Access tokens for the Kubernetes API of one cluster only. */
export interface ClusterTokens {
  /**
   * Creates a token for the caller, who may connect to the cluster. It grants no more, and expires no later, than the
   * requesting token; `lifeSeconds` shortens the configured lifetime. At most ten tokens per user and cluster are live
   * at a time: the oldest is removed.
   * Failures: NotAuthenticated (the caller's credential is no longer in force), NotPermitted (a site admin acts as the
   * user).
   */
  issue(
    call: SignedInCall,
    cluster: TokenCluster,
    lifeSeconds: number | undefined,
  ): Outcome<Failure<'NotAuthenticated' | 'NotPermitted'>, ClusterToken>
}
export const ClusterTokensPort = portKey<ClusterTokens>('identity.ClusterTokens')

/** The name, scopes or expiry are not valid for such a token. */
export const ConfinedTokenRefused = defineFailure(
  'ConfinedTokenRefused',
  'Unprocessable',
  'The name, the scopes or the expiry of the token are not valid.',
)
/** The token would grant more, or expire later, than the one that creates it. */
export const ConfinedTokenExceeds = defineFailure(
  'ConfinedTokenExceeds',
  'Forbidden',
  'The token would have more rights, or a longer life, than the token that asks for it.',
)

export interface ConfinedTokenInput {
  readonly name: string
  /** Absent: everything that such a token may grant. */
  readonly scopes: readonly string[] | undefined
  /** Absent: never, or the expiry of the requesting token. */
  readonly expiresAt: Date | undefined
}

/** Access tokens of non-human accounts: restricted to one organization, without rights over the account itself. */
export interface ConfinedTokens {
  /** Checks the request and returns the row to insert and the value, which cannot be retrieved later. */
  prepare(
    maker: Principal,
    owner: { readonly userId: UserId; readonly onlyOrgId: OrgId },
    input: ConfinedTokenInput,
  ): Either<
    Failure<'ConfinedTokenRefused'> | Failure<'ConfinedTokenExceeds'>,
    { readonly row: NewAccessToken; readonly value: Secret }
  >
}
export const ConfinedTokensPort = portKey<ConfinedTokens>('identity.ConfinedTokens')

/** The deployment has no signing key, or it cannot be used. The message names the setting. */
export const CustomTokensOff = defineFailure(
  'CustomTokensOff',
  'Unavailable',
  'The installation has no usable key for tokens of external identities.',
)

/** The claims about a user for an external identity provider. */
export interface CustomTokenSubject {
  readonly userId: UserId
  readonly login: string
  readonly fullName: string
  readonly email: string
}

/** Signs short-lived tokens with which a user signs in at an external identity provider that trusts this deployment. */
export interface CustomTokenIssuer {
  issue(subject: CustomTokenSubject, issuedAt: Date, expiresAt: Date): Outcome<Failure<'CustomTokensOff'>, Secret>
}
export const CustomTokenIssuerPort = portKey<CustomTokenIssuer>('identity.CustomTokenIssuer')

/** A token that expires soon, and the recipient of the warning. */
export interface ExpiringToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly login: string
  /** The user's primary address. It is verified. */
  readonly email: string
  readonly name: string
  readonly lastEight: string
  readonly expiresAt: Date
}

export interface ExpiredToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly name: string
}

/** The expiry of access tokens. */
export interface TokenExpiryStore {
  /**
   * Returns tokens of active users that expire after `now` and within `days`, were created more than `days` before
   * their expiry, and whose owner has had no warning of this or of fewer days. At most `limit`, soonest first.
   */
  dueWarnings(days: number, now: Date, limit: number): Promise<readonly ExpiringToken[]>
  /** Returns false if a warning of this or of fewer days is already recorded. */
  markWarned(id: TokenId, days: number): Promise<boolean>
  /** Returns at most `limit` tokens that expired before `at`, earliest expiry first. */
  endedBefore(at: Date, limit: number): Promise<readonly ExpiredToken[]>
}
