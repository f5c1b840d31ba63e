import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { bundlePackages } from '../support/packages/bundle-packages.ts'
import { nearestTests, repositoryFiles } from '../support/test-files.ts'
import { mutantsOf, type Mutant } from './mutants.ts'

/*
 * Changes one decision of a file at a time and runs the nearest tests: a mutant that no test fails on shows a rule
 * without a test. The report names the mutants that survive.
 */

const usage = `npm run mutate -- core/usage/months core/contracts/terms.ts ...

  --tests FILE     run this test file instead of the nearest ones; may be repeated
  --sample NUMBER  at most so many mutants of a file, evenly spread
`
const root = fileURLToPath(new URL('../..', import.meta.url))
const tools = join(root, 'node_modules', '.bin')
const substitute = pathToFileURL(join(import.meta.dirname, 'substitute.ts')).href
/** Of the unchanged file, and at least 20 seconds: a mutant that loops is ended after so many times as long. */
const patience = 5
const leastMs = 20_000

type Result = 'passed' | 'failed' | 'ended'

const runTests = (
  tests: readonly string[],
  environment: NodeJS.ProcessEnv,
  limitMs = 600_000,
): Promise<{ readonly result: Result; readonly ms: number }> =>
  new Promise((resolve) => {
    const startedAt = performance.now()
    const child = spawn(join(tools, 'ava'), ['--fail-fast', '--tap', ...tests], {
      cwd: root,
      env: environment,
      stdio: 'ignore',
      detached: true,
    })
    let isEnded = false
    const limit = setTimeout(() => {
      isEnded = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, limitMs)
    child.once('close', (code) => {
      clearTimeout(limit)
      const result = isEnded ? 'ended' : code === 0 ? 'passed' : 'failed'
      resolve({ result, ms: performance.now() - startedAt })
    })
  })

/** At most `count` of the items, evenly spread. */
const spread = <A>(items: readonly A[], count: number): readonly A[] =>
  items.length <= count ? items : items.filter((_, index) => (index * count) % items.length < count)

const survivorsOf = async (
  file: string,
  tests: readonly string[],
  mutants: readonly Mutant[],
  environment: NodeJS.ProcessEnv,
): Promise<readonly Mutant[]> => {
  const unchanged = await runTests(tests, environment)
  if (unchanged.result !== 'passed') throw new Error(`The tests fail without a change: ${tests.join(', ')}`)
  const limitMs = Math.max(leastMs, patience * unchanged.ms)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mutants-'))
  const survivors: Mutant[] = []
  const rest = mutants.entries()
  const work = async (): Promise<void> => {
    for (const [index, mutant] of rest) {
      const path = join(folder, `${index}.ts`)
      writeFileSync(path, mutant.text)
      const { result } = await runTests(
        tests,
        { ...environment, MOORAGE_MUTANT: path, MOORAGE_MUTANT_OF: pathToFileURL(join(root, file)).href },
        limitMs,
      )
      if (result === 'passed') survivors.push(mutant)
    }
  }
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return survivors.toSorted((one, other) => one.line - other.line)
}

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { tests: { type: 'string', multiple: true }, sample: { type: 'string' } },
  })
  if (positionals.length === 0) {
    process.stderr.write(usage)
    return 2
  }
  const all = repositoryFiles(root)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const bundle = await bundlePackages(
    root,
    all.filter((file) => file.endsWith('.ts')),
    say,
  )
  const environment = {
    ...process.env,
    PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}`,
    NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    NODE_OPTIONS: `--import=${bundle} --import=${substitute}`,
  }
  const wanted = positionals.map((path) => path.replace(/\/$/, ''))
  const files = all.filter(
    (file) =>
      /\.ts$/.test(file) && wanted.some((path) => file === path || (isFolder(path) && file.startsWith(`${path}/`))),
  )
  let left = 0
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    const mutants = spread(mutantsOf(file, text), Number(values.sample ?? Infinity))
    if (mutants.length === 0) continue
    const tests = values.tests ?? nearestTests(root, file, all)
    if (tests.length === 0) {
      say(`${file}: no test imports it`)
      continue
    }
    const survivors = await survivorsOf(file, tests, mutants, environment)
    left += survivors.length
    say(`${file}: ${mutants.length - survivors.length} of ${mutants.length} killed by ${tests.join(', ')}`)
    for (const { line, before, after } of survivors) say(`  ${file}:${line}  ${oneLine(before)}  ->  ${oneLine(after)}`)
  }
  say(`${left} mutants survive`)
  return left === 0 ? 0 : 1
}

const isFolder = (path: string): boolean =>
  statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 80)

process.exitCode = await main()
