import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type {
  ChartRepositoryStore,
  ChartRepositoryUnitOfWork,
  NamedRepositories,
  PemReader,
  RepositoryReader,
  RepositoryReadFailure,
} from './ports.ts'
import {
  ChartRepositoryChanged,
  ChartRepositoryMissing,
  ChartRepositoryOvertaken,
  ChartRepositoryRefused,
  ChartRepositoryUnknown,
} from './ports.ts'
import type { RepositoryClaim, RepositoryDraft, RepositorySafe } from './repository-rules.ts'
import { checkRepositoryName, draftOf, heldBy, isSameDraft, repositoryUrl } from './repository-rules.ts'
import type {
  ChartRepository,
  ChartRepositoryContent,
  ChartRepositoryId,
  ChartVersion,
  RepositoryAccess,
  SealedChartRepository,
} from './types.ts'

const auditOf = defineAudit(
  'chart_repository',
  ['chart_repository.created', 'chart_repository.changed', 'chart_repository.deleted'],
  ({ id, name, accountId }: Pick<ChartRepository, 'id' | 'name' | 'accountId'>) => ({
    objectId: id,
    objectName: name,
    tenantId: accountId,
  }),
)

/** A repository by its name within its account. */
export interface RepositoryKey {
  readonly accountId: AccountId
  readonly name: string
}

/** Maximum number of repositories of one account. */
const most = 100

interface ChangeDependencies {
  readonly repositories: Pick<ChartRepositoryStore, 'find'>
  readonly safe: RepositorySafe
  readonly pem: PemReader
  readonly clock: Clock
  readonly unitOfWork: ChartRepositoryUnitOfWork
}

const contentOf = async (
  deps: ChangeDependencies,
  accountId: AccountId,
  draft: RepositoryDraft,
): Promise<ChartRepositoryContent> => ({
  url: draft.url,
  isPlainHttp: draft.isPlainHttp,
  description: draft.description,
  username: draft.credentials.username ?? '',
  holds: heldBy(draft.credentials),
  ...(await deps.safe.seal(accountId, draft.credentials)),
})

const asStored = (
  content: ChartRepositoryContent,
  about: Pick<ChartRepository, 'id' | 'accountId' | 'name' | 'createdAt' | 'updatedAt' | 'version'>,
): ChartRepository => {
  const { url, isPlainHttp, description, username, holds } = content
  return { ...about, url, isPlainHttp, description, username, holds }
}

const noSuch = (): ReturnType<typeof ChartRepositoryMissing> =>
  ChartRepositoryMissing('The chart repository does not exist.')

export interface CreateRepositoryInput extends RepositoryKey {
  readonly claim: RepositoryClaim
}

/** Creates a named repository of an account, with sealed credentials. */
export const makeCreateRepository = (deps: ChangeDependencies) => {
  type Failures = Failure<'ChartRepositoryRefused'> | Failure<'ChartRepositoryNameTaken'>
  return async (
    call: SignedInCall<ChartRepository>,
    { accountId, name, claim }: CreateRepositoryInput,
  ): Outcome<Failures, ChartRepository> => {
    const checked = checkRepositoryName(name)
    if (isLeft(checked)) return checked
    const draft = draftOf(deps.pem, claim, undefined)
    if (isLeft(draft)) return draft
    const content = await contentOf(deps, accountId, draft.right)
    const at = deps.clock.now()
    return deps.unitOfWork.run<Failures, ChartRepository>(call, async ({ repositories, audit }) => {
      if ((await repositories.lockCount(accountId)) >= most)
        return left(ChartRepositoryRefused(`There are ${most} chart repositories already; delete some first.`))
      const id = await repositories.insert(accountId, name, content, at)
      if (isLeft(id)) return id
      const created = asStored(content, { id: id.right, accountId, name, createdAt: at, updatedAt: at, version: 1 })
      await audit.record(auditOf(created, 'chart_repository.created', { url: content.url, credentials: content.holds }))
      return right(created)
    })
  }
}

