import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { NamingParameter } from '../support/route-targets.ts'
import { addressOf, namingParametersOf, templateOf, valuesIn } from '../support/route-targets.ts'
import type { Bodies } from '../support/part-sample.ts'
import type { AllSamples, MadeTenant } from '../support/samples.ts'

/** One request in which some ids and names are the other tenant's. */
export interface Swap {
  readonly routeId: string
  readonly method: string
  readonly path: string
  readonly body: unknown
  /** Which slots are the other tenant's: `path owner`, `query org`, `body teamIDs`. Empty: all is the caller's own. */
  readonly foreign: readonly string[]
  /** The words in the path, where a route takes several: `action leave`. */
  readonly words: readonly string[]
  readonly wantsPassword: boolean
}

/** A parameter with what it is in each of the two tenants. */
interface Slot extends NamingParameter {
  readonly mine: readonly string[]
  readonly theirs: readonly string[]
}

const isSame = ({ mine, theirs }: Slot): boolean => mine.join('\n') === theirs.join('\n')

const bodiesOf = (
  route: AssembledRoute,
  samples: AllSamples,
  mine: MadeTenant,
  theirs: MadeTenant,
): ReturnType<Bodies> => {
  const { bound } = route
  if (bound.kind !== 'json' || bound.route.body === undefined) return { own: undefined }
  const { id, body } = bound.route
  const found = samples.bodiesOf(id)
  if (found !== undefined) return found.bodies?.(mine, theirs) ?? { own: undefined }
  if (samples.sendsExample(id)) return { own: body.example }
  throw new Error(`no test/<part>/sample.ts has the bodies of ${id}: add them there`)
}

const subsets = <A>(items: readonly A[]): readonly (readonly A[])[] =>
  items.reduce<readonly (readonly A[])[]>(
    (found, item) => [...found, ...found.map((subset) => [...subset, item])],
    [[]],
  )

/** Every choice of a value for each of the slots, all the caller's own or alike in both tenants. */
const choicesOf = (slots: readonly Slot[]): readonly ReadonlyMap<Slot, string>[] =>
  slots.reduce<readonly ReadonlyMap<Slot, string>[]>(
    (found, slot) => found.flatMap((chosen) => slot.mine.map((value) => new Map([...chosen, [slot, value]]))),
    [new Map()],
  )

/** The values of the slots of one request. `foreign` are those that the other tenant fills. */
const targetOf = (
  route: AssembledRoute,
  query: Readonly<Record<string, string>>,
  chosen: ReadonlyMap<Slot, string>,
  foreign: readonly Slot[],
): string => {
  const params = new URLSearchParams(query)
  let path = templateOf(route)
  for (const [slot, own] of chosen) {
    const value = foreign.includes(slot) ? (slot.theirs[0] ?? '') : own
    if (slot.in === 'path') path = path.replace(`{${slot.name}}`, value)
    else params.set(slot.name, value)
  }
  return addressOf(path, params)
}

/**
 * Every way of putting the other tenant's ids and names into a route's path, query and body; with none of them first.
 * Nothing for a route that takes no id or name.
 */
export const swapsOf = (
  route: AssembledRoute,
  samples: AllSamples,
  mine: MadeTenant,
  theirs: MadeTenant,
): readonly Swap[] => {
  const { bound, methods } = route
  const routeId = bound.route.id
  if (samples.isNotSwapped(routeId)) return []
  const slots = namingParametersOf(route)
    .map((each): Slot => ({ ...each, mine: valuesIn(mine, each, route), theirs: valuesIn(theirs, each, route) }))
    // What is alike in both tenants, and need not be said, opens nothing.
    .filter((slot) => slot.isNeeded || !isSame(slot))
  const swapped = slots.filter((slot) => !isSame(slot))
  const variants = Object.entries(bodiesOf(route, samples, mine, theirs))
  if (swapped.length === 0 && variants.length === 1) return []
  const wantsPassword = bound.kind === 'json' && bound.route.access.kind === 'password'
  return methods.flatMap((method) =>
    choicesOf(slots).flatMap((chosen) =>
      subsets(swapped).flatMap((foreign) =>
        variants.map(([what, body]): Swap => ({
          routeId,
          method,
          path: targetOf(route, samples.queryOf(routeId), chosen, foreign),
          body,
          wantsPassword,
          words: [...chosen].flatMap(([slot, value]) => (slot.mine.length > 1 ? [`${slot.name} ${value}`] : [])),
          foreign: [...foreign.map((slot) => `${slot.in} ${slot.name}`), ...(what === 'own' ? [] : [`body ${what}`])],
        })),
      ),
    ),
  )
}

/** Whether anything in it is the other tenant's. */
export const isForeign = ({ foreign }: Swap): boolean => foreign.length > 0
