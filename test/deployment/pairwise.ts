type Choice = Readonly<Record<string, number>>

/**
 * Returns choices of one value for each axis, in which every possible pair of values of two axes occurs. `axes` says
 * how many values each axis has; `isPossible` judges choices that may lack axes.
 */
export const pairwise = (
  axes: Readonly<Record<string, number>>,
  isPossible: (choice: Choice) => boolean,
): readonly Choice[] => {
  const names = Object.keys(axes)
  const open = new Set<string>()
  const pairOf = (choice: Choice): string => JSON.stringify(Object.entries(choice).toSorted())
  for (const [at, one] of names.entries())
    for (const other of names.slice(at + 1))
      for (let a = 0; a < (axes[one] ?? 0); a += 1)
        for (let b = 0; b < (axes[other] ?? 0); b += 1)
          if (isPossible({ [one]: a, [other]: b })) open.add(pairOf({ [one]: a, [other]: b }))
  const chosen: Choice[] = []
  const pairsOf = (choice: Choice): readonly string[] => {
    const entries = Object.entries(choice)
    return entries.flatMap(([one, a], at) =>
      entries.slice(at + 1).map(([other, b]) => pairOf({ [one]: a, [other]: b })),
    )
  }
  while (open.size > 0) {
    const [first = '[]'] = open
    let choice: Choice = Object.fromEntries(JSON.parse(first) as [string, number][])
    for (const name of names.filter((axis) => choice[axis] === undefined)) {
      const candidates = Array.from({ length: axes[name] ?? 0 }, (_, value) => ({ ...choice, [name]: value }))
      const gain = (candidate: Choice): number => pairsOf(candidate).filter((pair) => open.has(pair)).length
      const [best] = candidates.filter(isPossible).toSorted((a, b) => gain(b) - gain(a))
      if (best !== undefined) choice = best
    }
    for (const pair of pairsOf(choice)) open.delete(pair)
    chosen.push(choice)
  }
  return chosen
}
