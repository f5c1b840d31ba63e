import test from 'ava'
import { fileURLToPath } from 'node:url'
import { parseRunArguments } from '../support/components/run-arguments.ts'
import { tapReader } from '../support/components/tap-results.ts'
import { parseHubArguments } from '../support/hub/example/hub-arguments.ts'
import { isSlow, repositoryFiles, testFilesOf, testsTouchedBy } from '../support/test-files.ts'

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
    run: { without: ['mariadb', 'static'], only: undefined, selection: { kind: 'all' }, patterns: ['test/a.test.ts'] },
  })
  t.like(parseRunArguments(['--slow']), { run: { selection: { kind: 'slow' } } })
  t.like(parseRunArguments(['--changed']), { run: { selection: { kind: 'changed', since: 'HEAD' } } })
  t.like(parseRunArguments(['--since', 'main~2']), { run: { selection: { kind: 'changed', since: 'main~2' } } })
  t.is(parseRunArguments(['--help']).kind, 'help')
})

for (const wrong of [['--without', 'mysql'], ['--without'], ['--only', 'fast'], ['--verbose'], ['--since'], ['--since', '--output=x'], ['--slow', 'test/a.test.ts']]) {
  test(`arguments: ${wrong.join(' ')} is refused`, (t) => {
    t.is(parseRunArguments(wrong).kind, 'refused')
  })
}

test('arguments of the test hub: counts within their bounds', (t) => {
  t.deepEqual(parseHubArguments([]), { kind: 'run', run: { spokes: 3, clusters: 0, isOpen: false } })
  t.deepEqual(parseHubArguments(['--spokes', '0', '--clusters=1000', '--open']), { kind: 'run', run: { spokes: 0, clusters: 1000, isOpen: true } })
  t.is(parseHubArguments(['--help']).kind, 'help')
  for (const wrong of [['--spokes', '101'], ['--spokes', '-1'], ['--clusters', 'many'], ['--verbose'], ['hub']]) t.is(parseHubArguments(wrong).kind, 'refused', wrong.join(' '))
})

const root = fileURLToPath(new URL('../..', import.meta.url))

test('a changed rule touches its own tests and those of everything above it, and no others', (t) => {
  const touched = testsTouchedBy(root, ['core/authz/role-rules.ts'])
  t.true(touched.includes('test/authz/role-rules.test.ts'), 'imports it')
  t.true(touched.includes('test/authz/roles.http.test.ts'), 'reaches it through the service')
  t.false(touched.includes('test/charts/rules.test.ts'))
  t.deepEqual(testsTouchedBy(root, ['docs/tasks.md']), [])
})

test('a changed test file touches itself, and changed packages touch everything', (t) => {
  t.deepEqual(testsTouchedBy(root, ['test/components/runner.test.ts']), ['test/components/runner.test.ts'])
  const every = testFilesOf(repositoryFiles(root))
  t.true(every.length > 100)
  t.deepEqual(testsTouchedBy(root, ['package-lock.json']), every)
})

test('a slow run has the faults and the races', (t) => {
  const slow = testFilesOf(repositoryFiles(root)).filter(isSlow)
  for (const kind of ['faults', 'races', 'fresh-clone']) t.true(slow.some((file) => file.startsWith(`test/${kind}/`)), kind)
  t.false(isSlow('test/authz/role-rules.test.ts'))
})
