import { hash } from 'node:crypto'
import { parse } from 'es-module-lexer/minimal/js'

/** A script of a site, and the names by which its imports find each other. */
export interface SiteModule {
  readonly source: string
  /** Returns the key of the module that a specifier names. Throws if there is none. */
  resolve(specifier: string): string
}

export interface NamedModules {
  /** The texts by their names. */
  readonly files: ReadonlyMap<string, string>
  nameOf(key: string): string
  /** The names of a module and of those that it imports statically, at any depth. */
  closureOf(key: string): readonly string[]
}

/** Returns a name that changes with the text. */
export const hashedName = (name: string, text: string): string => {
  const dot = name.lastIndexOf('.')
  return `${name.slice(0, dot)}.${hash('sha256', text, 'base64url').slice(0, 12)}${name.slice(dot)}`
}

const fileName = (key: string): string =>
  `${key
    .replace(/^@/, '')
    .replace(/\.m?js$/, '')
    .replaceAll('/', '-')}.js`

interface Named {
  readonly name: string
  readonly text: string
  readonly statics: readonly string[]
}

/**
 * Names each module by the digest of its text, and rewrites the specifiers of its imports to the names of the others in
 * the same folder. A digest covers what a module imports, so modules must not import each other in a circle, neither
 * statically nor dynamically.
 */
export const nameModules = (modules: ReadonlyMap<string, SiteModule>): NamedModules => {
  const named = new Map<string, Named>()
  const open = new Set<string>()
  const visit = (key: string): Named => {
    const done = named.get(key)
    if (done !== undefined) return done
    const found = modules.get(key)
    if (found === undefined) throw new Error(`The console has no module ${key}.`)
    if (open.has(key)) throw new Error(`The modules ${[...open].join(', ')} import each other in a circle.`)
    open.add(key)
    const statics: string[] = []
    let text = ''
    let from = 0
    for (const { n: specifier, s: start, e: end, d: dynamic } of parse(found.source)[0]) {
      // import.meta, and an import of a computed name, which no module of the console has.
      if (specifier === undefined) continue
      const target = found.resolve(specifier)
      const { name } = visit(target)
      const isStatic = dynamic === -1
      if (isStatic) statics.push(target)
      // The range of a dynamic import includes the quotes.
      text += `${found.source.slice(from, start)}${isStatic ? `./${name}` : `'./${name}'`}`
      from = end
    }
    text += found.source.slice(from)
    open.delete(key)
    const made = { name: hashedName(fileName(key), text), text, statics }
    named.set(key, made)
    return made
  }
  for (const key of modules.keys()) visit(key)
  const closure = (key: string, seen = new Set<string>()): ReadonlySet<string> => {
    if (!seen.has(key)) {
      seen.add(key)
      for (const next of visit(key).statics) closure(next, seen)
    }
    return seen
  }
  return {
    files: new Map([...named.values()].map(({ name, text }) => [name, text])),
    nameOf: (key) => visit(key).name,
    closureOf: (key) => [...closure(key)].map((each) => visit(each).name),
  }
}
