import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'
import type { Say } from '../components/progress.ts'
import type { Bundle } from './use-bundle.ts'

/*
 * Most test files, and each service that a test starts, load the same packages: some 1,200 modules, each of which Node
 * finds, reads and links. From a few files they load in half of the time. These are made of what is installed, and used
 * by all modules of the repository or by none: a class or a registry never exists twice in a process.
 */

const self = fileURLToPath(import.meta.url)

/**
 * These find files of theirs by their place (native code, threads), patch what all share, or export what only runs
 * tell. They are left alone.
 */
const leftAlone: ReadonlySet<string> = new Set([
  '@node-rs/argon2',
  'better-sqlite3',
  'bidi-js',
  'piscina',
  'reflect-metadata',
  'sharp',
])

/** Half of what ava loads in each process. It asks for them by these names, and nothing else uses them. */
const forAva: readonly string[] = ['concordance', 'globby']

/** What the bundled packages load only where it is installed. */
const notBundled = [
  ...leftAlone,
  'bufferutil',
  'dtrace-provider',
  'mariadb',
  'mysql',
  'oracledb',
  'pg',
  'pg-query-stream',
  'sqlite3',
  'tedious',
  'utf-8-validate',
].flatMap((name) => [name, `${name}/*`])

/**
 * Returns the URL of the module that a process loads first (`--import`) to take its packages from the bundle, which is
 * made where it is missing. `sources` are the modules of the repository, whose imports it serves, relative to `root`.
 */
export const bundlePackages = async (root: string, sources: readonly string[], say: Say): Promise<string> => {
  const specifiers = importedPackages(root, sources)
  const key = createHash('sha256')
    .update([process.version, root, ...specifiers].join('\n'))
    .update(readFileSync(join(root, 'node_modules', '.package-lock.json')))
    .update(readFileSync(self))
    .digest('hex')
    .slice(0, 16)
  const folder = join(root, 'node_modules', '.cache', 'packages', key)
  const hook = join(folder, 'use.mjs')
  if (existsSync(hook)) return pathToFileURL(hook).href
  say('the installed packages are bundled ...')
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

const imports = /^(?:import|export|\}) (?:(?:[^\n']* )?from )?'([^.'][^']*)'|\bimport\('([^.'][^']*)'\)/gm

/**
 * The specifiers by which the modules import the bundled packages. Packages for development are left alone, and those
 * that a module names elsewhere, to require them. Types are erased: a specifier that is imported for them alone does no
 * harm.
 */
const importedPackages = (root: string, sources: readonly string[]): readonly string[] => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const found = new Set<string>(forAva)
  const plain = new Set([...leftAlone, ...Object.keys(devDependencies)])
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, first, specifier = first ?? ''] of text.matchAll(imports))
      if (!isBuiltin(specifier)) found.add(specifier)
    if (!text.includes('createRequire(')) continue
    for (const [, specifier = ''] of text.replaceAll(imports, '').matchAll(/'([^.'][^']*)'/g))
      plain.add(nameOf(specifier))
  }
  return [...found]
    .filter((specifier) => !plain.has(nameOf(specifier)) && existsSync(join(root, 'node_modules', nameOf(specifier))))
    .sort()
}

