import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, ClusterId, OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import type { Principal, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { token } from '../../kernel/token.ts'
import type { NewAccessToken } from '../types.ts'

/** The cluster that a token is made for. */
export interface TokenCluster {
  readonly id: ClusterId
  readonly name: string
  readonly ownerId: AccountId
  readonly ownerName: string
  /** The longest life of a token, in days, that the owner lets in; 0 when any. */
  readonly maxTokenLifeDays: number
}

export interface ClusterToken {
  /** The only time that the value is known. */
  readonly value: Secret
  readonly expiresAt: Date
}

/** Access tokens that reach the Kubernetes API of one cluster and nothing else. */
export interface ClusterTokens {
  /**
   * Makes one for the caller, who may connect to the cluster. It does no more, and lives no longer, than the token that
   * asks; `lifeSeconds` shortens what is set for all. At most ten of a person and cluster live at a time: the oldest goes.
   * Failures: NotAuthenticated (what proved the caller is no longer in force), NotPermitted (a site admin acts as the user).
   */
  issue(call: SignedInCall, cluster: TokenCluster, lifeSeconds: number | undefined): Outcome<Failure<'NotAuthenticated' | 'NotPermitted'>, ClusterToken>
}
export const ClusterTokensToken = token<ClusterTokens>('identity.ClusterTokens')

/** Name, scopes or expiry of a token are none that it could have. */
export const ConfinedTokenRefused = defineFailure('ConfinedTokenRefused', 'Unprocessable')
/** The token would do more, or live longer, than the one that makes it. */
export const ConfinedTokenExceeds = defineFailure('ConfinedTokenExceeds', 'Forbidden')

export interface ConfinedTokenInput {
  readonly name: string
  /** Absent: everything that such a token may have. */
  readonly scopes: readonly string[] | undefined
  /** Absent: never, or as long as the token that makes it. */
  readonly expiresAt: Date | undefined
}

/** Access tokens of accounts that are no persons: confined to one organization, without power over the account itself. */
export interface ConfinedTokens {
  /** Judges what is asked for and makes the row to insert and the value, which nobody learns again. */
  prepare(
    maker: Principal,
    owner: { readonly userId: UserId; readonly onlyOrgId: OrgId },
    input: ConfinedTokenInput,
  ): Either<Failure<'ConfinedTokenRefused'> | Failure<'ConfinedTokenExceeds'>, { readonly row: NewAccessToken; readonly value: Secret }>
}
export const ConfinedTokensToken = token<ConfinedTokens>('identity.ConfinedTokens')

/** Nobody gave this deployment a key to sign with, or it cannot be used. The message names the setting. */
export const CustomTokensOff = defineFailure('CustomTokensOff', 'Unavailable')

/** What an external identity provider is told about a user. */
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
export const CustomTokenIssuerToken = token<CustomTokenIssuer>('identity.CustomTokenIssuer')

/** A token that ends soon, and whoever is to be told. */
export interface ExpiringToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly login: string
  /** The user's primary address, verified. */
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

/** What becomes of access tokens at their end. */
export interface TokenExpiryStore {
  /**
   * Tokens of active users that end after `now` and within `days`, were made more than `days` before their end, and
   * whose owner has had no warning of this or of fewer days. At most `limit`, soonest first.
   */
  dueWarnings(days: number, now: Date, limit: number): Promise<readonly ExpiringToken[]>
  /** False when a warning of this or of fewer days was noted already. */
  markWarned(id: TokenId, days: number): Promise<boolean>
  /** Tokens that ended before `at`; at most `limit`, longest ended first. */
  endedBefore(at: Date, limit: number): Promise<readonly ExpiredToken[]>
}
