import type { HeaderBag } from '../../kernel/exchange.ts'

export type HeaderList = readonly (readonly [string, string])[]

/** Request headers that are forwarded to a cluster. None of them carries an identity. */
const forwarded: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'audit-id',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'kubectl-command',
  'kubectl-session',
  'traceparent',
  'tracestate',
  'user-agent',
])

const forwardedOnUpgrade: ReadonlySet<string> = new Set([
  ...[...forwarded].filter((name) => name !== 'content-length'),
  // The API server refuses the websocket of a watch without it.
  'origin',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-version',
  'x-stream-protocol-version',
])

/** Headers of one connection, and those that the adapter sets. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers in which proxies in front of a service, or API servers, name the caller. */
const ofCaller =
  /^(?:authorization|forwarded|x-real-ip|x-remote-.*|x-forwarded-(?:access-token|client-cert|email|for|groups|preferred-username|user))$/

/** Reports whether a request header belongs to the service, pod or node behind the Kubernetes API. */
const isForeign = (name: string): boolean => !ofConnection.has(name) && !ofCaller.test(name)

/**
 * Response headers that are returned to a client: no cookies, no challenges, nothing that affects this service's own
 * origin. The service forbids caching.
 */
const returned: ReadonlySet<string> = new Set([
  'audit-id',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-type',
  'deprecation',
  'etag',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'vary',
  'warning',
])
/** Further ones of a service, pod or node. */
const foreignReturned: ReadonlySet<string> = new Set([
  'accept-patch',
  'accept-post',
  'accept-ranges',
  'allow',
  'content-digest',
  'content-language',
  'content-range',
  'date',
  'dav',
  'digest',
  'mcp-session-id',
  'preference-applied',
  'range',
  'repr-digest',
  'server-timing',
  'sunset',
  'traceparent',
  'tracestate',
])
/**
 * Prefixes of headers that instruct browsers or proxies in front of this service, and headers that this service sets
 * itself.
 */
const instructing: readonly string[] = [
  'x-accel-',
  'x-content-security-policy',
  'x-content-type-options',
  'x-csrf-token',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-forwarded-',
  'x-frame-options',
  'x-lighttpd-',
  'x-permitted-cross-domain-policies',
  'x-reproxy-',
  'x-request-id',
  'x-robots-tag',
  'x-sendfile',
  'x-sudo-by',
  'x-token-expiration',
  'x-ua-compatible',
  'x-webkit-csp',
  'x-xss-protection',
]

const isReturned = (name: string): boolean => returned.has(name) || name.startsWith('x-kubernetes-')
const isForeignReturned = (name: string): boolean =>
  isReturned(name) ||
  foreignReturned.has(name) ||
  (/^(?:docker|grpc|x)-/.test(name) && !instructing.some((start) => name.startsWith(start)))

const returnedOnUpgrade: ReadonlySet<string> = new Set([
  'audit-id',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'x-stream-protocol-version',
])

const valuesOf = (headers: HeaderBag, name: string): readonly string[] => {
  const value = headers[name]
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}

const wordsOf = (headers: HeaderBag, name: string): readonly string[] =>
  valuesOf(headers, name)
    .flatMap((value) => value.split(',').map((word) => word.trim()))
    .filter((word) => word !== '')

/** What HTTP allows in a value, one character a byte: nothing that could end a header. */
const isClean = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

const nothingDropped: readonly string[] = []

/** Returns the names in `Connection`, whose headers belong to one connection. `keep-alive` is never passed on. */
const droppedBy = (headers: HeaderBag): readonly string[] => {
  const { connection } = headers
  if (connection === undefined || connection === 'keep-alive') return nothingDropped
  return wordsOf(headers, 'connection').map((word) => word.toLowerCase())
}

/** Returns the headers that are wanted, in the order in which they were received. */
const pick = (headers: HeaderBag, isWanted: (name: string) => boolean): [string, string][] => {
  const dropped = droppedBy(headers)
  const picked: [string, string][] = []
  for (const name in headers) {
    if (!isWanted(name) || dropped.includes(name)) continue
    const value = headers[name]
    if (typeof value === 'string') {
      if (isClean(value)) picked.push([name, value])
    } else if (value !== undefined) {
      for (const each of value) if (isClean(each)) picked.push([name, each])
    }
  }
  return picked
}

/** The user on whose behalf a cluster is asked. */
interface ImpersonatedUser {
  readonly login: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, string>>
}

/** Returns the headers that impersonate a user; the cluster's credential must be allowed to impersonate. */
export const impersonation = (user: ImpersonatedUser): [string, string][] => [
  ['impersonate-user', user.login],
  ...user.groups.map((group): [string, string] => ['impersonate-group', group]),
  ...Object.entries(user.extra).map(([key, value]): [string, string] => [
    `impersonate-extra-${encodeURIComponent(key)}`,
    value,
  ]),
]

/** Returns the first header that asks to be carried out as another user; undefined if there is none. */
export const impersonationIn = (headers: HeaderBag): string | undefined => {
  for (const name in headers) if (name.startsWith('impersonate-')) return name
  return undefined
}

