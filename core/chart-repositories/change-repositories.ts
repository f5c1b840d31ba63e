import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { RepositorySafe } from './credential-safe.ts'
import {
  ChartRepositoryChanged, ChartRepositoryMissing, ChartRepositoryOvertaken, ChartRepositoryRefused,
  type ChartRepositoryStore, type ChartRepositoryUnitOfWork, type PemReader,
} from './ports.ts'
import { checkRepositoryName, draftOf, heldBy, isSameDraft, type RepositoryClaim, type RepositoryDraft } from './repository-rules.ts'
import type { ChartRepository, ChartRepositoryContent, ChartRepositoryId, SealedChartRepository } from './types.ts'

/** Repositories of one account. */
const most = 100

interface Deps {
  readonly repositories: Pick<ChartRepositoryStore, 'find'>
  readonly safe: RepositorySafe
  readonly pem: PemReader
  readonly clock: Clock
  readonly unitOfWork: ChartRepositoryUnitOfWork
}

const contentOf = async (deps: Deps, accountId: AccountId, draft: RepositoryDraft): Promise<ChartRepositoryContent> => ({
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

const noSuch = (): ReturnType<typeof ChartRepositoryMissing> => ChartRepositoryMissing('There is no chart repository of that name.')

/** Names a repository for an account; its credentials are sealed. */
export const makeCreateRepository = (deps: Deps) => {
  type Failures = Failure<'ChartRepositoryRefused'> | Failure<'ChartRepositoryNameTaken'>
  return async (call: SignedInCall<ChartRepository>, accountId: AccountId, name: string, claim: RepositoryClaim): Outcome<Failures, ChartRepository> => {
    const checked = checkRepositoryName(name)
    if (isLeft(checked)) return checked
    const draft = draftOf(deps.pem, claim, undefined)
    if (isLeft(draft)) return draft
    const content = await contentOf(deps, accountId, draft.right)
    const at = deps.clock.now()
    return deps.unitOfWork.run<Failures, ChartRepository>(call, async ({ repositories, audit }) => {
      if ((await repositories.lockCount(accountId)) >= most) return left(ChartRepositoryRefused(`There are ${most} chart repositories already; delete some first.`))
      const id = await repositories.insert(accountId, name, content, at)
      if (isLeft(id)) return id
      await audit.record({
        action: 'chart_repository.created', objectType: 'chart_repository', objectId: id.right, objectName: name, tenantId: accountId,
        changes: { url: content.url, credentials: content.holds },
      })
      return right(asStored(content, { id: id.right, accountId, name, createdAt: at, updatedAt: at, version: 1 }))
    })
  }
}

const changedFields = (before: SealedChartRepository, after: ChartRepositoryContent, claim: RepositoryClaim): readonly string[] => [
  ...(before.url === after.url ? [] : ['url']),
  ...(before.description === after.description ? [] : ['description']),
  ...(before.isPlainHttp === after.isPlainHttp ? [] : ['plain_http']),
  ...(['username', 'password', 'token', 'ca', 'certificate', 'key'] as const).filter((field) => claim[field] !== undefined),
]

/** Changes what the request names. Of two at once the later one is ChartRepositoryOvertaken, or ChartRepositoryChanged where it named a version. */
export const makeEditRepository = (deps: Deps) => {
  type Failures = Failure<'ChartRepositoryMissing'> | Failure<'ChartRepositoryRefused'> | Failure<'ChartRepositoryChanged'> | Failure<'ChartRepositoryOvertaken'>
  return async (
    call: SignedInCall<ChartRepository>, accountId: AccountId, name: string, claim: RepositoryClaim, expectedVersion: number | undefined,
  ): Outcome<Failures, ChartRepository> => {
    const stored = await deps.repositories.find(accountId, name)
    if (stored === undefined) return left(noSuch())
    const stale = () => left(ChartRepositoryChanged('The chart repository was changed since it was read. Nothing was changed.'))
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
      if (!isReplaced) return left(ChartRepositoryOvertaken('The chart repository was changed by another request at the same moment. Nothing was changed; send it again.'))
      await audit.record({
        action: 'chart_repository.changed', objectType: 'chart_repository', objectId: stored.id, objectName: name, tenantId: accountId,
        changes: { fields: changedFields(stored, content, claim), url: content.url, credentials: content.holds },
      })
      return right(asStored(content, { ...stored, updatedAt: at, version: stored.version + 1 }))
    })
  }
}

/** Forgets a repository. Releases that came from it stay as they are. */
export const makeDeleteRepository = (deps: Pick<Deps, 'unitOfWork'>) =>
  async (call: SignedInCall, accountId: AccountId, name: string): Outcome<Failure<'ChartRepositoryMissing'>, void> =>
    deps.unitOfWork.run<Failure<'ChartRepositoryMissing'>, void>(call, async ({ repositories, audit }) => {
      const id: ChartRepositoryId | undefined = await repositories.remove(accountId, name)
      if (id === undefined) return left(noSuch())
      await audit.record({ action: 'chart_repository.deleted', objectType: 'chart_repository', objectId: id, objectName: name, tenantId: accountId })
      return right(undefined)
    })
