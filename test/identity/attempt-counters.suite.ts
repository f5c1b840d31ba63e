import { createHash } from 'node:crypto'
import type { AttemptCounters } from '../../core/identity/attempt-ports.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

export interface CountersBench {
  readonly counters: AttemptCounters
  /** The same counters as another instance sees them. */
  readonly others: AttemptCounters
  /** Lets time pass for what is stored. */
  pass(milliseconds: number): Promise<void>
  close(): Promise<void>
}

const keyOf = (text: string): Uint8Array => createHash('sha256').update(text).digest()
const minute = 60_000

const about: SuiteAbout = {
  name: 'attempt-counters',
  ports: ['AttemptCounters'],
  needs: 'No counters. `others` are the same counters, as another instance has them.',
}

/** What every store of counters must do. */
export const attemptCountersSuite = contractSuite<CountersBench>(about, (declare) => {
  declare(
    'a counter adds up across instances, keeps its first end, and starts again after it',
    async (t, { counters, others, pass }) => {
      const key = keyOf('ada')
      t.is(await counters.find(key), undefined)
      t.is((await counters.add(key, 1, minute)).points, 1)
      const second = await others.add(key, 2, 10 * minute)
      t.is(second.points, 3)
      t.true(second.millisecondsLeft > 0 && second.millisecondsLeft <= minute)
      t.is((await counters.find(key))?.points, 3)
      t.is(await counters.find(keyOf('eve')), undefined)
      await pass(minute)
      t.is(await others.find(key), undefined)
      t.is((await others.add(key, 1, minute)).points, 1)
      t.is((await counters.find(key))?.points, 1)
    },
  )

  declare(
    'putting replaces points and end, removing returns whether there was a counter',
    async (t, { counters, others, pass }) => {
      const key = keyOf('ada')
      await counters.put(key, 6, minute)
      t.is((await others.find(key))?.points, 6)
      await others.put(key, 2, 2 * minute)
      t.is((await counters.find(key))?.points, 2)
      await pass(minute)
      t.is((await counters.find(key))?.points, 2)
      t.true(await counters.remove(key))
      t.false(await counters.remove(key))
      await counters.put(key, 1, minute)
      await pass(minute)
      t.false(await counters.remove(key))
    },
  )

  declare('of forty additions at once on two instances each gets a sum of its own', async (t, { counters, others }) => {
    const key = keyOf('ada')
    const added = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? counters : others).add(key, 1, minute)),
    )
    t.deepEqual(
      added.map(({ points }) => points).sort((a, b) => a - b),
      Array.from({ length: 40 }, (_, i) => i + 1),
    )
  })

  declare('purging drops what is over and nothing else', async (t, { counters, pass }) => {
    for (const login of ['a', 'b', 'c']) await counters.add(keyOf(login), 1, minute)
    await counters.add(keyOf('d'), 4, 3 * minute)
    t.is(await counters.purge(), 0)
    await pass(2 * minute)
    t.is(await counters.purge(), 3)
    t.is((await counters.find(keyOf('d')))?.points, 4)
  })
})
