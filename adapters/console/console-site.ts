import { readFileSync, readdirSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SiteModule } from './module-graph.ts'
import { hashedName, nameModules } from './module-graph.ts'

/** `npm run build` copies the folder beside the compiled code. */
const folder = fileURLToPath(new URL('./site/', import.meta.url))

/** The packages of the browser, by the name under which modules import them. */
const packages: Readonly<Record<string, readonly [name: string, file: string]>> = {
  preact: ['preact', 'dist/preact.mjs'],
  'preact/hooks': ['preact', 'hooks/dist/hooks.mjs'],
  htm: ['htm', 'dist/htm.mjs'],
  '@preact/signals-core': ['@preact/signals-core', 'dist/signals-core.mjs'],
  uplot: ['uplot', 'dist/uPlot.esm.js'],
}

const packageFile = (name: string, file: string): string => {
  const manifest = findPackageJSON(name, import.meta.url)
  if (manifest === undefined) throw new Error(`The package ${name} of the console is not installed.`)
  return readFileSync(join(dirname(manifest), file), 'utf8')
}

/** The comment at the end of a script that names its source map, which is not served. */
const withoutSourceMap = (text: string): string => text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')

const isText = (name: string): boolean => /\.(?:js|css)$/.test(name)

const ownFiles = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isText(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/'))
      .sort()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  )

const moduleOf = (path: string, source: string): SiteModule => ({
  source,
  resolve(specifier) {
    if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
    if (specifier in packages) return specifier
    throw new Error(`The module ${path} of the console imports ${specifier}, which is no package of the console.`)
  },
})

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

interface ConsoleFile {
  readonly type: string
  readonly text: string
}

/** What the part serves. */
export interface ConsoleSite {
  readonly files: ReadonlyMap<string, ConsoleFile>
  /** The names of what the first view loads: scripts, of which the first one starts the console, and styles. */
  readonly scripts: readonly string[]
  readonly styles: readonly string[]
}

/** Reads the scripts and styles of the console, with the packages that they import. */
export const loadConsoleSite = (): ConsoleSite => {
  const own = ownFiles()
  const modules = new Map<string, SiteModule>()
  for (const [path, source] of own) if (path.endsWith('.js')) modules.set(path, moduleOf(path, source))
  for (const [specifier, [name, file]] of Object.entries(packages))
    modules.set(specifier, moduleOf(specifier, withoutSourceMap(packageFile(name, file))))
  const { files: scripts, closureOf } = nameModules(modules)
  const others = [...own, ['uplot.css', packageFile('uplot', 'dist/uPlot.min.css')] as const]
    .filter(([path]) => !path.endsWith('.js'))
    .map(([path, text]) => [hashedName(path.replaceAll('/', '-'), text), text] as const)
  const files = new Map(
    [...scripts, ...others].map(([name, text]) => [name, { type: types[posix.extname(name)] ?? '', text }]),
  )
  return {
    files,
    scripts: closureOf('main.js'),
    styles: [...files.keys()].filter((name) => name.endsWith('.css')),
  }
}
