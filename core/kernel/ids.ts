import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'

/** A type that the type checker distinguishes from others with the same representation. */
export type Brand<A, Name extends string> = A & { readonly __brand: Name }

/**
 * Identifiers are integers in 1..2^53-1, allocated by the store. Users and organizations share one sequence; an
 * AccountId is either.
 */
export type AccountId = Brand<number, 'AccountId'>
export type UserId = AccountId & { readonly __user: true }
export type OrgId = AccountId & { readonly __org: true }
export type TeamId = Brand<number, 'TeamId'>
export type RoleId = Brand<number, 'RoleId'>
export type TokenId = Brand<number, 'TokenId'>
export type SessionId = Brand<number, 'SessionId'>
export type PasskeyId = Brand<number, 'PasskeyId'>
export type ClusterId = Brand<number, 'ClusterId'>

/** The name of a user or an organization in its original spelling: 1 to 40 ASCII characters. */
export type AccountName = Brand<string, 'AccountName'>

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns a UUID in the form of RFC 4122, of any version, in lower case; undefined if the text is none. */
export const uuidOf = (text: string): string | undefined => {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? lower : undefined
}

/** Why a text is not a valid name: its form is wrong, or the word is reserved. */
export interface AccountNameRefused {
  readonly reason: 'INVALID' | 'RESERVED'
  readonly message: string
}

export const maxAccountNameLength = 40
/** The form of names of users and organizations, in words. */
export const accountNameRule = `1 to ${maxAccountNameLength} letters or digits, with single "-", "_" or "." between them`

/** Letters and digits, separated by single `-`, `_` or `.`. Matching takes linear time. */
export const accountNamePattern = /^[0-9A-Za-z]+(?:[-._][0-9A-Za-z]+)*$/

/**
 * Returns the name of an account that comes closest to a text: letters without their marks, other signs as hyphens. It
 * is empty if the text has no letter or digit of ASCII. It may be reserved or taken.
 */
export const accountNameFrom = (text: string, maxLength = maxAccountNameLength): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^0-9A-Za-z._-]+/g, '-')
    .replaceAll(/[._-]{2,}/g, '-')
    .replace(/^[._-]/, '')
    .slice(0, maxLength)
    .replace(/[._-]$/, '')

const reservedNames: ReadonlySet<string> = new Set([
  // Words of the routes, of the console, and of files that are commonly requested from web servers.
  ...['api', 'metrics', 'v2', 'assets', 'attachments', 'avatar', 'avatars', 'repo-avatars', 'captcha', 'login', 'org'],
  ...['repo', 'user', 'explore', 'issues', 'pulls', 'milestones', 'notifications', 'favicon.ico', 'manifest.json'],
  ...['robots.txt', 'sitemap.xml', 'swagger.v1.json', 'ghost', 'gitea-actions', 'ssh_info'],
  ...['marketplace', 'proxy', 'clusters', 'orgs', 'teams', 'users', 'admin', 'accounts', 'authz', 'dashboard', 'dbaas'],
  ...['tsproxy', 'hubs', 'swagger', 'healthz', 'readyz', 'livez', 'console', 'selfhost', 'docs'],
  // Words that appear in routes in the position of a user, an organization or a cluster's owner.
  ...[
    'search',
    'claim',
    'client',
    'all-hubs',
    'cluster-profiles',
    'providers',
    'identity',
    'active',
    'create',
    'delete',
  ],
  ...['inactive', 'available_products', 'batch-delete'],
])
const reservedEndings: readonly string[] = ['.keys', '.gpg', '.rss', '.atom', '.png']

/** Returns the key by which names are unique across users and organizations: the name in lower case. */
export const accountNameKey = (name: string): string => name.toLowerCase()

/** Parses the name of a new user or organization. Only the store knows whether it is taken. */
export const parseAccountName = (text: string): Either<AccountNameRefused, AccountName> => {
  if (text.length > maxAccountNameLength || !accountNamePattern.test(text)) {
    return left({
      reason: 'INVALID',
      message: `A name has ${accountNameRule}.`,
    })
  }
  const key = accountNameKey(text)
  if (reservedNames.has(key) || reservedEndings.some((ending) => key.endsWith(ending))) {
    return left({ reason: 'RESERVED', message: `The name "${text}" is reserved.` })
  }
  return right(text as AccountName)
}
