import type { ScopeCategory } from '../kernel/principal.ts'
import { scopeCategories } from '../kernel/principal.ts'

/** The scopes of OpenID Connect that are served, in the order in which people read them. */
export const identityScopes = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const

/** The scopes of access tokens that an application can ask for. None acts as others, and none has everything. */
export const accessScopes: readonly string[] = scopeCategories.flatMap((category) => [
  `read:${category}`,
  `write:${category}`,
])

export const offlineScope = 'offline_access'

const things: Readonly<Record<ScopeCategory, string>> = {
  user: 'your profile and settings',
  organization: 'your organizations and their members',
  authz: 'roles and permissions',
  cluster: 'clusters and what runs on them',
  contract: 'contracts and licenses',
  billing: 'billing',
  marketplace: 'marketplaces',
  provisioning: 'the users and groups of directories',
  admin: 'the administration of this site',
  misc: 'other things of this service',
}

const identitySentences: Readonly<Record<string, string>> = {
  openid: 'Know who you are: a number that stands for your account',
  profile: 'See your user name and your full name',
  email: 'See your e-mail address',
  groups: 'See the names of your organizations and teams',
  [offlineScope]: 'Keep this access after you have signed out, until you withdraw it',
}

/** Returns what a scope allows, in words for the person who is asked; undefined for a scope that does not exist. */
export const sentenceOf = (scope: string): string | undefined => {
  const identity = identitySentences[scope]
  if (identity !== undefined) return identity
  if (!accessScopes.includes(scope)) return undefined
  const [level = '', category = ''] = scope.split(':')
  const thing = things[category as ScopeCategory]
  return level === 'read' ? `See ${thing}` : `See and change ${thing}`
}

/** Returns the scopes that exist, once each, in a fixed order. */
export const knownScopes = (scopes: readonly string[]): readonly string[] =>
  [...identityScopes, ...accessScopes].filter((scope) => scopes.includes(scope))

/** Returns what an access token with these scopes may do in the API. */
export const accessWords = (scopes: readonly string[]): readonly string[] =>
  accessScopes.filter((scope) => scopes.includes(scope))

const notOfRobots: readonly string[] = ['write:user', 'read:admin', 'write:admin']

/** Returns what the token of an application that acts as a robot account may do: what tokens of robots may. */
export const robotWords = (scopes: readonly string[]): readonly string[] =>
  accessWords(scopes).filter((scope) => !notOfRobots.includes(scope))
