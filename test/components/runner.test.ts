import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { fileURLToPath } from 'node:url'
import { parseRunArguments } from '../support/components/run-arguments.ts'
import { tapReader } from '../support/components/tap-results.ts'
import type { FileLine } from '../support/file-times.ts'
import { filesUnderWay, readFileTimes } from '../support/file-times.ts'
import { parseHubArguments } from '../support/hub/example/hub-arguments.ts'
import { inRows, sharedProcesses } from '../support/shared-processes.ts'
import { isOnlySlow, isSlow, repositoryFiles, testFilesOf, testsTouchedBy } from '../support/test-files.ts'

const runner = fileURLToPath(new URL('../run.ts', import.meta.url))

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

test('a run that hangs names the files that have begun and not ended', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'times')
  t.deepEqual(filesUnderWay(path), [])
  const lines: readonly FileLine[] = [
    { begun: 'a' },
    { begun: 'b' },
    { file: 'a', wallSeconds: 1, own: 1, children: 0, leftOpen: [] },
  ]
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  t.deepEqual(filesUnderWay(path), ['b'])
  t.deepEqual(
    readFileTimes(path).map(({ file }) => file),
    ['a'],
  )
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

for (const wrong of [
  ['--without', 'mysql'],
  ['--without'],
  ['--only', 'fast'],
  ['--verbose'],
  ['--since'],
  ['--since', '--output=x'],
  ['--slow', 'test/a.test.ts'],
]) {
  test(`arguments: ${wrong.join(' ')} is refused`, (t) => {
    t.is(parseRunArguments(wrong).kind, 'refused')
  })
}

test('arguments of the test hub: counts within their bounds', (t) => {
  t.deepEqual(parseHubArguments([]), { kind: 'run', run: { spokes: 3, clusters: 0, isOpen: false } })
  t.deepEqual(parseHubArguments(['--spokes', '0', '--clusters=1000', '--open']), {
    kind: 'run',
    run: { spokes: 0, clusters: 1000, isOpen: true },
  })
  t.is(parseHubArguments(['--help']).kind, 'help')
  for (const wrong of [['--spokes', '101'], ['--spokes', '-1'], ['--clusters', 'many'], ['--verbose'], ['hub']])
    t.is(parseHubArguments(wrong).kind, 'refused', wrong.join(' '))
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
  for (const kind of ['faults', 'races', 'fresh-clone'])
    t.true(
      slow.some((file) => file.startsWith(`test/${kind}/`)),
      kind,
    )
  t.false(isSlow('test/authz/role-rules.test.ts'))
})

test('a run of everything leaves out only what the slow run has', (t) => {
  const left = testFilesOf(repositoryFiles(root)).filter(isOnlySlow)
  t.deepEqual(
    left.map((file) => file.slice('test/openapi/'.length)),
    ['generated-clients.test.ts', 'returned-failures.test.ts', 'spectral.test.ts'],
  )
  t.deepEqual(left.filter(isSlow), left)
  t.like(parseRunArguments(['--slow', '--without', 'generators']), { run: { without: ['generators'] } })
})

/** The groups of files with these texts, without the folder of the shared processes. */
const groupsOf = (texts: Readonly<Record<string, string>>): readonly (readonly [string, readonly string[]])[] =>
  sharedProcesses(Object.keys(texts), (file) => texts[file] ?? '').map(({ path, members }) => [
    path.slice(-10),
    members,
  ])

const many = (folder: string, count: number, text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`test/${folder}/${index}.test.ts`, text]))

test('a test file is in one shared process at most; files that wait for components share others than those that compute', (t) => {
  const groups = groupsOf({
    ...many('identity', 27, ''),
    ...many('bus', 5, "const test = needing('nats')"),
    ...many('http', 1, "import { execFile } from 'node:child_process'"),
  })
  t.deepEqual(
    groups.map(([path, members]) => [path, members.length]),
    [
      ['01.test.ts', 9],
      ['02.test.ts', 9],
      ['03.test.ts', 9],
      ['04.test.ts', 3],
      ['05.test.ts', 3],
    ],
  )
  const [computing, waiting] = [groups.slice(0, 3), groups.slice(3)].map((some) =>
    some.flatMap(([, members]) => members),
  )
  t.deepEqual(computing?.toSorted(), Object.keys(many('identity', 27, '')).toSorted())
  t.deepEqual(waiting?.toSorted(), [...Object.keys(many('bus', 5, '')), 'test/http/0.test.ts'].toSorted())
})

test('rows of shared processes take nearly the same time, and each process is in one row', (t) => {
  const seconds: Readonly<Record<string, number>> = { a: 2, b: 9, c: 3, d: 5 }
  t.deepEqual(
    inRows(Object.keys(seconds), 2, (path) => seconds[path] ?? 0),
    [['b'], ['d', 'c', 'a']],
  )
  t.deepEqual(
    inRows(['a', 'b', 'c'], 2, () => 0),
    [['a', 'c'], ['b']],
  )
})

const alone: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'is about the machine': ['test/faults/x.test.ts', ''],
  'starts a service as a process': [
    'test/bus/x.test.ts',
    "import { startServiceProcess } from '../support/service-process.ts'",
  ],
  'replaces the clock': ['test/kernel/x.test.ts', "import sinon from 'sinon'"],
  'changes the environment': ['test/kernel/x.test.ts', "process.env['HOME'] = '/'"],
  'acts before each test': ['test/kernel/x.test.ts', 'test.beforeEach(() => undefined)'],
  'waits at its top level': ['test/sql/x.test.ts', "import test from 'ava'\nconst folder = await mkdtemp('x')"],
  'uses the context of tests': ['test/http/x.test.ts', 'const test = anyTest as TestFn<{ port: number }>'],
  'uses the context of tests with a component': [
    'test/bus/x.test.ts',
    "const test = needing<{ port: number }>('nats')",
  ],
  'kills its component': ['test/bus/x.test.ts', "const test = needing('nats')\nawait nats.kill()"],
  'cuts off its component': [
    'test/sql/x.test.ts',
    "import { startFaultProxy } from '../support/fault-proxy.ts'\nconst test = needing('mariadb')",
  ],
  'starts an API server': [
    'test/featuresets/x.test.ts',
    "const test = needing('kubernetes')\nstart({ ownServer: true })",
  ],
}
for (const [what, [file, text]] of Object.entries(alone)) {
  test(`a test file that ${what} has a process of its own`, (t) =>
    t.deepEqual(groupsOf({ [file]: text, 'test/kernel/rules.test.ts': '' }), [
      ['01.test.ts', ['test/kernel/rules.test.ts']],
    ]))
}

test('a misspelt folder or commit is refused before anything is prepared', (t) => {
  const refusal = (...words: readonly string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [runner, ...words], { encoding: 'utf8' })
    return { status, stderr }
  }
  t.deepEqual(refusal('test/compositon', 'test/authz'), {
    status: 2,
    stderr: 'there is no file or folder test/compositon\n',
  })
  t.deepEqual(refusal('--since', 'no-such-commit'), {
    status: 2,
    stderr: 'no-such-commit is no commit of this repository\n',
  })
})
