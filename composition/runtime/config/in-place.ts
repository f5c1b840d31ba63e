interface Placed {
  readonly id: string
  /** The id of the thing after which this one comes. By default it follows the one before it in its group. */
  readonly after?: string | undefined
}

/**
 * Returns the things of groups in the order that their `after` demands: directly after the thing that is named, before
 * what follows that thing in its own group. A thing whose place does not exist comes last.
 */
export const inPlace = <A extends Placed>(groups: readonly (readonly A[])[]): readonly A[] => {
  const known = new Set(groups.flat().map(({ id }) => id))
  const firsts: A[] = []
  const named = new Map<string, A[]>()
  const nextOf = new Map<A, A>()
  for (const group of groups) {
    for (const [index, thing] of group.entries()) {
      const before = group[index - 1]
      if (thing.after !== undefined && known.has(thing.after))
        named.set(thing.after, [...(named.get(thing.after) ?? []), thing])
      else if (before === undefined) firsts.push(thing)
      else nextOf.set(before, thing)
    }
  }
  const placed = new Set<A>()
  const place = (thing: A | undefined): void => {
    if (thing === undefined || placed.has(thing)) return
    placed.add(thing)
    named.get(thing.id)?.forEach(place)
    place(nextOf.get(thing))
  }
  firsts.forEach(place)
  // What names itself as its place, at some distance.
  groups.flat().forEach(place)
  return [...placed]
}
