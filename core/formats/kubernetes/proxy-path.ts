import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'

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

/** The target of a path below `/proxy`. `path` is re-encoded from the parsed segments of the Kubernetes API. */
export type ProxyTarget =
  /**
   * A path of the Kubernetes API itself. Foreign: what follows `proxy` belongs to a service, pod or node, and is sent
   * as received.
   */
  | { readonly form: 'raw'; readonly path: string; readonly segments: readonly string[]; readonly isForeign?: true }
  /** `/{group}/{version}/...`, translated. */
  | {
      readonly form: 'resource'
      readonly path: string
      readonly segments: readonly string[]
      readonly ref: ResourceRef
    }
  | { readonly form: 'batch-delete' }
  | { readonly form: 'all-available'; readonly group: string; readonly version: string }

/** The Left is the reason why a path or query is refused. */
type Parsed<A> = Either<string, A>
const refuse = (reason: string): Parsed<never> => left(reason)

const groupPattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/
const versionPattern = /^v[0-9]{1,3}(?:(?:alpha|beta)[0-9]{1,3})?$/
const resourcePattern = /^[a-z][a-z0-9-]{0,62}$/

const rawRoots: ReadonlySet<string> = new Set([
  'api',
  'apis',
  'version',
  'openapi',
  'healthz',
  'livez',
  'readyz',
  'metrics',
  'openid',
  '.well-known',
])

const decodeSegment = (encoded: string): Parsed<string> => {
  let decoded: string
  try {
    decoded = decodeURIComponent(encoded)
  } catch {
    return refuse('The path is not valid percent-encoded UTF-8.')
  }
  // What Kubernetes allows in a name; a name of RBAC may have any other character. A reader that takes a backslash for
  // a separator must find no parent segment either.
  if (decoded === '' || /[/%]/.test(decoded))
    return refuse('A segment of the path is empty, or contains a slash or a percent sign.')
  if (/(?:^|\\)\.{1,2}(?:\\|$)/.test(decoded)) return refuse('The path must not contain the segments . and ..')
  return right(decoded)
}

/**
 * Reports whether a path is the same after it is decoded and encoded, as that of most clients is: only characters that
 * are never encoded, no empty segment, and none that begins with a dot.
 */
const isPlain = (path: string): boolean =>
  /^\/[\w.~/-]*[\w~-]$/.test(path) && !path.includes('//') && !path.includes('/.')

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
  if (resource === undefined || !resourcePattern.test(resource))
    return refuse('The path does not name a Kubernetes resource.')
  return right({ group, version, namespace, resource, name, subresource: sub.length === 0 ? undefined : sub.join('/') })
}

/**
 * The rest of such a path belongs to the service, pod or node. Another spelling of these words is a path like any
 * other.
 */
const foreignPattern = /^\/(?:api|core)\/v1\/(?:namespaces\/[^/]+\/(?:services|pods)|nodes)\/[^/]+\/proxy(?=\/|$)/

/**
 * Returns the part of the path that belongs to the Kubernetes API, if the rest does not. Most paths have no such word.
 */
const ownPart = (path: string): string | undefined =>
  path.includes('/proxy') ? foreignPattern.exec(path)?.[0] : undefined

/** Reports whether the end of a path below `/proxy`, its query and its headers belong to a service, pod or node. */
export const isForeignPath = (path: string): boolean => ownPart(path) !== undefined

/** For a reader that takes a backslash, or an encoded slash or backslash, for a separator, too. */
const dotSegment = /(?:^|\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|$)/i

/**
 * Returns the rest of a path if it can be sent as it is. A segment . or .. would be resolved on the way, into another
 * path.
 */
const checkForeign = (rest: string): Parsed<string> => {
  if (/[^\x21-\x7e]|[\\?#]/.test(rest)) return refuse('The path contains a character that must be percent-encoded.')
  if (/%(?![0-9A-Fa-f]{2})/.test(rest)) return refuse('The path contains a "%" that starts no escape.')
  return dotSegment.test(rest) ? refuse('The path must not contain the segments . and ..') : right(rest)
}

const readForeign = (path: string, own: string): Parsed<ProxyTarget> => {
  const [read, rest] = [readSegments(own), checkForeign(path.slice(own.length))]
  if (isLeft(read)) return read
  if (isLeft(rest)) return rest
  const segments = ['api', ...read.right.slice(1)]
  return right({ form: 'raw', path: `${encode(segments)}${rest.right}`, segments, isForeign: true })
}

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
 * Parses the path below `/proxy`. The forwarded path is rebuilt from the parsed segments, so that it cannot be
 * interpreted differently; ambiguous paths are rejected. What belongs to a service, pod or node is forwarded as
 * received.
 */
export const parseProxyPath = (path: string): Parsed<ProxyTarget> => {
  const own = ownPart(path)
  if (own !== undefined) return readForeign(path, own)
  if (isPlain(path)) {
    const segments = path.slice(1).split('/')
    return rawRoots.has(segments[0] ?? '') ? right({ form: 'raw', path, segments }) : readWider(segments)
  }
  const read = readSegments(path)
  if (isLeft(read)) return read
  const segments = read.right
  const [root] = segments
  if (root === undefined) return right({ form: 'raw', path: '/', segments })
  return rawRoots.has(root) ? right({ form: 'raw', path: encode(segments), segments }) : readWider(segments)
}

/** Accepts a query string with only the characters that an HTTP parser accepts. */
export const checkProxyQuery = (query: string): Parsed<string> =>
  /^[\x21\x22\x24-\x7e]*$/.test(query)
    ? right(query)
    : refuse('The query contains a character that must be percent-encoded.')