/** What a request to a cluster depends on, besides its headers. */
export interface Addressed {
  readonly as: ImpersonatedUser | undefined
  /** The path belongs to a service, pod or node. */
  readonly isForeign: boolean
}

const isForwarded = (name: string): boolean => forwarded.has(name)
const isForwardedOnUpgrade = (name: string): boolean => forwardedOnUpgrade.has(name)

/** Returns the request headers for a cluster. The adapter that holds the credential adds Authorization. */
export const upstreamHeaders = (headers: HeaderBag, to: Addressed): HeaderList => {
  const picked = pick(headers, to.isForeign ? isForeign : isForwarded)
  if (to.as !== undefined) picked.push(...impersonation(to.as))
  return picked
}

/** A token in the subprotocols of a browser's WebSocket is for this service, not for the cluster. */
const isBearer = (subprotocol: string): boolean =>
  subprotocol.toLowerCase().startsWith('base64url.bearer.authorization.')

const ofHandshake: readonly string[] = ['content-length', 'sec-websocket-protocol']

/**
 * Like `upstreamHeaders`, for an upgrade request. Returns undefined if it requests anything but WebSocket and SPDY
 * streams.
 */
export const upgradeHeaders = (headers: HeaderBag, to: Addressed): HeaderList | undefined => {
  const [protocol, ...others] = wordsOf(headers, 'upgrade')
  if (protocol === undefined || others.length > 0 || !/^(?:websocket|spdy\/3\.1)$/i.test(protocol)) return undefined
  const subprotocols = wordsOf(headers, 'sec-websocket-protocol').filter((word) => !isBearer(word) && isClean(word))
  return [
    ['connection', 'Upgrade'],
    ['upgrade', protocol],
    ...pick(
      headers,
      (name) => (to.isForeign ? isForeign(name) : isForwardedOnUpgrade(name)) && !ofHandshake.includes(name),
    ),
    ...(subprotocols.length === 0 ? [] : [['sec-websocket-protocol', subprotocols.join(', ')] as const]),
    ...(to.as === undefined ? [] : impersonation(to.as)),
  ]
}

/** A page that a pod serves must not run scripts on this service's origin, nor be shown inside another page. */
const guards: [string, string][] = [['content-security-policy', "sandbox; frame-ancestors 'none'"]]

/** Where the response to a request comes from, and where its client sees it. */
export interface Origin {
  /** The address of the cluster, or of its hub. */
  readonly server: string
  /** The path of the cluster below the hub; empty without a hub. */
  readonly gateway: string
  /** The path of the request at the cluster. */
  readonly path: string
  /** The path of this service below which the client sees the paths of the cluster. */
  readonly root: string
  readonly isForeign: boolean
}

/** Returns a redirect as a path below the root; undefined if it leads to another host. */
const redirected = (location: string, { server, gateway, path, root }: Origin): string | undefined => {
  const { origin, pathname } = new URL(server)
  const prefix = `${pathname.replace(/\/+$/, '')}${gateway}`
  const from = `${origin}${prefix}${path}`
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined
  if (to?.origin !== origin) return undefined
  const below = to.pathname.startsWith(`${prefix}/`) ? to.pathname.slice(prefix.length) : to.pathname
  return `${root}${below}${to.search}${to.hash}`
}

const pagingRelations: readonly string[] = ['first', 'last', 'next', 'prev', 'previous', 'self']

/**
 * Reports whether a `Link` header names pages of a list only. Other relations (`preload`, `stylesheet`) make a browser
 * load something for a page on this service's origin.
 */
const isPaging = (link: string): boolean =>
  [...link.matchAll(/rel\s*=\s*("[^"]*"|[^\s";,]*)/gi)].every(([, value = '']) =>
    value
      .replaceAll('"', '')
      .split(/\s+/)
      .every((relation) => pagingRelations.includes(relation.toLowerCase())),
  )

/** Returns the response headers for the client. */
export const clientHeaders = (headers: HeaderBag, origin: Origin): HeaderList => {
  const kept = pick(headers, origin.isForeign ? isForeignReturned : isReturned).filter(
    ([name, value]) => name !== 'link' || isPaging(value),
  )
  if (headers['location'] === undefined) {
    kept.push(...guards)
    return kept
  }
  const moved = kept.flatMap(([name, value]): HeaderList => {
    const at = name === 'location' ? redirected(value, origin) : value
    return at === undefined ? [] : [[name, at]]
  })
  return [...moved, ...guards]
}

/** Returns the headers of a 101. */
export const acceptedHeaders = (headers: HeaderBag): HeaderList => [
  ['connection', 'Upgrade'],
  ...wordsOf(headers, 'upgrade')
    .slice(0, 1)
    .filter(isClean)
    .map((protocol): readonly [string, string] => ['upgrade', protocol]),
  ...pick(headers, (name) => returnedOnUpgrade.has(name)),
]
