import type { ScopeCategory } from './token-scope.ts'

/** Names one permission of the catalogue. */
export interface PermissionRef {
  /** `org_mgmt`, `cluster_mgmt`, ... */
  readonly namespace: string
  /** `edit`, `view clusters`, ... unique within the namespace. */
  readonly action: string
}

/** How a standing names a permission. */
export const permissionKey = ({ namespace, action }: PermissionRef): string => `${namespace}/${action}`

export const byPermissionKey = (a: PermissionRef, b: PermissionRef): number => (permissionKey(a) < permissionKey(b) ? -1 : 1)

/** A permission that a custom role can carry; contributed by the plugin that owns the namespace. */
export interface PermissionDefinition extends PermissionRef {
  readonly description: string
  /** The lowest team level that includes this permission without any custom role. */
  readonly level: 'read' | 'write' | 'admin' | 'owner'
  /** Permissions that make sense only together with this one; required ones must be in the same role. */
  readonly associated?: readonly (PermissionRef & { readonly required: boolean })[]
}

/**
 * One way to hold a relation. A relation is the union of its terms; there is no negation.
 * `level`: a team of the owning organization gives at least this level (one's own account counts as `owner`).
 * `permission`: a custom role gives it (a level that includes the permission does too).
 * `direct`: granted on the object itself, to the caller or to one of the caller's teams.
 * `owner`: the object belongs to the caller's own account. `self`: the object is the caller.
 * `member`: membership of the owning organization. `signed-in`: any caller, unless the owning organization is private.
 */
export type RelationTerm =
  | { readonly by: 'level'; readonly atLeast: 'read' | 'write' | 'admin' | 'owner' }
  | { readonly by: 'permission'; readonly namespace: string; readonly action: string }
  | { readonly by: 'direct'; readonly relation: string }
  | { readonly by: 'owner' }
  | { readonly by: 'self' }
  | { readonly by: 'member' }
  | { readonly by: 'signed-in' }

/**
 * Relations of one object type, as data. A site admin holds every relation.
 * Several plugins may contribute to one type (authz adds `can_create_role` to `organization`): the contributions are
 * joined, and the same relation twice is refused at start.
 */
export interface ObjectTypeDefinition {
  /** A type of the specification (`cluster`), or an internal one (`role`). */
  readonly type: string
  /** Whether the allowed-permissions routes accept it; all contributions to a type agree. */
  readonly listed: boolean
  /** What an access token must be allowed for these relations to be of use to it. */
  readonly scope: ScopeCategory
  /** The relations below that only look: a token needs level read for them, and write for all others. */
  readonly reading: readonly string[]
  readonly relations: Readonly<Record<string, readonly RelationTerm[]>>
}
