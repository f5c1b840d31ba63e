/** Names as people order them: without regard to case, and `db-2` before `db-10`. */
const collator = new Intl.Collator('en', { numeric: true })

export const compareNames = (a: string, b: string): number => collator.compare(a, b)

const merged = function* <Item>(
  runs: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
): Generator<Item> {
  const half = runs.length >> 1
  if (half === 0) return yield* runs[0] ?? []
  const [left, right] = [merged(runs.slice(0, half), compare), merged(runs.slice(half), compare)]
  let [a, b] = [left.next(), right.next()]
  while (a.done !== true || b.done !== true) {
    if (b.done === true || (a.done !== true && compare(a.value, b.value) <= 0)) {
      if (a.done !== true) yield a.value
      a = left.next()
    } else {
      yield b.value
      b = right.next()
    }
  }
}

const batch = 250

/**
 * Yields items in order, equal ones in the order in which they came. Each batch is sorted as it comes and all are
 * merged as they are taken, so that no step holds up the event loop for longer than a batch does. All items are in
 * memory.
 */
export async function* inOrder<Item>(
  batches: AsyncIterable<readonly Item[]>,
  compare: (a: Item, b: Item) => number,
): AsyncGenerator<readonly Item[]> {
  const runs: (readonly Item[])[] = []
  for await (const items of batches) runs.push(items.toSorted(compare))
  let taken: Item[] = []
  for (const item of merged(runs, compare)) {
    taken.push(item)
    if (taken.length < batch) continue
    yield taken
    taken = []
  }
  if (taken.length > 0) yield taken
}
