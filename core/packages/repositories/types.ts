import type { AccountId, Brand } from '../../kernel/ids.ts'
import type { Secret } from '../../kernel/secret.ts'

export type ChartRepositoryId = Brand<number, 'ChartRepositoryId'>

/** The credentials sent to a repository, and to no other host. PEM texts. */
export interface RepositoryCredentials {
  readonly username?: string
  readonly password?: Secret
  /** Bearer token; replaces the user name. */
  readonly token?: Secret
  /** Trusted instead of the system's certificate authorities. */
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: Secret
}

/** A repository's address and credentials. */
export interface RepositoryAccess {
  /** `https://…`, or `oci://…` with the path that contains the charts; without a trailing slash. */
  readonly url: string
  /** For an `oci://` repository: without TLS, which is possible only for hosts that the operator allows. */
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
  /** Shown to clients; the other credentials are not. */
  readonly username: string
  /** Which credentials are stored: `password`, `token`, `ca`, `certificate`. */
  readonly holds: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly version: number
}

/** A repository with its sealed credentials; no box if it has none. */
export interface SealedChartRepository extends ChartRepository {
  readonly ref: string
  readonly box: Uint8Array | undefined
}

/** What a store writes. */
export type ChartRepositoryContent = Pick<
  SealedChartRepository,
  'url' | 'isPlainHttp' | 'description' | 'username' | 'holds' | 'ref' | 'box'
>

/** A version of a chart, as listed by an index or registry. Missing texts are empty. */
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
