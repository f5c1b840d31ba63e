import type { AccessGrant, ObjectLocator, AccessContext, EntryRefusal } from '../kernel/access.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { OrgId, RoleId, TeamId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { AccessMoment, Principal } from '../kernel/principal.ts'
import type { RightsStore } from '../kernel/rights.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuthorizationSchema } from './schema.ts'
import type { Catalogue, ObjectFact, ObjectId, Role, RoleContent, RolePrincipal, LocatedObject } from './types.ts'

/** The caller may see the object but not perform the operation. */
export const AccessDenied = defineFailure(
  'AccessDenied',
  'Forbidden',
  'The caller lacks the relation that the route requires.',
)
/** The object does not exist, or the caller may not know that it exists. Both cases give the same answer. */
export const ObjectHidden = defineFailure(
  'ObjectHidden',
  'NotFound',
  'The object does not exist, or the caller may not see it.',
)
/** Another role of the organization has this name, compared without regard to case. */
export const RoleNameTaken = defineFailure(
  'RoleNameTaken',
  'Unprocessable',
  'Another role of the organization has this name.',
)

export const CataloguePort = portKey<Catalogue>('authz.Catalogue')
/** The validated and compiled catalogue. It is built once, at start-up. */
export const AuthorizationSchemaPort = portKey<AuthorizationSchema>('authz.AuthorizationSchema')

/** Decides whether a principal holds a relation on an object. Every route and every list uses the same evaluator. */
export interface Authorizer {
  /**
   * Returns the facts that were loaded. A token's restriction (to one organization, to public objects) is applied here;
   * its scope is declared by the route and was checked before. The relation `member` on an organization is membership
   * itself. For a type whose place says `outsiders: 'denied'` the answer to a caller outside the account is
   * AccessDenied, whatever the object. For a caller in the owning account who may see no object of the type, the answer
   * is AccessDenied, whether the object exists or not. For a caller who may see all of them, ObjectHidden reports that
   * the object does not exist. Outsiders learn nothing. A member who does not meet the organization's requirements
   * (`core/kernel/access.ts`) gets SecondFactorDemanded or TokenLifeTooLong, whatever the object. Site admins are
   * exempt from every organization's requirements. With `demands` set to `any` the requirements are not checked: a
   * member may always leave, and the use case checks them in all other cases. With `provenAt`, the rights are those of
   * that moment: only for a check that follows the proof of the caller at once. Takes one query, or none if it is
   * remembered. Throws if the object's type has no such relation.
   */
  authorize(
    principal: Principal,
    object: ObjectLocator,
    relation: string,
    demands?: 'met' | 'any',
    provenAt?: AccessMoment,
  ): Outcome<Failure<'AccessDenied' | 'ObjectHidden'> | EntryRefusal, AccessGrant>
}
export const AuthorizerPort = portKey<Authorizer>('authz.Authorizer')

/** The stored facts that decisions are based on. Read-only. */
export interface AuthorizationFacts {
  /**
   * Finds an object and what the user holds in the account that owns it, in one query. Returns undefined if the account
   * does not exist or, for an object that the request names without its account, if the object does not exist. Names of
   * accounts compare without regard to case. Throws if the type has no place, or another than the locator names.
   * With a moment, what is remembered may be as old as that; without one, it is as new as the call.
   */
  locate(userId: UserId, object: ObjectLocator, provenAt?: AccessMoment): Promise<LocatedObject | undefined>
  /**
   * Returns the objects of one type among `ids` that belong to the context's account (for `token`: to the user), with
   * the grants on them, in any order. Unknown and foreign ids are omitted. Takes at most two queries per 500 ids; one
   * more for a type inside another.
   */
  objectsOf(
    userId: UserId,
    context: AccessContext,
    type: string,
    ids: readonly ObjectId[],
  ): Promise<readonly ObjectFact[]>
}
export const AuthorizationFactsPort = portKey<AuthorizationFacts>('authz.AuthorizationFacts')

/** Custom roles. Every method is limited to the given organization: a role of another one does not exist. */
export interface RoleStore {
  /** Sorted by id, ascending. Permissions are sorted by namespace and action, team ids ascending. */
  list(orgId: OrgId, page: PageRequest): Promise<Page<Role>>
  get(orgId: OrgId, id: RoleId): Promise<Role | undefined>
  /** Like `get`, and locks the role until the transaction ends. */
  lock(orgId: OrgId, id: RoleId): Promise<Role | undefined>
  /** Inserts with version 1. Failure: RoleNameTaken. */
  insert(orgId: OrgId, content: RoleContent, at: Date): Outcome<Failure<'RoleNameTaken'>, Role>
  /**
   * Replaces the whole content and increments the version. The caller must hold the lock; throws if the role does not
   * exist.
   * Failure: RoleNameTaken.
   */
  replace(role: Role, content: RoleContent, at: Date): Outcome<Failure<'RoleNameTaken'>, Role>
  /** Deletes the role and detaches it from its teams. Does nothing if it does not exist. */
  remove(orgId: OrgId, id: RoleId): Promise<void>
  /**
   * Lists the teams that the role is attached to, then the users and robot accounts that hold it through them, each
   * once, by type and id.
   */
  principals(orgId: OrgId, id: RoleId, page: PageRequest): Promise<Page<RolePrincipal>>
  /** Returns those of `teamIds` that are teams of the organization, and locks them until the transaction ends. */
  lockTeams(orgId: OrgId, teamIds: readonly TeamId[]): Promise<ReadonlySet<TeamId>>
}
/** Outside a transaction: for reading. */
export const RoleStorePort = portKey<RoleStore>('authz.RoleStore')

/** The stores of a change to roles, bound to one transaction. */
export interface RoleStores {
  readonly roles: RoleStore
  readonly rights: RightsStore
  readonly audit: AuditTrail
}
export const RoleUnitOfWorkPort = portKey<UnitOfWork<RoleStores>>('authz.RoleUnitOfWork')
