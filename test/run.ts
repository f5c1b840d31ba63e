import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readAsvsTable, unprovenLines } from './docs/asvs-table.ts'
import { environmentNames } from './support/components/names.ts'
import type { Say } from './support/components/progress.ts'
import { entries, isAlive, removeRunFolder } from './support/components/run-folder.ts'
import { helpText, parseRunArguments, type RunArguments } from './support/components/run-arguments.ts'
import { startComponents } from './support/components/start-components.ts'
import { tapReader, type TapResults } from './support/components/tap-results.ts'
import { describeFileTimes, filesUnderWay, lastSeconds, withFileTimes } from './support/file-times.ts'
import { bundlePackages } from './support/packages/bundle-packages.ts'
import { inRows, readFrom, sharedProcesses, writeSharedProcesses } from './support/shared-processes.ts'
import {
  filesChangedSince,
  isCommit,
  isOnlySlow,
  isSlow,
  repositoryFiles,
  testFilesOf,
  testsTouchedBy,
} from './support/test-files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const tools = join(root, 'node_modules', '.bin')
const cache = join(root, 'node_modules', '.cache')
/** Each test file is a process, and most of them load the whole service: it is compiled once. */
const compiled = join(cache, 'compiled')
/** The state of the tree that the static checks last passed on. */
const checkedFile = join(cache, 'checked-tree')
const memory = '/dev/shm'
/** Shared processes run in so many rows: with --serial, ava starts one process at a time. */
const rows = 2
/** A run in which nothing is reported for so long hangs. What starts a component reports every 15 seconds. */
const quietMinutes = 3
const startedAt = Date.now()
const children = new Set<ChildProcess>()

const say: Say = (line) => {
  process.stdout.write(`[${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s] ${line}\n`)
}

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseRunArguments(args)
  if (parsed.kind === 'help') {
    process.stdout.write(helpText())
    return 0
  }
  if (parsed.kind === 'refused') {
    process.stderr.write(`${parsed.reason}\n`)
    return 2
  }
  const wrong = wrongNames(parsed.run)
  if (wrong !== undefined) {
    process.stderr.write(`${wrong}\n`)
    return 2
  }
  stopOnSignals()
  return run(parsed.run)
}

