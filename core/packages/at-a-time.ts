import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'

/** Does the work for each item, `width` at a time, and answers in the order of the items. Begins nothing more after a Left, and answers the first one. */
export const atATime = async <A, E, B>(items: readonly A[], width: number, work: (item: A) => Promise<Either<E, B>>): Promise<Either<E, readonly B[]>> => {
  const done = new Map<number, B>()
  let next = 0
  let failed: Either<E, never> | undefined
  const worker = async (): Promise<void> => {
    while (next < items.length && failed === undefined) {
      const index = next
      next += 1
      const result = await work(items[index] as A)
      if (isLeft(result)) failed ??= result
      else done.set(index, result.right)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  return failed ?? right(items.map((_, index) => done.get(index) as B))
}
