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

/**
 * The content of a new or changed row. `fleetEndpoint` is the only field that lists filter by; empty for other types.
 */
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

/**
 * A credential as shown to its holder: stored secret fields are empty texts, secret fields that are not stored are
 * omitted.
 */
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

/** One cloud whose buckets can be listed. */
export interface Cloud {
  readonly storage: 's3' | 'azure' | 'google'
  /** Types of stored credentials that contain a key for it. */
  readonly types: readonly string[]
  /**
   * Hosts that AWS_ENDPOINT in a secret may name, with the region in the first group; undefined if no endpoint is
   * accepted.
   */
  readonly endpointHosts?: RegExp
}

const region = '([a-z0-9-]{2,32})'

/** Every cloud with its buckets. */
const clouds = {
  aws: { storage: 's3', types: ['Aws'] },
  azure: { storage: 'azure', types: ['AzureStorage'] },
  google: { storage: 'google', types: ['GoogleCloud'] },
  cloudflare: {
    storage: 's3',
    types: ['CloudflareStorage'],
    endpointHosts: /^[0-9a-f]{32}(?:\.(?:eu|fedramp))?\.r2\.cloudflarestorage\.com$/,
  },
  digitalocean: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.digitaloceanspaces\\.com$`) },
  hetzner: {
    storage: 's3',
    types: ['HetznerStorage'],
    endpointHosts: new RegExp(`^${region}\\.your-objectstorage\\.com$`),
  },
  linode: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.linodeobjects\\.com$`) },
  scaleway: { storage: 's3', types: [], endpointHosts: new RegExp(`^s3\\.${region}\\.scw\\.cloud$`) },
  vultr: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.vultrobjects\\.com$`) },
} as const satisfies Readonly<Record<string, Cloud>>
export type CloudName = keyof typeof clouds

/** The words for a cloud in requests: the interface's own, the vendors', and neutral ones. */
const words = {
  aws: 'aws',
  s3: 'aws',
  eks: 'aws',
  cloudA: 'aws',
  azure: 'azure',
  aks: 'azure',
  cloudB: 'azure',
  gce: 'google',
  gcs: 'google',
  gke: 'google',
  google: 'google',
  cloudC: 'google',
  cloudflare: 'cloudflare',
  digitalocean: 'digitalocean',
  hetzner: 'hetzner',
  linode: 'linode',
  scaleway: 'scaleway',
  vultr: 'vultr',
} as const satisfies Readonly<Record<string, CloudName>>
export type CloudWord = keyof typeof words

export const cloudWords = Object.keys(words) as [CloudWord, ...CloudWord[]]

export const cloudOf = (word: CloudWord): { readonly name: CloudName; readonly cloud: Cloud } => ({
  name: words[word],
  cloud: clouds[words[word]],
})

/** Returns the cloud that a word in a request names; undefined if there is none. */
export const cloudNamed = (word: string): CloudName | undefined =>
  cloudWords.filter((known) => known === word).map((known) => words[known])[0]

/** Locations where the keys of a Hetzner project are valid: each has its own endpoint and lists its own buckets. */
export const hetznerLocations: readonly string[] = ['fsn1', 'nbg1', 'hel1']
