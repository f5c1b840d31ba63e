// process: own - starts and stops components
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { Linter } from 'eslint'
import { parser } from 'typescript-eslint'
import { processRule } from '../arch/process-rule.js'
import { fileURLToPath } from 'node:url'
import { parseRunArguments } from '../support/components/run-arguments.ts'
import { tapReader } from '../support/components/tap-results.ts'
import type { FileLine } from '../support/file-times.ts'
import { filesUnderWay, readFileTimes } from '../support/file-times.ts'
import { parseHubArguments } from '../support/hub/example/hub-arguments.ts'
import { inRows, processNeedOf, sharedProcesses } from '../support/shared-processes.ts'
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
    run: {
      without: ['mariadb', 'static'],
      only: undefined,
      selection: { kind: 'all' },
      mysql: undefined,
      patterns: ['test/a.test.ts'],
    },
  })
  t.like(parseRunArguments(['--slow']), { run: { selection: { kind: 'slow' } } })
  t.like(parseRunArguments(['--changed']), { run: { selection: { kind: 'changed', since: 'HEAD' } } })
  t.like(parseRunArguments(['--since', 'main~2']), { run: { selection: { kind: 'changed', since: 'main~2' } } })
  t.like(parseRunArguments(['--mysql', '8']), { run: { mysql: '8', selection: { kind: 'all' } } })
  t.is(parseRunArguments(['--help']).kind, 'help')
})

