import { definedFields } from '../../../../core/kernel/json.ts'

/** The result of the guard's check of the Host header and the target. */
export type GuardedTarget =
  | { readonly ok: true; readonly path: string; readonly query: string; readonly below?: Below }
  | { readonly ok: false; readonly message: string }

/** The part of a path below the wildcard of a stream route. It belongs to the receiver. */
export interface Below {
  /** The index at which it begins. */
  readonly from: number
  /** The receiver checks this part itself, and takes it exactly as it was sent. */
  readonly isChecked: boolean
  /** The receiver owns the query, too. */
  readonly ownsQuery: boolean
}

/**
 * Returns the part of a path, as received, that belongs to the receiver of a stream route; undefined if there is none.
 */
export type FindBelow = (path: string) => Below | undefined

// A registered name or IPv4 literal, or a bracketed IPv6 literal, and an optional port. Characters that a URL parser
// would read as a path, a query or user information must not pass: restify builds a URL from this header and routes by
// it.
const hostPattern = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?$/

/** In characters. The Kubernetes names and the paths of services below a proxy may be long. */
const [maxPathLength, maxPathBelowLength, maxQueryLength] = [4096, 16_384, 16_384]
// Characters that no URL has. Some parsers take a backslash for a slash.
const refusedInUrl = /[^\x21-\x7e]|\\/
// Forms that another parser would interpret differently.
const refusedInPath = /[\\\0-\x20\x7f]|%(?:2f|5c|00|0a|0d)|[^\x21-\x7e]/i
/**
 * An access token is named by free text, so its last segment may hold an encoded slash: it is passed to no other
 * parser.
 */
const freeNames = /^\/api\/v1\/users\/[^/%]+\/tokens\/[^/]+$/
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i
const badPercent = /%(?![0-9A-Fa-f]{2})/

/**
 * Returns every value of a header that was sent. Node's `headers` keeps only the first value of some headers and joins
 * those of others.
 */
export const headerValues = (rawHeaders: readonly string[], name: string): readonly string[] => {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '')
  }
  return values
}

export const isHost = (host: string | undefined): boolean => {
  if (host === undefined) return false
  const match = hostPattern.exec(host)
  if (match === null) return false
  if (match[1] !== undefined && Number(match[1]) > 65535) return false
  return URL.canParse(`http://${host}/`)
}

const refuse = (message: string): GuardedTarget => ({ ok: false, message })

const absoluteForm = /^https?:\/\/([^/?#]+)([/?].*)?$/i

/**
 * Returns a request target in origin-form, with the host that it names itself. Clients send absolute-form to a proxy,
 * and every server must accept it and take the host from it (RFC 9112 §3.2.2).
 */
export const originForm = (target: string): { readonly authority: string | undefined; readonly target: string } => {
  const [, authority, rest = '/'] = absoluteForm.exec(target) ?? []
  if (authority === undefined) return { authority, target }
  return { authority, target: rest.startsWith('?') ? `/${rest}` : rest }
}

const pathFault = (path: string): string | undefined => {
  if (path.length > maxPathLength) return 'The request target is too long.'
  if (refusedInPath.test(freeNames.test(path) ? path.replace(/%2f/gi, '') : path))
    return 'The path may hold no backslash, control character, encoded slash or unencoded character outside ASCII.'
  if (badPercent.test(path)) return 'The request target holds a "%" that starts no escape.'
  if (dotSegment.test(path)) return 'The path may hold no "." or ".." segment.'
  return path.includes('//') ? 'The path may hold no empty segment.' : undefined
}

const belowFault = (path: string): string | undefined => {
  if (path.length > maxPathBelowLength) return 'The request target is too long.'
  return refusedInUrl.test(path)
    ? 'The path may hold no backslash, control character or unencoded character outside ASCII.'
    : undefined
}

const queryFault = (query: string, isOwn: boolean): string | undefined => {
  if (query.length > maxQueryLength) return 'The request target is too long.'
  return isOwn && badPercent.test(query) ? 'The request target holds a "%" that starts no escape.' : undefined
}

/**
 * Validates the Host header and the request target, in origin-form, before any routing. The path is returned as it was
 * sent, without trailing slashes; the checked path is the routed and forwarded one. What the receiver of a stream route
 * checks itself is not changed.
 */
export const guardTarget = (
  hosts: readonly string[],
  target: string,
  findBelow: FindBelow = () => undefined,
): GuardedTarget => {
  if (hosts.length !== 1 || !isHost(hosts[0])) return refuse('The Host header must name one host, and nothing else.')
  if (!target.startsWith('/'))
    return refuse('The request target must be a path that starts with "/", or an absolute http or https URL.')
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const query = mark === -1 ? '' : target.slice(mark + 1)
  if (target.includes('#')) return refuse('A request target carries no fragment.')
  const below = findBelow(path)
  const own = below?.isChecked === true ? path.slice(0, below.from) : path
  const trimmed = own.length > 1 && own.endsWith('/') ? own.slice(0, -1) : own
  const fault = pathFault(trimmed) ?? queryFault(query, below?.ownsQuery !== true)
  if (fault !== undefined) return refuse(fault)
  if (below?.isChecked !== true) return { ok: true, path: trimmed, query, ...definedFields({ below }) }
  const faultBelow = belowFault(path.slice(below.from))
  return faultBelow === undefined ? { ok: true, path, query, below } : refuse(faultBelow)
}

/** Returns undefined when the escapes are not valid UTF-8. */
const decodedOf = (value: string): string | undefined => {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

/**
 * Returns the parameters of a checked path under a template, percent-decoded, or undefined when the template does not
 * match.
 */
export type MatchPath = (path: string) => Readonly<Record<string, string>> | undefined

/**
 * Returns a matcher for a template of a route (`/authz/roles/{id}`). A trailing `/*` binds the rest of the path, which
 * may be empty, to the parameter `path`.
 */
export const makeMatchPath = (template: string): MatchPath => {
  const isOpen = template.endsWith('/*')
  const wanted = (isOpen ? template.slice(0, -2) : template)
    .split('/')
    .map((text) => ({ text, name: /^\{(.+)\}$/.exec(text)?.[1] }))
  return (path) => {
    const given = path.split('/')
    if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return undefined
    const params: Record<string, string> = {}
    for (const [i, { text, name }] of wanted.entries()) {
      const value = given[i] as string
      if (name === undefined ? text !== value : value === '') return undefined
      const decoded = name === undefined ? value : decodedOf(value)
      if (decoded === undefined) return undefined
      if (name !== undefined) params[name] = decoded
    }
    if (!isOpen) return params
    // The rest belongs to its receiver, which may define other escapes.
    const rest = given.slice(wanted.length).join('/')
    return { ...params, path: decodedOf(rest) ?? rest }
  }
}
