import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { CookieChange } from '../../../plugins/kit/reply.ts'

const maxHeaderLength = 16_384
/** Longer than any cookie value of this service. */
const maxValueLength = 4096

/** Reports whether the connection is encrypted up to this process. */
export const isEncrypted = (req: Pick<IncomingMessage, 'socket'>): boolean => (req.socket as Partial<TLSSocket>).encrypted === true

/**
 * Returns the name of a cookie as browsers send it. `__Host-` binds the cookie to this host; browsers allow the prefix only
 * on Secure cookies.
 */
export const hostCookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name)

/**
 * Returns the value of a cookie, named as browsers send it. Two cookies of the same name count as none: a parent domain or
 * another path may have planted one.
 */
export const cookieValueOf = (req: IncomingMessage, name: string): Secret | undefined => {
  const header = req.headers.cookie
  if (header === undefined || header.length > maxHeaderLength) return undefined
  if (header.split(';').filter((pair) => pair.split('=', 1)[0]?.trim() === name).length !== 1) return undefined
  const value = parseCookie(header)[name]
  return value === undefined || value === '' || value.length > maxValueLength ? undefined : secret(value)
}

export const setCookieHeader = (change: CookieChange, secure: boolean): string =>
  stringifySetCookie(change.hostPrefix === true ? hostCookieName(change.name, secure) : change.name, change.value ?? '', {
    path: change.path,
    httpOnly: change.httpOnly,
    sameSite: 'lax',
    secure,
    ...(change.value === undefined ? { maxAge: 0 } : change.maxAgeSeconds === undefined ? {} : { maxAge: change.maxAgeSeconds }),
  })

const nameOf = (setCookie: string): string => setCookie.slice(0, setCookie.indexOf('='))

/** Returns the cookies of the request's session that the answer does not set itself, followed by those of the answer. */
export const mergedCookies = (ofRequest: readonly string[], ofAnswer: string | readonly string[] | undefined): string[] => {
  const own = ofAnswer === undefined ? [] : typeof ofAnswer === 'string' ? [ofAnswer] : ofAnswer
  const decided = new Set(own.map(nameOf))
  return [...ofRequest.filter((cookie) => !decided.has(nameOf(cookie))), ...own]
}
