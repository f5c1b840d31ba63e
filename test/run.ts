import { spawn, type ChildProcess } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readAsvsTable, unprovenLines } from './docs/asvs-table.ts'
import { environmentNames } from './support/components/names.ts'
import type { Say } from './support/components/progress.ts'
import { helpText, parseRunArguments, type RunArguments } from './support/components/run-arguments.ts'
import { startComponents } from './support/components/start-components.ts'
import { tapReader, type TapResults } from './support/components/tap-results.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const tools = join(root, 'node_modules', '.bin')
/** Each test file is a process, and most of them load the whole service: it is compiled once. */
const compiled = join(root, 'node_modules', '.cache', 'compiled')
const startedAt = Date.now()
const children = new Set<ChildProcess>()

const say: Say = (line) => { process.stdout.write(`[${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s] ${line}\n`) }

process.exitCode = await main(process.argv.slice(2))

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
  stopOnSignals()
  return run(parsed.run)
}

async function run(wanted: RunArguments): Promise<number> {
  const brokenSteps: string[] = []
  // Somebody who names files wants their answer soon.
  const isWhole = wanted.patterns.length === 0 && wanted.only === undefined
  if ((isWhole && !wanted.without.includes('static')) || wanted.only === 'static') {
    if (!(await step('type check', 'tsc', ['--noEmit']))) brokenSteps.push('type check')
    if (!(await step('lint', 'eslint', ['.']))) brokenSteps.push('lint')
  }
  if (wanted.only === 'static') return brokenSteps.length === 0 ? 0 : 1
  const base = environmentFor(wanted)
  try {
    const results = await withComponents(wanted, base, (environment) => runAva(wanted.patterns, environment))
    return results === undefined ? 0 : conclude(results, brokenSteps, wanted)
  } catch (cause) {
    process.stderr.write(`\n${cause instanceof Error ? cause.message : String(cause)}\n`)
    return 1
  }
}

/** Answers nothing when only the components were asked for. */
async function withComponents<T>(
  wanted: RunArguments,
  base: NodeJS.ProcessEnv,
  work: (environment: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T | undefined> {
  // With named files a component starts when a file first asks for it.
  if (wanted.patterns.length > 0) return work(base)
  const components = await startComponents(say, base)
  try {
    return wanted.only === 'components' ? undefined : await work({ ...base, ...components.environment })
  } finally {
    say('stopping the components')
    await components.stop()
  }
}

function environmentFor(wanted: RunArguments): NodeJS.ProcessEnv {
  const without = [process.env[environmentNames.without] ?? '', ...wanted.without].filter((name) => name !== '').join(',')
  return { ...withTools(process.env), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? compiled, [environmentNames.without]: without }
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

async function runAva(patterns: readonly string[], environment: NodeJS.ProcessEnv): Promise<TapResults & { status: number }> {
  say(`tests: ${patterns.length === 0 ? 'every file' : patterns.join(' ')}`)
  const { child, status } = start('ava', ['--tap', ...patterns], environment, 'pipe')
  const reader = tapReader()
  if (child.stdout !== null) {
    for await (const line of createInterface({ input: child.stdout })) {
      const shown = reader.add(line)
      if (shown !== undefined) process.stdout.write(`${shown}\n`)
    }
  }
  return { ...reader.results(), status: await status }
}

function conclude(results: TapResults & { status: number }, brokenSteps: readonly string[], wanted: RunArguments): number {
  const problems = brokenSteps.map((name) => `${name} failed`)
  if (!results.isComplete) problems.push('ava did not finish its report')
  if (results.isComplete && results.passed + results.failed === 0) problems.push('no test was run')
  if (results.status !== 0 && results.failed === 0 && problems.length === 0) problems.push(`ava ended with status ${results.status}`)
  // A claim without its passed test is a broken promise; with parts switched off nobody claims anything.
  const isWhole = wanted.patterns.length === 0 && wanted.only === undefined && wanted.without.length === 0
  if (isWhole && results.isComplete) problems.push(...unprovenLines(readAsvsTable(), results.passedTitles))
  if (results.failures.length > 0) {
    process.stdout.write(`\nFailures (npx ava FILE shows one file's with their source lines):\n\n${results.failures.join('\n\n')}\n`)
  }
  for (const problem of problems) process.stdout.write(`\n${problem}\n`)
  const failed = results.failed + problems.length
  const isPartial = results.skipped > 0 || wanted.without.length > 0
  const names = wanted.without.length > 0 ? ` (switched off by name: ${wanted.without.join(', ')})` : ''
  process.stdout.write(`\n${results.passed} passed, ${failed} failed${isPartial ? `, ${results.skipped} skipped${names}` : ''}\n`)
  return failed === 0 ? 0 : 1
}

interface StartedTool {
  readonly child: ChildProcess
  readonly status: Promise<number>
}

function start(tool: string, args: readonly string[], environment: NodeJS.ProcessEnv, stdout: 'inherit' | 'pipe'): StartedTool {
  // A process group of its own, so that everything which a test has started can be ended with it.
  const child = spawn(join(tools, tool), args, { cwd: root, env: environment, stdio: ['ignore', stdout, 'inherit'], detached: true })
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
  process.on('exit', () => { for (const child of children) endGroup(child) })
  for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]] as const) {
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
