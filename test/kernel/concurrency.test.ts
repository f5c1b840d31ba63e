import { isLeft, left, right, type Either, isRight } from 'fp-ts/lib/Either.js'
import test from 'ava'
import fc from 'fast-check'
import { mapWithin, untilNotOvertaken, atATime } from '../../core/kernel/concurrency.ts'

test('overtaken work is repeated until success, failure or the limit', async (t) => {
  const outcomes = fc.array(fc.constantFrom('overtaken' as const, 'refused' as const, 'done' as const), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(outcomes, fc.integer({ min: 1, max: 6 }), async (given, attempts) => {
      let calls = 0
      const result = await untilNotOvertaken<string, number>(
        attempts,
        (failure) => failure === 'overtaken',
        async (): Promise<Either<string, number>> => {
          calls += 1
          const outcome = given[calls - 1] ?? 'done'
          return outcome === 'done' ? right(calls) : left(outcome)
        },
      )
      const decisive = given.findIndex((outcome) => outcome !== 'overtaken')
      t.is(calls, Math.min(attempts, (decisive === -1 ? given.length : decisive) + 1))
      const last = given[calls - 1] ?? 'done'
      t.deepEqual(isLeft(result) ? result.left : result.right, last === 'done' ? calls : last)
    }),
  )
})

test('concurrent items have different lanes, and errors wait for started ones', async (t) => {
  const busy = new Set<number>()
  const doubled = await mapWithin([...Array(20).keys()], 3, async (item, index, lane) => {
    t.true(lane >= 0 && lane < 3 && !busy.has(lane))
    busy.add(lane)
    for (let turn = 0; turn < item % 4; turn += 1) await new Promise((resume) => setImmediate(resume))
    busy.delete(lane)
    t.is(item, index)
    return item * 2
  })
  t.deepEqual(
    doubled,
    [...Array(20).keys()].map((item) => item * 2),
  )
  const [begun, ended]: [number[], number[]] = [[], []]
  const work = async (item: number): Promise<void> => {
    begun.push(item)
    if (item === 0) throw new Error('the first')
    await new Promise((resume) => setImmediate(resume))
    ended.push(item)
  }
  await t.throwsAsync(mapWithin([0, 1, 2, 3], 2, work), { message: 'the first' })
  t.deepEqual([begun, ended], [[0, 1], [1]])
})

test('work runs in order within its width and stops after a failure', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (goesWell, width) => {
        let open = 0
        let widest = 0
        let failed = false
        const done = await atATime([...goesWell.keys()], width, async (at): Promise<Either<string, number>> => {
          t.false(failed)
          open += 1
          widest = Math.max(widest, open)
          await new Promise((resolve) => setImmediate(resolve))
          open -= 1
          if (goesWell[at] === true) return right(at)
          failed = true
          return left(`${at}`)
        })
        t.true(widest <= width)
        t.is(open, 0)
        if (isRight(done)) t.deepEqual(done.right, [...goesWell.keys()])
        t.is(isLeft(done), goesWell.includes(false))
      },
    ),
    { numRuns: 50 },
  )
})
