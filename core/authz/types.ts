import type { Standing, ObjectTypeDefinition, PermissionDefinition, PermissionRef } from '../kernel/access.ts'
import type { OrgId, RoleId, TeamId } from '../kernel/ids.ts'

/** Permissions and relations that the open plugins contribute. */
export interface Catalogue {
  readonly permissions: readonly PermissionDefinition[]
  readonly objectTypes: readonly ObjectTypeDefinition[]
}

/** An id as a caller wrote it, 1..2^63-1; beyond 2^53-1, where no object can be, a bigint. */
export type ObjectId = number | bigint

/** An object as authorization needs to know it. */
export interface ObjectFact {
  readonly type: string
  readonly id: number
  readonly name: string
  /** The account that owns it. */
  readonly ownerId: number
  /** The row version, of types whose rows have one that others ask for. */
  readonly version?: number
  /** Relations granted on the object itself to the person or to one of the person's teams. */
  readonly granted: readonly string[]
}

/** What one look-up found: the person's standing in the owning account, and the object, if there is such a one. */
export interface Sighting {
  readonly standing: Standing
  readonly object: ObjectFact | undefined
}

/** What a caller decides about a role. */
export interface RoleContent {
  readonly name: string
  readonly description: string
  /** Each once, at least one. */
  readonly permissions: readonly PermissionRef[]
  /** Teams of the role's organization, each once. */
  readonly teamIds: readonly TeamId[]
}

/** A custom role of one organization. */
export interface Role extends RoleContent {
  readonly id: RoleId
  readonly orgId: OrgId
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Raised by one at each change. */
  readonly version: number
}

/** A team that a role is attached to, or a person who holds the role through such a team. */
export interface RolePrincipal {
  readonly type: 'team' | 'user'
  readonly id: number
  readonly name: string
  readonly displayName: string
  /** For a person: the first of the teams (by id) that the role comes through. */
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
