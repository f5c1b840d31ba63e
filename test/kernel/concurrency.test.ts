import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import test from 'ava'
import fc from 'fast-check'
import { untilNotOvertaken } from '../../core/kernel/concurrency.ts'

test('overtaken work is repeated until it succeeds, fails in another way, or was tried often enough', async (t) => {
  const fates = fc.array(fc.constantFrom('overtaken' as const, 'refused' as const, 'done' as const), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fates, fc.integer({ min: 1, max: 6 }), async (given, attempts) => {
      let calls = 0
      const result = await untilNotOvertaken<string, number>(attempts, (failure) => failure === 'overtaken', async (): Promise<Either<string, number>> => {
        calls += 1
        const fate = given[calls - 1] ?? 'done'
        return fate === 'done' ? right(calls) : left(fate)
      })
      const decisive = given.findIndex((fate) => fate !== 'overtaken')
      t.is(calls, Math.min(attempts, (decisive === -1 ? given.length : decisive) + 1))
      const last = given[calls - 1] ?? 'done'
      t.deepEqual(isLeft(result) ? result.left : result.right, last === 'done' ? calls : last)
    }),
  )
})
