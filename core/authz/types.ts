import type { AccessContext, ObjectTypeDefinition, PermissionDefinition, PermissionRef } from '../kernel/access.ts'
import type { OrgId, RoleId, TeamId } from '../kernel/ids.ts'

/** Permissions and relations that the open plugins contribute. */
export interface Catalogue {
  readonly permissions: readonly PermissionDefinition[]
  readonly objectTypes: readonly ObjectTypeDefinition[]
}

/** An id as a caller wrote it, 1..2^63-1. An id beyond 2^53-1, which no object has, is a bigint. */
export type ObjectId = number | bigint

/** The facts about an object that authorization needs. */
export interface ObjectFact {
  readonly type: string
  readonly id: number
  readonly name: string
  /** The account that owns the object. */
  readonly ownerId: number
  /** The row version, for types whose row version other components need. */
  readonly version?: number
  /** Relations granted on the object itself to the user or to one of the user's teams. */
  readonly granted: readonly string[]
  /** The object that contains this one, if its type is inside another. */
  readonly container?: ObjectFact
}

/** The result of one query: the user's context in the owning account, and the object, if it exists. */
export interface LocatedObject {
  readonly context: AccessContext
  readonly object: ObjectFact | undefined
}

/** The content of a role that a caller sets. */
export interface RoleContent {
  readonly name: string
  readonly description: string
  /** No duplicates; at least one. */
  readonly permissions: readonly PermissionRef[]
  /** Teams of the role's organization, without duplicates. */
  readonly teamIds: readonly TeamId[]
}

/** A custom role of one organization. */
export interface Role extends RoleContent {
  readonly id: RoleId
  readonly orgId: OrgId
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Incremented by each change. */
  readonly version: number
}

/** A team that a role is attached to, or a user who holds the role through such a team. */
export interface RolePrincipal {
  readonly type: 'team' | 'user'
  readonly id: number
  readonly name: string
  readonly displayName: string
  /** For a user: the first of the teams (by id) that give the role. */
  readonly viaTeamId?: TeamId
}

/** One question of a batch, as the caller wrote it. */
export interface ObjectIdentifier {
  readonly type: string
  readonly id: ObjectId
}

/** The answer to one question: the relations that the caller holds, sorted. */
export interface AllowedPermissions extends ObjectIdentifier {
  readonly relations: readonly string[]
}
