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

/** This copy's own module, which runs from sources without a build, and from a build. */
const ownModule = (specifier: string): string | undefined => {
  const path = exported.exec(specifier)?.[1]
  return path === undefined ? undefined : new URL(`${path}${ending}`, ourRoot).href
}

const isNotFound = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'

let isShared = false

/**
 * Lets a deployer's plugin, in whatever folder it lies, import `moorage/...` from the copy that runs, as package.json
 * exports it, and the libraries that its interface speaks, unless the plugin brings its own.
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

/** What a deployer's module exports: a plugin, and what its ports need, if anything. */
export interface PluginModule {
  readonly plugin: AnyPlugin
  readonly provide?: Provide
}

/** Loads the modules of MOORAGE_PLUGINS: file paths, or package names as seen from `folder`. Throws StartRefused with all problems. */
export const loadExternalPlugins = async (places: readonly string[], folder: string): Promise<readonly PluginModule[]> => {
  const problems: string[] = []
  const modules: PluginModule[] = []
  if (places.length > 0) shareOurModules()
  for (const place of places) {
    try {
      const loaded: unknown = await import(moduleUrl(place, folder))
      if (isPluginModule(loaded)) modules.push(loaded)
      else problems.push(`The plugin ${place} must export \`plugin\`, made by definePlugin({ id, listener, gate, needs, routes, ... }).`)
    } catch (cause) {
      problems.push(`The plugin ${place} cannot be loaded: ${firstLine(cause)}`)
    }
  }
  if (problems.length > 0) throw new StartRefused(problems)
  return modules
}

/** Node adds lines that say who required what. */
const firstLine = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''

const moduleUrl = (place: string, folder: string): string =>
  place.startsWith('.') || isAbsolute(place)
    ? pathToFileURL(resolve(folder, place)).href
    : pathToFileURL(createRequire(join(folder, 'package.json')).resolve(place)).href

const isPluginModule = (loaded: unknown): loaded is PluginModule => {
  const { plugin, provide } = loaded as { readonly plugin?: unknown; readonly provide?: unknown }
  if (typeof plugin !== 'object' || plugin === null || !['function', 'undefined'].includes(typeof provide)) return false
  const { id, listener, gate, needs, routes } = plugin as Partial<AnyPlugin>
  return (
    typeof id === 'string' && typeof gate === 'string' && typeof routes === 'function' &&
    typeof needs === 'object' && (listener === 'api' || listener === 'marketplace')
  )
}
