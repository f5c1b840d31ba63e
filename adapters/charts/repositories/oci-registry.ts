import type { RepositoryAccess } from '../../../core/packages/repositories/types.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { GuardedAnswer, GuardedFetch } from '../../outbound/guarded-fetch.ts'
import { archiveLimits } from '../archives.ts'
import { chooseVersion, newestFirst, readVersion } from '../versions.ts'
import { authorizationOf, tlsSecrets } from './credentials.ts'
import type { ChartArchive, IndexedVersion, Repository } from './repository-index.ts'
import type { Download } from './repository-index.ts'
import { answeredBy, missing, refusedChart, refusedSource, unreachable } from './source-errors.ts'

const manifestTypes = 'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'

const chartTypes: ReadonlySet<string> = new Set([
  'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
  'application/tar+gzip',
])

export interface Layer {
  readonly digest: string
  /** In bytes, according to the manifest. */
  readonly size: number
}

const json = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

const readManifest = (bytes: Uint8Array): Readonly<Record<string, unknown>> => recordOf(json(bytes))

/** Returns the layer with the chart's archive, or undefined if the manifest is not a chart's. */
const chartLayerOf = (manifest: Readonly<Record<string, unknown>>): Layer | undefined => {
  const layers = Array.isArray(manifest['layers']) ? (manifest['layers'] as readonly unknown[]).map(recordOf) : []
  const layer = layers.find(({ mediaType }) => typeof mediaType === 'string' && chartTypes.has(mediaType))
  const { digest, size } = layer ?? {}
  return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) && typeof size === 'number'
    ? { digest, size }
    : undefined
}

/** A page of tags. */
interface TagPage {
  readonly tags: readonly string[]
  /** The address of the next page, on the host of this one; undefined on the last page. */
  readonly next: URL | undefined
}

/** The page is no list of tags, or its link leads elsewhere. The message follows the name of the host. @internal */
export class TagsUnreadable extends Error {}

/** A link of RFC 8288 with its parameters. A comma may be part of the address. */
const linkPattern = /<([^<>]*)>((?:\s*;\s*[^\s=;,<]+(?:\s*=\s*(?:"[^"]*"|[^\s";,<]*))?)*)/g
const isNext = (parameters: string): boolean =>
  /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next(?=$|[\s;]))/i.test(parameters)

/**
 * Returns the next page that a Link header names: where it begins is known to the registry alone. It must be on the
 * host of `origin`, which gets the credentials. The scheme is that of `origin`: registries behind a proxy may name the
 * inner one.
 *
 * @internal
 */
export const nextPage = (link: string, base: URL, origin: string): URL | undefined => {
  if (link.length > 16_384) throw new TagsUnreadable('names its next page at an address that is too long')
  const target = [...link.matchAll(linkPattern)].find(([, , parameters = '']) => isNext(parameters))?.[1]
  if (target === undefined) {
    if (/rel\s*=\s*"?next/i.test(link)) throw new TagsUnreadable('names its next page in a way that cannot be read')
    return undefined
  }
  if (!URL.canParse(target, base.href)) throw new TagsUnreadable('names its next page in a way that cannot be read')
  const { host, pathname, search } = new URL(target, base.href)
  if (host !== new URL(origin).host) throw new TagsUnreadable('names a next page on another host')
  return new URL(`${origin}${pathname}${search}`)
}

/** Reads one page of tags of the registry at `origin`. */
const readTags = ({ bytes, headers, url }: GuardedAnswer, origin: string): TagPage => {
  const { tags } = recordOf(json(bytes))
  // A repository whose tags were all deleted returns null.
  if (tags !== null && !Array.isArray(tags)) throw new TagsUnreadable('did not list its tags in a way that can be read')
  const texts = (tags ?? []).filter((tag): tag is string => typeof tag === 'string' && tag.length <= 128)
  return { tags: texts, next: nextPage(headers['link'] ?? '', url, origin) }
}

/** What a registry requires before it answers (RFC 9110 §11.6.1, RFC 6750). */
export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer'
      readonly realm: string
      readonly service: string | undefined
      readonly scope: string | undefined
    }

/** Returns undefined for an unknown challenge. @internal */
export const challengeOf = (header: string): Challenge | undefined => {
  if (header.length > 4096) return undefined
  const [, scheme = '', rest = ''] = /^\s*([A-Za-z]+)\s*(.*)$/s.exec(header) ?? []
  if (scheme.toLowerCase() === 'basic') return { scheme: 'basic' }
  if (scheme.toLowerCase() !== 'bearer') return undefined
  const parameters = new Map(
    [...rest.matchAll(/([A-Za-z]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name.toLowerCase(), value]),
  )
  const realm = parameters.get('realm')
  return realm === undefined
    ? undefined
    : { scheme: 'bearer', realm, service: parameters.get('service'), scope: parameters.get('scope') }
}

const tokenUrl = (
  { realm, service, scope }: Extract<Challenge, { scheme: 'bearer' }>,
  repository: string,
): URL | undefined => {
  if (!URL.canParse(realm)) return undefined
  const url = new URL(realm)
  if (service !== undefined) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope ?? `repository:${repository}:pull`)
  return url
}

