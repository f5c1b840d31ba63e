import test from 'ava'
import { parseRunArguments } from '../support/components/run-arguments.ts'
import { tapReader } from '../support/components/tap-results.ts'

const report = `TAP version 13
ok 1 - a › passes
#   # pass 900
not ok 2 - b › fails
  ---
    message: ''
  ...
ok 3 - c › left out # SKIP

1..3
# tests 3
# pass 1
# skip 1
# fail 1
`

test('the totals come from ava, and the failure keeps its details', (t) => {
  const reader = tapReader()
  for (const line of report.split('\n')) reader.add(line)
  const results = reader.results()
  t.like(results, { passed: 1, failed: 1, skipped: 1, isComplete: true })
  t.deepEqual(results.failures, ["not ok 2 - b › fails\n  ---\n    message: ''\n  ..."])
})

test('a report that breaks off is not complete', (t) => {
  const reader = tapReader()
  for (const line of report.split('\n').slice(0, 6)) reader.add(line)
  t.false(reader.results().isComplete)
})

test('arguments: names, parts and patterns', (t) => {
  t.deepEqual(parseRunArguments(['--without', 'mariadb', '--without=static', 'test/a.test.ts']), {
    kind: 'run',
    run: { without: ['mariadb', 'static'], only: undefined, patterns: ['test/a.test.ts'] },
  })
  t.is(parseRunArguments(['--help']).kind, 'help')
})

for (const wrong of [['--without', 'mysql'], ['--without'], ['--only', 'fast'], ['--verbose']]) {
  test(`arguments: ${wrong.join(' ')} is refused`, (t) => {
    t.is(parseRunArguments(wrong).kind, 'refused')
  })
}
