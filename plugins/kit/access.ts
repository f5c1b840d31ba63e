import type { RequiredScope, ScopeCategory } from '../../core/kernel/principal.ts'

/** Where in the request a name or id stands. */
export interface ParamRef {
  readonly in: 'path' | 'query'
  readonly name: string
}
/** A parameter of the route's path. */
export const path = (name: string): ParamRef => ({ in: 'path', name })
/** A parameter of the query string. */
export const query = (name: string): ParamRef => ({ in: 'query', name })

/** How a route names the object that its relation is checked on. */
export type ObjectRef =
  | { readonly type: 'organization'; readonly name: ParamRef }
  | { readonly type: 'account'; readonly name: ParamRef }
  | { readonly type: 'team'; readonly id: ParamRef }
  | { readonly type: 'role'; readonly id: ParamRef; readonly org: ParamRef }
  | { readonly type: 'robot_ac'; readonly org: ParamRef; readonly name: ParamRef }
  | { readonly type: 'cluster'; readonly owner: ParamRef; readonly name: ParamRef }

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
  /** What someone who may not even see the object is told. */
  readonly hiddenAs: 'forbidden' | 'not-found'
  /** `any`: also for a member who does not meet what the organization demands; the use case refuses what they may not do. */
  readonly demands?: 'any'
}
export type Access = PublicAccess | SignedInAccess | GrantedAccess

/** P: anyone; a credential that is sent must still be valid. */
export const anyone: PublicAccess = { kind: 'public' }
/** B: HTTP Basic with the account's real password. */
export const withPassword: SignedInAccess = { kind: 'password' }
/** T: any accepted credential. */
export const signedIn: SignedInAccess = { kind: 'signed-in' }
/** SA: the caller is a site admin. */
export const siteAdmin: SignedInAccess = { kind: 'site-admin' }

/** Membership of the organization named by the request. Someone outside is told 403, whether it exists or not. */
export const memberOf = (name: ParamRef): GrantedAccess => ({
  kind: 'granted',
  relation: 'member',
  object: { type: 'organization', name },
  hiddenAs: 'forbidden',
})

/** A relation on an object; 404 for whoever may not know that it exists, 403 for whoever may. */
export const requires = (relation: string, object: ObjectRef): GrantedAccess => ({
  kind: 'granted',
  relation,
  object,
  hiddenAs: 'not-found',
})

/** A relation within an organization's authorization: an outsider of that organization is told 403. */
export const requiresWithin = (relation: string, object: ObjectRef): GrantedAccess => ({
  kind: 'granted',
  relation,
  object,
  hiddenAs: 'forbidden',
})

/** The same also for a member whom the organization does not let in: everybody may leave. */
export const evenWhenBarred = (access: GrantedAccess): GrantedAccess => ({ ...access, demands: 'any' })

/** A token needs level read of the category; write includes it. */
export const read = (category: ScopeCategory): RequiredScope => ({ category, level: 'read' })
/** A token needs level write of the category. */
export const write = (category: ScopeCategory): RequiredScope => ({ category, level: 'write' })
