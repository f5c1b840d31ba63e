import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from '../plugins/kit/plugin.ts'
import type { Provide } from './boot.ts'
import { shareOurModules } from './plugin-imports.ts'
import { StartRefused } from './start-refused.ts'

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
