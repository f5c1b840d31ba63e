import type { Standing } from '../kernel/access.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Principal } from '../kernel/principal.ts'
import type { CompiledType, RelationMask } from './schema.ts'
import type { ObjectFact } from './types.ts'

/** Who asks, within one account: what of the person's rights counts for this call (see `subjectOf`). */
export interface Subject {
  readonly userId: UserId
  readonly isSiteAdmin: boolean
  /** The token reaches one organization only, or public objects only: what is the caller's own does not count. */
  readonly isConfined: boolean
  readonly standing: Standing
}

/**
 * The relations that the subject holds on an object: the union of every way to hold one. Total and pure; holding more
 * never gives less. What depends on the account alone is the same for each object of a type: compute it once with
 * `accountMask` where there are many.
 */
export const evaluate = (
  type: CompiledType,
  subject: Subject,
  object: ObjectFact,
  fromAccount: RelationMask = accountMask(type, subject),
): RelationMask => {
  const isWithin = object.ownerId === subject.standing.accountId
  if (subject.isConfined && !isWithin) return 0n
  if (subject.isSiteAdmin) return type.every
  let mask = isWithin ? fromAccount : 0n
  if (!subject.isConfined) {
    if (object.ownerId === subject.userId) mask |= type.byOwning
    if (object.type === 'user' && object.id === subject.userId) mask |= type.bySelf
  }
  if (isWithin && subject.standing.isMember) {
    for (const relation of object.granted) mask |= type.byGrant.get(relation) ?? 0n
  }
  return mask
}

/** What teams, roles and membership give on every object of the type that the subject's account owns. */
export const accountMask = (type: CompiledType, { standing }: Subject): RelationMask => {
  const open = standing.isOpen ? type.bySigningIn : 0n
  // Whoever is no member holds nothing by teams or roles, whatever rows a race may have left.
  if (!standing.isMember) return open
  let mask = open | type.byMembership | type.bySigningIn | type.byLevel[standing.level]
  for (const permission of standing.permissions) mask |= type.byPermission.get(permission) ?? 0n
  return mask
}

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
