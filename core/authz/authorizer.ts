import { left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant, ObjectLocator, AccessContext } from '../kernel/access.ts'
import { objectTypeOf, entryRefusal } from '../kernel/access.ts'
import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Subject } from '../kernel/rights.ts'
import { subjectOf } from '../kernel/rights.ts'
import type { FailureSubject } from '../kernel/failure.ts'
import { accountMask, evaluate } from './evaluate.ts'
import type { AuthorizationFacts, Authorizer } from './ports.ts'
import { AccessDenied, ObjectHidden } from './ports.ts'
import type { AuthorizationSchema, CompiledType } from './schema.ts'
import { relationBit } from './schema.ts'
import type { ObjectFact, LocatedObject } from './types.ts'
import { definedFields } from '../kernel/json.ts'

/** Returns an Authorizer over stored facts: one query, then the pure evaluator. */
export const makeAuthorizer = (deps: {
  readonly schema: AuthorizationSchema
  readonly facts: AuthorizationFacts
  readonly clock: Clock
}): Authorizer => ({
  async authorize(principal, locator, relation, demands = 'met', provenAt) {
    const type = typeNamed(deps.schema, objectTypeOf(locator))
    const wanted = relationBit(type, relation)
    const located = await deps.facts.locate(principal.userId, locator, provenAt)
    const isDeniedOutside = type.place?.outsiders === 'denied'
    if (located === undefined) return left(isDeniedOutside ? outsider(locator) : hidden(locator, type))

    const subject = subjectOf(principal, located.context, located.object)
    const isInsider = subject.context.isMember || subject.isSiteAdmin
    const isHeld = demands === 'met' && subject.context.isMember && !subject.isSiteAdmin
    const barred = isHeld ? entryRefusal(principal, subject.context.entry, deps.clock.now()) : undefined
    if (barred !== undefined) return left({ ...barred, about: aboutOf(type.type, located) })
    if (isDeniedOutside && !isInsider) return left(outsider(locator))
    const denied = AccessDenied(`You need "${relation}" on this ${type.type}.`, { about: aboutOf(type.type, located) })
    if (located.object === undefined)
      return left(isInsider && !mayViewAny(type, subject) ? denied : hidden(locator, type))

    const held = evaluate(type, subject, located.object)
    if ((held & wanted) !== 0n) return right(grantOf(located.object, subject.context))
    // Insiders know that the account has objects of this type, so the answer is AccessDenied; it does not disclose
    // which exist.
    return left(isInsider || (held & relationBit(type, 'can_view')) !== 0n ? denied : hidden(locator, type))
  },
})

/**
 * Reports whether the subject may see every object of the type in the account, so that a missing one may be reported as
 * missing.
 */
const mayViewAny = (type: CompiledType, subject: Subject): boolean =>
  subject.isSiteAdmin || (accountMask(type, subject) & relationBit(type, 'can_view')) !== 0n

const typeNamed = (schema: AuthorizationSchema, name: string): CompiledType => {
  const type = schema.types.get(name)
  if (type === undefined) throw new Error(`No plugin declares the object type ${name}.`)
  return type
}

/** Returns the subject of a refusal. It is logged to the account that owns the object, for its owners to see. */
const aboutOf = (objectType: string, { context, object }: LocatedObject): FailureSubject => ({
  tenantId: context.accountId,
  objectType,
  ...(object === undefined ? {} : { objectId: object.id, objectName: object.name }),
})

const outsider = ({ account = '' }: ObjectLocator) =>
  AccessDenied(`You are not a member of the organization "${account}".`)

/** Only a caller inside the account learns that an object of a type with `outsiders: 'denied'` does not exist. */
const hidden = (locator: ObjectLocator, { place }: CompiledType) => {
  if (place?.outsiders !== 'denied') return ObjectHidden(`The ${locator.type} does not exist, or you may not see it.`)
  const name = 'name' in locator ? `"${locator.name}"` : String(locator.id)
  return ObjectHidden(`The ${locator.type} ${name} does not exist, or you may not see it.`)
}

const containerOf = ({ type, id, name, version }: ObjectFact): NonNullable<AccessGrant['container']> => ({
  objectType: type,
  id,
  name,
  ...definedFields({ version }),
})

const grantOf = (object: ObjectFact, context: AccessContext): AccessGrant => ({
  objectType: object.type === 'organization' ? context.accountKind : object.type,
  objectId: object.id,
  objectName: object.name,
  ownerId: context.accountId,
  ...(context.accountKind === 'organization' ? { orgId: context.accountId as OrgId } : {}),
  ...definedFields({
    objectVersion: object.version,
    container: object.container === undefined ? undefined : containerOf(object.container),
  }),
  context,
})
