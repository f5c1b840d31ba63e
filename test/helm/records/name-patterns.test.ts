import test from 'ava'
import fc from 'fast-check'
import { makeRe2NamePatterns } from '../../../adapters/helm/records/name-patterns.ts'
import { makeTimeSlices } from '../../../adapters/outbound/time-slices.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'

const patterns = makeRe2NamePatterns(makeTimeSlices(4))
const namesOf = async (pattern: string, ...names: readonly string[]): Promise<readonly string[]> => [
  ...(await unwrap(patterns.compile(pattern))(new Set(names))),
]

const somePattern = fc
  .array(fc.constantFrom('a', 'b', '-', '.', '[a-c]', '(a|b)', 'a*', 'b+', '(?:ab)?', '\\d', '^', '$'), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''))

test('a pattern matches where it occurs in the name', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      somePattern,
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', '7'), maxLength: 12 }), { maxLength: 120 }),
      async (pattern, names) => {
        t.deepEqual(
          await namesOf(pattern, ...names),
          [...new Set(names)].filter((name) => new RegExp(pattern).test(name)),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('matching many names yields to other work', async (t) => {
  const names = Array.from({ length: 10_000 }, (_, index) => `release-${index}`)
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const found = await namesOf('(e|l|a|s|-)*[0-9]{1,40}7$', ...names)
  isDone = true
  t.is(found.length, 1_000 - 1)
  t.true(turns >= 100)
})

test('an invalid or back-tracking regular expression is refused', (t) => {
  for (const pattern of ['(', '[a', 'a{2,1}', '*', '(?=a)', '(a)\\1', '\\'])
    t.is(tagOf(patterns.compile(pattern)), 'FilterRefused', pattern)
  t.is(shown(patterns.compile('('))?.kind, 'Unprocessable')
})

test('a pattern is bounded in length, and in size once its repetitions are written out', (t) => {
  t.is(tagOf(patterns.compile('a'.repeat(200))), 'done')
  for (const pattern of ['a'.repeat(201), '(a{30}){40}', '\\pL{999}', '(?:a{1000}){2}'])
    t.is(tagOf(patterns.compile(pattern)), 'FilterRefused', pattern)
})

test('a pattern that makes back-tracking engines hang is answered like any other', async (t) => {
  t.deepEqual(await namesOf('^(a+)+$', `${'a'.repeat(52)}!`), [])
})

test('work is done in order, with its own result or error', async (t) => {
  const slices = makeTimeSlices(5)
  const done: number[] = []
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4].map((n) =>
      slices.run(() => {
        done.push(n)
        if (n === 3) throw new Error('three')
        return n * 10
      }),
    ),
  )
  t.deepEqual(done, [1, 2, 3, 4])
  t.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message)),
    [10, 20, 'three', 40],
  )
  t.is(await slices.run(() => 5), 5)
})

test('work yields to others at its time limit', async (t) => {
  const slices = makeTimeSlices(0)
  const story: string[] = []
  const turns = (async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      story.push('other')
    }
  })()
  await Promise.all([turns, ...[1, 2, 3].map((n) => slices.run(() => void story.push(`work ${n}`)))])
  t.deepEqual(
    story.filter((line) => line !== 'other'),
    ['work 1', 'work 2', 'work 3'],
  )
  t.true(story.lastIndexOf('work 3') - story.indexOf('work 1') > 2, story.join(', '))
})
