import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { AccountId } from '../kernel/ids.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { token } from '../kernel/token.ts'
import type { ChartMissing, ChartSourceRefused, ChartSourceUnreachable } from '../packages/charts/ports.ts'
import type { ChartRepository, ChartRepositoryContent, ChartRepositoryId, ChartVersion, RepositoryAccess, SealedChartRepository } from './types.ts'

/** The account has no repository of that name, or it is not the caller's to see. */
export const ChartRepositoryMissing = defineFailure('ChartRepositoryMissing', 'NotFound')
/** The account has a repository of that name already. */
export const ChartRepositoryNameTaken = defineFailure('ChartRepositoryNameTaken', 'Unprocessable')
/** A field of the request is not one that can be stored; it never repeats a credential. */
export const ChartRepositoryRefused = defineFailure('ChartRepositoryRefused', 'Unprocessable')
/** The repository was changed since the version that If-Match names. */
export const ChartRepositoryChanged = defineFailure('ChartRepositoryChanged', 'StaleVersion')
/** The repository was changed by another request at the same moment. */
export const ChartRepositoryOvertaken = defineFailure('ChartRepositoryOvertaken', 'Conflict')
/** `url` names no repository that the caller knows: this service asks no others. */
export const ChartRepositoryUnknown = defineFailure('ChartRepositoryUnknown', 'Invalid')

export type RepositoryReadFailure = ReturnType<typeof ChartMissing> | ReturnType<typeof ChartSourceRefused> | ReturnType<typeof ChartSourceUnreachable>

/** Named repositories of accounts. Every look-up is within one account. */
export interface ChartRepositoryStore {
  /** By name. */
  listOf(accountId: AccountId, page: PageRequest): Promise<Page<ChartRepository>>
  /** Those of all these accounts, by account and name; at most `limit`. */
  listIn(accountIds: readonly AccountId[], limit: number): Promise<readonly SealedChartRepository[]>
  find(accountId: AccountId, name: string): Promise<SealedChartRepository | undefined>
  /** How many the account has; in a transaction others wait until it ends. */
  lockCount(accountId: AccountId): Promise<number>
  /** Inserts with version 1. Failures: ChartRepositoryNameTaken (by the unique key, so two at once cannot both succeed). */
  insert(accountId: AccountId, name: string, content: ChartRepositoryContent, at: Date): Outcome<Failure<'ChartRepositoryNameTaken'>, ChartRepositoryId>
  /** Compare-and-set on the version. False when the row is gone or was changed. */
  replace(accountId: AccountId, id: ChartRepositoryId, version: number, content: ChartRepositoryContent, at: Date): Promise<boolean>
  /** The id of what was removed; undefined when there was nothing. */
  remove(accountId: AccountId, name: string): Promise<ChartRepositoryId | undefined>
}
export const ChartRepositoryStoreToken = token<ChartRepositoryStore>('chart-repositories.Store')

/** What a change to repositories is made of, in one transaction. */
export interface ChartRepositoryStores {
  readonly repositories: ChartRepositoryStore
  readonly audit: AuditTrail
}
export type ChartRepositoryUnitOfWork = UnitOfWork<ChartRepositoryStores>
export const ChartRepositoryUnitOfWorkToken = token<ChartRepositoryUnitOfWork>('chart-repositories.UnitOfWork')

/** Finds the repository that a chart source of kind `ChartRepository` names, with its credentials open. */
export interface NamedRepositories {
  find(tenantId: AccountId, name: string): Promise<RepositoryAccess | undefined>
}
export const NamedRepositoriesToken = token<NamedRepositories>('chart-repositories.Named')

/** Reads what a repository offers, through the guarded way out. */
export interface RepositoryReader {
  /** The newest version of each chart, by name. ChartSourceRefused for registries: they do not list what they hold. */
  charts(access: RepositoryAccess, signal: AbortSignal): Outcome<RepositoryReadFailure, readonly ChartVersion[]>
  /** Newest first. */
  versions(access: RepositoryAccess, name: string, signal: AbortSignal): Outcome<RepositoryReadFailure, readonly ChartVersion[]>
}
export const RepositoryReaderToken = token<RepositoryReader>('chart-repositories.Reader')

/** Reads what must be PEM: one or more certificates; a certificate with its key. */
export interface PemReader {
  isCertificates(text: string): boolean
  isPair(certificatePem: string, keyPem: string): boolean
}
export const PemReaderToken = token<PemReader>('chart-repositories.PemReader')
