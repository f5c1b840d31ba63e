import type { HeaderBag } from '../../kernel/exchange.ts'
import type { ImpersonatedUser } from '../ports.ts'

export type HeaderList = readonly (readonly [string, string])[]

/** Request headers that are forwarded to a cluster. None of them carries an identity. */
const forwarded: readonly string[] = [
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'kubectl-command',
  'kubectl-session',
  'user-agent',
]

const forwardedOnUpgrade: readonly string[] = [
  ...forwarded.filter((name) => name !== 'content-length'),
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-version',
  'x-stream-protocol-version',
]

/**
 * Response headers that are returned to a client: no cookies, no challenges, nothing that affects this service's own origin.
 * The service forbids caching.
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
  valuesOf(headers, name).flatMap((value) => value.split(',').map((word) => word.trim())).filter((word) => word !== '')

/** Visible ASCII and spaces only: nothing that could end a header. */
const isClean = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)

const pick = (headers: HeaderBag, names: Iterable<string>): [string, string][] => {
  const dropped = new Set(wordsOf(headers, 'connection').map((word) => word.toLowerCase()))
  const picked: [string, string][] = []
  for (const name of names) {
    if (dropped.has(name)) continue
    for (const value of valuesOf(headers, name)) if (isClean(value)) picked.push([name, value])
  }
  return picked
}

/** Returns the headers that impersonate a user; the cluster's credential must be allowed to impersonate. */
export const impersonation = (user: ImpersonatedUser): HeaderList => [
  ['impersonate-user', user.login],
  ...user.groups.map((group): readonly [string, string] => ['impersonate-group', group]),
  ...Object.entries(user.extra).map(([key, value]): readonly [string, string] => [`impersonate-extra-${encodeURIComponent(key)}`, value]),
]

/** Returns the request headers for a cluster. The adapter that holds the credential adds Authorization. */
export const upstreamHeaders = (headers: HeaderBag, as: ImpersonatedUser | undefined): HeaderList => [
  ...pick(headers, forwarded),
  ...(as === undefined ? [] : impersonation(as)),
]

/** A token in the subprotocols of a browser's WebSocket is for this service, not for the cluster. */
const isBearer = (subprotocol: string): boolean => subprotocol.toLowerCase().startsWith('base64url.bearer.authorization.')

/** Like `upstreamHeaders`, for an upgrade request. Returns undefined if it requests anything but exec streams. */
export const upgradeHeaders = (headers: HeaderBag, as: ImpersonatedUser | undefined): HeaderList | undefined => {
  const [protocol, ...others] = wordsOf(headers, 'upgrade')
  if (protocol === undefined || others.length > 0 || !/^(?:websocket|spdy\/3\.1)$/i.test(protocol)) return undefined
  const subprotocols = wordsOf(headers, 'sec-websocket-protocol').filter((word) => !isBearer(word) && isClean(word))
  return [
    ['connection', 'Upgrade'],
    ['upgrade', protocol],
    ...pick(headers, forwardedOnUpgrade),
    ...(subprotocols.length === 0 ? [] : [['sec-websocket-protocol', subprotocols.join(', ')] as const]),
    ...(as === undefined ? [] : impersonation(as)),
  ]
}

/** A page that a pod serves must not run scripts on this service's origin. */
const guards: HeaderList = [['content-security-policy', 'sandbox']]

/** Rejects redirects to another host: a cluster must not redirect this service's clients elsewhere. */
const staysHere = ([name, value]: readonly [string, string]): boolean => name !== 'location' || /^\/(?![/\\])/.test(value)

/** Returns the response headers for the client. */
export const clientHeaders = (headers: HeaderBag): HeaderList => [
  ...pick(headers, Object.keys(headers).filter((name) => returned.has(name) || name.startsWith('x-kubernetes-'))).filter(staysHere),
  ...guards,
]

/** Returns the headers of a 101. */
export const acceptedHeaders = (headers: HeaderBag): HeaderList => [
  ['connection', 'Upgrade'],
  ...wordsOf(headers, 'upgrade').slice(0, 1).filter(isClean).map((protocol): readonly [string, string] => ['upgrade', protocol]),
  ...pick(headers, returnedOnUpgrade),
]
