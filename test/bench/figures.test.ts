import test from 'ava'
import fc from 'fast-check'
import { helpText, parseBenchArguments } from './arguments.ts'
import type { Bar } from './bars.ts'
import { rowNumbers, verdictOf } from './bars.ts'
import { best, median, pairedRatio, percentile, ratio } from './statistics.ts'
import type { BenchLine } from './table.ts'
import { formatColumns, formatComparison, formatGoals, showNumber, summary } from './table.ts'

const atLeast: Bar = { direction: 'at least', must: 0.7, stretch: 0.85, unit: 'x' }
const atMost: Bar = { direction: 'at most', must: 7, stretch: 4, unit: ' us' }
const line: BenchLine = {
  row: '1',
  what: 'GET /user',
  ours: { perSecond: 16_500, p99Ms: 6.9, cpuUs: 50 },
  against: 'node:http',
  twin: { perSecond: 20_100, p99Ms: 5.6, cpuUs: 40 },
  value: 0.82,
  bestValue: 0.9,
  unit: 'x',
  bar: atLeast,
}

test('the median is the middle value, or the mean of the two in the middle', (t) => {
  t.is(median([5, 1, 100]), 5)
  t.is(median([4, 1, 3, 100]), 3.5)
  t.is(median([]), Number.NaN)
})

test('the median does not change the values that it is given', (t) => {
  const values = [3, 1, 2]
  median(values)
  t.deepEqual(values, [3, 1, 2])
})

test('p99 of a hundred values is the ninety-ninth', (t) => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
  t.is(percentile(hundred, 0.99), 99)
  t.is(percentile(hundred, 0.5), 50)
  t.is(percentile(hundred, 1), 100)
  t.is(percentile([7], 0.99), 7)
  t.is(percentile([], 0.99), Number.NaN)
})

test('a percentile is one of the values, and covers its share of them', (t) => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(fc.array(finite, { minLength: 1 }), fc.double({ min: 0, max: 1, noNaN: true }), (values, share) => {
      const found = percentile(values, share)
      return (
        values.some((value) => value === found) &&
        values.filter((value) => value <= found).length >= share * values.length - 1e-9
      )
    }),
  )
  t.pass()
})

test('the ratio of each round is taken before the median', (t) => {
  // The machine was four times slower in the second round; the sides did not change.
  t.is(pairedRatio([80, 20, 80], [100, 25, 100]), 0.8)
  t.is(pairedRatio([1, 9, 4], [2, 10, 4]), 0.9)
  t.is(pairedRatio([1, 2], []), Number.NaN)
  t.is(ratio(1, 0), Number.NaN)
})

test('the best is the most, or the least where less is better', (t) => {
  t.is(best([3, 9, 1]), 9)
  t.is(best([3, 9, 1], 'less'), 1)
  t.is(best([]), Number.NaN)
})

test('a verdict follows the direction of its bar and is about the figure as shown', (t) => {
  t.is(verdictOf(0.85, atLeast), 'stretch')
  t.is(verdictOf(0.7, atLeast), 'must')
  t.is(verdictOf(0.696, atLeast), 'must')
  t.is(verdictOf(0.69, atLeast), 'below the bar')
  t.is(verdictOf(4, atMost), 'stretch')
  t.is(verdictOf(7, atMost), 'must')
  t.is(verdictOf(7.01, atMost), 'below the bar')
  t.is(verdictOf(Number.NaN, atMost), 'not measured')
  t.is(verdictOf(1, undefined), 'no bar')
})

test('numbers are shown with as many digits as they deserve', (t) => {
  t.is(showNumber(21_600.4), '21 600')
  t.is(showNumber(1_234_567), '1 234 567')
  t.is(showNumber(999.6), '1000')
  t.is(showNumber(230.4), '230')
  t.is(showNumber(56.34), '56.3')
  t.is(showNumber(0.824), '0.82')
  t.is(showNumber(undefined), '-')
  t.is(showNumber(Number.NaN), '-')
})

test('columns are as wide as their widest cell and lines have no space at their end', (t) => {
  t.is(
    formatColumns(
      [
        ['a', 'bb', ''],
        ['long', 'c'],
      ],
      new Set([0]),
    ),
    'a     bb\nlong   c',
  )
})

test('the table shows both sides, the CPU ratio, the bars and the verdict', (t) => {
  const [head = '', row = ''] = formatGoals([line]).split('\n')
  t.deepEqual(row.split(/ {2,}/), [
    '1',
    'GET /user',
    '16 500',
    '6.90',
    '50.0',
    'node:http',
    '20 100',
    '5.60',
    '40.0',
    '0.80x',
    '0.82x',
    '0.90x',
    '>= 0.70x',
    '>= 0.85x',
    'must reached',
  ])
  t.true(head.startsWith('row'))
  t.is(head.indexOf('against'), row.indexOf('node:http'))
})

test('a missed bar is marked plainly, and notes stand below the table with their row', (t) => {
  const text = formatGoals([{ ...line, value: 0.5, note: 'two queries' }])
  t.true(text.includes('** below the bar **'))
  t.true(text.endsWith('Notes\n  1: two queries'))
})

test('the comparison has no bars', (t) => {
  const text = formatComparison([{ ...line, row: '' }])
  t.false(text.includes('must'))
  t.true(text.includes('ours / theirs'))
})

test('the summary counts rows with a bar and names missed and unmeasured ones', (t) => {
  const { bar: _bar, ...withoutBar } = line
  t.is(summary([line, withoutBar]), '1 of 1 bars reached.')
  t.is(
    summary([line, { ...line, row: '2', what: 'slow', value: 0.1 }, { ...line, row: '3', value: Number.NaN }]),
    '1 of 3 bars reached. Below the bar: 2 (slow). Not measured: 3.',
  )
})

const runOf = (...args: string[]) => {
  const parsed = parseBenchArguments(args)
  if (parsed.kind !== 'run') throw new Error(`not understood: ${JSON.stringify(parsed)}`)
  return parsed.run
}

test('without arguments everything is measured at full size', (t) => {
  t.deepEqual(runOf(), {
    rows: rowNumbers,
    usersView: true,
    quick: false,
    slow: false,
    size: 'full',
    json: undefined,
    profile: undefined,
  })
})

test("--only takes rows in any order, and the user's view by name", (t) => {
  t.deepEqual(runOf('--only', '5,1, 2').rows, [1, 2, 5])
  t.false(runOf('--only', '1').usersView)
  t.deepEqual(runOf('--only=user').rows, [])
  t.true(runOf('--only=user').usersView)
})

test('an unknown row is refused with the list of known ones', (t) => {
  const parsed = parseBenchArguments(['--only', '12'])
  t.is(parsed.kind, 'refused')
  t.true(parsed.kind === 'refused' && parsed.reason.includes('"12" is no row; there are 1, 2,'))
})

test('options without their value, wrong sizes and unknown options are refused', (t) => {
  for (const args of [['--json'], ['--json', '--quick'], ['--size', 'huge'], ['--fast'], ['rows'], ['--only', ',']]) {
    t.is(parseBenchArguments(args).kind, 'refused', args.join(' '))
  }
})

test('the help names every option and every row', (t) => {
  t.is(parseBenchArguments(['--quick', '--help']).kind, 'help')
  for (const word of [
    '--only',
    '--quick',
    '--size small',
    '--json FILE',
    '--profile DIR',
    ...rowNumbers.map((row) => `${row}  `),
  ]) {
    t.true(helpText().includes(word), word)
  }
})
