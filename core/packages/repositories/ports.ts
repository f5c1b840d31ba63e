import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { ChartMissing, ChartSourceRefused, ChartSourceUnreachable } from '../charts/ports.ts'
import type {
  ChartRepository,
  ChartRepositoryContent,
  ChartRepositoryId,
  ChartVersion,
  RepositoryAccess,
  SealedChartRepository,
} from './types.ts'

/** The account does not have a repository of that name, or the caller must not see it. */
export const ChartRepositoryMissing = defineFailure(
  'ChartRepositoryMissing',
  'NotFound',
  'The chart repository does not exist.',
)
/** The account has a repository of that name already. */
export const ChartRepositoryNameTaken = defineFailure(
  'ChartRepositoryNameTaken',
  'Unprocessable',
  'Another chart repository of the account has this name.',
)
/** A field of the request is invalid; the message never contains a credential. */
export const ChartRepositoryRefused = defineFailure(
  'ChartRepositoryRefused',
  'Unprocessable',
  'A field of the chart repository is not valid, or the account has too many of them.',
)
/** The repository changed after the version in If-Match. */
export const ChartRepositoryChanged = defineFailure(
  'ChartRepositoryChanged',
  'StaleVersion',
  'The chart repository has changed since it was read.',
)
/** The repository was changed concurrently by another request. */
export const ChartRepositoryOvertaken = defineFailure(
  'ChartRepositoryOvertaken',
  'Conflict',
  'Another request changed the chart repository at the same moment; nothing was changed.',
)
/** `url` is not a repository that the caller knows; this service contacts no others. */
export const ChartRepositoryUnknown = defineFailure(
  'ChartRepositoryUnknown',
  'Invalid',
  '`url` is not the address of a chart repository that the caller or one of the caller’s organizations has named.',
)

export type RepositoryReadFailure =
  | ReturnType<typeof ChartMissing>
  | ReturnType<typeof ChartSourceRefused>
  | ReturnType<typeof ChartSourceUnreachable>

/** Named repositories of accounts. Every lookup is within one account. */
export interface ChartRepositoryStore {
  /** Sorted by name. */
  listOf(accountId: AccountId, page: PageRequest): Promise<Page<ChartRepository>>
  /** Returns the repositories of all these accounts, sorted by account and name; at most `limit`. */
  listIn(accountIds: readonly AccountId[], limit: number): Promise<readonly SealedChartRepository[]>
  find(accountId: AccountId, name: string): Promise<SealedChartRepository | undefined>
  /** Returns the account's number of repositories; in a transaction, blocks other calls until it ends. */
  lockCount(accountId: AccountId): Promise<number>
  /**
   * Inserts with version 1. Failures: ChartRepositoryNameTaken (by the unique key, so two concurrent inserts cannot
   * both succeed).
   */
  insert(
    accountId: AccountId,
    name: string,
    content: ChartRepositoryContent,
    at: Date,
  ): Outcome<Failure<'ChartRepositoryNameTaken'>, ChartRepositoryId>
  /** Compare-and-set on the version. Returns false if the row does not exist or was changed. */
  replace(
    accountId: AccountId,
    id: ChartRepositoryId,
    version: number,
    content: ChartRepositoryContent,
    at: Date,
  ): Promise<boolean>
  /** Returns the id of the removed row; undefined if there was none. */
  remove(accountId: AccountId, name: string): Promise<ChartRepositoryId | undefined>
}
export const ChartRepositoryStorePort = portKey<ChartRepositoryStore>('chart-repositories.Store')

/** The stores that a change to repositories needs, in one transaction. */
export interface ChartRepositoryStores {
  readonly repositories: ChartRepositoryStore
  readonly audit: AuditTrail
}
export type ChartRepositoryUnitOfWork = UnitOfWork<ChartRepositoryStores>
export const ChartRepositoryUnitOfWorkPort = portKey<ChartRepositoryUnitOfWork>('chart-repositories.UnitOfWork')

/** Finds the repository that a chart source of kind `ChartRepository` names, with its credentials unsealed. */
export interface NamedRepositories {
  find(tenantId: AccountId, name: string): Promise<RepositoryAccess | undefined>
}
export const NamedRepositoriesPort = portKey<NamedRepositories>('chart-repositories.Named')

/** Reads the contents of a repository through the guarded HTTP client. */
export interface RepositoryReader {
  /**
   * Returns the newest version of each chart, by name. ChartSourceRefused for registries, which do not list their
   * contents.
   */
  charts(access: RepositoryAccess, signal: AbortSignal): Outcome<RepositoryReadFailure, readonly ChartVersion[]>
  /** Newest first. */
  versions(
    access: RepositoryAccess,
    name: string,
    signal: AbortSignal,
  ): Outcome<RepositoryReadFailure, readonly ChartVersion[]>
}
export const RepositoryReaderPort = portKey<RepositoryReader>('chart-repositories.Reader')

/** Reads PEM text: one or more certificates, or a certificate with its key. */
export interface PemReader {
  isCertificates(text: string): boolean
  isPair(certificatePem: string, keyPem: string): boolean
}
export const PemReaderPort = portKey<PemReader>('chart-repositories.PemReader')
