import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../../core/authz/ports.ts'
import type { AccessGrant, ObjectKey, ObjectLocator } from '../../../core/kernel/access.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Principal } from '../../../core/kernel/principal.ts'
import type { GrantedAccess, KeyRef, ObjectRef, ParamRef } from '../../../plugins/kit/access.ts'
import { paramsOf } from '../../../plugins/kit/access.ts'
import type { Refusal } from '../answer/failure-response.ts'
import { refusal } from '../answer/failure-response.ts'

/** The named values of the request that an object reference can refer to. */
export interface NamedValues {
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** The values of one caller, who has an account. */
interface CallerValues extends NamedValues {
  readonly ownName: string
}

const valueOf = (ref: ParamRef, values: CallerValues): string | undefined => {
  if (ref.in === 'path') return values.path[ref.name]
  return values.query.get(ref.name) ?? (ref.orOwn === true ? values.ownName : undefined)
}

const idOf = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

const keyOf = (key: KeyRef, values: CallerValues): ObjectKey | undefined => {
  if ('name' in key) {
    const name = valueOf(key.name, values)
    return name === undefined || name === '' ? undefined : { name }
  }
  const id = idOf(valueOf(key.id, values))
  return id === undefined ? undefined : { id }
}

/** Returns the locator that a reference names in this request, or undefined when the values name no object. */
const locatorOf = (object: ObjectRef, values: CallerValues): ObjectLocator | undefined => {
  const key = keyOf(object, values)
  const account = object.account === undefined ? undefined : valueOf(object.account, values)
  const within = object.within === undefined ? undefined : keyOf(object.within, values)
  const isComplete = (object.account === undefined || account !== undefined) && (object.within === undefined || within !== undefined)
  return key === undefined || !isComplete ? undefined : { type: object.type, ...key, ...definedFields({ account, within }) }
}

const hidden = ({ hiddenAs, object }: GrantedAccess, message: string): Refusal =>
  hiddenAs === 'forbidden' ? refusal(403, 'AccessDenied', `You have no access to this ${object.type}.`) : refusal(404, 'NotFound', message)

/** Returns the name of the query parameter that an object reference requires, when the request lacks it. */
const missingQuery = (object: ObjectRef, values: CallerValues): string | undefined =>
  paramsOf(object).find((ref) => ref.in === 'query' && (valueOf(ref, values) ?? '') === '')?.name

/** Decides on the relation of a route. A caller who may not see the object learns nothing else about it. */
export const authorize = async (
  authorizer: Authorizer,
  principal: Principal,
  access: GrantedAccess,
  named: NamedValues,
): Promise<Either<Refusal, AccessGrant>> => {
  const values = { ...named, ownName: principal.login }
  const missing = missingQuery(access.object, values)
  if (missing !== undefined) return left(refusal(400, 'MissingParameter', `The query parameter "${missing}" is required.`))
  const locator = locatorOf(access.object, values)
  if (locator === undefined) return left(hidden(access, `The ${access.object.type} does not exist, or you may not see it.`))
  const decided = await authorizer.authorize(principal, locator, access.relation, access.demands)
  if (!isLeft(decided)) return decided
  const { tag, message, about } = decided.left
  return left(tag === 'ObjectHidden' ? hidden(access, message) : refusal(403, tag, message, definedFields({ about })))
}
