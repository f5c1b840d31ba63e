import test from 'ava'
import fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import { Busy } from '../../core/kernel/failure.ts'
import { makeChartTexts, makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import type { Json } from '../../core/kernel/json.ts'
import { slices } from '../packages/texts.ts'
import { stubTexts, text } from '../packages/views/stub-charts.ts'

const threads = makeChartThreads({ jobMilliseconds: 120_000 })
const texts = makeChartTexts(threads, slices)
test.after.always(() => threads.close())

const told = <A>(result: Either<{ readonly tag: string; readonly message: string }, A>): A | string =>
  isLeft(result) ? `${result.left.tag}: ${result.left.message}` : result.right
const padding = `# ${'x'.repeat(40_000)}\n`

const cases: readonly (readonly [string, string, Json])[] = [
  ['a map', 'b: 1\na: [yes, "no", 12345678901234567890]\n', { b: 1, a: [true, 'no', 12345678901234567890n] }],
  ['JSON', '{"a":1.5}', { a: 1.5 }],
  ['nothing', '', null],
]
for (const [what, source, value] of cases) {
  test(`a thread reads a long text as the main thread reads it: ${what}`, async (t) => {
    const here = text(source)
    const aside = text(padding + source)
    t.deepEqual(told(await texts.parseAll(aside)), told(await stubTexts.parseAll(here)))
    t.deepEqual(told(await texts.parseAll(aside)) as readonly Json[], value === null ? [] : [value])
    for (const to of ['json', 'yaml'] as const)
      t.deepEqual(told(await texts.convert(aside, to)), told(await stubTexts.convert(here, to)))
  })
}

test('text that cannot be read is reported, here and in a thread', async (t) => {
  for (const pad of ['', padding]) {
    t.regex(String(told(await texts.parseAll(text(`${pad}a: [`)))), /^TextUnreadable: The text is no YAML/)
    t.regex(
      String(told(await texts.convert(text(`${pad}a: 1\n---\nb: 2\n`), 'json'))),
      /^TextUnreadable: It holds 2 documents/,
    )
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghijkl']
      .map(
        (name, at) =>
          `${name}: &${name} [${Array(9)
            .fill(`*${'abcdefghijkl'[at] ?? ''}`)
            .join(', ')}]`,
      )
      .join('\n')}\n`
    t.regex(String(told(await texts.convert(text(pad + bomb), 'json'))), /^TextUnreadable: .*aliases/)
  }
  t.regex(
    String(told(await texts.parseAll(new Uint8Array(9 * 1024 * 1024).fill(0x20)))),
    /^TextUnreadable: The text is longer/,
  )
})

test('a thread that is too busy, or that is ended, is reported', async (t) => {
  const slow = makeChartThreads({ threads: 1, maxWaiting: 1 })
  const busy = makeChartTexts(slow, slices)
  const long = text(padding)
  const answers = await Promise.allSettled([1, 2, 3, 4].map(() => busy.parseAll(long)))
  t.true(answers.some((answer) => answer.status === 'rejected' && answer.reason instanceof Busy))
  await slow.close()
  t.is(told(await busy.parseAll(long)), 'TextUnreadable: The service stops.')
})

test('values are printed alike, whatever their size', async (t) => {
  t.is(await texts.print({ b: 1, a: ['yes', null] }), 'b: 1\na:\n- "yes"\n- null\n')
  const large = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`k${at}`, at]))
  t.is(
    await texts.print(large),
    Object.keys(large)
      .map((key, at) => `${key}: ${at}\n`)
      .join(''),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.stringMatching(/^[a-z]{1,4}$/),
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      ),
      async (value) => {
        t.deepEqual(told(await texts.parseAll(text(await texts.print(value)))), [{ ...value }])
      },
    ),
    { numRuns: 50 },
  )
})
