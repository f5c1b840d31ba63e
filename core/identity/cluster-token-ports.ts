import type { AccountId, ClusterId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'

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
