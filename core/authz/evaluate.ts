import type { Standing } from '../kernel/access.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Principal } from '../kernel/principal.ts'
import type { CompiledType, RelationMask } from './schema.ts'
import type { ObjectFact } from './types.ts'

/** The caller within one account: the rights that count for this call (see `subjectOf`). */
export interface Subject {
  readonly userId: UserId
  readonly isSiteAdmin: boolean
  /**
   * The token is restricted to one organization or to public objects: relations on the caller's own objects do not
   * count.
   */
  readonly isConfined: boolean
  readonly standing: Standing
}

/**
 * Returns the relations that the subject holds on an object: the union of every way to hold one. It is total, pure and
 * monotonic: holding more never gives less. The part that depends on the account alone is the same for each object of a
 * type; for many objects compute it once with `accountMask`.
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
  if (type.container === undefined || object.container === undefined) return mask
  return mask | throughContainer(type, evaluate(type.container, subject, object.container))
}

/** Returns the relations on an object that these relations on its container give. */
const throughContainer = (type: CompiledType, heldOnContainer: RelationMask): RelationMask => {
  let mask = 0n
  for (const [onContainer, given] of type.byContainer) if ((heldOnContainer & onContainer) !== 0n) mask |= given
  return mask
}

/**
 * Returns the relations that teams, roles and membership give on every object of the type that the subject's account
 * owns.
 */
export const accountMask = (type: CompiledType, subject: Subject): RelationMask => {
  const { standing } = subject
  const everywhere = type.container === undefined ? 0n : throughContainer(type, accountMask(type.container, subject))
  const open = everywhere | (standing.isOpen ? type.bySigningIn : 0n)
  // A non-member holds nothing through teams or roles, even if a race has left rows behind.
  if (!standing.isMember) return open
  let mask = open | type.byMembership | type.bySigningIn | type.byLevel[standing.level]
  for (const permission of standing.permissions) mask |= type.byPermission.get(permission) ?? 0n
  return mask
}

/**
 * Returns the rights that count for a call. Outside its organization, the holder of a token restricted to one
 * organization has the rights of a stranger, who sees only what is public; this also applies to site admins. A token
 * for public objects has a stranger's rights in every account. A token restricted to a cluster has rights on that
 * cluster only. `object` is the object in question, if there is exactly one.
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
