import type { Gate } from '../../core/kernel/deployment.ts'
import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import type { PortOf, Token } from '../../core/kernel/token.ts'
import type { TaskKind } from '../../core/tasks/ports.ts'
import type { Job } from './job.ts'
import type { AnyBoundRoute } from './route.ts'

/** Ports by the name under which a plugin is given them. */
export type Needs = Readonly<Record<string, Token<unknown>>>
export type Given<N extends Needs> = { readonly [K in keyof N]: PortOf<N[K]> }

/** One part of the service. */
export interface Plugin<N extends Needs = Needs> {
  /** The part's name. */
  readonly id: string
  readonly summary: string
  readonly listener: 'api' | 'marketplace'
  readonly gate: Gate
  /** Names of the ports that routes, jobs and tasks are given. */
  readonly needs: N
  /** The plugin's routes over its ports. */
  readonly routes: (given: Given<N>) => readonly AnyBoundRoute[]
  readonly jobs?: (given: Given<N>) => readonly Job[]
  /** Kinds of work that outlives a request; what no plugin declares is not accepted. */
  readonly tasks?: (given: Given<N>) => readonly TaskKind[]
  /** Permissions that custom roles can carry. */
  readonly permissions?: readonly PermissionDefinition[]
  /** Relations of the object types that this part owns. */
  readonly objectTypes?: readonly ObjectTypeDefinition[]
}

/** A plugin as the composition root handles it, its needs erased. */
export type AnyPlugin = Omit<Plugin, 'routes' | 'jobs' | 'tasks'> & {
  readonly routes: (given: Readonly<Record<string, unknown>>) => readonly AnyBoundRoute[]
  readonly jobs?: (given: Readonly<Record<string, unknown>>) => readonly Job[]
  readonly tasks?: (given: Readonly<Record<string, unknown>>) => readonly TaskKind[]
}

/** Declares a plugin: checks that routes, jobs and tasks take what `needs` names, then erases the types. */
export const definePlugin = <N extends Needs>(plugin: Plugin<N>): AnyPlugin => plugin as unknown as AnyPlugin
