import type { Subject } from '../kernel/rights.ts'
import type { CompiledType, RelationMask } from './schema.ts'
import type { ObjectFact } from './types.ts'

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
  const isWithin = object.ownerId === subject.context.accountId
  if (subject.isConfined && !isWithin) return 0n
  if (subject.isSiteAdmin) return type.every
  let mask = isWithin ? fromAccount : 0n
  if (!subject.isConfined) {
    if (object.ownerId === subject.userId) mask |= type.byOwning
    if (object.type === 'user' && object.id === subject.userId) mask |= type.bySelf
  }
  if (isWithin && subject.context.isMember) {
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
  const { context } = subject
  const everywhere = type.container === undefined ? 0n : throughContainer(type, accountMask(type.container, subject))
  const open = everywhere | (context.isOpen ? type.bySigningIn : 0n)
  // A non-member holds nothing through teams or roles, even if a race has left rows behind.
  if (!context.isMember) return open
  let mask = open | type.byMembership | type.bySigningIn | type.byLevel[context.level]
  for (const permission of context.permissions) mask |= type.byPermission.get(permission) ?? 0n
  return mask
}
