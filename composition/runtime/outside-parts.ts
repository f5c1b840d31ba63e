import { readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gates } from '../../core/kernel/deployment.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import { reasonOf } from './assemble.ts'
import type { AnyPart } from '../part/part.ts'
import { lazily } from '../part/binding.ts'
import { fromWireJson } from '../../core/kernel/json.ts'
import { nameProblems } from './part-names.ts'

const ourRoot = new URL('../../', import.meta.url)
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const sharedLibrary = /^(io-ts|fp-ts)(\/|$)/
const built = './dist/'
/** Names of folders and of a file: no dots, which would lead out of the exported folder. */
const names = /^[\w/-]+$/

/** What package.json exports, with the modules of a build. A pattern has one `*`, which takes `names`. */
const exported = lazily((): readonly (readonly [name: string, target: string])[] => {
  const file = new URL(ending === '.ts' ? 'package.json' : '../package.json', ourRoot)
  const { exports } = fromWireJson(readFileSync(file, 'utf8')) as { readonly exports: Readonly<Record<string, string>> }
  return Object.entries(exports).filter(([, target]) => target.startsWith(built))
})

/**
 * Returns the module of this copy for a specifier, as package.json exports it. It works when running from sources
 * without a build, and from a build.
 */
const ownModule = (specifier: string): string | undefined => {
  if (!specifier.startsWith('moorage/')) return undefined
  const wanted = `.${specifier.slice('moorage'.length)}`
  for (const [name, target] of exported()) {
    const [start = '', end] = name.split('*')
    const within = end === undefined ? '' : wanted.slice(start.length, wanted.length - end.length)
    const isIt = end === undefined ? wanted === name : wanted === start + within + end && names.test(within)
    if (isIt) return new URL(target.slice(built.length).replace('*', within).replace(/\.js$/, ending), ourRoot).href
  }
  return undefined
}

const isNotFound = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'

let isShared = false

/**
 * Makes the modules of the running copy importable by a deployer's part in any folder: `moorage/...`, as package.json
 * exports it, and the libraries that its interface uses, unless the part has its own.
 */
export const shareOurModules = (): void => {
  if (isShared) return
  isShared = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = ownModule(specifier)
      if (own !== undefined) return next(own, context)
      try {
        return next(specifier, context)
      } catch (cause) {
        if (!isNotFound(cause) || !sharedLibrary.test(specifier)) throw cause
        return next(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}

export interface OutsideParts {
  readonly parts: readonly AnyPart[]
  /** Why parts cannot be loaded or used, each in one sentence. */
  readonly problems: readonly string[]
}

/**
 * Loads the modules of MOORAGE_PLUGINS: file paths, or package names resolved from `folder`. Every problem is returned:
 * of a module that cannot be loaded, that exports no part, or whose part uses a name that is not its own.
 */
export const loadOutsideParts = async (
  places: readonly string[],
  folder: string,
  own: readonly AnyPart[],
): Promise<OutsideParts> => {
  const problems: string[] = []
  const parts: AnyPart[] = []
  if (places.length > 0) shareOurModules()
  for (const place of places) {
    try {
      const loaded: unknown = await import(moduleUrl(place, folder))
      const found = partIn(loaded, place)
      if (typeof found === 'string') problems.push(found)
      else parts.push(found)
    } catch (cause) {
      problems.push(`The plugin ${place} cannot be loaded: ${reasonOf(cause)}`)
    }
  }
  return { parts, problems: [...problems, ...(parts.length === 0 ? [] : nameProblems(own, parts))] }
}

const moduleUrl = (place: string, folder: string): string =>
  place.startsWith('.') || isAbsolute(place)
    ? pathToFileURL(resolve(folder, place)).href
    : pathToFileURL(createRequire(join(folder, 'package.json')).resolve(place)).href

/** Returns the part that a module exports, or why it exports none. */
const partIn = (loaded: unknown, place: string): AnyPart | string => {
  const { part, plugin } = loaded as { readonly part?: Partial<AnyPart>; readonly plugin?: unknown }
  if (part === undefined && plugin !== undefined)
    return (
      `The plugin ${place} exports \`plugin\`, the form of earlier releases: export \`part\` instead, as ` +
      'definePart({ plugin, provide: (boot) => [bind(token, needs, make)] }) of moorage/composition/part.'
    )
  if (typeof part !== 'object' || part === null || !isPlugin(part.plugin) || !hasForms(part))
    return `The plugin ${place} must export \`part\`, made by definePart({ plugin: definePlugin({ ... }), ... }).`
  if (!gates.includes(part.plugin.gate))
    return `The plugin ${place} has the gate ${part.plugin.gate}, which must be one of ${gates.join(', ')}.`
  return part as AnyPart
}

const isPlugin = (plugin: unknown): plugin is AnyPlugin => {
  if (typeof plugin !== 'object' || plugin === null) return false
  const { id, listener, gate, needs, routes, jobs, tasks } = plugin as Partial<AnyPlugin>
  return (
    typeof id === 'string' &&
    typeof gate === 'string' &&
    [routes, jobs, tasks].every((part) => typeof part === 'function') &&
    typeof needs === 'object' &&
    (listener === 'api' || listener === 'marketplace')
  )
}

const isAbsentOr = (type: 'function' | 'object', value: unknown): boolean =>
  value === undefined || (typeof value === type && value !== null)

/** Reports whether the fields of a part have their forms: a part may be JavaScript, which no compiler has checked. */
const hasForms = (part: Partial<AnyPart>): boolean =>
  [part.provide, part.commands, part.doctor, part.isWanted].every((value) => isAbsentOr('function', value)) &&
  [part.objectRows, part.sealedColumns, part.metrics, part.tags, part.pages, part.sites, part.subjects].every(
    (value) => value === undefined || Array.isArray(value),
  ) &&
  [part.settings, part.migrations, part.checks, part.start, part.ready].every((value) => isAbsentOr('object', value))
