import type { RepositoryAccess } from '../../core/chart-repositories/types.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { ChartThreads } from './chart-threads.ts'
import { makeHttpRepository } from './http-repository.ts'
import { makeIndexCache } from './index-cache.ts'
import { makeOciRegistry } from './oci-registry.ts'
import type { Repository } from './repository.ts'
import { refusedSource } from './source-errors.ts'

/** Opens a repository by its address: `https://` ones have an index, `oci://` ones are registries. Throws ChartSourceRefused. */
export type OpenRepository = (access: RepositoryAccess) => Repository

const maxUrlLength = 1024

/** Credentials of a repository are good for a registry of an index only where it is the same host. */
const forRegistry = (access: RepositoryAccess, url: URL): RepositoryAccess => {
  const isSame = new URL(access.url).host === url.host
  return { url: `oci://${url.host}`, isPlainHttp: access.url.startsWith('http:') && isSame, credentials: isSame ? access.credentials : {} }
}

export const makeOpenRepository = (deps: { readonly fetch: GuardedFetch; readonly threads: ChartThreads }): OpenRepository => {
  const indexes = makeIndexCache(deps)
  return (access) => {
    const asHttps = access.url.replace(/^oci:/, 'https:')
    if (access.url.length > maxUrlLength || !URL.canParse(asHttps)) throw refusedSource('The address of the chart repository cannot be read.')
    const url = new URL(asHttps)
    if (url.username !== '' || url.password !== '') throw refusedSource('The address of the chart repository must not carry a user name or password.')
    if (access.url.startsWith('oci://')) return makeOciRegistry(deps.fetch, access).repository
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refusedSource('A chart repository is an https:// or oci:// address.')
    const pull = (from: URL, own: RepositoryAccess, signal: AbortSignal) => makeOciRegistry(deps.fetch, forRegistry(own, from)).pullReference(from, signal)
    return makeHttpRepository({ fetch: deps.fetch, indexes, pull }, access)
  }
}
