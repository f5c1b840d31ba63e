import { left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant, ObjectLocator, Standing } from '../kernel/access.ts'
import { objectTypeOf, entryRefusal } from '../kernel/access.ts'
import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FailureSubject } from '../kernel/failure.ts'
import type { Subject } from './evaluate.ts'
import { accountMask, evaluate, subjectOf } from './evaluate.ts'
import type { AuthorizationFacts, Authorizer } from './ports.ts'
import { AccessDenied, ObjectHidden } from './ports.ts'
import type { AuthorizationSchema, CompiledType } from './schema.ts'
import { relationBit } from './schema.ts'
import type { ObjectFact, Sighting } from './types.ts'
import { definedFields } from '../kernel/fields.ts'

/** Returns an Authorizer over stored facts: one query, then the pure evaluator. */
export const makeAuthorizer = (deps: {
  readonly schema: AuthorizationSchema
  readonly facts: AuthorizationFacts
  readonly clock: Clock
}): Authorizer => ({
  async authorize(principal, locator, relation, demands = 'met') {
    const type = typeNamed(deps.schema, objectTypeOf(locator))
    const wanted = relationBit(type, relation)
    const sighting = await deps.facts.locate(principal.userId, locator)
    const isDeniedOutside = type.place?.outsiders === 'denied'
    if (sighting === undefined) return left(isDeniedOutside ? outsider(locator) : hidden(locator, type))

    const subject = subjectOf(principal, sighting.standing, sighting.object)
    const isInsider = subject.standing.isMember || subject.isSiteAdmin
    const isHeld = demands === 'met' && subject.standing.isMember && !subject.isSiteAdmin
    const barred = isHeld ? entryRefusal(principal, subject.standing.entry, deps.clock.now()) : undefined
    if (barred !== undefined) return left({ ...barred, about: aboutOf(type.type, sighting) })
    if (isDeniedOutside && !isInsider) return left(outsider(locator))
    const denied = AccessDenied(`You need "${relation}" on this ${type.type}.`, { about: aboutOf(type.type, sighting) })
    if (sighting.object === undefined) return left(isInsider && !mayViewAny(type, subject) ? denied : hidden(locator, type))

    const held = evaluate(type, subject, sighting.object)
    if ((held & wanted) !== 0n) return right(grantOf(sighting.object, subject.standing))
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
const aboutOf = (objectType: string, { standing, object }: Sighting): FailureSubject => ({
  tenantId: standing.accountId,
  objectType,
  ...(object === undefined ? {} : { objectId: object.id, objectName: object.name }),
})

const outsider = ({ account = '' }: ObjectLocator) => AccessDenied(`You are not a member of the organization "${account}".`)

/** Only a caller inside the account learns that an object of a type with `outsiders: 'denied'` does not exist. */
const hidden = (locator: ObjectLocator, { place }: CompiledType) => {
  if (place?.outsiders !== 'denied') return ObjectHidden(`The ${locator.type} does not exist, or you may not see it.`)
  const name = 'name' in locator ? `"${locator.name}"` : String(locator.id)
  return ObjectHidden(`The ${locator.type} ${name} does not exist, or you may not see it.`)
}

const containerOf = ({ type, id, name, version }: ObjectFact): NonNullable<AccessGrant['container']> => ({
  objectType: type, id, name, ...definedFields({ version }),
})

const grantOf = (object: ObjectFact, standing: Standing): AccessGrant => ({
  objectType: object.type === 'organization' ? standing.accountKind : object.type,
  objectId: object.id,
  objectName: object.name,
  ownerId: standing.accountId,
  ...(standing.accountKind === 'organization' ? { orgId: standing.accountId as OrgId } : {}),
  ...definedFields({ objectVersion: object.version, container: object.container === undefined ? undefined : containerOf(object.container) }),
  standing,
})
