import type { AccountId, Brand, UserId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'

export type CloudCredentialId = Brand<number, 'CloudCredentialId'>

/** A field of a credential's block: text, or a list of texts. */
export type FieldValue = string | readonly string[]

/** One credential as used and sealed: the type's word, and the fields of its block. */
export interface CredentialSpec {
  readonly type: string
  readonly fields: Readonly<Record<string, FieldValue>>
}

/** The stored form of a credential. Everything that could be secret is in the box. */
export interface StoredCredential {
  readonly id: CloudCredentialId
  readonly userId: UserId
  readonly name: string
  readonly type: string
  /** The account on whose behalf the person stores it. */
  readonly ownerId: AccountId
  /** What the box is bound to, besides the person. */
  readonly ref: string
  readonly box: Uint8Array
  readonly createdAt: Date
  readonly version: number
}

/** The content of a new or changed row. `fleetEndpoint` is the only field that lists filter by; empty for other types. */
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

/** A credential as shown to its holder: stored secret fields are empty texts, secret fields that are not stored are omitted. */
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
  /** `https://host` of each endpoint to query; empty for the vendor's default. */
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

/** The identity in a service account's file. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  readonly privateKey: Secret
  readonly privateKeyId: string | undefined
}

export interface GoogleKey extends ServiceAccount {
  readonly kind: 'google'
}

/** The key that lists the buckets of a cloud. */
export type StorageKey = S3Key | AzureKey | GoogleKey