const changedFields = (
  before: SealedChartRepository,
  after: ChartRepositoryContent,
  claim: RepositoryClaim,
): readonly string[] => [
  ...(before.url === after.url ? [] : ['url']),
  ...(before.description === after.description ? [] : ['description']),
  ...(before.isPlainHttp === after.isPlainHttp ? [] : ['plain_http']),
  ...(['username', 'password', 'token', 'ca', 'certificate', 'key'] as const).filter(
    (field) => claim[field] !== undefined,
  ),
]

export interface EditRepositoryInput extends RepositoryKey {
  readonly claim: RepositoryClaim
  /** If set, the change applies to this version of the repository only. */
  readonly expectedVersion: number | undefined
}

/**
 * Changes the fields that the request sets. The later of two concurrent changes fails with ChartRepositoryOvertaken, or
 * with ChartRepositoryChanged if it named a version.
 */
export const makeEditRepository = (deps: ChangeDependencies) => {
  type Failures =
    | Failure<'ChartRepositoryMissing'>
    | Failure<'ChartRepositoryRefused'>
    | Failure<'ChartRepositoryChanged'>
    | Failure<'ChartRepositoryOvertaken'>
  return async (
    call: SignedInCall<ChartRepository>,
    { accountId, name, claim, expectedVersion }: EditRepositoryInput,
  ): Outcome<Failures, ChartRepository> => {
    const stored = await deps.repositories.find(accountId, name)
    if (stored === undefined) return left(noSuch())
    const stale = () =>
      left(ChartRepositoryChanged('The chart repository was changed since it was read. Nothing was changed.'))
    if (expectedVersion !== undefined && expectedVersion !== stored.version) return stale()
    const before = { ...stored, credentials: await deps.safe.open(stored) }
    const draft = draftOf(deps.pem, claim, before)
    if (isLeft(draft)) return draft
    if (isSameDraft(before, draft.right)) return right(stored)
    const content = await contentOf(deps, accountId, draft.right)
    const at = deps.clock.now()
    return deps.unitOfWork.run<Failures, ChartRepository>(call, async ({ repositories, audit }) => {
      const isReplaced = await repositories.replace(accountId, stored.id, stored.version, content, at)
      if (!isReplaced && expectedVersion !== undefined) return stale()
      if (!isReplaced)
        return left(
          ChartRepositoryOvertaken(
            'The chart repository was changed by another request at the same moment. Nothing was changed; ' +
              'send it again.',
          ),
        )
      const changes = { fields: changedFields(stored, content, claim), url: content.url, credentials: content.holds }
      await audit.record(auditOf({ id: stored.id, name, accountId }, 'chart_repository.changed', changes))
      return right(asStored(content, { ...stored, updatedAt: at, version: stored.version + 1 }))
    })
  }
}

/** Deletes a repository. Releases installed from it are not changed. */
export const makeDeleteRepository =
  (deps: Pick<ChangeDependencies, 'unitOfWork'>) =>
  async (call: SignedInCall, { accountId, name }: RepositoryKey): Outcome<Failure<'ChartRepositoryMissing'>, void> =>
    deps.unitOfWork.run<Failure<'ChartRepositoryMissing'>, void>(call, async ({ repositories, audit }) => {
      const id: ChartRepositoryId | undefined = await repositories.remove(accountId, name)
      if (id === undefined) return left(noSuch())
      await audit.record(auditOf({ id, name, accountId }, 'chart_repository.deleted'))
      return right(undefined)
    })

interface ReadDependencies {
  readonly repositories: ChartRepositoryStore
  readonly safe: RepositorySafe
  readonly reader: RepositoryReader
}

/** Maximum number of repositories in one response: those of a hundred accounts. */
const mostKnown = 1000

const accessTo = async (safe: RepositorySafe, stored: SealedChartRepository): Promise<RepositoryAccess> => ({
  url: stored.url,
  isPlainHttp: stored.isPlainHttp,
  credentials: await safe.open(stored),
})