const writeBundle = async (
  root: string,
  specifiers: readonly string[],
  making: string,
  folder: string,
): Promise<void> => {
  const place = { root, making }
  specifiers.forEach((specifier, index) => {
    // A wrapper imports as the product does: under the conditions, and with the default export, that a module of ES
    // gets.
    writeFileSync(
      join(making, wrapperOf(index)),
      `export * from '${specifier}'\nimport * as all from '${specifier}'\nexport default all.default\n`,
    )
  })
  // tsyringe asks for it before it loads.
  await import('reflect-metadata')
  const places = specifiers.map((specifier, index) => ({ specifier, index }))
  const [ofAva, ofProduct] = [true, false].map((isOfAva) =>
    places.filter(({ specifier }) => forAva.includes(specifier) === isOfAva),
  )
  const modules: Record<string, string> = {}
  for (const group of [ofAva ?? [], ...(await groupsOf(place, ofProduct ?? []))]) {
    const file = `packages-${group[0]?.index ?? 0}.cjs`
    await bundle(place, group, file)
    const bundled = createRequire(import.meta.url)(join(making, file)) as Readonly<
      Record<string, () => Readonly<Record<string, unknown>>>
    >
    for (const { specifier, index } of group) {
      const names = Object.keys((await import(specifier)) as object).filter((name) => name !== 'module.exports')
      const ours = bundled[specifier]?.() ?? {}
      const missing = names.filter((name) => !(name in ours))
      if (missing.length > 0) throw new Error(`The bundle of ${specifier} lacks ${missing.join(', ')}.`)
      writeFileSync(join(making, `stub-${index}.mjs`), stubOf(file, specifier, names))
      modules[specifier] = pathToFileURL(join(folder, `stub-${index}.mjs`)).href
    }
  }
  const use: Bundle = {
    root: pathToFileURL(join(root, '/')).href,
    packages: [...new Set(specifiers.map(nameOf))],
    forAva,
    modules,
  }
  // Tests start the command on an older Node too, which has no such hooks and leaves the work to this one.
  writeFileSync(
    join(making, 'use.mjs'),
    `if (process.version === '${process.version}') {
  const { useBundle } = await import('${new URL('use-bundle.ts', import.meta.url).href}')
  useBundle(${JSON.stringify(use)})
}
`,
  )
}

interface Place {
  readonly root: string
  readonly making: string
}

interface Entry {
  readonly specifier: string
  readonly index: number
}

const wrapperOf = (index: number): string => `wrapper-${index}.mjs`

/** Writes one file with the packages of some entries, each of which runs when it is first asked for. */
const bundle = async ({ root, making }: Place, entries: readonly Entry[], file: string): Promise<Metafile> => {
  const contents = `module.exports = {\n${entries.map(({ specifier, index }) => `  '${specifier}': () => require('./${wrapperOf(index)}'),\n`).join('')}}\n`
  const { metafile } = await build({
    stdin: { contents, resolveDir: making, sourcefile: 'entry.cjs' },
    outfile: join(making, file),
    absWorkingDir: root,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    external: notBundled,
    plugins: [ownPlaces],
    minifyWhitespace: true,
    minifySyntax: true,
    // oidc-provider stores its models by the names of their classes.
    keepNames: true,
    legalComments: 'none',
    charset: 'ascii',
    logLevel: 'error',
    logOverride: { 'empty-import-meta': 'error' },
  })
  return metafile
}

/**
 * Entries that share a module come from one file, so that no module is there twice. What shares nothing is loaded
 * alone.
 */
const groupsOf = async (place: Place, entries: readonly Entry[]): Promise<readonly (readonly Entry[])[]> => {
  const { inputs } = await bundle(place, entries, 'all.cjs')
  rmSync(join(place.making, 'all.cjs'))
  let groups: { readonly entries: readonly Entry[]; readonly modules: ReadonlySet<string> }[] = []
  for (const entry of entries) {
    const wrapper = Object.keys(inputs).find((path) => path.endsWith(`/${wrapperOf(entry.index)}`)) ?? ''
    const modules = new Set([wrapper])
    // A set that grows while it is walked is walked to its new end.
    for (const path of modules)
      for (const { path: imported, external } of inputs[path]?.imports ?? [])
        if (external !== true) modules.add(imported)
    const joined = groups.filter((group) => [...modules].some((path) => group.modules.has(path)))
    groups = [
      ...groups.filter((group) => !joined.includes(group)),
      {
        entries: [...joined.flatMap((group) => group.entries), entry],
        modules: new Set([...modules, ...joined.flatMap((group) => [...group.modules])]),
      },
    ]
  }
  return groups.map((group) => group.entries)
}

const stubOf = (file: string, specifier: string, names: readonly string[]): string =>
  [
    `import { createRequire } from 'node:module'`,
    `const all = createRequire(import.meta.url)('./${file}')['${specifier}']()`,
    ...names.flatMap((name, index) => [
      `const v${index} = all[${JSON.stringify(name)}]`,
      `export { v${index} as ${JSON.stringify(name)} }`,
    ]),
    '',
  ].join('\n')

/** A bundled module knows the place that it was installed at. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /node_modules\/.*\.[cm]?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (/\bimport\.meta\.url\b/.test(text))
        return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'js' }
      if (/\b__(?:dirname|filename)\b/.test(text))
        return {
          contents: `var __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))};${text}`,
          loader: 'js',
        }
      return undefined
    })
  },
}
