import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Credential } from '../../../../core/identity/ports.ts'
import type { HeaderBag } from '../../../../core/kernel/exchange.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import { secret } from '../../../../core/kernel/secret.ts'
import { busCookie, csrfCookie, rememberCookieName } from '../../../../plugins/identity/sessions/session-wire.ts'
import type { CookieChange } from '../../../../plugins/kit/reply.ts'
import type { RequestContext } from './request-context.ts'
import { headerValues } from './request-target.ts'

/** The credentials of a request: none, one, or a contradiction. */
export type Carried =
  | { readonly kind: 'none' }
  /** `owner` is the user name next to a token in HTTP Basic. It must be the name of the token's owner. */
  | { readonly kind: 'one'; readonly credential: Credential; readonly owner?: string }
  | { readonly kind: 'bad'; readonly message: string }

/** Longer than any genuine credential. */
const maxCredentialLength = 4096
/**
 * Headers in which clients send a one-time code. The first is that of this service, the others are those of existing
 * clients.
 */
const oneTimeCodeHeaders = ['x-otp', 'x-gitea-otp', 'x-forgejo-otp'] as const

const bad = (message: string): Carried => ({ kind: 'bad', message })
const twoCredentials = bad('The request carries two different credentials; send one.')
const tokenCredential = (text: string): Credential => ({ kind: 'token', token: secret(text) })

/** Returns the distinct codes of the request. */
const oneTimeCodes = (req: IncomingMessage): readonly string[] => [
  ...new Set(
    oneTimeCodeHeaders
      .map((name) => req.headers[name])
      .filter((value): value is string => typeof value === 'string' && value !== ''),
  ),
]

/** Replaces the user name or the password, which a token alone does not need. */
const placeholder = 'x-oauth-basic'

/**
 * Reads a token in a Basic header: as the password of its owner or of the placeholder, or as the user name with the
 * placeholder or an empty password.
 */
const basicToken = (login: string, password: string, isToken: (text: string) => boolean): Carried | undefined => {
  if (isToken(password))
    return { kind: 'one', credential: tokenCredential(password), ...(login === placeholder ? {} : { owner: login }) }
  if ((password === '' || password === placeholder) && isToken(login))
    return { kind: 'one', credential: tokenCredential(login) }
  return undefined
}

const bareToken =
  'The Authorization header has an access token without the word before it: send "Authorization: token ' +
  'ACCESS_TOKEN" or "Authorization: Bearer ACCESS_TOKEN".'

const decodeBasic = (encoded: string): { login: string; password: string } | undefined => {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
  const colon = text.indexOf(':')
  return colon === -1 ? undefined : { login: text.slice(0, colon), password: text.slice(colon + 1) }
}

const fromHeader = (req: IncomingMessage, header: string, isToken: (text: string) => boolean): Carried => {
  if (header.length > maxCredentialLength) return bad('The Authorization header is too long.')
  const match = /^([A-Za-z]+) +(\S+)$/.exec(header.trim())
  if (match === null)
    return bad(isToken(header.trim()) ? bareToken : 'The Authorization header is not of a form that is understood.')
  const scheme = (match[1] as string).toLowerCase()
  const value = match[2] as string
  if (scheme === 'token' || scheme === 'bearer') return { kind: 'one', credential: tokenCredential(value) }
  if (scheme !== 'basic') return bad('The Authorization scheme is none of token, Bearer and Basic.')
  const basic = decodeBasic(value)
  if (basic === undefined) return bad('The Basic credentials are not "name:password" in base64 of UTF-8.')
  const asToken = basicToken(basic.login, basic.password, isToken)
  if (asToken !== undefined) return asToken
  const [code, another] = oneTimeCodes(req)
  if (another !== undefined) return bad('The request carries two different one-time codes; send one.')
  return {
    kind: 'one',
    credential: { kind: 'password', login: basic.login, password: secret(basic.password), oneTimeCode: code },
  }
}

