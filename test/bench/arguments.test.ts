import test from 'ava'
import { helpText, parseBenchArguments } from './arguments.ts'
import { rowNumbers } from './bars.ts'

const runOf = (...args: string[]) => {
  const parsed = parseBenchArguments(args)
  if (parsed.kind !== 'run') throw new Error(`not understood: ${JSON.stringify(parsed)}`)
  return parsed.run
}

test('without arguments everything is measured at full size', (t) => {
  t.deepEqual(runOf(), { rows: rowNumbers, usersView: true, quick: false, size: 'full', json: undefined, profile: undefined })
})

test('--only takes rows in any order, and the user\'s view by name', (t) => {
  t.deepEqual(runOf('--only', '5,1, 2').rows, [1, 2, 5])
  t.false(runOf('--only', '1').usersView)
  t.deepEqual(runOf('--only=user').rows, [])
  t.true(runOf('--only=user').usersView)
})

test('a row that is not measured here is refused with those that are', (t) => {
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
  for (const word of ['--only', '--quick', '--size small', '--json FILE', '--profile DIR', ...rowNumbers.map((row) => `${row}  `)]) {
    t.true(helpText().includes(word), word)
  }
})
