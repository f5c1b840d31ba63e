import { left, right } from 'fp-ts/lib/Either.js'
import type {
  NamedRepositories,
  RepositoryReader,
  RepositoryReadFailure,
} from '../../core/packages/repositories/ports.ts'
import type { ChartVersion, RepositoryAccess } from '../../core/packages/repositories/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { ChartSource, EmbeddedCharts } from '../../core/packages/charts/ports.ts'
import { ChartSourceUnreachable } from '../../core/packages/charts/ports.ts'
import type { ChartRef } from '../../core/packages/types.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { archiveLimits } from './archives.ts'
import { packChart } from './chart-archives.ts'
import type { ChartThreads } from './chart-threads.ts'
import { MemberError, readFluxRepository } from './repositories/flux-repository.ts'
import { makeHttpRepository, makeIndexCache } from './repositories/http-repository.ts'
import { makeOciRegistry } from './repositories/oci-registry.ts'
import type { ChartArchive, IndexedVersion, Repository } from './repositories/repository-index.ts'
import { missing, refusedChart, refusedSource, toSourceFailure } from './repositories/source-errors.ts'
import { chooseVersion } from './versions.ts'

/**
 * Opens a repository by its address: `https://` addresses have an index, `oci://` addresses are registries. Throws
 * ChartSourceRefused.
 */
export type OpenRepository = (access: RepositoryAccess) => Repository

const maxUrlLength = 1024

/** Credentials of a repository are used for a registry named in its index only if both have the same host. */
const forRegistry = (access: RepositoryAccess, url: URL): RepositoryAccess => {
  const isSame = new URL(access.url).host === url.host
  return {
    url: `oci://${url.host}`,
    isPlainHttp: access.url.startsWith('http:') && isSame,
    credentials: isSame ? access.credentials : {},
  }
}

/** @param account the account for which a repository is read. */
export const makeOpenRepository = (deps: {
  readonly fetch: GuardedFetch
  readonly threads: ChartThreads
  readonly account?: () => AccountKey
  readonly watchPool?: (load: () => PoolLoad) => void
}): OpenRepository => {
  const indexes = makeIndexCache(deps)
  return (access) => {
    const asHttps = access.url.replace(/^oci:/, 'https:')
    if (access.url.length > maxUrlLength || !URL.canParse(asHttps))
      throw refusedSource('The address of the chart repository cannot be read.')
    const url = new URL(asHttps)
    if (url.username !== '' || url.password !== '')
      throw refusedSource('The address of the chart repository must not carry a user name or password.')
    if (access.url.startsWith('oci://')) return makeOciRegistry(deps.fetch, access).repository
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw refusedSource('A chart repository is an https:// or oci:// address.')
    const pull = (from: URL, own: RepositoryAccess, signal: AbortSignal) =>
      makeOciRegistry(deps.fetch, forRegistry(own, from)).pullReference(from, signal)
    return makeHttpRepository({ fetch: deps.fetch, indexes, pull }, access)
  }
}

const versionOf = (entry: IndexedVersion): ChartVersion => ({
  ...entry,
  digest: entry.digest === undefined || entry.digest === 'unreadable' ? '' : `sha256:${entry.digest}`,
})

const reading = async (
  work: () => Promise<readonly IndexedVersion[]>,
): Outcome<RepositoryReadFailure, readonly ChartVersion[]> => {
  try {
    return right((await work()).map(versionOf))
  } catch (error) {
    const failure = toSourceFailure(error)
    // The response was not an index.
    return left(failure.tag === 'ChartRefused' ? ChartSourceUnreachable(failure.message) : failure)
  }
}

/** RepositoryReader with the same network rules as installations. */
export const makeRepositoryReader = (open: OpenRepository): RepositoryReader => ({
  charts: (access, signal) => reading(async () => open(access).charts(signal)),
  versions: (access, name, signal) => reading(async () => open(access).versions(name, signal)),
})

interface Deps {
  readonly open: OpenRepository
  readonly threads: ChartThreads
  readonly named: NamedRepositories
  readonly embedded: EmbeddedCharts
}

type Origin = Parameters<ChartSource['fetch']>[1]

const chartName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,248}[A-Za-z0-9])?$/

const fromEmbedded = async (embedded: EmbeddedCharts, ref: ChartRef): Promise<ChartArchive> => {
  const charts = (embedded.get(ref.source.name) ?? []).filter(({ name }) => name === ref.name)
  const version = chooseVersion(
    charts.map((each) => each.version),
    ref.version,
  )
  const chart = charts.find((each) => each.version === version)
  if (chart === undefined)
    throw missing(`This service has no chart ${ref.name}${ref.version === '' ? '' : ` ${ref.version}`} of its own.`)
  const files = new Map(Object.entries(chart.files).map(([path, text]) => [path, new TextEncoder().encode(text)]))
  return { version: chart.version, bytes: await packChart({ name: chart.name, metadata: {}, files }, {}), digests: [] }
}

const accessOf = async (deps: Deps, ref: ChartRef, from: Origin, signal: AbortSignal): Promise<RepositoryAccess> => {
  const { kind, apiGroup, namespace, name } = ref.source
  switch (kind) {
    case 'HelmRepository':
      if (apiGroup !== '' && apiGroup !== 'source.toolkit.fluxcd.io')
        throw refusedSource(`There is no source HelmRepository of the group ${apiGroup.slice(0, 100)}.`)
      if (from.cluster === undefined)
        throw refusedSource('A HelmRepository is an object of a cluster, and no cluster is known here.')
      return readFluxRepository(from.cluster, { namespace, name }, signal)
    case 'Legacy':
      return { url: name.replace(/\/+$/, ''), isPlainHttp: false, credentials: {} }
    case 'ChartRepository': {
      const isTenants = namespace === '' || namespace.toLowerCase() === from.cluster?.ownerName.toLowerCase()
      const found = isTenants ? await deps.named.find(from.tenantId as AccountId, name) : undefined
      if (found === undefined) throw missing(`The owner of the cluster has no chart repository ${name.slice(0, 100)}.`)
      return found
    }
    case 'Local':
      throw refusedSource('Charts of a folder of the server are not installed: put the chart into a repository.')
    default:
      throw refusedSource(
        `Charts do not come from sources of kind ${kind.slice(0, 100)}: use HelmRepository, ` +
          'ChartRepository, Legacy or Embed.',
      )
  }
}

/** ChartSource over repositories, registries, Flux objects of the cluster and the charts embedded in this service. */
export const makeChartSource = (deps: Deps): ChartSource => ({
  async fetch(ref, from, signal) {
    try {
      if (!ref.name.split('/').every((part) => chartName.test(part))) throw missing('There is no chart of such a name.')
      const isOwn = ref.source.kind === 'Embed'
      const archive = isOwn
        ? await fromEmbedded(deps.embedded, ref)
        : await deps.open(await accessOf(deps, ref, from, signal)).fetch(ref.name, ref.version, signal)
      const { chart, digest, size } = await deps.threads.run<'read'>(
        {
          kind: 'read',
          archive: archive.bytes,
          digests: archive.digests,
          limits: archiveLimits,
        },
        signal,
      )
      archive.release?.()
      const wanted = ref.name.split('/').at(-1)
      if (chart.name !== wanted) throw refusedChart(`The archive holds the chart ${chart.name}, not ${wanted ?? ''}.`)
      return right({ chart, ref: { ...ref, version: archive.version }, digest: `sha256:${digest}`, size })
    } catch (error) {
      if (error instanceof MemberError) return left(error.failure)
      return left(toSourceFailure(error))
    }
  },
})