/** The subprotocol in which clients of Kubernetes that cannot set a header send a token, in base64url. */
const bearerSubprotocol = 'base64url.bearer.authorization.k8s.io.'

/**
 * Reads the token among the subprotocols of a websocket, by the rules of Kubernetes: one token, and another subprotocol
 * beside it, which the server can select.
 */
const fromSubprotocols = (req: IncomingMessage): Carried => {
  if (req.headers.upgrade?.toLowerCase() !== 'websocket') return { kind: 'none' }
  const values = headerValues(req.rawHeaders, 'sec-websocket-protocol')
  const offered = values.flatMap((value) => value.split(',').map((word) => word.trim()))
  const [carried, ...further] = offered.filter((word) => word.startsWith(bearerSubprotocol))
  if (carried === undefined) return { kind: 'none' }
  const encoded = carried.slice(bearerSubprotocol.length)
  if (further.length > 0) return bad('The subprotocols of the websocket carry more than one access token; send one.')
  if (offered.length < 2) return bad('The subprotocols of the websocket must name another one beside the access token.')
  if (encoded.length > maxCredentialLength)
    return bad('The access token in the subprotocols of the websocket is too long.')
  if (!/^[A-Za-z0-9_-]+$/.test(encoded))
    return bad('The access token in the subprotocols of the websocket is not in base64url.')
  return { kind: 'one', credential: tokenCredential(Buffer.from(encoded, 'base64url').toString('latin1')) }
}

const sameCredential = (a: Credential, b: Credential): boolean =>
  a.kind === 'token' && b.kind === 'token' && a.token.reveal() === b.token.reveal()

/**
 * Returns the explicit credential of a request. Two different ones are refused rather than ranked. Cookies prove no
 * user when there is an explicit credential, since browsers add them unasked; cookies of another user are refused
 * later.
 */
export const carriedCredential = (
  req: IncomingMessage,
  params: URLSearchParams,
  isToken: (text: string) => boolean,
  takesQueryTokens: boolean,
): Carried => {
  const explicit: Credential[] = []
  const [header, ...further] = headerValues(req.rawHeaders, 'authorization')
  if (header?.trim() === '') return bad('The Authorization header is empty.')
  if (further.some((other) => other !== header)) return twoCredentials
  const inHeader: Carried = header === undefined ? { kind: 'none' } : fromHeader(req, header, isToken)
  if (inHeader.kind === 'bad') return inHeader
  if (inHeader.kind === 'one') explicit.push(inHeader.credential)
  const inSubprotocol = fromSubprotocols(req)
  if (inSubprotocol.kind === 'bad') return inSubprotocol
  if (inSubprotocol.kind === 'one') explicit.push(inSubprotocol.credential)
  for (const name of ['token', 'access_token']) {
    for (const value of params.getAll(name)) {
      if (!takesQueryTokens)
        return bad(
          'This installation does not accept access tokens in the query string: send it in the Authorization header.',
        )
      if (value.length > maxCredentialLength) return bad('The token parameter is too long.')
      explicit.push(tokenCredential(value))
    }
  }
  const first = explicit[0]
  if (first === undefined) return { kind: 'none' }
  if (explicit.some((other) => other !== first && !sameCredential(first, other))) {
    return twoCredentials
  }
  return inHeader.kind === 'one' ? inHeader : { kind: 'one', credential: first }
}

/**
 * Returns the user that a site admin acts as: query `sudo` first, then header `Sudo`. Two different names are a
 * contradiction.
 */
export const sudoOf = (
  req: IncomingMessage,
  params: URLSearchParams,
): { readonly login: string | undefined; readonly contradicts: boolean } => {
  const inQuery = params.get('sudo') ?? undefined
  const inHeader =
    typeof req.headers['sudo'] === 'string' && req.headers['sudo'] !== '' ? req.headers['sudo'] : undefined
  return {
    login: inQuery ?? inHeader,
    contradicts: inQuery !== undefined && inHeader !== undefined && inQuery.toLowerCase() !== inHeader.toLowerCase(),
  }
}

