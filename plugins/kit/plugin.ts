import type { Gate } from '../../core/kernel/deployment.ts'
import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import type { TaskKind } from '../../core/tasks/ports.ts'
import type { Given, Group, Needs } from './group.ts'
import { unionOf } from './group.ts'
import type { Job } from './job.ts'
import type { AnyBoundRoute } from './route.ts'

export type { Given, Needs } from './group.ts'

/** One part of the service. */
export interface Plugin<N extends Needs = Needs> {
  /** The name of the part. */
  readonly id: string
  readonly summary: string
  readonly listener: 'api' | 'marketplace'
  readonly gate: Gate
  /** The ports that routes, jobs and tasks receive. */
  readonly needs: N
  /** Returns the plugin's routes over its ports. */
  readonly routes: (given: Given<N>) => readonly AnyBoundRoute[]
  readonly jobs?: (given: Given<N>) => readonly Job[]
  /** Kinds of work that outlive a request. A kind that no plugin declares is not accepted. */
  readonly tasks?: (given: Given<N>) => readonly TaskKind[]
  /** Permissions that custom roles can carry. */
  readonly permissions?: readonly PermissionDefinition[]
  /**
   * The object types that the plugin owns, with their place, and relations that it adds to types of others. The provider of
   * its ports registers the rows of a type with `boot.objectRows`.
   */
  readonly objectTypes?: readonly ObjectTypeDefinition[]
}

/** A plugin with its needs erased, as the composition root handles it. */
export type AnyPlugin = Omit<Plugin, 'routes' | 'jobs' | 'tasks'> & {
  readonly routes: (given: Readonly<Record<string, unknown>>) => readonly AnyBoundRoute[]
  readonly jobs?: (given: Readonly<Record<string, unknown>>) => readonly Job[]
  readonly tasks?: (given: Readonly<Record<string, unknown>>) => readonly TaskKind[]
}

/** A plugin that consists of groups. */
export type GroupedPlugin = Omit<Plugin, 'needs' | 'routes' | 'jobs' | 'tasks'> & { readonly groups: readonly Group[] }

/** Declares a plugin. The compiler checks that each group takes what its `needs` names; the types are then erased. */
export const definePlugin = <N extends Needs>(plugin: Plugin<N> | GroupedPlugin): AnyPlugin => {
  if (!('groups' in plugin)) return plugin as unknown as AnyPlugin
  const { groups, ...rest } = plugin
  return { ...rest, ...unionOf(groups) }
}
