import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { ProxyPathRefused } from '../ports.ts'

/** One object or collection of a Kubernetes API, by the segments of its path. */
export interface ResourceRef {
  /** `core` for the legacy group. */
  readonly group: string
  readonly version: string
  readonly namespace: string | undefined
  readonly resource: string
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** The target of a path below `/proxy`. `path` is re-encoded from the parsed segments. */
export type ProxyTarget =
  /** A path of the Kubernetes API itself. */
  | { readonly form: 'raw'; readonly path: string; readonly segments: readonly string[] }
  /** `/{group}/{version}/...`, translated. */
  | { readonly form: 'resource'; readonly path: string; readonly segments: readonly string[]; readonly ref: ResourceRef }
  | { readonly form: 'batch-delete' }
  | { readonly form: 'all-available'; readonly group: string; readonly version: string }

type Parsed<A> = Either<Failure<'ProxyPathRefused'>, A>
const refuse = (message: string): Parsed<never> => left(ProxyPathRefused(message))

/** All characters of the names of Kubernetes objects, ports and users. No slash, backslash, percent sign, control character or space. */
const segmentPattern = /^[A-Za-z0-9._:@~!$'()*+,=-]{1,253}$/
const groupPattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/
const versionPattern = /^v[0-9]{1,3}(?:(?:alpha|beta)[0-9]{1,3})?$/
const resourcePattern = /^[a-z][a-z0-9-]{0,62}$/

const rawRoots: ReadonlySet<string> = new Set(['api', 'apis', 'version', 'openapi', 'healthz', 'livez', 'readyz', 'metrics', 'openid', '.well-known'])

const decodeSegment = (encoded: string): Parsed<string> => {
  let decoded: string
  try {
    decoded = decodeURIComponent(encoded)
  } catch {
    return refuse('The path is not valid percent-encoded UTF-8.')
  }
  if (decoded === '.' || decoded === '..') return refuse('The path must not contain the segments . and ..')
  if (!segmentPattern.test(decoded)) return refuse('A segment of the path is empty or contains a character that no Kubernetes path has.')
  return right(decoded)
}

/** Splits and decodes a path. A single trailing slash is not a segment. */
const readSegments = (path: string): Parsed<readonly string[]> => {
  if (!path.startsWith('/')) return refuse('The path must begin with a slash.')
  const trimmed = path.slice(1).replace(/\/$/, '')
  if (trimmed === '') return path === '/' ? right([]) : refuse('The path contains an empty segment.')
  const segments: string[] = []
  for (const encoded of trimmed.split('/')) {
    const segment = decodeSegment(encoded)
    if (isLeft(segment)) return segment
    segments.push(segment.right)
  }
  return right(segments)
}

const encode = (segments: readonly string[]): string => `/${segments.map(encodeURIComponent).join('/')}`

/** Returns the path of a resource in the Kubernetes API. */
const resourcePath = (ref: ResourceRef): readonly string[] => [
  ...(ref.group === 'core' ? ['api', ref.version] : ['apis', ref.group, ref.version]),
  ...(ref.namespace === undefined ? [] : ['namespaces', ref.namespace]),
  ref.resource,
  ...(ref.name === undefined ? [] : [ref.name]),
  ...(ref.subresource === undefined ? [] : ref.subresource.split('/')),
]

export const encodedResourcePath = (ref: ResourceRef): string => encode(resourcePath(ref))

/** `rest` contains the segments after group and version. */
const readResource = (group: string, version: string, rest: readonly string[]): Parsed<ResourceRef> => {
  // `namespaces/{ns}` alone is the namespace itself; its own subresources also belong to it.
  const ownWords: readonly (string | undefined)[] = ['status', 'finalize']
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2 && !(rest.length === 3 && ownWords.includes(rest[2]))
  const [namespace, words] = isNamespaced ? [rest[1], rest.slice(2)] : [undefined, rest]
  const [resource, name, ...sub] = words
  if (resource === undefined || !resourcePattern.test(resource)) return refuse('The path does not name a Kubernetes resource.')
  return right({ group, version, namespace, resource, name, subresource: sub.length === 0 ? undefined : sub.join('/') })
}

const isOwnRoot = (segments: readonly string[]): boolean =>
  segments.at(-1) === 'proxy' && ['services', 'pods', 'nodes'].includes(segments.at(-3) ?? '')

/** `metrics` of a node or pod is an object of the metrics API. */
const asMetrics = (ref: ResourceRef): ResourceRef =>
  ref.group === 'core' && ref.subresource === 'metrics' && (ref.resource === 'nodes' || ref.resource === 'pods')
    ? { ...ref, group: 'metrics.k8s.io', version: 'v1beta1', subresource: undefined }
    : ref

const readWider = (segments: readonly string[]): Parsed<ProxyTarget> => {
  const [group, version, ...rest] = segments
  if (group === 'batch-delete' && version === undefined) return right({ form: 'batch-delete' })
  if (group === undefined || !groupPattern.test(group) || version === undefined || !versionPattern.test(version))
    return refuse('The path is neither one of the Kubernetes API nor /{group}/{version}/...')
  if (rest.length === 0) {
    const words = group === 'core' ? ['api', version] : ['apis', group, version]
    return right({ form: 'raw', path: encode(words), segments: words })
  }
  if (rest.length === 1 && rest[0] === 'all-available') return right({ form: 'all-available', group, version })
  const read = readResource(group, version, rest)
  if (isLeft(read)) return read
  const ref = asMetrics(read.right)
  const words = resourcePath(ref)
  return right({ form: 'resource', ref, path: encode(words), segments: words })
}

/**
 * Parses the path below `/proxy`. The forwarded path is rebuilt from the parsed segments, so that it cannot be interpreted
 * differently; ambiguous paths are rejected.
 */
export const parseProxyPath = (path: string): Parsed<ProxyTarget> => {
  const read = readSegments(path)
  if (isLeft(read)) return read
  const segments = read.right
  const [root] = segments
  if (root === undefined) return right({ form: 'raw', path: '/', segments })
  if (!rawRoots.has(root)) return readWider(segments)
  // The API server redirects a service's root to the same path with a slash, and the slash does not reach this service.
  return right({ form: 'raw', path: isOwnRoot(segments) ? `${encode(segments)}/` : encode(segments), segments })
}

/** Accepts a query string with only the characters that an HTTP parser accepts. */
export const checkProxyQuery = (query: string): Parsed<string> =>
  /^[\x21\x22\x24-\x7e]*$/.test(query) ? right(query) : refuse('The query contains a character that must be percent-encoded.')
