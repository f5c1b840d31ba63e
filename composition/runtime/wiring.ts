import type { PortKey } from '../../core/kernel/port-key.ts'
import type { Needs } from '../../plugins/kit/group.ts'
import type { Binding } from '../part/binding.ts'

/** The bindings of one owner: the runtime, a part of this repository, or one of a deployer, which may replace ours. */
export interface Source {
  readonly owner: string
  readonly bindings: readonly Binding[]
  readonly isOutside?: boolean
}

/** The ports that one owner needs beside those that its bindings need. */
export interface Wanted {
  readonly owner: string
  readonly needs: Needs
}

/** The bindings by port. Of several for one port the last counts. */
const byPort = (sources: readonly Source[]): ReadonlyMap<symbol, Binding> =>
  new Map(sources.flatMap(({ bindings }) => bindings).map((binding) => [binding.token.key, binding]))

export interface WiringInput {
  readonly sources: readonly Source[]
  readonly wanted: readonly Wanted[]
  /** Returns why nothing provides a port, such as a part that is closed. */
  readonly whyMissing?: (port: PortKey<unknown>) => string | undefined
}

/**
 * Returns every fault of the wiring, before anything is made: a port that is needed and not provided, one that two of
 * our own parts or two of a deployer provide, and ports that need each other in a circle.
 */
export const wiringProblems = ({ sources, wanted, whyMissing }: WiringInput): readonly string[] => [
  ...repeatedPorts(sources.filter(({ isOutside }) => isOutside !== true)),
  ...repeatedPorts(sources.filter(({ isOutside }) => isOutside === true)),
  ...missingPorts({ sources, wanted }, whyMissing),
  ...circles(byPort(sources)),
]

const repeatedPorts = (sources: readonly Source[]): readonly string[] => {
  const owners = new Map<symbol, string>()
  const problems: string[] = []
  for (const { owner, bindings } of sources) {
    for (const { token } of bindings) {
      const other = owners.get(token.key)
      if (other === undefined) owners.set(token.key, owner)
      else
        problems.push(
          `${owner} provides the port ${token.name}, which ${other === owner ? 'it' : other} already provides.`,
        )
    }
  }
  return problems
}

const missingPorts = (
  { sources, wanted }: WiringInput,
  whyMissing: WiringInput['whyMissing'] = () => undefined,
): readonly string[] => {
  const provided = byPort(sources)
  const problem = (needer: string, port: PortKey<unknown>): readonly string[] =>
    provided.has(port.key) || port.isOptional === true
      ? []
      : [`${needer} needs the port ${port.name}, ${whyMissing(port) ?? 'which nothing provides'}.`]
  return [
    ...wanted.flatMap(({ owner, needs }) => Object.values(needs).flatMap((port) => problem(owner, port))),
    ...sources.flatMap(({ owner, bindings }) =>
      bindings.flatMap(({ token, needs }) =>
        Object.values(needs).flatMap((port) => problem(`The port ${token.name} of ${owner}`, port)),
      ),
    ),
  ]
}

/** Returns each circle once, with the path. */
const circles = (bindings: ReadonlyMap<symbol, Binding>): readonly string[] => {
  const done = new Set<symbol>()
  const path: string[] = []
  const problems: string[] = []
  const visit = ({ key, name }: PortKey<unknown>): void => {
    if (path.includes(name))
      problems.push(`Ports need each other in a circle: ${[...path.slice(path.indexOf(name)), name].join(' -> ')}.`)
    else if (!done.has(key)) {
      path.push(name)
      for (const need of Object.values(bindings.get(key)?.needs ?? {})) visit(need)
      path.pop()
      done.add(key)
    }
  }
  for (const { token } of bindings.values()) visit(token)
  return problems
}

/** Returns the ports that are provided and that nothing needs, directly or for another port. @internal */
export const unusedPorts = ({ sources, wanted }: WiringInput): readonly string[] => {
  const bindings = byPort(sources)
  const used = new Set<symbol>()
  const visit = ({ key }: PortKey<unknown>): void => {
    if (used.has(key)) return
    used.add(key)
    for (const need of Object.values(bindings.get(key)?.needs ?? {})) visit(need)
  }
  for (const { needs } of wanted) Object.values(needs).forEach(visit)
  return [...bindings.values()].filter(({ token }) => !used.has(token.key)).map(({ token }) => token.name)
}