/** Returns what is wrong with the names that were given, before anything is prepared for them. */
function wrongNames({ patterns, selection }: RunArguments): string | undefined {
  // ava also accepts patterns, and lines of a file.
  const absent = patterns.filter(
    (pattern) => !/[*?[{!]/.test(pattern) && !existsSync(resolve(root, pattern.replace(/:[\d,-]+$/, ''))),
  )
  if (absent.length > 0) return `there is no file or folder ${absent.join(', ')}`
  return selection.kind === 'changed' && !isCommit(root, selection.since)
    ? `${selection.since} is no commit of this repository`
    : undefined
}

async function run(wanted: RunArguments): Promise<number> {
  const chosen = chosenFiles(wanted)
  // A run of named files gives its answer soon: it leaves the static checks out.
  const isWhole = chosen === undefined && wanted.only === undefined
  // The components start and the tests begin while these run: a machine with two cores is then busy to the end.
  const checks =
    (isWhole && !wanted.without.includes('static')) || wanted.only === 'static' ? staticChecks() : Promise.resolve([])
  if (wanted.only === 'static') return (await checks).length === 0 ? 0 : 1
  if (chosen?.length === 0) {
    process.stdout.write('No test file imports what has changed.\n\n0 passed, 0 failed\n')
    return 0
  }
  const base = await environmentFor(wanted)
  try {
    const run = await withFileTimes((times) =>
      withComponents(chosen !== undefined, wanted, { ...base, MOORAGE_TEST_TIMES: times }, (environment) =>
        chosen === undefined ? runAll(environment) : runAva(chosen, [], environment),
      ),
    )
    if (run.result === undefined) return 0
    process.stdout.write(describeFileTimes(run.times))
    return conclude(run.result, await checks, wanted, isWhole && wanted.without.length === 0)
  } catch (cause) {
    process.stderr.write(`\n${cause instanceof Error ? cause.message : String(cause)}\n`)
    return 1
  }
}

/** The compiler that is several times as fast. The one that ESLint uses has the name `typescript`. */
const typeCheck = 'node_modules/typescript-7/bin/tsc'
const folders = ['core', 'adapters', 'plugins', 'composition', 'test']
const generated = 'test/{arch/fixtures,shared-processes}/**'
const unused = ['--config', 'test/arch/knip.config.js', '--no-progress']
/** The static checks: name, tool, arguments, and what to do when it fails. */
const staticSteps: readonly (readonly [name: string, tool: string, args: readonly string[], advice?: string])[] = [
  [
    'type check',
    'node',
    [typeCheck, '--noEmit', '--incremental', '--tsBuildInfoFile', join(cache, 'types.tsbuildinfo')],
  ],
  ['types of the API', 'node', ['--import', 'reflect-metadata', 'test/console/write-api-types.ts']],
  ['type check of the console', 'node', [typeCheck, '-p', 'adapters/console/site']],
  ['lint', 'eslint', ['.']],
  [
    'lint by types',
    'oxlint',
    ['--type-aware', '-c', 'test/arch/oxlint.json', '--ignore-pattern', generated, ...folders],
  ],
  ['layout', 'node', ['test/format.ts', '--check'], 'run npm run format'],
  ['unused code', 'knip', unused, 'remove it, or its export'],
  ['unused code of the product', 'knip', [...unused, '--production'], 'remove it, or tag it @internal for its test'],
]

/** Names those that failed. */
async function staticChecks(): Promise<readonly string[]> {
  const state = stateOfTree()
  if (existsSync(checkedFile) && readFileSync(checkedFile, 'utf8') === state) {
    say('static checks: nothing has changed since they passed')
    return []
  }
  const failed: string[] = []
  for (const [name, tool, args, advice] of staticSteps)
    if (!(await step(name, tool, args))) failed.push(advice === undefined ? name : `${name}: ${advice}`)
  if (failed.length === 0) {
    mkdirSync(cache, { recursive: true })
    writeFileSync(`${checkedFile}.${process.pid}`, state)
    renameSync(`${checkedFile}.${process.pid}`, checkedFile)
  }
  return failed
}

/** One word for the text of every file of the repository; the lock file covers the packages. */
function stateOfTree(): string {
  const hash = createHash('sha256').update(process.version)
  for (const file of repositoryFiles(root))
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

/** The files that ava gets; undefined means every test file. */
function chosenFiles({ selection, patterns }: RunArguments): readonly string[] | undefined {
  if (patterns.length > 0) return patterns
  if (selection.kind === 'all') return undefined
  if (selection.kind === 'slow') return testFilesOf(repositoryFiles(root)).filter(isSlow)
  const changed = filesChangedSince(root, selection.since)
  const touched = testsTouchedBy(root, changed).filter((file) => !isOnlySlow(file))
  say(`changed files: ${changed.length}; test files that they can touch: ${touched.length}`)
  return touched
}

/** Answers nothing when only the components were asked for. */
async function withComponents<T>(
  isChosen: boolean,
  { only, mysql }: RunArguments,
  base: NodeJS.ProcessEnv,
  work: (environment: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T | undefined> {
  // With named files a component starts when a file first asks for it. MySQL takes too long to start for each of them.
  if (isChosen && mysql === undefined) return work(base)
  const components = await startComponents(say, base, isChosen ? ['mariadb'] : undefined)
  try {
    return only === 'components' ? undefined : await work({ ...base, ...components.environment })
  } finally {
    say('stopping the components')
    await components.stop()
  }
}

async function environmentFor(wanted: RunArguments): Promise<NodeJS.ProcessEnv> {
  useMemoryForTemporaryFiles()
  // API servers and their clients: memory is there, and cores are not.
  process.env['GOGC'] ??= '400'
  const without = [process.env[environmentNames.without] ?? '', ...wanted.without]
    .filter((name) => name !== '')
    .join(',')
  return {
    ...withTools(process.env),
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? compiled,
    NODE_OPTIONS: [process.env['NODE_OPTIONS'] ?? '', ...(await bundleOption())].join(' ').trim(),
    [environmentNames.without]: without,
    [environmentNames.thorough]: String(wanted.selection.kind === 'slow'),
    ...(wanted.mysql === undefined ? {} : { [environmentNames.mysqlRelease]: wanted.mysql }),
  }
}

/**
 * Each test file is a process, and starts others: they load their packages from one file. Without it they take longer,
 * and do the same.
 */
async function bundleOption(): Promise<readonly string[]> {
  try {
    return [
      `--import=${await bundlePackages(
        root,
        repositoryFiles(root).filter((file) => file.endsWith('.ts')),
        say,
      )}`,
    ]
  } catch (cause) {
    say(`the packages are loaded as they are installed: ${cause instanceof Error ? cause.message : String(cause)}`)
    return []
  }
}

/**
 * Databases of tests are temporary: where the machine has a file system in memory with room, they need not wait for a
 * disk. TMPDIR set by the caller is kept.
 */
function useMemoryForTemporaryFiles(): void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom(memory)) return
  const parent = join(memory, `moorage-${userInfo().uid}`)
  for (const name of entries(parent)) if (!isAlive(Number(name))) removeRun(join(parent, name))
  const folder = join(parent, String(process.pid))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  process.env['TMPDIR'] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 6 * 1024 ** 3
  } catch {
    return false
  }
}

/** What a run left behind that was killed: its components still run. */
function removeRun(folder: string): void {
  const components = join(folder, `moorage-test-${userInfo().uid}`)
  for (const name of entries(components)) removeRunFolder(join(components, name))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** With this repository's tools first, among them the Node that runs TypeScript. */
function withTools(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...environment, PATH: `${tools}${delimiter}${environment['PATH'] ?? ''}` }
}

async function step(name: string, tool: string, args: readonly string[]): Promise<boolean> {
  say(`${name} ...`)
  const { status } = start(tool, args, withTools(process.env), 'inherit')
  const passed = (await status) === 0
  say(`${name}: ${passed ? 'passed' : 'FAILED'}`)
  return passed
}

/**
 * Runs every test file. Those that share a process run in it one test at a time, beside the others: a busy process must
 * not hold up a test that has a time limit.
 */
async function runAll(environment: NodeJS.ProcessEnv): Promise<TapResults & { status: number }> {
  const files = testFilesOf(repositoryFiles(root)).filter((file) => !isOnlySlow(file))
  const shared = sharedProcesses(files, readFrom(root))
  writeSharedProcesses(root, shared)
  const sharing = new Set(shared.flatMap(({ members }) => members))
  const own = files.filter((file) => !sharing.has(file))
  say(`tests: ${own.length} files with a process each, and ${sharing.size} in ${shared.length} processes`)
  const seconds = lastSeconds()
  const pathsOfRows = inRows(
    shared.map(({ path }) => path),
    rows,
    (path) => seconds.get(path) ?? 0,
  )
  const runs = await Promise.all([
    runAva(own, [], environment),
    ...pathsOfRows.map((paths) => runAva(paths, ['--serial'], { ...environment, MOORAGE_SHARED_PROCESSES: 'true' })),
  ])
  const sum = (count: (run: TapResults) => number): number => runs.reduce((all, run) => all + count(run), 0)
  return {
    passed: sum((run) => run.passed),
    failed: sum((run) => run.failed),
    skipped: sum((run) => run.skipped),
    failures: runs.flatMap((run) => run.failures),
    passedTitles: runs.flatMap((run) => run.passedTitles),
    isComplete: runs.every((run) => run.isComplete),
    status: Math.max(...runs.map((run) => run.status)),
  }
}

async function runAva(
  files: readonly string[],
  options: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<TapResults & { status: number }> {
  // ava's own limit is only the last resort: it does not see that a component is being built, and its TAP reporter
  // fails when it names the tests.
  const { child, status } = start('ava', ['--tap', '--timeout=30m', ...options, ...files], environment, 'pipe')
  const reader = tapReader()
  let hung: string | undefined
  const quiet = setTimeout(() => {
    hung = `No test ended for ${quietMinutes} minutes. Under way: ${filesUnderWay(environment['MOORAGE_TEST_TIMES'] ?? '').join(', ')}`
    endGroup(child)
  }, quietMinutes * 60_000)
  child.stderr?.on('data', (chunk: Buffer) => {
    quiet.refresh()
    process.stderr.write(chunk)
  })
  if (child.stdout !== null) {
    for await (const line of createInterface({ input: child.stdout })) {
      quiet.refresh()
      const shown = reader.add(line)
      if (shown !== undefined) process.stdout.write(`${shown}\n`)
    }
  }
  const ended = await status
  clearTimeout(quiet)
  const results = reader.results()
  return { ...results, failures: [...results.failures, ...(hung === undefined ? [] : [hung])], status: ended }
}

function conclude(
  results: TapResults & { status: number },
  brokenSteps: readonly string[],
  wanted: RunArguments,
  isWhole: boolean,
): number {
  const problems = brokenSteps.map((name) => `${name} failed`)
  if (!results.isComplete) problems.push('ava did not finish its report')
  if (results.isComplete && results.passed + results.failed === 0) problems.push('no test was run')
  if (results.status !== 0 && results.failed === 0 && problems.length === 0)
    problems.push(`ava ended with status ${results.status}`)
  // A claim without its passed test is a broken promise; with parts switched off nobody claims anything.
  if (isWhole && results.isComplete) problems.push(...unprovenLines(readAsvsTable(), results.passedTitles))
  if (results.failures.length > 0) {
    process.stdout.write(
      `\nFailures (npx ava FILE shows one file's with their source lines):\n\n${results.failures.join('\n\n')}\n`,
    )
  }
  for (const problem of problems) process.stdout.write(`\n${problem}\n`)
  if (results.skipped > 0 && wanted.without.length === 0) {
    process.stdout.write(
      '\nSkipped: what fills a disk, which this system does not allow to mount (test/support/small-disk.ts).\n',
    )
  }
  const failed = results.failed + problems.length
  const isPartial = results.skipped > 0 || wanted.without.length > 0
  const names = wanted.without.length > 0 ? ` (switched off by name: ${wanted.without.join(', ')})` : ''
  process.stdout.write(
    `\n${results.passed} passed, ${failed} failed${isPartial ? `, ${results.skipped} skipped${names}` : ''}\n`,
  )
  return failed === 0 ? 0 : 1
}

interface StartedTool {
  readonly child: ChildProcess
  readonly status: Promise<number>
}

function start(
  tool: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  output: 'inherit' | 'pipe',
): StartedTool {
  // A process group of its own, so that everything which a test has started can be ended with it.
  const child = spawn(join(tools, tool), args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', output, output],
    detached: true,
  })
  children.add(child)
  const status = new Promise<number>((resolve) => {
    child.once('error', (cause) => {
      process.stderr.write(`${cause.message}\n`)
      resolve(127)
    })
    child.once('close', (code) => {
      children.delete(child)
      resolve(code ?? 1)
    })
  })
  return { child, status }
}

/** Leaves at once; the components and tools of this run end with it. */
function stopOnSignals(): void {
  process.on('exit', () => {
    for (const child of children) endGroup(child)
  })
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const) {
    process.once(signal, () => {
      say(`stopped by ${signal}`)
      process.exit(128 + number)
    })
  }
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
  } catch {
    // The group has ended already.
  }
}

// Last, when every constant of this file has its value.
process.exitCode = await main(process.argv.slice(2))
