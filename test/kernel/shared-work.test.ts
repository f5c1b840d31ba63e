import test from 'ava'
import fc from 'fast-check'
import { makeSharedWork } from '../../core/kernel/concurrency.ts'

const never = new AbortController().signal
const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('concurrent requests share one run, and later ones run again', async (t) => {
  const shared = makeSharedWork<number>()
  let runs = 0
  const work = async (): Promise<number> => {
    await later()
    return (runs += 1)
  }
  t.deepEqual(
    await Promise.all([shared('a', never, work), shared('a', never, work), shared('b', never, work)]),
    [1, 1, 2],
  )
  t.is(await shared('a', never, work), 3)
})

test("a failure is everybody's, and is not kept", async (t) => {
  const shared = makeSharedWork<number>()
  const fails = async (): Promise<number> => {
    await later()
    throw new Error('broken')
  }
  const settled = await Promise.allSettled([shared('a', never, fails), shared('a', never, fails)])
  t.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.is(await shared('a', never, async () => 7), 7)
})

test('a caller who left before gets a refusal, and nothing starts', async (t) => {
  const shared = makeSharedWork<number>()
  await t.throwsAsync(
    shared('a', AbortSignal.abort(), () => Promise.reject(new Error('it began'))),
    { name: 'AbortError' },
  )
})

test('the work stops with its last caller and starts again for the next', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }), async (leaves) => {
      const shared = makeSharedWork<string>()
      const end = Promise.withResolvers<string>()
      let begun = 0
      let stopped = false
      const work = (signal: AbortSignal): Promise<string> => {
        begun += 1
        signal.addEventListener('abort', () => (stopped = true))
        return end.promise
      }
      const people = leaves.map(() => new AbortController())
      const asked = people.map(({ signal }) => shared('a', signal, work))
      const settled = Promise.allSettled(asked)
      people.forEach((person, at) => (leaves[at] === true ? person.abort(new Error('left')) : undefined))
      t.is(
        stopped,
        leaves.every((left) => left),
      )
      if (stopped) t.is(await Promise.race([shared('a', never, async () => 'anew'), end.promise]), 'anew')
      end.resolve('done')
      t.deepEqual(
        (await settled).map((each) => (each.status === 'fulfilled' ? each.value : 'left')),
        leaves.map((left) => (left ? 'left' : 'done')),
      )
      t.is(begun, 1)
    }),
  )
})
