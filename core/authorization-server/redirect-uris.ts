import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'

const longest = 2000
const loopbackHosts: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']
/** A scheme that belongs to a program by its domain name, such as com.example.app (RFC 8252 §7.1). */
const privateScheme = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/

const urlOf = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Returns what is wrong with an address of any use. */
const commonProblem = (text: string, url: URL): string | undefined => {
  if (text.length > longest) return `must have at most ${longest} characters`
  if (/[\s\\*]/.test(text)) return 'must have no space, backslash or wildcard'
  // Browsers would continue at another spelling of the address than the one that was registered.
  if (url.href !== text && url.href !== `${text}/`) return `must be written as ${url.href}`
  if (text.includes('#')) return 'must have no fragment'
  if (url.username !== '' || url.password !== '') return 'must have no user name or password'
  return undefined
}

/**
 * Judges an address to which browsers are sent: https anywhere, http on this machine, and for public applications a
 * scheme of their own. Left: what is wrong, to be put behind the address.
 */
export const checkRedirectUri = (text: string, isPublic: boolean): Either<string, string> => {
  const url = urlOf(text)
  if (url === undefined) return left('must be an absolute address, as https://app.example.com/callback')
  const problem = commonProblem(text, url)
  if (problem !== undefined) return left(problem)
  const isLoopback = loopbackHosts.includes(url.hostname)
  // A program on the machine of its user has no certificate for it.
  if (url.protocol === 'https:') return isPublic && isLoopback ? left('must begin with http://') : right(text)
  if (url.protocol === 'http:') return isLoopback ? right(text) : left('must begin with https://')
  return isPublic && privateScheme.test(url.protocol)
    ? right(text)
    : left('must begin with https://, or be a scheme of a public application with a dot in it')
}

/** Judges an address to which this service itself sends requests. */
export const checkOwnRequestUri = (text: string): Either<string, string> => {
  const url = urlOf(text)
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) return left('must be an address of the web')
  const problem = commonProblem(text, url)
  return problem === undefined ? right(text) : left(problem)
}
