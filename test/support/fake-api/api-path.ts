import type { IncomingMessage } from 'node:http'
import type { ResourceKind } from './kinds.ts'

/** What a request's path names, once its kind is known. */
export interface ApiPath {
  readonly kind: ResourceKind
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** One request as it came in over the wire, and what it is about. */
export interface ApiCall {
  readonly method: string
  readonly url: string
  /** Lower-case names, in order, repeated names kept. */
  readonly headers: readonly (readonly [string, string])[]
  /** As whom: the impersonated user, else the bearer. */
  readonly user: string
  readonly groups: readonly string[]
  /**
   * In the words of authorization: get, list, watch, create, update, patch, delete, deletecollection; '' outside
   * resources.
   */
  readonly verb: string
  /** Plural; '' outside resources. */
  readonly resource: string
  readonly group: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

const resourcePath = /^\/(?:api\/(?<core>v1)|apis\/(?<group>[^/]+)\/(?<version>[^/]+))\/(?<rest>.+)$/

/** Undefined when the path is no resource that is served. */
export const readApiPath = (pathname: string, kinds: readonly ResourceKind[]): ApiPath | undefined => {
  const match = resourcePath.exec(pathname)?.groups
  if (match === undefined) return undefined
  const parts = (match['rest'] ?? '').split('/').map(decodeURIComponent)
  const find = (resource: string | undefined, isNamespaced: boolean): ResourceKind | undefined =>
    kinds.find(
      (each) =>
        each.group === (match['group'] ?? '') &&
        each.version === (match['core'] ?? match['version']) &&
        each.resource === resource &&
        each.isNamespaced === isNamespaced,
    )
  if (parts[0] === 'namespaces' && parts.length >= 3) {
    const kind = find(parts[2], true)
    if (kind !== undefined) return { kind, namespace: parts[1], name: parts[3], subresource: parts[4] }
  }
  const everywhere = find(parts[0], false) ?? (parts.length === 1 ? find(parts[0], true) : undefined)
  return everywhere === undefined
    ? undefined
    : { kind: everywhere, namespace: undefined, name: parts[1], subresource: parts[2] }
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch' }

export const isWatch = (query: URLSearchParams): boolean => query.get('watch') === 'true' || query.get('watch') === '1'

const verbOf = (method: string, name: string | undefined, query: URLSearchParams): string => {
  if (method === 'GET') return isWatch(query) ? 'watch' : name === undefined ? 'list' : 'get'
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete'
  return verbs[method] ?? method.toLowerCase()
}

/** Describes a request for records and rules. */
export const describeCall = (req: IncomingMessage, path: ApiPath | undefined, query: URLSearchParams): ApiCall => {
  const raw = req.rawHeaders
  const headers = Array.from(
    { length: raw.length / 2 },
    (_, index) => [(raw[2 * index] ?? '').toLowerCase(), raw[2 * index + 1] ?? ''] as const,
  )
  const values = (name: string): string[] => headers.filter(([each]) => each === name).map(([, value]) => value)
  return {
    method: req.method ?? '',
    url: req.url ?? '',
    headers,
    user: values('impersonate-user')[0] ?? 'admin',
    groups: values('impersonate-group'),
    verb: path === undefined ? '' : verbOf(req.method ?? '', path.name, query),
    resource: path?.kind.resource ?? '',
    group: path?.kind.group ?? '',
    namespace: path?.namespace ?? (path?.kind.resource === 'namespaces' ? path.name : undefined),
    name: path?.name,
    subresource: path?.subresource,
  }
}
