import type { AccountId, Brand, UserId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'

export type CloudCredentialId = Brand<number, 'CloudCredentialId'>

/** A field of a credential's block: text, or a list of texts. */
export type FieldValue = string | readonly string[]

/** One credential as it is used and sealed: the type's word, and the fields of its block. */
export interface CredentialSpec {
  readonly type: string
  readonly fields: Readonly<Record<string, FieldValue>>
}

/** What is stored of a credential. Everything that could be a secret is in the box. */
export interface StoredCredential {
  readonly id: CloudCredentialId
  readonly userId: UserId
  readonly name: string
  readonly type: string
  /** The account on whose behalf the person keeps it. */
  readonly ownerId: AccountId
  /** What the box is bound to, beside the person. */
  readonly ref: string
  readonly box: Uint8Array
  readonly createdAt: Date
  readonly version: number
}

/** What a new or changed row holds. `fleetEndpoint` is the one field that lists are filtered by; empty for other types. */
export interface CredentialContent {
  readonly type: string
  readonly ownerId: AccountId
  readonly fleetEndpoint: string
  readonly ref: string
  readonly box: Uint8Array
}

export interface CredentialFilter {
  /** Only these types; undefined for every type. */
  readonly types: readonly string[] | undefined
  /** Only credentials for the fleet manager at this endpoint. */
  readonly fleetEndpoint: string | undefined
}

/** A credential as its holder is shown it: the secret fields that are stored are empty texts, the others are left out. */
export interface CredentialForm {
  readonly name: string
  readonly type: string
  readonly ownerId: AccountId
  readonly createdAt: Date
  readonly block: string
  readonly fields: Readonly<Record<string, FieldValue>>
}

/** An object store that speaks the S3 protocol. */
export interface S3Key {
  readonly kind: 's3'
  /** `https://host` of each place that is asked; empty for the vendor's own. */
  readonly places: readonly { readonly endpoint: string; readonly region: string }[]
  readonly accessKeyId: string
  readonly secretAccessKey: Secret
  readonly sessionToken: Secret | undefined
}

export interface AzureKey {
  readonly kind: 'azure'
  readonly account: string
  readonly key: Secret
}

/** Whose key a service account's file holds. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  readonly privateKey: Secret
  readonly privateKeyId: string | undefined
}

export interface GoogleKey extends ServiceAccount {
  readonly kind: 'google'
}

/** What the buckets of a cloud are listed with. */
export type StorageKey = S3Key | AzureKey | GoogleKey