/** Opens the repository that a chart source names, on behalf of the owner of the cluster. */
export const makeNamedRepositories = (deps: Pick<ReadDependencies, 'repositories' | 'safe'>): NamedRepositories => ({
  find: async (tenantId, name) => {
    const stored = await deps.repositories.find(tenantId, name)
    return stored === undefined ? undefined : accessTo(deps.safe, stored)
  },
})

/** A query of a repository: the newest version of each chart, or all versions of one. */
export type Question = { readonly kind: 'charts' } | { readonly kind: 'versions'; readonly chart: string }

const ask = (
  reader: RepositoryReader,
  access: RepositoryAccess,
  question: Question,
  signal: AbortSignal,
): Outcome<RepositoryReadFailure, readonly ChartVersion[]> =>
  question.kind === 'charts' ? reader.charts(access, signal) : reader.versions(access, question.chart, signal)

export interface AskNamedInput extends RepositoryKey {
  readonly question: Question
}

/** Queries a named repository of an account, with its credentials. */
export const makeAskNamed =
  (deps: ReadDependencies) =>
  async (
    call: SignedInCall,
    { accountId, name, question }: AskNamedInput,
  ): Outcome<Failure<'ChartRepositoryMissing'> | RepositoryReadFailure, readonly ChartVersion[]> => {
    const stored = await deps.repositories.find(accountId, name)
    if (stored === undefined) return left(noSuch())
    return ask(deps.reader, await accessTo(deps.safe, stored), question, call.signal)
  }

/** A repository with its account. */
export interface KnownRepository {
  readonly owner: string
  readonly repository: SealedChartRepository
}

interface KnownDependencies extends Pick<ReadDependencies, 'repositories'> {
  readonly clusters: Pick<ClusterStore, 'accountsOf'>
  readonly authorizer: Authorizer
}

const knownTo = async (
  { repositories, clusters, authorizer }: KnownDependencies,
  { principal }: SignedInCall,
): Promise<readonly KnownRepository[]> => {
  const owners = new Map<AccountId, string>()
  for (const { id, name } of await clusters.accountsOf(principal.userId)) {
    const allowed = await authorizer.authorize(principal, { type: 'account', name }, 'can_list_chart_repositories')
    if (!isLeft(allowed)) owners.set(id, name)
  }
  if (owners.size === 0) return []
  const found = await repositories.listIn([...owners.keys()], mostKnown)
  return found.map((repository) => ({ owner: owners.get(repository.accountId) ?? '', repository }))
}

/**
 * Lists the repositories of the caller and of each organization where the caller may see them; makes one decision per
 * account.
 */
export const makeListKnown =
  (deps: KnownDependencies) =>
  async (call: SignedInCall): Outcome<never, readonly KnownRepository[]> =>
    right(await knownTo(deps, call))

export interface AskKnownInput {
  readonly address: string
  readonly question: Question
}

/**
 * Queries a repository by its address, if it is one of the caller's named repositories; this service fetches no other
 * addresses.
 */
export const makeAskKnown =
  (deps: ReadDependencies & KnownDependencies) =>
  async (
    call: SignedInCall,
    { address, question }: AskKnownInput,
  ): Outcome<Failure<'ChartRepositoryUnknown'> | RepositoryReadFailure, readonly ChartVersion[]> => {
    const url = repositoryUrl(address)
    const known =
      url === undefined ? undefined : (await knownTo(deps, call)).find(({ repository }) => repository.url === url)
    if (known === undefined)
      return left(
        ChartRepositoryUnknown(
          'url must be that of a chart repository that you or one of your organizations has named.',
        ),
      )
    return ask(deps.reader, await accessTo(deps.safe, known.repository), question, call.signal)
  }

/** Returns one repository of an account, without its credentials. */
export const makeShowRepository =
  (deps: Pick<ReadDependencies, 'repositories'>) =>
  async (
    _call: SignedInCall,
    { accountId, name }: RepositoryKey,
  ): Outcome<Failure<'ChartRepositoryMissing'>, SealedChartRepository> => {
    const stored = await deps.repositories.find(accountId, name)
    return stored === undefined ? left(noSuch()) : right(stored)
  }
