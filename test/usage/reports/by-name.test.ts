import test from 'ava'
import fc from 'fast-check'
import { compareNames, inOrder } from '../../../core/usage/reports/tables.ts'

const batched = async function* <A>(batches: readonly (readonly A[])[]): AsyncGenerator<readonly A[]> {
  yield* batches
}

test('items of any batches come in the order of a stable sort', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(fc.tuple(fc.constantFrom('a', 'A', 'b', 'db-2', 'db-10', 'é', '数'), fc.nat()), { maxLength: 300 }),
        { maxLength: 6 },
      ),
      async (batches) => {
        const compare = ([a]: readonly [string, number], [b]: readonly [string, number]): number => compareNames(a, b)
        const got: (readonly [string, number])[] = []
        for await (const some of inOrder(batched(batches), compare)) {
          if (some.length === 0 || some.length > 250) return false
          got.push(...some)
        }
        return JSON.stringify(got) === JSON.stringify(batches.flat().toSorted(compare))
      },
    ),
  )
  t.pass()
})

test('names are in the order of people', (t) => {
  t.deepEqual(['db-10', 'Zeta', 'db-2', 'alpha', 'DB-1', 'ábc'].toSorted(compareNames), [
    'ábc',
    'alpha',
    'DB-1',
    'db-2',
    'db-10',
    'Zeta',
  ])
})
