import type { AccountId, Brand } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'

export type ChartRepositoryId = Brand<number, 'ChartRepositoryId'>

/** What a repository is shown, and no other host. PEM texts. */
export interface RepositoryCredentials {
  readonly username?: string
  readonly password?: Secret
  /** Bearer token; instead of a user name. */
  readonly token?: Secret
  /** Trusted instead of the system's authorities. */
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: Secret
}

/** A repository as it is asked. */
export interface RepositoryAccess {
  /** `https://…`, or `oci://…` with the path below which the charts stand; without a trailing slash. */
  readonly url: string
  /** Of an `oci://` repository: without TLS, which works for hosts that the operator opened alone. */
  readonly isPlainHttp: boolean
  readonly credentials: RepositoryCredentials
}

/** A named repository of an account, without its credentials. */
export interface ChartRepository {
  readonly id: ChartRepositoryId
  readonly accountId: AccountId
  readonly name: string
  readonly url: string
  readonly isPlainHttp: boolean
  readonly description: string
  /** Shown again; the other credentials are not. */
  readonly username: string
  /** Which credentials are stored: `password`, `token`, `ca`, `certificate`. */
  readonly holds: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly version: number
}

/** With its sealed credentials; no box where it has none. */
export interface SealedChartRepository extends ChartRepository {
  readonly ref: string
  readonly box: Uint8Array | undefined
}

/** What a store writes. */
export type ChartRepositoryContent = Pick<SealedChartRepository, 'url' | 'isPlainHttp' | 'description' | 'username' | 'holds' | 'ref' | 'box'>

/** A version of a chart, as an index or the registry tells it. Texts are empty where it says nothing. */
export interface ChartVersion {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly apiVersion: string
  readonly appVersion: string
  readonly kubeVersion: string
  readonly type: string
  readonly deprecated: boolean
  readonly icon: string
  readonly home: string
  readonly keywords: readonly string[]
  readonly sources: readonly string[]
  readonly urls: readonly string[]
  /** ISO 8601, or empty. */
  readonly created: string
  /** `sha256:<hex>`, or empty. */
  readonly digest: string
}
