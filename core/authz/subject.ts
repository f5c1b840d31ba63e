import type { Standing } from '../kernel/access.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Subject } from './evaluate.ts'
import type { ObjectFact } from './types.ts'

/**
 * What of a person's rights counts for a call. A token that is confined to one organization stands outside of every
 * other account, and one for public objects outside of all of them: there its holder is a stranger who sees what is
 * public, also when the holder is a site admin. One that is confined to a cluster stands outside of everything but that
 * cluster. `object` is what is asked about, where it is one thing.
 */
export const subjectOf = (principal: Principal, standing: Standing, object?: ObjectFact): Subject => {
  const { userId, scopes, onlyOrgId, onlyClusterId } = principal
  const isElsewhere = onlyClusterId !== undefined && (object?.type !== 'cluster' || object.id !== onlyClusterId)
  const isConfined = scopes.publicOnly || onlyOrgId !== undefined || isElsewhere
  const isOutside = scopes.publicOnly || (onlyOrgId !== undefined && onlyOrgId !== standing.accountId) || isElsewhere
  return isOutside
    ? { userId, isConfined, isSiteAdmin: false, standing: strangerTo(standing) }
    : { userId, isConfined, isSiteAdmin: principal.isSiteAdmin, standing }
}

const strangerTo = (standing: Standing): Standing => ({
  ...standing,
  isOpen: standing.isPublic,
  isMember: false,
  level: 'none',
  permissions: new Set(),
  teamIds: [],
})
