import type { AccessGrant } from '../../core/kernel/access.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import type { RequiredScope, ScopeCategory } from '../../core/kernel/principal.ts'

/** The location of a name or an id in the request. */
export interface ParamRef {
  readonly in: 'path' | 'query'
  readonly name: string
  /** Without the parameter, the caller's own account is meant. */
  readonly orOwn?: true
}
/** A parameter of the route's path. */
export const path = (name: string): ParamRef => ({ in: 'path', name })
/** A parameter of the query string. */
export const query = (name: string): ParamRef => ({ in: 'query', name })

/** A parameter of the query string with the name of an account. Without it, the caller's own account is meant. */
export const queryOrOwn = (name: string): ParamRef => ({ in: 'query', name, orOwn: true })

/** The key of an object, by its name or its id in the request. */
export type KeyRef = { readonly name: ParamRef } | { readonly id: ParamRef }

/**
 * How a route names the object on which its relation is checked, as the place of its type demands. Type `account` is an
 * organization or a user's own account.
 */
export type ObjectRef = KeyRef & {
  readonly type: string
  readonly account?: ParamRef
  readonly within?: KeyRef
}

/** Returns the parameters that name an object. */
export const paramsOf = (object: ObjectRef): readonly ParamRef[] => [
  ...(object.account === undefined ? [] : [object.account]),
  ...(object.within === undefined ? [] : [keyParam(object.within)]),
  keyParam(object),
]

const keyParam = (key: KeyRef): ParamRef => ('name' in key ? key.name : key.id)

export interface PublicAccess {
  readonly kind: 'public'
}
export interface SignedInAccess {
  readonly kind: 'password' | 'signed-in' | 'site-admin'
}
export interface GrantedAccess {
  readonly kind: 'granted'
  readonly relation: string
  readonly object: ObjectRef
  /** The status for a caller who may not see the object. */
  readonly hiddenAs: 'forbidden' | 'not-found'
  /**
   * `any` also admits a member who does not meet the demands of the organization. The use case refuses what such a
   * member may not do.
   */
  readonly demands?: 'any'
}
export type Access = PublicAccess | SignedInAccess | GrantedAccess

/** P: any caller. A credential that is sent must still be valid. */
export const anyone: PublicAccess = { kind: 'public' }
/** B: HTTP Basic with the account's real password. */
export const withPassword: SignedInAccess = { kind: 'password' }
/** T: any accepted credential. */
export const signedIn: SignedInAccess = { kind: 'signed-in' }
/** SA: the caller is a site admin. */
export const siteAdmin: SignedInAccess = { kind: 'site-admin' }

/** Requires membership of the organization that the request names. Other callers get 403, whether it exists or not. */
export const memberOf = (name: ParamRef): GrantedAccess => ({
  kind: 'granted',
  relation: 'member',
  object: { type: 'organization', name },
  hiddenAs: 'forbidden',
})

/**
 * Requires a relation on an object. Returns 404 to callers who may not know that the object exists, and 403 to those
 * who may.
 */
export const requires = (relation: string, object: ObjectRef): GrantedAccess => ({
  kind: 'granted',
  relation,
  object,
  hiddenAs: 'not-found',
})

/** Requires a relation within the authorization of an organization. Callers outside the organization get 403. */
export const requiresWithin = (relation: string, object: ObjectRef): GrantedAccess => ({
  kind: 'granted',
  relation,
  object,
  hiddenAs: 'forbidden',
})

/** Returns the same access, also for a member whom the organization refuses: every member may leave. */
export const evenWhenBarred = (access: GrantedAccess): GrantedAccess => ({ ...access, demands: 'any' })

/** Requires a token with level read of the category, which write includes. */
export const read = (category: ScopeCategory): RequiredScope => ({ category, level: 'read' })
/** Requires a token with level write of the category. */
export const write = (category: ScopeCategory): RequiredScope => ({ category, level: 'write' })

/** Returns the organization that owns the object of a grant. Throws for an object that a user owns. */
export const orgOf = ({ objectType, ownerId, orgId }: AccessGrant): OrgId => {
  if (orgId === undefined) throw new Error(`The owner ${ownerId} of the ${objectType} is not an organization.`)
  return orgId
}

/** Returns the id of the object of a grant, with the type of its object type's ids. */
export const objectIdOf = <Id extends number>({ objectId }: AccessGrant): Id => objectId as Id