/**
 * Reports whether credentials of the registry may be sent to the token service that it names: the registry itself, or
 * by https a host below the same parent (`registry-1.docker.io` and `auth.docker.io`). From any other host a token is
 * requested without them.
 *
 * @internal
 */
export const mayHoldToken = (registry: URL, realm: URL): boolean => {
  if (realm.origin === registry.origin) return true
  const parent = registry.hostname.split('.').slice(1).join('.')
  const isNamed = parent.includes('.') && !/^[\d.]+$/.test(registry.hostname)
  return (
    isNamed &&
    realm.protocol === 'https:' &&
    registry.protocol === 'https:' &&
    (realm.hostname === parent || realm.hostname.endsWith(`.${parent}`))
  )
}

/** In bytes. Such a document is parsed at once. A page of 1,000 tags has an eighth of this. */
const documentBytes = 1024 * 1024
/** Registries return 100 to 1000 tags a page. */
const maxTagPages = 100
const maxTags = 50_000

const repositoryName = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/

/** A tag cannot contain `+`. */
const tagOf = (version: string): string => version.replaceAll('+', '_')
const versionOf = (tag: string): string => tag.replaceAll('_', '+')

const bare = (name: string, version: string): IndexedVersion => ({
  name,
  version,
  urls: [],
  digest: undefined,
  description: '',
  apiVersion: '',
  appVersion: '',
  kubeVersion: '',
  type: '',
  deprecated: false,
  icon: '',
  home: '',
  keywords: [],
  sources: [],
  created: '',
})

interface Place {
  /** `https://host:port`. */
  readonly origin: string
  /** Below `/v2/`. */
  readonly repository: string
}

/** @param path below the registry's host, including the chart's name. */
const placeOf = (access: RepositoryAccess, path: string): Place => {
  const repository = path.replace(/^\/+|\/+$/g, '')
  if (repository.length > 255 || !repositoryName.test(repository))
    throw refusedSource('A registry has no repository of such a name: small letters, digits and . _ - / alone.')
  const url = new URL(access.url.replace(/^oci:/, access.isPlainHttp ? 'http:' : 'https:'))
  return { origin: url.origin, repository }
}

/** Opens a session with one repository: the token is requested once. */
const makeSessions = (fetch: GuardedFetch, access: RepositoryAccess) => {
  const own = tlsSecrets(access.credentials)
  const authorization = authorizationOf(access.credentials)

  const withToken = async (place: Place, answer: GuardedAnswer, signal: AbortSignal): Promise<string | undefined> => {
    const challenge = challengeOf(answer.headers['www-authenticate'] ?? '')
    if (challenge === undefined) return undefined
    if (challenge.scheme === 'basic') return authorization
    const url = tokenUrl(challenge, place.repository)
    if (url === undefined) throw unreachable('The registry asks for a token in a way that cannot be understood.')
    const shown = authorization !== undefined && mayHoldToken(new URL(place.origin), url) ? { authorization } : {}
    const secrets = { ...(url.origin === place.origin ? own : {}), ...shown }
    const granted = await fetch({ url, secrets, limitBytes: documentBytes }, signal)
    if (granted.status !== 200) throw answeredBy(url.hostname, granted.status)
    const token = readToken(granted.bytes)
    if (token === undefined) throw unreachable('The registry gave no token that can be read.')
    return `Bearer ${token}`
  }

  return (place: Place) => {
    let held: string | undefined
    return async (
      path: string | URL,
      limitBytes: number,
      accept: string,
      signal: AbortSignal,
    ): Promise<GuardedAnswer> => {
      const url = typeof path === 'string' ? new URL(`/v2/${place.repository}/${path}`, place.origin) : path
      const ask = () => {
        const secrets = held === undefined ? own : { ...own, authorization: held }
        return fetch({ url, headers: { accept }, secrets, limitBytes }, signal)
      }
      const first = await ask()
      if (first.status !== 401 || held !== undefined) return first
      held = await withToken(place, first, signal)
      return held === undefined ? first : ask()
    }
  }
}

/**
 * A registry (OCI distribution) below one address. Requests go to other hosts only through redirects, without
 * credentials.
 */
