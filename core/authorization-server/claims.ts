import type { OrgId } from '../kernel/ids.ts'
import type { User } from '../identity/types.ts'

/** The maximum number of groups in a claim. Headers and cookies that carry tokens are limited. @internal */
export const mostGroups = 200

/** A team of a person, as names. */
export interface TeamNames {
  readonly orgId: OrgId
  readonly organization: string
  readonly team: string
}

/**
 * Returns the groups of a person: `org` for each organization and `org:team` for each team, sorted. Organizations come
 * first, so that a claim that is cut says less and never something else. `onlyOrgId` leaves the others out.
 */
export const groupsOf = (teams: readonly TeamNames[], onlyOrgId: OrgId | undefined): readonly string[] => {
  const reached = teams.filter(({ orgId }) => onlyOrgId === undefined || orgId === onlyOrgId)
  const organizations = new Set(reached.map(({ organization }) => organization))
  const groups = new Set(reached.map(({ organization, team }) => `${organization}:${team}`))
  return [...[...organizations].sort(), ...[...groups].sort()].slice(0, mostGroups)
}

/** What is known of a person who is signed in. */
export interface ClaimSource {
  readonly user: Pick<User, 'fullName' | 'id' | 'login'>
  /** Undefined if the account has no address. */
  readonly email: { readonly address: string; readonly isVerified: boolean } | undefined
  readonly groups: readonly string[]
}

/** The subject of tokens: it never changes, and no other account ever has it. */
const subjectOf = ({ id }: Pick<User, 'id'>): string => String(id)

/** Returns the claims about a person. A claim whose scope was not granted is absent. */
export const claimsOf = (
  { user, email, groups }: ClaimSource,
  scopes: readonly string[],
): Readonly<Record<string, string | boolean | readonly string[]>> => ({
  sub: subjectOf(user),
  ...(scopes.includes('profile')
    ? { preferred_username: user.login, ...(user.fullName === '' ? {} : { name: user.fullName }) }
    : {}),
  ...(scopes.includes('email') && email !== undefined
    ? { email: email.address, email_verified: email.isVerified }
    : {}),
  ...(scopes.includes('groups') ? { groups } : {}),
})
