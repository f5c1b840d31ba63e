import type { PortOf, PortKey } from '../../core/kernel/port-key.ts'
import type { TaskHandler } from '../../core/tasks/ports.ts'
import type { Mount } from './mount.ts'
import type { AnyBoundRoute } from './route.ts'

/** Scheduled work, run by one instance at a time. */
export interface Job {
  /** `part.verbPhrase`, also the name of the job's lease. */
  readonly id: string
  readonly summary: string
  readonly everySeconds: number
  /** Runs the job once. It must be safe to repeat. A throw is logged and counted. */
  run(signal: AbortSignal): Promise<void>
}

/** Ports by the names under which a group receives them. */
export type Needs = Readonly<Record<string, PortKey<unknown>>>
export type Given<N extends Needs> = { readonly [K in keyof N]: PortOf<N[K]> }

/** Routes, jobs, kinds of tasks and mounts of a plugin that need the same ports. */
export interface Group<N extends Needs = Needs> {
  readonly needs: N
  // Methods, so that a group of any needs is a `Group`.
  routes?(given: Given<N>): readonly AnyBoundRoute[]
  jobs?(given: Given<N>): readonly Job[]
  /** Kinds of work that outlive a request. A kind that no plugin declares is not accepted. */
  tasks?(given: Given<N>): readonly TaskHandler[]
  /** Paths outside of the API that a library answers. */
  mounts?(given: Given<N>): readonly Mount[]
}

/** Declares a group. The ports that it receives have the types of the tokens that `needs` names. */
export const defineGroup = <N extends Needs>(group: Group<N>): Group<N> => group

type AnyGiven = Readonly<Record<string, unknown>>

/** What a plugin needs and declares, as the composition root handles it. */
export interface GroupUnion {
  /** The ports of all groups by their own names, so that groups may use one name for different ports. */
  readonly needs: Needs
  readonly routes: (given: AnyGiven) => readonly AnyBoundRoute[]
  readonly jobs: (given: AnyGiven) => readonly Job[]
  readonly tasks: (given: AnyGiven) => readonly TaskHandler[]
  readonly mounts: (given: AnyGiven) => readonly Mount[]
}

/** Returns the union of groups. Each group receives only the ports that it names. */
export const unionOf = (groups: readonly Group[]): GroupUnion => {
  const givenTo = ({ needs }: Group, given: AnyGiven): AnyGiven =>
    Object.fromEntries(Object.entries(needs).map(([name, port]) => [name, given[port.name]]))
  return {
    needs: Object.fromEntries(groups.flatMap(({ needs }) => Object.values(needs)).map((port) => [port.name, port])),
    routes: (given) => groups.flatMap((group) => group.routes?.(givenTo(group, given)) ?? []),
    jobs: (given) => groups.flatMap((group) => group.jobs?.(givenTo(group, given)) ?? []),
    tasks: (given) => groups.flatMap((group) => group.tasks?.(givenTo(group, given)) ?? []),
    mounts: (given) => groups.flatMap((group) => group.mounts?.(givenTo(group, given)) ?? []),
  }
}
