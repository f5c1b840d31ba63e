import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Claims, FederatedCredential, FederatedCredentialContent, FederatedCredentialId } from './types.ts'

/** The token of the workload is not exchanged. */
export const WorkloadTokenRefused = defineFailure(
  'WorkloadTokenRefused',
  'Forbidden',
  'The token is not valid, was used already, or meets the conditions of no federated credential.',
)
/** The keys of the issuer, or the cluster that reviews the token, cannot be reached. */
export const IssuerUnavailable = defineFailure(
  'IssuerUnavailable',
  'Unavailable',
  'The issuer of the token cannot be reached.',
)
/** The request asks for a scope that the credential does not have. */
export const WorkloadScopeRefused = defineFailure(
  'WorkloadScopeRefused',
  'Forbidden',
  'The federated credential does not have the scope.',
)

/** The request asks for a resource that is none of this service, or for a cluster that the organization does not have. */
export const WorkloadTargetRefused = defineFailure(
  'WorkloadTargetRefused',
  'Forbidden',
  'The resource is neither the API nor a cluster of the organization.',
)

/** A robot account in its organization. */
export interface RobotKey {
  readonly orgId: OrgId
  readonly robotId: UserId
}

/** A token that was exchanged, and the one that was issued for it. */
export interface WorkloadUse {
  /** SHA-256 of the issuer and the id of the token, 32 bytes. */
  readonly idHash: Uint8Array
  readonly robotId: UserId
  readonly tokenId: TokenId
  /** When both have expired. */
  readonly expiresAt: Date
}

/** Federated credentials, and the tokens that were exchanged. */
export interface WorkloadStore {
  /** Lists those of a robot account, by name; at most 20 exist. */
  list(robot: RobotKey): Promise<readonly FederatedCredential[]>
  find(robot: RobotKey, id: FederatedCredentialId): Promise<FederatedCredential | undefined>
  /** Lists those of the active robot account with this login. */
  ofLogin(login: string): Promise<readonly FederatedCredential[]>
  /** As `find`, of an active robot account; the row is locked until the transaction ends. */
  lock(id: FederatedCredentialId): Promise<FederatedCredential | undefined>
  /** Returns undefined if the name is taken. */
  insert(
    robot: RobotKey,
    content: FederatedCredentialContent,
    createdAt: Date,
  ): Promise<FederatedCredentialId | undefined>
  /** Returns `changed` if it is gone or has another version, and `taken` if another one has the name. */
  replace(
    credential: FederatedCredential,
    content: FederatedCredentialContent,
  ): Promise<'changed' | 'replaced' | 'taken'>
  markUsed(id: FederatedCredentialId, at: Date): Promise<void>
  markRefused(id: FederatedCredentialId, reason: string, at: Date): Promise<void>
  remove(id: FederatedCredentialId): Promise<void>
  /** Returns false if the token was exchanged before. */
  insertUse(use: WorkloadUse): Promise<boolean>
  /** Returns at most `limit` uses that expired before `at`. */
  expiredUses(at: Date, limit: number): Promise<readonly WorkloadUse[]>
  removeUse(idHash: Uint8Array): Promise<void>
}
export const WorkloadStorePort = portKey<WorkloadStore>('authorizationServer.WorkloadStore')

type Unverified = Failure<'IssuerUnavailable' | 'WorkloadTokenRefused'>

/** Tokens of other issuers: JSON Web Tokens. */
export interface WorkloadTokens {
  /** Returns the claims without a check; undefined if the text is no signed token. */
  claimsOf(token: Secret): Claims | undefined
  /** Checks the signature by the published keys of the issuer, the issuer, the audience and the times. */
  verify(
    token: Secret,
    expected: Pick<FederatedCredential, 'audience' | 'issuer'>,
    signal: AbortSignal | undefined,
  ): Outcome<Unverified, void>
}
export const WorkloadTokensPort = portKey<WorkloadTokens>('authorizationServer.WorkloadTokens')

/** Clusters that review the tokens of their service accounts. */
export interface WorkloadClusters {
  /** Asks the cluster (TokenReview). It also refuses tokens of deleted pods and service accounts. */
  review(
    cluster: { readonly ownerId: AccountId; readonly uid: string },
    token: Secret,
    audience: string,
    signal: AbortSignal | undefined,
  ): Outcome<Unverified, void>
}
export const WorkloadClustersPort = portKey<WorkloadClusters>('authorizationServer.WorkloadClusters')

/** What a workload sends. */
export interface TokenExchangeRequest {
  /** The login of the robot account. */
  readonly login: string
  readonly subjectToken: Secret
  /** Undefined: all of the credential. */
  readonly scopes: readonly string[] | undefined
  /** The address of the resource that the token is for (RFC 8707); undefined: all that the scopes reach. */
  readonly resource: string | undefined
}

export interface ExchangedToken {
  readonly value: Secret
  readonly scopes: readonly string[]
  readonly lifeSeconds: number
}

/** Token exchange (RFC 8693): a token of another issuer for an access token of a robot account. */
export interface TokenExchange {
  exchange(
    call: Call,
    request: TokenExchangeRequest,
  ): Outcome<
    Failure<'IssuerUnavailable' | 'WorkloadScopeRefused' | 'WorkloadTargetRefused' | 'WorkloadTokenRefused'>,
    ExchangedToken
  >
}
export const TokenExchangePort = portKey<TokenExchange>('authorizationServer.TokenExchange')
