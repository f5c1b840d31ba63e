// process: own - reads the whole tree
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'

const root = fileURLToPath(new URL('../..', import.meta.url))
const git = (...parameters: readonly string[]): readonly string[] =>
  execFileSync('git', ['-C', root, ...parameters], { encoding: 'utf8' })
    .split('\0')
    .filter((line) => line !== '')

/** Every file of the tree that git knows or would take, fixtures of these very checks excluded. */
const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard').filter(
  (file) => !file.startsWith('test/arch/fixtures/'),
)
const product = files.filter((file) => /^(core|plugins|adapters|composition)\/.*\.ts$/.test(file))

const textOf = (file: string): string => {
  try {
    return readFileSync(`${root}${file}`, 'utf8')
  } catch {
    return ''
  }
}

const topLevel = new Set([
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'core',
  'adapters',
  'plugins',
  'composition',
  'test',
  'README.md',
  'CHANGELOG.md',
  'changelog',
  'CONTRIBUTING.md',
  'CODE_OF_CONDUCT.md',
  'SECURITY.md',
  'AGENTS.md',
  '.github',
  'LICENSE',
  'NOTICE',
  '.gitignore',
  '.git-blame-ignore-revs',
  '.npmrc',
  '.ci',
  'docs',
  'deploy',
  'ava.config.js',
  'eslint.config.js',
  '.dependency-cruiser.cjs',
  'redocly.yaml',
  'tsconfig.build.json',
])

test('the top level holds the folders of the architecture', (t) => {
  const found = new Set(files.map((file) => file.split('/')[0] ?? ''))
  t.deepEqual(
    [...found].filter((name) => !topLevel.has(name)),
    [],
  )
})

test('the checks read the tree', (t) => {
  t.true(product.length > 100)
})

const forbiddenName = /(^|\/)(index\.[cm]?[jt]s|(utils?|commons?|helpers?|misc)(\.[cm]?[jt]s|\/))/

test('no barrels and no grab-bags', (t) => {
  t.deepEqual(
    files.filter((file) => forbiddenName.test(file)),
    [],
  )
  const isBarrel = (file: string): boolean => {
    const statements = textOf(file)
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .trim()
    return (
      statements !== '' &&
      statements.split(/\n(?=\S)/).every((statement) => /^export (type )?(\*|\{[^}]*\}).* from /s.test(statement))
    )
  }
  t.deepEqual(product.filter(isBarrel), [])
})

test('the name check is alive', (t) => {
  for (const name of ['core/index.ts', 'core/utils.ts', 'plugins/common/a.ts', 'helpers/x.ts', 'test/misc.ts'])
    t.true(forbiddenName.test(name), name)
  t.false(forbiddenName.test('core/kernel/common-name.ts'))
})

test('files are named in kebab-case', (t) => {
  const good = /^[a-z0-9]+(-[a-z0-9]+)*(\.(routes|handlers|job|test|suite|config|d))?\.ts$/
  t.deepEqual(
    product.filter((file) => !good.test(basename(file))),
    [],
  )
})

test('no file is longer than 500 lines', (t) => {
  const long = files
    .filter((file) => /\.(ts|js|cjs|mjs)$/.test(file))
    .filter((file) => textOf(file).split('\n').length > 501)
  t.deepEqual(long, [])
})

test('nothing is left for later in the product, and no test is switched off', (t) => {
  const later = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')})\\b`)
  t.deepEqual(
    product.filter((file) => later.test(textOf(file))),
    [],
  )
  const off = new RegExp(`\\btest\\.(${['skip', 'only', 'todo', 'failing'].join('|')})\\b`)
  // needing.ts is where a test that needs a component is skipped, loudly, on a machine without it.
  const mayHold = new Set(['test/support/components/needing.ts'])
  t.deepEqual(
    files.filter((file) => /^test\/.*\.ts$/.test(file) && !mayHold.has(file) && off.test(textOf(file))),
    [],
  )
})

interface LockedPackage {
  readonly version: string
  readonly license?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
}

const locked = JSON.parse(textOf('package-lock.json')) as { readonly packages: Readonly<Record<string, LockedPackage>> }

/** What is installed with the published package, on any platform. */
const production = Object.entries(locked.packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, locked]) => ({
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    ...locked,
  }))

/** Code that npm runs while it installs, and why it may. */
const allowedInstallScripts: Readonly<Record<string, string>> = {
  'dtrace-provider': 'optional, of bunyan: builds a native module where it can, and is left out where it cannot',
}

/** Licences that say nothing about the code that only uses what they cover. */
const allowedLicences: ReadonlySet<string> = new Set([
  ...[
    'MIT',
    'MIT-0',
    'ISC',
    '0BSD',
    'BSD-2-Clause',
    'BSD-3-Clause',
    'Apache-2.0',
    'BlueOak-1.0.0',
    'Unlicense',
    'PSF-2.0',
    '(AFL-2.1 OR BSD-3-Clause)',
  ],
  // By file, unchanged: exeunt, of bunyan.
  'MPL-2.0',
  // libvips, a shared library that sharp loads and anyone may replace.
  ...['LGPL-3.0-or-later', 'Apache-2.0 AND LGPL-3.0-or-later', 'Apache-2.0 AND LGPL-3.0-or-later AND MIT'],
])

/** Packages whose package.json names no licence, with the one that their own files state. */
const licencesStatedElsewhere: Readonly<Record<string, string>> = { 'escape-regexp-component': 'MIT', 'png-js': 'MIT' }

test('installed packages run no scripts except the listed ones', (t) => {
  t.true(production.length > 200)
  const scripted = production.filter(({ hasInstallScript }) => hasInstallScript === true)
  t.deepEqual(
    scripted.map(({ name }) => name),
    Object.keys(allowedInstallScripts),
  )
  t.true(scripted.every(({ optional }) => optional === true))
  // The lock file repeats what the registry said; what is on the disk is what ran.
  const scripts = ['preinstall', 'install', 'postinstall']
  const onDisk = production.filter(({ name }) => {
    const text = textOf(`node_modules/${name}/package.json`)
    const declared = text === '' ? {} : ((JSON.parse(text) as { readonly scripts?: object }).scripts ?? {})
    return scripts.some((script) => script in declared)
  })
  t.deepEqual(
    onDisk.map(({ name }) => name).filter((name) => allowedInstallScripts[name] === undefined),
    [],
  )
})

test('every licence of an installed package is on the allowed list', (t) => {
  const licenceOf = ({ name, license }: (typeof production)[number]): string =>
    license ?? licencesStatedElsewhere[name] ?? 'none'
  t.deepEqual(
    production
      .filter((each) => !allowedLicences.has(licenceOf(each)))
      .map((each) => `${each.name}@${each.version}: ${licenceOf(each)}`),
    [],
  )
})
