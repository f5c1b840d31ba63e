import type { Brand, OrgId, UserId } from '../../kernel/ids.ts'

export type FederatedCredentialId = Brand<number, 'FederatedCredentialId'>

/** What a claim of a token must be. */
export interface ClaimCondition {
  /** The name of a claim, or a JSON pointer to a member of one: `/kubernetes.io/serviceaccount/uid`. */
  readonly claim: string
  /** `*` stands for any characters. */
  readonly value: string
}

/** What an owner decides about a federated credential. */
export interface FederatedCredentialContent {
  readonly name: string
  /** Compared exactly with `iss`. Empty if a cluster reviews the tokens. */
  readonly issuer: string
  /** The UID of the cluster of the organization that reviews the tokens of its service accounts; or empty. */
  readonly clusterUid: string
  /** One of the audiences of the token. */
  readonly audience: string
  /** All of them must hold. */
  readonly conditions: readonly ClaimCondition[]
  /** The most that an issued token may do. */
  readonly scopes: readonly string[]
  /** How long an issued token lives, at most an hour. */
  readonly lifeSeconds: number
}

/** A robot account trusts tokens of another issuer: a workload that has one needs no stored secret. */
export interface FederatedCredential extends FederatedCredentialContent {
  readonly id: FederatedCredentialId
  readonly orgId: OrgId
  readonly robotId: UserId
  readonly createdAt: Date
  /** When a token was last exchanged. */
  readonly lastUsedAt: Date | undefined
  /** When and why a token that could be meant was last refused. */
  readonly lastRefusedAt: Date | undefined
  readonly lastRefusal: string | undefined
  readonly version: number
}

/** The claims of a token, as JSON. */
export type Claims = Readonly<Record<string, unknown>>
