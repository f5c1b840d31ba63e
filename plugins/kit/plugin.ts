import type { ObjectTypeDefinition, PermissionDefinition, RelationTerm } from '../../core/kernel/access.ts'
import type { Gate } from '../../core/kernel/deployment.ts'
import type { Group, GroupUnion } from './group.ts'
import { unionOf } from './group.ts'
import type { NameTable } from './names.ts'

interface PluginDescription {
  /** The name of the part. */
  readonly id: string
  readonly summary: string
  readonly listener: 'api' | 'marketplace'
  readonly gate: Gate
  /** Permissions that custom roles can carry. */
  readonly permissions?: readonly PermissionDefinition[]
  /**
   * The object types that the plugin owns, with their place, and relations that it adds to types of others. The
   * provider of its ports registers the rows of a type with `boot.objectRows`.
   */
  readonly objectTypes?: readonly ObjectTypeDefinition[]
  /** Names of another system that all routes accept and give beside their own. */
  readonly names?: NameTable
}

/** One part of the service. */
export interface Plugin extends PluginDescription {
  /** Its routes, jobs and kinds of tasks, each group with the ports that it needs. */
  readonly groups: readonly Group[]
}

/** A plugin with the types of its groups erased, as the composition root handles it. */
export interface AnyPlugin extends PluginDescription, GroupUnion {}

/** Declares a plugin. */
export const definePlugin = ({ groups, ...description }: Plugin): AnyPlugin => ({ ...description, ...unionOf(groups) })

/**
 * Returns the usual ways to hold a relation: as the owner of the account, by a team's level from `atLeast` on, by the
 * permission of that action, and by the direct grants given.
 */
export const heldBy =
  (namespace: string) =>
  (
    action: string,
    atLeast: 'read' | 'write' | 'admin' | 'owner',
    direct: readonly string[] = [],
  ): readonly RelationTerm[] => [
    { by: 'owner' },
    { by: 'level', atLeast },
    { by: 'permission', namespace, action },
    ...direct.map((relation): RelationTerm => ({ by: 'direct', relation })),
  ]
