import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { Say } from '../components/progress.ts'
import type { Bundle } from './use-bundle.ts'

/*
 * Most test files, and each service that a test starts, load the same packages: some 1,200 modules, each of which Node
 * finds, reads and links. From one file they load in half of the time. The file is made of what is installed, by name and
 * content, and the packages come either all from it or none: a class or a registry never exists twice in a process.
 */

const self = fileURLToPath(import.meta.url)

/** These find files of theirs by their place (native code, threads), or patch what all share. They are left alone. */
const leftAlone: ReadonlySet<string> = new Set(['@node-rs/argon2', 'better-sqlite3', 'piscina', 'reflect-metadata', 'sharp'])

/** What the bundled packages load only where it is installed. */
const notBundled = [
  ...leftAlone, 'bufferutil', 'dtrace-provider', 'mariadb', 'mysql', 'oracledb', 'pg', 'pg-query-stream', 'sqlite3', 'tedious', 'utf-8-validate',
].flatMap((name) => [name, `${name}/*`])

/**
 * Returns the URL of the module that a process loads first (`--import`) to take its packages from the bundle. The bundle is made where
 * it is missing. `sources` are the modules of the product, whose imports it serves, relative to `root`.
 */
export const bundlePackages = async (root: string, sources: readonly string[], say: Say): Promise<string> => {
  const specifiers = importedPackages(root, sources)
  const key = createHash('sha256')
    .update([process.version, root, ...specifiers].join('\n'))
    .update(readFileSync(join(root, 'node_modules', '.package-lock.json')))
    .update(readFileSync(self))
    .digest('hex').slice(0, 16)
  const folder = join(root, 'node_modules', '.cache', 'packages', key)
  const hook = join(folder, 'use.mjs')
  if (existsSync(hook)) return pathToFileURL(hook).href
  say('one file is made of the installed packages ...')
  mkdirSync(dirname(folder), { recursive: true })
  const making = mkdtempSync(`${folder}.`)
  try {
    await writeBundle(root, specifiers, making, folder)
    // Of two runs that make it at once the second keeps what the first has made.
    renameSync(making, folder)
  } catch (cause) {
    if (!existsSync(hook)) throw cause
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return pathToFileURL(hook).href
}

const nameOf = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''

const imports = /^(?:import|export|\}) (?:[^\n']* from )?'([^.'][^']*)'|\bimport\('([^.'][^']*)'\)/gm

/**
 * The specifiers by which the modules import the bundled packages. Packages for development are left alone, and those that a
 * module names elsewhere, to require them. Types are erased: a specifier that is imported for them alone does no harm.
 */
const importedPackages = (root: string, sources: readonly string[]): readonly string[] => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly devDependencies: Readonly<Record<string, string>> }
  const found = new Set<string>()
  const plain = new Set([...leftAlone, ...Object.keys(devDependencies)])
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, first, specifier = first ?? ''] of text.matchAll(imports)) if (!isBuiltin(specifier)) found.add(specifier)
    if (!text.includes('createRequire(')) continue
    for (const [, specifier = ''] of text.replaceAll(imports, '').matchAll(/'([^.'][^']*)'/g)) plain.add(nameOf(specifier))
  }
  return [...found].filter((specifier) => !plain.has(nameOf(specifier)) && existsSync(join(root, 'node_modules', nameOf(specifier)))).sort()
}

const writeBundle = async (root: string, specifiers: readonly string[], making: string, folder: string): Promise<void> => {
  const entries = specifiers.map((specifier, index) => ({ specifier, wrapper: `wrapper-${index}.mjs`, stub: `stub-${index}.mjs` }))
  // A wrapper imports as the product does: under the conditions, and with the default export, that a module of ES gets.
  for (const { specifier, wrapper } of entries) {
    writeFileSync(join(making, wrapper), `export * from '${specifier}'\nimport * as all from '${specifier}'\nexport default all.default\n`)
  }
  writeFileSync(join(making, 'entry.cjs'), `module.exports = {\n${entries.map(({ specifier, wrapper }) => `  '${specifier}': () => require('./${wrapper}'),\n`).join('')}}\n`)
  await build({
    entryPoints: [join(making, 'entry.cjs')], outfile: join(making, 'packages.cjs'), absWorkingDir: root,
    bundle: true, platform: 'node', format: 'cjs', target: 'node24', external: notBundled, plugins: [ownPlaces],
    keepNames: false, legalComments: 'none', charset: 'ascii', logLevel: 'error', logOverride: { 'empty-import-meta': 'error' },
  })
  // tsyringe asks for it before it loads.
  await import('reflect-metadata')
  const bundled = createRequire(import.meta.url)(join(making, 'packages.cjs')) as Readonly<Record<string, () => Readonly<Record<string, unknown>>>>
  for (const { specifier, stub } of entries) {
    const names = Object.keys((await import(specifier)) as object)
    const ours = bundled[specifier]?.() ?? {}
    const missing = names.filter((name) => !(name in ours) && name !== 'module.exports')
    if (missing.length > 0) throw new Error(`The bundle of ${specifier} lacks ${missing.join(', ')}.`)
    writeFileSync(join(making, stub), stubOf(specifier, names.filter((name) => name in ours)))
  }
  writeFileSync(join(making, 'packages.mjs'), `import { createRequire, isBuiltin } from 'node:module'\nexport const packages = createRequire(import.meta.url)('./packages.cjs')\n`)
  const bundle: Bundle = {
    root: pathToFileURL(join(root, '/')).href,
    packages: [...new Set(specifiers.map(nameOf))],
    modules: Object.fromEntries(entries.map(({ specifier, stub }) => [specifier, pathToFileURL(join(folder, stub)).href])),
  }
  // Tests start the command on an older Node too, which has no such hooks and leaves the work to this one.
  writeFileSync(join(making, 'use.mjs'), `if (process.version === '${process.version}') {
  const { useBundle } = await import('${new URL('use-bundle.ts', import.meta.url).href}')
  useBundle(${JSON.stringify(bundle)})
}
`)
}

const stubOf = (specifier: string, names: readonly string[]): string => [
  `import { packages } from './packages.mjs'`,
  `const all = packages['${specifier}']()`,
  ...names.flatMap((name, index) => [`const v${index} = all[${JSON.stringify(name)}]`, `export { v${index} as ${JSON.stringify(name)} }`]),
  '',
].join('\n')

/** A bundled module knows the place that it was installed at. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /node_modules\/.*\.[cm]?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (/\bimport\.meta\.url\b/.test(text)) return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'js' }
      if (/\b__(?:dirname|filename)\b/.test(text)) return { contents: `var __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))};${text}`, loader: 'js' }
      return undefined
    })
  },
}
