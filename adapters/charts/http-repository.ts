import type { RepositoryAccess } from '../../core/chart-repositories/types.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { archiveLimits } from './chart-limits.ts'
import type { IndexCache } from './index-cache.ts'
import { originSecrets } from './origin-secrets.ts'
import type { ChartArchive, Repository } from './repository.ts'
import type { IndexedVersion } from './repository-index.ts'
import { answeredBy, missing, refusedSource } from './source-errors.ts'
import { chooseVersion } from './version-rules.ts'

/** Where a chart of an index lies: below the repository, with its query, unless the index names another place. */
export const chartUrl = (base: string, written: string): URL => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(written)) {
    if (!URL.canParse(written)) throw refusedSource('The index of the repository names an address that cannot be read.')
    return new URL(written)
  }
  const root = new URL(base)
  const { search } = root
  root.pathname = `${root.pathname.replace(/\/+$/, '')}/`
  if (!URL.canParse(written, root.href)) throw refusedSource('The index of the repository names an address that cannot be read.')
  const url = new URL(written, root)
  if (url.search === '') url.search = search
  return url
}

export type Download = Pick<ChartArchive, 'bytes' | 'digests'>

interface Deps {
  readonly fetch: GuardedFetch
  readonly indexes: IndexCache
  /** Pulls what an index says is in a registry: without these credentials, unless it is the same host. */
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
      { url, secrets: originSecrets(access.credentials), secretsOrigin: new URL(access.url).origin, limitBytes: archiveLimits.archiveBytes }, signal,
    )
    if (answer.status === 404) throw missing(`The repository lists the chart ${entry.name} ${entry.version}, but does not have it.`)
    if (answer.status !== 200) throw answeredBy(url.hostname, answer.status)
    return { bytes: answer.bytes, digests: [] }
  }

  return {
    async charts(signal) {
      const index = await deps.indexes.of(access, signal)
      return [...index].flatMap(([, versions]) => versions[0] ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    versions: versionsOf,
    async fetch(name, wanted, signal): Promise<ChartArchive> {
      const versions = await versionsOf(name, signal)
      const version = chooseVersion(versions.map((each) => each.version), wanted)
      const entry = versions.find((each) => each.version === version)
      if (entry === undefined) throw missing(wanted === '' ? `The chart ${name} has no stable version.` : `The chart ${name} has no version ${wanted}.`)
      const { bytes, digests } = await download(entry, signal)
      return { version: entry.version, bytes, digests: entry.digest === undefined ? digests : [...digests, entry.digest] }
    },
  }
}
