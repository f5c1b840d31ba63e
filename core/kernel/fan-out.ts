/**
 * Runs `work` on every item, at most `limit` at a time, and returns the results in the order of the items. If one throws, no
 * further item is started, and the promise rejects.
 */
export const mapWithin = async <A, B>(items: readonly A[], limit: number, work: (item: A) => Promise<B>): Promise<readonly B[]> => {
  const results: B[] = []
  const waiting = items.entries()
  let isOver = false
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (isOver) return
      results[index] = await work(item)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
    return results
  } finally {
    isOver = true
  }
}
