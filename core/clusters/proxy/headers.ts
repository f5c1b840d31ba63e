import type { HeaderBag } from '../../kernel/exchange.ts'
import type { ImpersonatedUser } from '../ports.ts'

export type HeaderList = readonly (readonly [string, string])[]

/** What a client may tell a cluster. Identity is not among it. */
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

/** What a cluster may tell a client: no cookies, no challenges, nothing that concerns our own origin. Caching is forbidden by the service. */
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

/** Visible ASCII and spaces: nothing that could end a header. */
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

/** The headers by which we act as a user; the cluster's credential must be allowed to impersonate. */
export const impersonation = (user: ImpersonatedUser): HeaderList => [
  ['impersonate-user', user.login],
  ...user.groups.map((group): readonly [string, string] => ['impersonate-group', group]),
  ['impersonate-extra-moorage-user-id', String(user.userId)],
]

/** The request headers that go to a cluster. Authorization is added by the adapter that holds the credential. */
export const upstreamHeaders = (headers: HeaderBag, as: ImpersonatedUser | undefined): HeaderList => [
  ...pick(headers, forwarded),
  ...(as === undefined ? [] : impersonation(as)),
]

/** A token that a browser's WebSocket carries in its subprotocols is ours, not the cluster's. */
const isBearer = (subprotocol: string): boolean => subprotocol.toLowerCase().startsWith('base64url.bearer.authorization.')

/** As `upstreamHeaders`, for a request that leaves HTTP. Answers undefined when it asks for something else than exec streams. */
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

/** A page that a pod serves must not run scripts on our origin. */
const guards: HeaderList = [['content-security-policy', 'sandbox']]

/** A redirect to another host would send our own clients wherever the cluster likes. */
const staysHere = ([name, value]: readonly [string, string]): boolean => name !== 'location' || /^\/(?![/\\])/.test(value)

/** The answer's headers that go to the client. */
export const clientHeaders = (headers: HeaderBag): HeaderList => [
  ...pick(headers, Object.keys(headers).filter((name) => returned.has(name) || name.startsWith('x-kubernetes-'))).filter(staysHere),
  ...guards,
]

/** The headers of a 101. */
export const acceptedHeaders = (headers: HeaderBag): HeaderList => [
  ['connection', 'Upgrade'],
  ...wordsOf(headers, 'upgrade').slice(0, 1).filter(isClean).map((protocol): readonly [string, string] => ['upgrade', protocol]),
  ...pick(headers, returnedOnUpgrade),
]
