import { LRUCache } from 'lru-cache'
import { makeSharedWork } from '../../../core/kernel/concurrency.ts'
import type { RepositoryAccess } from '../../../core/packages/repositories/types.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import type { GuardedAnswer, GuardedFetch } from '../../outbound/guarded-fetch.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import { makeAccountLimiter } from '../../outbound/account-limiter.ts'
import { archiveLimits, sha256Hex } from '../archives.ts'
import type { ChartThreads } from '../chart-threads.ts'
import { chooseVersion } from '../versions.ts'
import { originSecrets } from './credentials.ts'
import type { ChartArchive, Download, IndexedVersion, Repository, RepositoryIndex } from './repository-index.ts'
import { unpackIndex } from './repository-index.ts'
import { answeredBy, missing, refusedSource } from './source-errors.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'

const indexBytes = 50 * 1024 * 1024
const indexMilliseconds = 60_000
/** The least memory that a version takes. */
const bytesOfVersion = 1024
/** The number of cached indexes and their bytes. The least recently requested is removed first. */
const most = { indexes: 64, bytes: 128 * 1024 * 1024 }

interface Kept {
  readonly index: RepositoryIndex
  readonly size: number
  readonly validators: Readonly<Record<string, string>>
}

/** A cache of the indexes of HTTP repositories, by address and credentials. */
export interface IndexCache {
  /** Asks the repository on each call whether its index changed. */
  of(access: RepositoryAccess, signal: AbortSignal): Promise<RepositoryIndex>
}

/** Returns `<base>/index.yaml` with the query of the base. */
const indexUrl = (base: string): URL => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/index.yaml`
  return url
}

const validatorsOf = ({ headers }: GuardedAnswer): Readonly<Record<string, string>> =>
  definedFields({ 'if-none-match': headers['etag'], 'if-modified-since': headers['last-modified'] })

/** An index has up to fifty megabytes, and several times as much once parsed: an account reads one at a time. */
const limiterCapacity = {
  pool: 'chart-indexes',
  inAll: 3,
  perAccount: 1,
  waitingPerAccount: 32,
  waitMilliseconds: 60_000,
}

/** @param account the account for which an index is read. @param watchPool gets the load of the readers of indexes. */
export const makeIndexCache = (deps: {
  readonly fetch: GuardedFetch
  readonly threads: ChartThreads
  readonly account?: () => AccountKey
  readonly watchPool?: (load: () => PoolLoad) => void
}): IndexCache => {
  const kept = new LRUCache<string, Kept>({
    max: most.indexes,
    maxSize: most.bytes,
    sizeCalculation: ({ size }) => Math.max(1, size),
  })
  const shared = makeSharedWork<RepositoryIndex>()
  const limiter = makeAccountLimiter(limiterCapacity)
  deps.watchPool?.(limiter.load)

  const read = async (key: string, access: RepositoryAccess, signal: AbortSignal): Promise<RepositoryIndex> => {
    const url = indexUrl(access.url)
    const secrets = originSecrets(access.credentials)
    const before = kept.get(key)
    const answer = await deps.fetch(
      {
        url,
        secrets,
        limitBytes: indexBytes,
        timeoutMilliseconds: indexMilliseconds,
        headers: before?.validators ?? {},
      },
      signal,
    )
    if (answer.status === 304 && before !== undefined) {
      kept.set(key, before)
      return before.index
    }
    if (answer.status !== 200) throw answeredBy(url.hostname, answer.status)
    const { length } = answer.bytes
    const { parts } = await deps.threads.run<'index'>({ kind: 'index', bytes: answer.bytes }, signal)
    answer.release?.()
    const index = await unpackIndex(parts)
    const versions = [...index.values()].reduce((sum, each) => sum + each.length, 0)
    const validators = validatorsOf(answer)
    if (Object.keys(validators).length > 0)
      kept.set(key, { index, size: Math.max(length, versions * bytesOfVersion), validators })
    return index
  }

  return {
    of(access, signal) {
      const key = sha256Hex(Buffer.from(toWireJson([indexUrl(access.url).href, originSecrets(access.credentials)])))
      // Concurrent requests for one index share its reading.
      return shared(key, signal, (until) =>
        limiter.run({ account: deps.account?.(), signal: until }, () => read(key, access, until)),
      )
    },
  }
}

/**
 * Returns the URL of a chart in an index: relative to the repository, with its query, unless the index has an absolute
 * URL.
 *
 * @internal
 */
export const chartUrl = (base: string, written: string): URL => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(written)) {
    if (!URL.canParse(written)) throw refusedSource('The index of the repository names an address that cannot be read.')
    return new URL(written)
  }
  const root = new URL(base)
  const { search } = root
  root.pathname = `${root.pathname.replace(/\/+$/, '')}/`
  if (!URL.canParse(written, root.href))
    throw refusedSource('The index of the repository names an address that cannot be read.')
  const url = new URL(written, root)
  if (url.search === '') url.search = search
  return url
}

interface Deps {
  readonly fetch: GuardedFetch
  readonly indexes: IndexCache
  /** Pulls a chart that an index places in a registry. The credentials are used only if the host is the same. */
  readonly pull: (url: URL, access: RepositoryAccess, signal: AbortSignal) => Promise<Download>
}

/** A repository with an index.yaml. */
export const makeHttpRepository = (deps: Deps, access: RepositoryAccess): Repository => {
  const versionsOf = async (name: string, signal: AbortSignal): Promise<readonly IndexedVersion[]> => {
    const found = (await deps.indexes.of(access, signal)).get(name)
    if (found === undefined) throw missing(`The repository has no chart ${name}.`)
    return found
  }

  const download = async (entry: IndexedVersion, signal: AbortSignal): Promise<Download> => {
    const url = chartUrl(access.url, entry.urls[0] ?? '')
    if (url.protocol === 'oci:') return deps.pull(url, access, signal)
    const answer = await deps.fetch(
      {
        url,
        secrets: originSecrets(access.credentials),
        secretsOrigin: new URL(access.url).origin,
        limitBytes: archiveLimits.archiveBytes,
      },
      signal,
    )
    if (answer.status === 404)
      throw missing(`The repository lists the chart ${entry.name} ${entry.version}, but does not have it.`)
    if (answer.status !== 200) throw answeredBy(url.hostname, answer.status)
    return { bytes: answer.bytes, digests: [], ...definedFields({ release: answer.release }) }
  }

  return {
    async charts(signal) {
      const index = await deps.indexes.of(access, signal)
      return [...index].flatMap(([, versions]) => versions[0] ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    versions: versionsOf,
    async fetch(name, wanted, signal): Promise<ChartArchive> {
      const versions = await versionsOf(name, signal)
      const version = chooseVersion(
        versions.map((each) => each.version),
        wanted,
      )
      const entry = versions.find((each) => each.version === version)
      if (entry === undefined)
        throw missing(
          wanted === '' ? `The chart ${name} has no stable version.` : `The chart ${name} has no version ${wanted}.`,
        )
      const { digests, ...downloaded } = await download(entry, signal)
      return {
        ...downloaded,
        version: entry.version,
        digests: entry.digest === undefined ? digests : [...digests, entry.digest],
      }
    },
  }
}
