import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import 'reflect-metadata'
import { makeAssertions, type Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { factoryOf, findSuites, runSuite } from '../../composition/runtime/port-tests/run-suite.ts'
import { runIn } from './command-fixture.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'moorage-test-port-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const sourcesBelow = (place: string): readonly string[] =>
  readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(place, name))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** What a pattern captures in these files. */
const namesIn = (paths: readonly string[], pattern: RegExp): ReadonlySet<string> =>
  new Set(paths.flatMap((path) => [...textOf(path).matchAll(pattern)].map(([, name = '']) => name)))

const run = (...words: readonly string[]) => runIn({}, 'test-port', ...words)

const moduleOf = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test('every suite file is listed with a factory, existing ports and a test', async (t) => {
  const suites = await findSuites()
  const files = sourcesBelow('test').filter((path) => path.endsWith('.suite.ts'))
  t.deepEqual([...new Set(suites.map(({ path }) => `${path}.ts`))].toSorted(), files.toSorted())
  t.is(new Set(suites.map(({ suite }) => factoryOf(suite))).size, suites.length)
  const interfaces = namesIn([...sourcesBelow('core'), ...sourcesBelow('adapters')], /export interface (\w+)/g)
  const tested = namesIn(
    sourcesBelow('test').filter((path) => path.endsWith('.test.ts')),
    /declareSuite\(\s*(\w+),/g,
  )
  for (const { suite, path } of suites) {
    t.true(suite.cases.length > 2, suite.name)
    for (const port of suite.ports) t.true(interfaces.has(port), port)
    for (const name of namesIn([`${path}.ts`], /export const (\w+) = contractSuite</g)) t.true(tested.has(name), name)
  }
  const { code, out } = await run('--list')
  t.is(code, 0)
  t.is(out.split('\n').length, suites.length)
})

test('a suite needs no package that an installation lacks', (t) => {
  const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Readonly<Record<string, string>> }
  const imports = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm
  const seen = new Set<string>()
  const visit = (path: string, from: readonly string[]): void => {
    if (seen.has(path)) return
    seen.add(path)
    for (const [, specifier = ''] of textOf(path).matchAll(imports)) {
      if (specifier.startsWith('.')) visit(join(path, '..', specifier), [...from, path])
      else if (!specifier.startsWith('node:')) {
        const name = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/')
        t.true(name in dependencies, `${[...from, path].join(' > ')} imports ${name}`)
      }
    }
  }
  for (const path of sourcesBelow('test')) if (path.endsWith('.suite.ts')) visit(path, [])
  t.true(seen.size > 50)
})

test("a faithful adapter passes, and another one's difference is printed", async (t) => {
  const source = "import { makeSqlRoleStore } from 'moorage/adapters/sql/authz/role-store'\n"
  const good = moduleOf(
    'good.mjs',
    `${source}export const openRoleStore = async ({ database }) => {
      const db = await database()
      return { store: makeSqlRoleStore(db)(db), close: () => db.close() }
    }`,
  )
  const kept = await run('RoleStore', good)
  t.is(kept.code, 0, kept.out)
  t.regex(kept.out, /^kept {6}a role of another organization does not exist$/m)
  t.regex(kept.out, /good\.mjs keeps 11 of 11 cases of role-store\.$/)

  const faulty = moduleOf(
    'faulty.mjs',
    `${source}export const openRoleStore = async ({ database }) => {
      const db = await database()
      const store = makeSqlRoleStore(db)(db)
      const get = async (org, id) => (await store.get(org, id)) ?? store.get(org === 11 ? 12 : 11, id)
      const principals = async () => { throw new TypeError('not made yet') }
      const remove = async () => void Promise.reject(new Error('it is not awaited'))
      return { store: { ...store, get, remove, principals } }
    }`,
  )
  const { code, out } = await run('role-store', faulty)
  t.is(code, 1)
  t.regex(
    out,
    /^not kept {2}a role of another organization does not exist\n +The values must be the same\.\n +- undefined\n +\+ \{/m,
  )
  t.regex(out, /^ +at .*role-store\.suite\.ts:\d+/m)
  t.regex(out, /^not kept {2}principals are .*\n +TypeError: not made yet\n +at .*faulty\.mjs:6/m)
  t.regex(out, /^not kept {2}remove takes .*\n +An error was thrown that is not awaited\. Error: it is not awaited/m)
  t.regex(out, /keeps 8 of 11 cases/)
  const endless = moduleOf('endless.mjs', 'export const openMailer = () => new Promise(() => undefined)')
  const ended = await run('mailer', endless, '--only', 'Message-ID', '--timeout', '0.1')
  t.regex(ended.out, /^not kept .*\n +The case has not ended within 0\.1 s\./m)

  const json = await run('role-store', faulty, '--only', 'principals', '--json')
  t.like(JSON.parse(json.out), { name: 'role-store', kept: 0, cases: { length: 1, 0: { isKept: false } } })
})

test('wrong use is an error with the correct form', async (t) => {
  const other = moduleOf('other.mjs', 'export const openMailer = () => undefined\nexport const more = 1')
  const broken = moduleOf('broken.mjs', "throw new Error('broken')")
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['Nothing', other], /no port and no suite named Nothing\. They are listed by: moorage test-port --list/],
    [
      ['SessionStore', other],
      /Several suites test the port SessionStore: name one of identity-stores, remembered-logins\./,
    ],
    [['role-store', other], /must export the function openRoleStore\. It exports more, openMailer\./],
    [['role-store', broken], /broken\.mjs cannot be loaded: broken\./],
    [['role-store', join(folder, 'absent.mjs')], /absent\.mjs cannot be loaded/],
    [['mailer', other, '--timeout', '-1'], /--timeout must be a number of seconds, not -1/],
    [['mailer', other, '--only', 'no such case'], /No case of mailer has no such case in its title/],
    [['mailer', other, 'third'], /too many arguments/],
  ]
  for (const [words, expected] of cases) {
    const { code, err } = await run(...words)
    t.is(code, 2, words.join(' '))
    t.regex(err, expected)
  }
  const noBench = await run('mailer', other, '--only', 'Message-ID')
  t.is(noBench.code, 1)
  t.regex(noBench.out, /openMailer must return a bench, not undefined/)
  const described = await run('rolestore')
  t.is(described.code, 0)
  t.regex(
    described.out,
    /exports the function openRoleStore[\s\S]*role-store\.suite\.ts[\s\S]*replace refuses the name/,
  )
})

