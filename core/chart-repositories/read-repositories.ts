import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { RepositorySafe } from './credential-safe.ts'
import {
  ChartRepositoryMissing, ChartRepositoryUnknown,
  type ChartRepositoryStore, type NamedRepositories, type RepositoryReader, type RepositoryReadFailure,
} from './ports.ts'
import { repositoryUrl } from './repository-rules.ts'
import type { ChartVersion, RepositoryAccess, SealedChartRepository } from './types.ts'

interface Deps {
  readonly repositories: ChartRepositoryStore
  readonly safe: RepositorySafe
  readonly reader: RepositoryReader
}

/** Repositories that one answer names at most: those of a hundred accounts. */
const mostKnown = 1000

const accessTo = async (safe: RepositorySafe, stored: SealedChartRepository): Promise<RepositoryAccess> => ({
  url: stored.url,
  isPlainHttp: stored.isPlainHttp,
  credentials: await safe.open(stored),
})

/** Opens the repository that a chart source names, for the owner of the cluster. */
export const makeNamedRepositories = (deps: Pick<Deps, 'repositories' | 'safe'>): NamedRepositories => ({
  find: async (tenantId, name) => {
    const stored = await deps.repositories.find(tenantId, name)
    return stored === undefined ? undefined : accessTo(deps.safe, stored)
  },
})

/** What is asked of a repository: the newest version of each chart, or all versions of one. */
export type Question = { readonly kind: 'charts' } | { readonly kind: 'versions'; readonly chart: string }

const ask = (reader: RepositoryReader, access: RepositoryAccess, question: Question, signal: AbortSignal): Outcome<RepositoryReadFailure, readonly ChartVersion[]> =>
  question.kind === 'charts' ? reader.charts(access, signal) : reader.versions(access, question.chart, signal)

/** Asks a named repository of an account, with its credentials. */
export const makeAskNamed = (deps: Deps) =>
  async (call: SignedInCall, accountId: AccountId, name: string, question: Question): Outcome<Failure<'ChartRepositoryMissing'> | RepositoryReadFailure, readonly ChartVersion[]> => {
    const stored = await deps.repositories.find(accountId, name)
    if (stored === undefined) return left(ChartRepositoryMissing('There is no chart repository of that name.'))
    return ask(deps.reader, await accessTo(deps.safe, stored), question, call.signal)
  }

/** A repository with the account that has it. */
export interface KnownRepository {
  readonly owner: string
  readonly repository: SealedChartRepository
}

/** Those of the caller and of each organization where the caller may see them; one decision for each account. */
export const makeListKnown = (deps: Pick<Deps, 'repositories'> & { readonly clusters: Pick<ClusterStore, 'accountsOf'>; readonly authorizer: Authorizer }) =>
  async (call: SignedInCall): Promise<readonly KnownRepository[]> => {
    const owners = new Map<AccountId, string>()
    for (const { id, name } of await deps.clusters.accountsOf(call.principal.userId)) {
      const allowed = await deps.authorizer.authorize(call.principal, { type: 'account', name }, 'can_list_chart_repositories')
      if (!isLeft(allowed)) owners.set(id, name)
    }
    if (owners.size === 0) return []
    const found = await deps.repositories.listIn([...owners.keys()], mostKnown)
    return found.map((repository) => ({ owner: owners.get(repository.accountId) ?? '', repository }))
  }
export type ListKnown = ReturnType<typeof makeListKnown>

/** Asks a repository by its address, where the caller knows it by name: this service fetches no other addresses. */
export const makeAskKnown = (deps: Pick<Deps, 'safe' | 'reader'> & { readonly listKnown: ListKnown }) =>
  async (call: SignedInCall, address: string, question: Question): Outcome<Failure<'ChartRepositoryUnknown'> | RepositoryReadFailure, readonly ChartVersion[]> => {
    const url = repositoryUrl(address)
    const known = url === undefined ? undefined : (await deps.listKnown(call)).find(({ repository }) => repository.url === url)
    if (known === undefined) return left(ChartRepositoryUnknown('url must be that of a chart repository that you or one of your organizations has named.'))
    return ask(deps.reader, await accessTo(deps.safe, known.repository), question, call.signal)
  }

/** One repository of an account, without its credentials. */
export const makeShowRepository = (deps: Pick<Deps, 'repositories'>) =>
  async (accountId: AccountId, name: string): Outcome<Failure<'ChartRepositoryMissing'>, SealedChartRepository> => {
    const stored = await deps.repositories.find(accountId, name)
    return stored === undefined ? left(ChartRepositoryMissing('There is no chart repository of that name.')) : right(stored)
  }