const maxHeaderLength = 16_384
/** Longer than any cookie value of this service. */
const maxValueLength = 4096

/** Reports whether the connection is encrypted up to this process. */
export const isEncrypted = (req: Pick<IncomingMessage, 'socket'>): boolean =>
  (req.socket as Partial<TLSSocket>).encrypted === true

/**
 * Returns the name of a cookie as browsers send it. `__Host-` binds the cookie to this host; browsers allow the prefix
 * only on Secure cookies.
 */
export const hostCookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name)

/**
 * Returns the value of a cookie, named as browsers send it. Two cookies of the same name count as none: a parent domain
 * or another path may have planted one.
 */
export const cookieValueOf = (req: IncomingMessage, name: string): Secret | undefined => {
  const header = req.headers.cookie
  if (header === undefined || header.length > maxHeaderLength) return undefined
  if (header.split(';').filter((pair) => pair.split('=', 1)[0]?.trim() === name).length !== 1) return undefined
  const value = parseCookie(header)[name]
  return value === undefined || value === '' || value.length > maxValueLength ? undefined : secret(value)
}

const ownHeaders: ReadonlySet<string> = new Set(['authorization', 'sudo', ...oneTimeCodeHeaders])

/** Returns the cookies that are not those of this service. `_csrf` is one of its own only beside a session. */
const foreignCookies = (header: string, sessionCookie: string): string => {
  const pairs = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
  const nameOfPair = (pair: string): string => (pair.split('=', 1)[0] ?? '').trim().replace(/^__Host-/, '')
  const ofSession = [sessionCookie.replace(/^__Host-/, ''), busCookie]
  ofSession.push(rememberCookieName(ofSession[0] ?? ''))
  const foreign = pairs.filter((pair) => !ofSession.includes(nameOfPair(pair)))
  return (foreign.length === pairs.length ? foreign : foreign.filter((pair) => nameOfPair(pair) !== csrfCookie)).join(
    '; ',
  )
}

/**
 * Returns the headers of a request that is for another receiver, one value for each time that they were sent, without
 * what proves the caller to this service: credentials, one-time codes, its own cookies, and the CSRF token of a
 * session.
 */
export const foreignHeaders = (
  req: IncomingMessage,
  { principal }: Pick<RequestContext, 'principal'>,
  sessionCookie: string,
): HeaderBag => {
  const { cookie, ...others } = req.headersDistinct
  const cookies = foreignCookies((cookie ?? []).join('; '), sessionCookie)
  const isOwn = (name: string): boolean =>
    ownHeaders.has(name) || (name === 'x-csrf-token' && principal?.method === 'session')
  const kept = Object.entries(others).filter(([name]) => !isOwn(name))
  return { ...Object.fromEntries(kept), ...(cookies === '' ? {} : { cookie: cookies }) }
}

export const setCookieHeader = (change: CookieChange, secure: boolean): string =>
  stringifySetCookie(
    change.hostPrefix === true ? hostCookieName(change.name, secure) : change.name,
    change.value ?? '',
    {
      path: change.path,
      httpOnly: change.httpOnly,
      sameSite: 'lax',
      secure,
      ...(change.value === undefined
        ? { maxAge: 0 }
        : change.maxAgeSeconds === undefined
          ? {}
          : { maxAge: change.maxAgeSeconds }),
    },
  )

const nameOf = (setCookie: string): string => setCookie.slice(0, setCookie.indexOf('='))

/**
 * Returns the cookies of the request's session that the answer does not set itself, followed by those of the answer.
 */
export const mergedCookies = (
  ofRequest: readonly string[],
  ofAnswer: string | readonly string[] | undefined,
): string[] => {
  const own = ofAnswer === undefined ? [] : typeof ofAnswer === 'string' ? [ofAnswer] : ofAnswer
  const decided = new Set(own.map(nameOf))
  return [...ofRequest.filter((cookie) => !decided.has(nameOf(cookie))), ...own]
}
