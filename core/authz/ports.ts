import type { AccessGrant, ObjectLocator, Standing, EntryRefusal } from '../kernel/access.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { OrgId, RoleId, TeamId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'
import type { AuthorizationSchema } from './schema.ts'
import type { Catalogue, ObjectFact, ObjectId, Role, RoleContent, RolePrincipal, Sighting } from './types.ts'

/** The caller may see the object but not do this. */
export const AccessDenied = defineFailure('AccessDenied', 'Forbidden')
/** The object does not exist, or the caller may not know that it does; the two are one answer. */
export const ObjectHidden = defineFailure('ObjectHidden', 'NotFound')
/** Another role of the organization has this name, compared without regard to case. */
export const RoleNameTaken = defineFailure('RoleNameTaken', 'Unprocessable')

export const CatalogueToken = token<Catalogue>('authz.Catalogue')
/** The catalogue, checked and compiled; made once, at start. */
export const AuthorizationSchemaToken = token<AuthorizationSchema>('authz.AuthorizationSchema')

/** Decides whether a principal holds a relation on an object. The same evaluator serves every route and every list. */
export interface Authorizer {
  /**
   * Answers what was found on the way. A token's confinement (to one organization, to public objects) counts; its scope
   * is the route's own declaration and was checked before.
   * The relation `member` on an organization is membership itself.
   * A role is named within an organization: outside of it the answer is AccessDenied, whatever the id.
   * Whoever is in the owning account and sees no object of the type there is answered AccessDenied, whether the object
   * exists or not; whoever sees them all is told by ObjectHidden that it does not; outsiders are told nothing.
   * A member who does not meet what the organization demands (`core/kernel/access.ts`) is told so, whatever the
   * object: SecondFactorDemanded, TokenLifeTooLong. Site admins are held to no organization's demands.
   * `demands` are not asked about where a member only wants to get out: the use case judges them for the rest.
   * One query. Throws when the object's type has no such relation.
   */
  authorize(principal: Principal, object: ObjectLocator, relation: string, demands?: 'met' | 'any'): Outcome<Failure<'AccessDenied' | 'ObjectHidden'> | EntryRefusal, AccessGrant>
}
export const AuthorizerToken = token<Authorizer>('authz.Authorizer')

/** The stored facts that decisions are made of. Reads only. */
export interface AuthorizationFacts {
  /**
   * Finds an object and what the person holds in the account that owns it: one query.
   * Undefined when there is no such account, or no such team. Names compare without regard to case.
   */
  locate(userId: UserId, object: ObjectLocator): Promise<Sighting | undefined>
  /**
   * The objects of one type among `ids` that belong to the standing's account (for `token`: to the person), with the
   * grants on them: at most two queries for each 500 ids. Any order; unknown and foreign ids are left out.
   */
  objectsOf(userId: UserId, standing: Standing, type: string, ids: readonly ObjectId[]): Promise<readonly ObjectFact[]>
}
export const AuthorizationFactsToken = token<AuthorizationFacts>('authz.AuthorizationFacts')

/** Custom roles. Every method stays inside the given organization: a role of another one does not exist. */
export interface RoleStore {
  /** By id, ascending. Permissions by namespace and action, team ids ascending. */
  list(orgId: OrgId, page: PageRequest): Promise<Page<Role>>
  get(orgId: OrgId, id: RoleId): Promise<Role | undefined>
  /** As `get`, and keeps others from changing the role until the transaction ends. */
  lock(orgId: OrgId, id: RoleId): Promise<Role | undefined>
  /** Inserts with version 1. Failure: RoleNameTaken. */
  insert(orgId: OrgId, content: RoleContent, at: Date): Outcome<Failure<'RoleNameTaken'>, Role>
  /**
   * Replaces the whole content and raises the version by one; the caller holds the lock (throws
   * when the role is not there after all). Failure: RoleNameTaken.
   */
  replace(role: Role, content: RoleContent, at: Date): Outcome<Failure<'RoleNameTaken'>, Role>
  /** Removes the role and detaches it from its teams. Does nothing when it does not exist. */
  remove(orgId: OrgId, id: RoleId): Promise<void>
  /** The teams that the role is attached to, then the people and robot accounts who hold it through them, each once; by type and id. */
  principals(orgId: OrgId, id: RoleId, page: PageRequest): Promise<Page<RolePrincipal>>
  /** Those of `teamIds` that are teams of the organization, and keeps them from going until the transaction ends. */
  lockTeams(orgId: OrgId, teamIds: readonly TeamId[]): Promise<ReadonlySet<TeamId>>
}
/** Outside of a transaction: for reading. */
export const RoleStoreToken = token<RoleStore>('authz.RoleStore')

/** What changes to roles work on, in one transaction. */
export interface RoleStores {
  readonly roles: RoleStore
  readonly audit: AuditTrail
}
export const RoleUnitOfWorkToken = token<UnitOfWork<RoleStores>>('authz.RoleUnitOfWork')