/** Whether a claim holds by our assertions, and by those of ava. */
const verdicts = async (t: ExecutionContext, claim: (claims: Assertions) => unknown): Promise<readonly boolean[]> => {
  const attempt = await t.try((tt) => void claim(tt))
  attempt.discard()
  try {
    claim(makeAssertions().t)
    return [true, attempt.passed]
  } catch {
    return [false, attempt.passed]
  }
}

test('each assertion holds where that of ava holds', async (t) => {
  const values: readonly unknown[] = [
    ...[undefined, null, 0, -0, NaN, 1, 1n, 'a', true, false, [], {}, [undefined], { a: undefined }, { a: 1 }],
    ...[{ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, { a: { b: 1 } }, [1, 2], [2, 1], new Date(0)],
    ...[new Date(1), new Uint8Array([1]), Buffer.from([1]), new Set([1]), new Set([2]), new Map([[1, 2]]), /a/],
  ]
  const isSelector = (value: unknown): value is object =>
    [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value ?? 0) as object) &&
    Object.keys(value as object).length > 0
  const claims: (readonly [title: string, claim: (claims: Assertions) => unknown])[] = []
  for (const actual of values) {
    const shown = inspect(actual)
    claims.push([`true ${shown}`, (c) => c.true(actual)], [`truthy ${shown}`, (c) => c.truthy(actual)])
    claims.push([`false ${shown}`, (c) => c.false(actual)])
    for (const expected of values) {
      const both = `${shown} ${inspect(expected)}`
      claims.push([`is ${both}`, (c) => c.is(actual, expected)], [`not ${both}`, (c) => c.not(actual, expected)])
      claims.push([`deepEqual ${both}`, (c) => c.deepEqual(actual, expected)])
      if (isSelector(expected)) claims.push([`like ${both}`, (c) => c.like(actual, expected)])
    }
  }
  const differing: string[] = []
  for (const [title, claim] of claims) {
    const [ours, ofAva] = await verdicts(t, claim)
    if (ours !== ofAva) differing.push(`${title}: ${ours}`)
  }
  t.deepEqual(differing, [])
})

test('a case needs an assertion and has a fixture of its own', async (t) => {
  const events: string[] = []
  const suite = contractSuite<{ readonly n: number; close(): Promise<void> }>(
    { name: 'sample', ports: ['Sample'], needs: 'Nothing.' },
    (onBench) => {
      onBench('asserts nothing', async () => undefined)
      onBench('has two', async (c, { n }, another) => {
        c.not(n, (await another()).n)
        await c.throwsAsync(Promise.reject(new TypeError('away')), { instanceOf: TypeError, message: /^away$/ })
      })
      onBench('throws the wrong error', async (c) => {
        await c.throwsAsync(Promise.reject(new Error('away')), { instanceOf: TypeError })
      })
      onBench('throws nothing', async (c) => void (await c.throwsAsync(Promise.resolve(1))))
      onBench('is not to throw', async (c) => void (await c.notThrowsAsync(Promise.reject(new Error('away')))))
    },
  )
  let count = 0
  const open = async () => {
    const n = (count += 1)
    events.push(`open ${n}`)
    return { n, close: async () => void events.push(`close ${n}`) }
  }
  const results = await runSuite(suite, open, { limitMilliseconds: 10_000 })
  t.deepEqual(
    results.map(({ isKept, reason = '' }) => (isKept ? 'kept' : reason.split('\n')[0])),
    [
      'The case has ended without an assertion.',
      'kept',
      'The error must be a TypeError.',
      'The promise must be rejected.',
      'The promise must not be rejected.',
    ],
  )
  t.deepEqual(events.slice(0, 6), ['open 1', 'close 1', 'open 2', 'open 3', 'close 2', 'close 3'])
  events.length = 0
  await runSuite({ ...suite, cases: suite.cases, isShared: true }, open, { limitMilliseconds: 10_000 })
  t.is(events.join(), `open ${count},close ${count}`)
  t.throws(() => contractSuite({ ...suite }, (on) => [1, 2].forEach(() => on('same', async () => undefined))).cases, {
    message: /Two cases of sample have the title: same/,
  })
})