for (const wrong of [
  ['--without', 'mysql'],
  ['--without'],
  ['--only', 'fast'],
  ['--mysql', '5'],
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

test('a changed rule selects its own tests and those above it', (t) => {
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

test('a slow run has each file that a thorough run repeats', (t) => {
  const repeated = testFilesOf(repositoryFiles(root)).filter((file) =>
    /from '[^']*\/thorough\.ts'/.test(readFileSync(join(root, file), 'utf8')),
  )
  t.true(repeated.length > 5)
  t.deepEqual(
    repeated.filter((file) => !isSlow(file)),
    [],
  )
})

test('a full run omits only slow tests', (t) => {
  const left = testFilesOf(repositoryFiles(root)).filter(isOnlySlow)
  t.deepEqual(left.toSorted(), [
    'test/authorization-server/kubernetes.test.ts',
    'test/authorization-server/mod-auth-openidc.test.ts',
    'test/authorization-server/processes.test.ts',
    'test/authorization-server/real-clients.test.ts',
    'test/backup/drill.test.ts',
    'test/backup/faults/backup-faults.test.ts',
    'test/backup/faults/other-places.test.ts',
    'test/client-orgs/killed.test.ts',
    'test/composition/installed-part.test.ts',
    'test/console/packages-in-chromium.test.ts',
    'test/console/stories.test.ts',
    'test/deployment/chart.test.ts',
    'test/deployment/container.test.ts',
    'test/deployment/last-release.test.ts',
    'test/deployment/metrics-of-faults.test.ts',
    'test/deployment/prometheus.test.ts',
    'test/deployment/proxies.test.ts',
    'test/deployment/systemd.test.ts',
    'test/faults/killed-mail.test.ts',
    'test/faults/killed-worker.test.ts',
    'test/faults/log-backlog.test.ts',
    'test/faults/stop-under-load.test.ts',
    'test/fresh-clone/fresh-clone.test.ts',
    'test/identity-providers/keycloak.test.ts',
    'test/identity-providers/samba.test.ts',
    'test/metering/running-hours.test.ts',
    'test/openapi/generated-clients.test.ts',
    'test/openapi/returned-failures.test.ts',
    'test/openapi/spectral.test.ts',
    'test/packages/faults/killed-service.test.ts',
    'test/packages/faults/stopped-service.test.ts',
    'test/packages/faults/two-instances.test.ts',
    'test/packages/life-cycle-helm3.test.ts',
    'test/provisioning/testers.test.ts',
    'test/races/access-memory.test.ts',
    'test/rating/focus-validator.test.ts',
    'test/rating/killed.test.ts',
    'test/rating/oracle.test.ts',
    'test/rating/ubl.test.ts',
    'test/sql/mysql-releases.test.ts',
    'test/tasks/crash.test.ts',
    'test/usage/events/disk-full.test.ts',
    'test/usage/months/disk-full-mariadb.test.ts',
    'test/usage/months/months-process.test.ts',
    'test/vitess/planned.test.ts',
    'test/walk/demo-hub.test.ts',
    'test/walk/walk.test.ts',
  ])
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

test('files share processes by component needs, each in one at most', (t) => {
  const groups = groupsOf({
    ...many('identity', 40, ''),
    ...many('bus', 6, '// process: waiting - uses components\n'),
    ...many('http', 1, '// process: waiting - runs programs\n'),
  })
  t.deepEqual(
    groups.map(([path, members]) => [path, members.length]),
    [
      ['01.test.ts', 13],
      ['02.test.ts', 13],
      ['03.test.ts', 14],
      ['04.test.ts', 3],
      ['05.test.ts', 4],
    ],
  )
  const [computing, waiting] = [groups.slice(0, 3), groups.slice(3)].map((some) =>
    some.flatMap(([, members]) => members),
  )
  t.deepEqual(computing?.toSorted(), Object.keys(many('identity', 40, '')).toSorted())
  t.deepEqual(waiting?.toSorted(), [...Object.keys(many('bus', 6, '')), 'test/http/0.test.ts'].toSorted())
})

test('rows of shared processes are balanced, each process in one row', (t) => {
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

test('a file that declares isolation runs alone, and other forms are refused', (t) => {
  t.deepEqual(
    groupsOf({ 'test/bus/x.test.ts': '// process: own - kills the bus\n', 'test/kernel/rules.test.ts': '' }),
    [['01.test.ts', ['test/kernel/rules.test.ts']]],
  )
  for (const text of [
    '// process: alone - kills the bus',
    '// process: own',
    '// Process: own - kills the bus',
    "import test from 'ava'\n// process: own - kills the bus",
  ])
    t.throws(
      () => processNeedOf('test/bus/x.test.ts', text),
      { message: /test\/bus\/x\.test\.ts: the first line/ },
      text,
    )
})

const linted = new Linter()
const complaintsOf = (text: string): readonly string[] =>
  linted
    .verify(
      text,
      {
        files: ['**/*.ts'],
        languageOptions: { parser },
        plugins: { moorage: { rules: { process: processRule } } },
        rules: { 'moorage/process': 'error' },
      },
      'test/kernel/x.test.ts',
    )
    .map(({ message }) => message)

const alone: Readonly<Record<string, string>> = {
  'starts a service as a process': "import { startServiceProcess } from '../support/service-process.ts'",
  'fills a disk': "import { onSmallDisk } from '../support/small-disk.ts'",
  'replaces the clock': "import sinon from 'sinon'",
  'changes the environment': "process.env['HOME'] = '/'",
  'adds to the environment': "Object.assign(process.env, { HOME: '/' })",
  'forgets a variable of the environment': "delete process.env['HOME']",
  'ends its process': 'process.exit(1)',
  'changes its folder': "process.chdir('/')",
  'changes its exit code': 'process.exitCode = 1',
  'acts before each test': 'test.beforeEach(() => undefined)',
  'waits at its top level': "const folder = await mkdtemp('x')",
  'uses the context of tests': 'const test = anyTest as TestFn<{ port: number }>',
  'uses the context of tests with a component': "const test = needing<{ port: number }>('nats')",
  'kills its component': '// process: waiting - uses components\ntest(async () => nats.kill())',
  'starts an API server': '// process: waiting - uses components\nstart({ ownServer: true })',
}
for (const [what, text] of Object.entries(alone))
  test(`a test file that ${what} must declare its own process`, (t) => {
    const complaints = complaintsOf(text)
    t.is(complaints.length, 1, complaints.join())
    t.regex(complaints[0] ?? '', /"\/\/ process: own - REASON"/)
    t.deepEqual(complaintsOf(`// process: own - a reason\n${text}`), [])
  })

for (const text of ["const test = needing('nats')", "import { execFile } from 'node:child_process'"])
  test(`a test file with ${text} must say that it waits`, (t) => {
    t.regex(complaintsOf(text).join(), /^[^,]*"\/\/ process: waiting - REASON"$/)
    t.deepEqual(complaintsOf(`// process: waiting - a reason\n${text}`), [])
  })

test('a test file that reads its environment and waits in a test says nothing', (t) => {
  t.deepEqual(complaintsOf("const home = process.env['HOME']\ntest('x', async () => { await home })"), [])
})

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
