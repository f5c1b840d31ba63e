import { createRequire, registerHooks } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import type { Provide } from '../boot.ts'
import { StartRefused } from '../start-refused.ts'

const ourRoot = new URL('../../', import.meta.url)
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const exported =
  /^moorage\/((?:core|plugins\/kit|adapters\/sql)\/[\w/-]+|plugins\/[\w/-]+(?:\.routes|\/codecs)|composition\/(?:boot|container))$/
const sharedLibrary = /^(io-ts|fp-ts)(\/|$)/

/** Returns the module of this copy for a specifier. It works when running from sources without a build, and from a build. */
const ownModule = (specifier: string): string | undefined => {
  const path = exported.exec(specifier)?.[1]
  return path === undefined ? undefined : new URL(`${path}${ending}`, ourRoot).href
}

const isNotFound = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'

let isShared = false

/**
 * Makes the modules of the running copy importable by a deployer's plugin in any folder: `moorage/...`, as package.json
 * exports it, and the libraries that its interface uses, unless the plugin has its own.
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

/** The exports of a deployer's module: a plugin, and the provider of its ports, if any. */
export interface PluginModule {
  readonly plugin: AnyPlugin
  readonly provide?: Provide
}

/** Loads the modules of MOORAGE_PLUGINS: file paths, or package names resolved from `folder`. Throws StartRefused with all problems. */
export const loadExternalPlugins = async (places: readonly string[], folder: string): Promise<readonly PluginModule[]> => {
  const problems: string[] = []
  const modules: PluginModule[] = []
  if (places.length > 0) shareOurModules()
  for (const place of places) {
    try {
      const loaded: unknown = await import(moduleUrl(place, folder))
      if (isPluginModule(loaded)) modules.push(loaded)
      else problems.push(`The plugin ${place} must export \`plugin\`, made by definePlugin({ id, listener, gate, groups, ... }).`)
    } catch (cause) {
      problems.push(`The plugin ${place} cannot be loaded: ${firstLine(cause)}`)
    }
  }
  if (problems.length > 0) throw new StartRefused(problems)
  return modules
}

/** Returns the first line of an error. Node adds lines about the requiring modules. */
const firstLine = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''

const moduleUrl = (place: string, folder: string): string =>
  place.startsWith('.') || isAbsolute(place)
    ? pathToFileURL(resolve(folder, place)).href
    : pathToFileURL(createRequire(join(folder, 'package.json')).resolve(place)).href

const isPluginModule = (loaded: unknown): loaded is PluginModule => {
  const { plugin, provide } = loaded as { readonly plugin?: unknown; readonly provide?: unknown }
  if (typeof plugin !== 'object' || plugin === null || !['function', 'undefined'].includes(typeof provide)) return false
  const { id, listener, gate, needs, routes, jobs, tasks } = plugin as Partial<AnyPlugin>
  return (
    typeof id === 'string' && typeof gate === 'string' && [routes, jobs, tasks].every((part) => typeof part === 'function') &&
    typeof needs === 'object' && (listener === 'api' || listener === 'marketplace')
  )
}