export const makeOciRegistry = (fetch: GuardedFetch, access: RepositoryAccess) => {
  const session = makeSessions(fetch, access)

  /**
   * Returns all versions, newest first. A part of them could lack the newest, so a list that does not end is refused.
   */
  const tags = async (place: Place, what: string, signal: AbortSignal): Promise<readonly string[]> => {
    const get = session(place)
    const { hostname } = new URL(place.origin)
    const all: string[] = []
    let pages = 0
    let at: string | URL | undefined = 'tags/list?n=1000'
    while (at !== undefined) {
      const answer = await get(at, documentBytes, 'application/json', signal)
      if (answer.status === 404) throw missing(`The registry has no chart ${what}.`)
      if (answer.status !== 200) throw answeredBy(hostname, answer.status)
      const { tags: found, next } = pageOf(answer, place.origin)
      all.push(...found)
      pages += 1
      if (next !== undefined && pages >= maxTagPages)
        throw unreachable(
          `${hostname} lists its tags in more than ${maxTagPages} pages. Name the version itself, not a range.`,
        )
      if (all.length > maxTags)
        throw unreachable(`${hostname} lists more than ${maxTags} tags. Name the version itself, not a range.`)
      at = next
    }
    return newestFirst(all.map(versionOf))
  }

  const pull = async (place: Place, tag: string, what: string, signal: AbortSignal): Promise<Download> => {
    const get = session(place)
    const answer = await get(`manifests/${tag}`, documentBytes, manifestTypes, signal)
    if (answer.status === 404) throw missing(`The registry has no chart ${what}.`)
    if (answer.status !== 200) throw answeredBy(new URL(place.origin).hostname, answer.status)
    const layer = chartLayerOf(readManifest(answer.bytes))
    if (layer === undefined) throw refusedChart(`What the registry holds as ${what} is no Helm chart.`)
    if (layer.size > archiveLimits.archiveBytes) throw refusedChart('The archive is larger than 10 MiB.')
    const blob = await get(`blobs/${layer.digest}`, archiveLimits.archiveBytes, '*/*', signal)
    if (blob.status !== 200) throw answeredBy(new URL(place.origin).hostname, blob.status)
    return {
      bytes: blob.bytes,
      digests: [layer.digest.slice('sha256:'.length)],
      ...definedFields({ release: blob.release }),
    }
  }

  const basePath = new URL(access.url.replace(/^oci:/, 'https:')).pathname
  const placed = (name: string): Place => placeOf(access, `${basePath.replace(/\/+$/, '')}/${name}`)

  const repository: Repository = {
    charts: () =>
      Promise.reject(
        refusedSource('A registry does not list the charts that it holds. Ask for the versions of one by its name.'),
      ),
    async versions(name, signal) {
      return (await tags(placed(name), name, signal)).map((version) => bare(name, version))
    },
    async fetch(name, wanted, signal): Promise<ChartArchive> {
      const place = placed(name)
      const isExact = wanted !== '' && readVersion(wanted)?.version !== undefined && /^v?\d+\.\d+\.\d+/.test(wanted)
      const version = isExact ? wanted : chooseVersion(await tags(place, name, signal), wanted)
      if (version === undefined)
        throw missing(
          wanted === '' ? `The chart ${name} has no stable version.` : `The chart ${name} has no version ${wanted}.`,
        )
      return { version, ...(await pull(place, tagOf(version), `${name} ${version}`, signal)) }
    },
  }
  return {
    repository,
    /** `oci://host/path:tag`, as an index may contain it. */
    pullReference: async (url: URL, signal: AbortSignal): Promise<Download> => {
      const [, path = '', tag = ''] =
        /^(.*):([A-Za-z0-9_][A-Za-z0-9._-]{0,127})$/.exec(decodeURIComponent(url.pathname)) ?? []
      if (tag === '') throw refusedSource('The index of the repository names a place in a registry without a tag.')
      return pull(placeOf(access, path), tag, `${path.slice(1)}:${tag}`, signal)
    },
  }
}

const pageOf = (answer: GuardedAnswer, origin: string): TagPage => {
  try {
    return readTags(answer, origin)
  } catch (error) {
    if (error instanceof TagsUnreadable) throw unreachable(`${new URL(origin).hostname} ${error.message}.`)
    throw error
  }
}

const readToken = (bytes: Uint8Array): string | undefined => {
  try {
    const { token, access_token: accessToken } = JSON.parse(new TextDecoder().decode(bytes)) as {
      readonly token?: unknown
      readonly access_token?: unknown
    }
    const text = typeof token === 'string' ? token : accessToken
    return typeof text === 'string' && /^[\x21-\x7e]{1,16384}$/.test(text) ? text : undefined
  } catch {
    return undefined
  }
}
