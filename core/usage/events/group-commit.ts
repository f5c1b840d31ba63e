/** Work that is done for several callers at once. */
export type GroupCommit<Item, Result> = (item: Item) => Promise<Result>

export interface GroupCommitOptions<Item, Result> {
  /** Does the work for items that came together, and returns their results in the same order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly weightOf: (item: Item) => number
  /** The most weight of the items of one run. An item that is heavier runs alone. */
  readonly maxWeight: number
  /** How many runs may be under way at the same time. */
  readonly maxRuns: number
  /** Reports whether an error concerns all items alike, so that trying each alone is of no use. */
  readonly isCommon: (error: unknown) => boolean
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects the items that arrive while earlier ones are being worked on, and does the work for all of them at once. An item never
 * waits for others to arrive. If a run of several items fails, each of them is tried alone, so that none fails for another's fault.
 */
export const makeGroupCommit = <Item, Result>({ run, weightOf, maxWeight, maxRuns, isCommon }: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> => {
  const waiting: Waiting<Item, Result>[] = []
  let runs = 0

  const take = (): readonly Waiting<Item, Result>[] => {
    let weight = 0
    let count = 0
    for (const { item } of waiting) {
      weight += weightOf(item)
      if (count > 0 && weight > maxWeight) break
      count += 1
    }
    return waiting.splice(0, count)
  }
  const settle = async (group: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (group.length === 1 || isCommon(error)) for (const { reject } of group) reject(error)
      else for (const one of group) await settle([one])
    }
  }
  const next = (): void => {
    if (runs >= maxRuns || waiting.length === 0) return
    runs += 1
    void settle(take()).finally(() => {
      runs -= 1
      next()
    })
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // Those that arrive in the same turn of the event loop run together.
      if (runs < maxRuns && waiting.length === 1) queueMicrotask(next)
    })
}
