import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../../core/authz/ports.ts'
import type { AccessGrant, ObjectLocator } from '../../../core/kernel/access.ts'
import type { Principal } from '../../../core/kernel/principal.ts'
import type { GrantedAccess, ObjectRef, ParamRef } from '../../../plugins/kit/access.ts'
import type { Refusal } from '../answer/failure-response.ts'
import { refusal } from '../answer/failure-response.ts'

/** The named values of the request that an object reference can refer to. */
export interface NamedValues {
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

const valueOf = (ref: ParamRef, values: NamedValues): string | undefined =>
  ref.in === 'path' ? values.path[ref.name] : (values.query.get(ref.name) ?? undefined)

const idOf = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** Returns the locator that a reference names in this request, or undefined when the values name no object. */
const locatorOf = (object: ObjectRef, values: NamedValues): ObjectLocator | undefined => {
  switch (object.type) {
    case 'organization':
    case 'account': {
      const name = valueOf(object.name, values)
      return name === undefined || name === '' ? undefined : { type: object.type, name }
    }
    case 'team': {
      const id = idOf(valueOf(object.id, values))
      return id === undefined ? undefined : { type: 'team', id }
    }
    case 'role': {
      const id = idOf(valueOf(object.id, values))
      const org = valueOf(object.org, values)
      return id === undefined || org === undefined ? undefined : { type: 'role', id, org }
    }
    case 'robot_ac': {
      const org = valueOf(object.org, values)
      const name = valueOf(object.name, values)
      return name === undefined || org === undefined ? undefined : { type: 'robot_ac', org, name }
    }
    case 'cluster': {
      const owner = valueOf(object.owner, values)
      const name = valueOf(object.name, values)
      return owner === undefined || name === undefined ? undefined : { type: 'cluster', owner, name }
    }
  }
}

const hidden = (access: GrantedAccess): Refusal =>
  access.hiddenAs === 'forbidden'
    ? refusal(403, 'AccessDenied', `You have no access to this ${access.object.type}.`)
    : refusal(404, 'NotFound', `The ${access.object.type} does not exist, or you may not see it.`)

/** Returns the name of the query parameter that an object reference requires, when the request lacks it. */
const missingQuery = (object: ObjectRef, values: NamedValues): string | undefined => {
  const refs = Object.values(object).filter((ref): ref is ParamRef => typeof ref === 'object')
  return refs.find((ref) => ref.in === 'query' && (valueOf(ref, values) ?? '') === '')?.name
}

/** Decides on the relation of a route. A caller who may not see the object learns nothing else about it. */
export const authorize = async (
  authorizer: Authorizer,
  principal: Principal,
  access: GrantedAccess,
  values: NamedValues,
): Promise<Either<Refusal, AccessGrant>> => {
  const missing = missingQuery(access.object, values)
  if (missing !== undefined) return left(refusal(400, 'MissingParameter', `The query parameter "${missing}" is required.`))
  const locator = locatorOf(access.object, values)
  if (locator === undefined) return left(hidden(access))
  const decided = await authorizer.authorize(principal, locator, access.relation, access.demands)
  if (!isLeft(decided)) return decided
  const { tag, message, about } = decided.left
  if (tag !== 'ObjectHidden') return left(refusal(403, tag, message, about === undefined ? {} : { about }))
  // The Authorizer hides a role from members of its organization only, and only when the role is missing.
  return left(access.object.type === 'role' ? refusal(404, 'NotFound', message) : hidden(access))
}
