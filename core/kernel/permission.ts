/** A permission that a custom role can carry; contributed by the plugin that owns the namespace. */
export interface PermissionDefinition {
  /** `org_mgmt`, `cluster_mgmt`, ... */
  readonly namespace: string
  /** `edit`, `view clusters`, ... unique within the namespace. */
  readonly action: string
  readonly description: string
  /** The lowest team level that includes this permission without any custom role. */
  readonly level: 'read' | 'write' | 'admin' | 'owner'
  /** Permissions that make sense only together with this one; required ones must be in the same role. */
  readonly associated?: readonly { readonly namespace: string; readonly action: string; readonly required: boolean }[]
}

/**
 * One way to hold a relation. A relation is the union of its terms; there is no negation.
 * `level`: a team of the owning organization gives at least this level. `permission`: a custom role gives it (a level
 * that includes the permission does too). `direct`: granted on the object itself. `owner`: the object belongs to the
 * caller's own account. `self`: the object is the caller. `member`: membership of the owning organization.
 */
export type RelationTerm =
  | { readonly by: 'level'; readonly atLeast: 'read' | 'write' | 'admin' | 'owner' }
  | { readonly by: 'permission'; readonly namespace: string; readonly action: string }
  | { readonly by: 'direct'; readonly relation: string }
  | { readonly by: 'owner' }
  | { readonly by: 'self' }
  | { readonly by: 'member' }
  | { readonly by: 'signed-in' }

/** The relations of one object type, as data. A site admin holds every relation. */
export interface ObjectTypeDefinition {
  /** A type of the specification (`cluster`), or an internal one (`role`). */
  readonly type: string
  /** Whether the allowed-permissions routes accept it. */
  readonly listed: boolean
  readonly relations: Readonly<Record<string, readonly RelationTerm[]>>
}
