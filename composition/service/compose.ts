import { makeNameResolver } from '../../adapters/outbound/name-resolver.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import { createRequire, registerHooks } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { HelmLimits } from '../../adapters/helm/process/limits.ts'
import { makeSecretBox } from '../../adapters/security/keyring.ts'
import { makeObjectRowsRegister, makeSqlHeldObjects } from '../../adapters/sql/kit/object-rows.ts'
import type { PasswordHasher } from '../../core/identity/ports.ts'
import { PasswordHasherToken } from '../../core/identity/ports.ts'
import type { Deployment } from '../../core/kernel/deployment.ts'
import { gates } from '../../core/kernel/deployment.ts'
import type { Log } from '../../core/kernel/log.ts'
import { TaskHandlersToken } from '../../core/tasks/ports.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import { referenceNamesPlugin } from '../../plugins/reference-names/plugin.ts'
import type { Assembly } from '../assemble.ts'
import { assemble, catalogueOf, reasonOf } from '../assemble.ts'
import type { Boot, Provide } from '../boot.ts'
import { StartRefused } from '../boot.ts'
import { showAddress } from '../config/setting-type.ts'
import type { Settings } from '../config/settings.ts'
import type { Container } from '../container.ts'
import { makeContainer } from '../container.ts'
import { plugins as ownPlugins, providers as ownProviders } from '../plugins.ts'
import { HelmLimitsToken } from '../wiring/helm.ts'
import type { Foundation } from './foundation.ts'

/** The resources to close when the service stops. */
export interface StopSequence {
  add(name: string, close: () => Promise<void>): void
  /** Adds a resource that is closed after all others. */
  addLast(name: string, close: () => Promise<void>): void
  /**
   * Closes the last added resource first. A failure is logged and does not keep the others open. Reports whether all
   * closed.
   */
  run(): Promise<boolean>
}

export const makeStopSequence = (log: Log): StopSequence => {
  const steps: { readonly name: string; readonly close: () => Promise<void> }[] = []
  let result: Promise<boolean> | undefined

  const closeAll = async (): Promise<boolean> => {
    let allClosed = true
    for (const { name, close } of steps.reverse()) {
      try {
        await close()
      } catch (error) {
        allClosed = false
        log.error({ step: name, error }, 'could not be closed')
      }
    }
    return allClosed
  }

  return {
    add: (name, close) => void steps.push({ name, close }),
    addLast: (name, close) => void steps.unshift({ name, close }),
    run: () => (result ??= closeAll()),
  }
}

export const deploymentOf = ({ deploymentType, billingEnabled, runMode }: Settings): Deployment => ({
  type: deploymentType,
  billingEnabled,
  runMode,
})

export interface ComposeInput {
  readonly settings: Settings
  readonly foundation: Foundation
  readonly log: Log
  readonly stops: Pick<StopSequence, 'add'>
  /** Plugins in addition to those of this repository, as with MOORAGE_PLUGINS. */
  readonly extraPlugins?: readonly AnyPlugin[]
  /** Replaces argon2id at OWASP's cost. */
  readonly passwordHasher?: PasswordHasher
  /** Replaces the limits of helm processes. */
  readonly helmLimits?: HelmLimits
}

/** A composed deployment. Nothing listens or runs yet. */
export interface Composition {
  readonly boot: Boot
  readonly container: Container
  readonly assembly: Assembly
}

/**
 * Provides every port, and assembles the open plugins. A deployer's providers come last, so that they can replace
 * adapters. Throws StartRefused.
 */
export const compose = async (input: ComposeInput): Promise<Composition> => {
  const { settings } = input
  const external = await loadExternalPlugins(settings.plugins, process.cwd())
  const plugins = [
    ...ownPlugins,
    ...(settings.referenceNames ? [referenceNamesPlugin] : []),
    ...(input.extraPlugins ?? []),
    ...external.map(({ plugin }) => plugin),
  ]
  const boot = bootOf(input, plugins)
  const container = makeContainer()
  for (const provide of ownProviders) provide(container, boot)
  for (const one of external) provideExternal(one, container, boot)
  if (input.passwordHasher !== undefined) container.provideValue(PasswordHasherToken, input.passwordHasher)
  if (input.helmLimits !== undefined) container.provideValue(HelmLimitsToken, input.helmLimits)
  const assembly = assemble(plugins, container, boot.deployment)
  container.resolve(TaskHandlersToken).declare(assembly.tasks)
  return { boot, container, assembly }
}

/** Calls the provider of a deployer's plugin. Throws StartRefused that names the plugin. */
const provideExternal = ({ plugin: { id }, provide }: PluginModule, container: Container, boot: Boot): void => {
  let result: unknown
  try {
    result = provide?.(container, boot)
  } catch (cause) {
    throw new StartRefused([`\`provide\` of the plugin ${id} failed: ${reasonOf(cause)}`])
  }
  if (!(result instanceof Promise)) return
  result.catch(() => undefined)
  throw new StartRefused([
    `\`provide\` of the plugin ${id} must not be async: ports are used as soon as it returns. Open ` +
      'connections in the factory of a port, or at first use.',
  ])
}

const bootOf = ({ settings, foundation, log, stops }: ComposeInput, plugins: readonly AnyPlugin[]): Boot => {
  const deployment = deploymentOf(settings)
  const { keyring, database, clock, instanceId } = foundation
  const objectRows = makeObjectRowsRegister()
  const baseUrl = settings.baseUrl ?? addressUrl(settings.listen)
  const readings = makeReadingBudgets()
  return {
    settings,
    deployment,
    log,
    database,
    clock,
    instanceId,
    secretBox: makeSecretBox(keyring.wrapper),
    tls: foundation.tls,
    keys: { audit: keyring.auditKey, csrf: keyring.csrfKey },
    catalogue: catalogueOf(plugins, deployment),
    objectRows,
    readings,
    resolver: makeNameResolver({ account: readings.account }),
    heldObjects: makeSqlHeldObjects(database, objectRows),
    baseUrl: () => baseUrl,
    onStop: (name, close) => stops.add(name, close),
  }
}

/** Returns the URL of a listener. One that is bound to every address is reached by the name of this machine. */
export const addressUrl = (address: Settings['listen']): string =>
  `http://${showAddress(['0.0.0.0', '::'].includes(address.host) ? { ...address, host: 'localhost' } : address)}`

const ourRoot = new URL('../../', import.meta.url)
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const exported =
  /^moorage\/((?:core|plugins\/kit|adapters\/sql)\/[\w/-]+|plugins\/[\w/-]+(?:\.routes|\/codecs)|composition\/(?:boot|container))$/
const sharedLibrary = /^(io-ts|fp-ts)(\/|$)/

/**
 * Returns the module of this copy for a specifier. It works when running from sources without a build, and from a
 * build.
 */
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
const shareOurModules = (): void => {
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

/**
 * Loads the modules of MOORAGE_PLUGINS: file paths, or package names resolved from `folder`. Throws StartRefused with
 * all problems.
 *
 * @internal
 */
export const loadExternalPlugins = async (
  places: readonly string[],
  folder: string,
): Promise<readonly PluginModule[]> => {
  const problems: string[] = []
  const modules: PluginModule[] = []
  if (places.length > 0) shareOurModules()
  for (const place of places) {
    try {
      const loaded: unknown = await import(moduleUrl(place, folder))
      if (!isPluginModule(loaded))
        problems.push(
          `The plugin ${place} must export \`plugin\`, made by definePlugin({ id, listener, gate, groups, ... }).`,
        )
      else if (!gates.includes(loaded.plugin.gate))
        problems.push(
          `The plugin ${place} has the gate ${loaded.plugin.gate}, which must be one of ${gates.join(', ')}.`,
        )
      else modules.push(loaded)
    } catch (cause) {
      problems.push(`The plugin ${place} cannot be loaded: ${reasonOf(cause)}`)
    }
  }
  if (problems.length > 0) throw new StartRefused(problems)
  return modules
}

const moduleUrl = (place: string, folder: string): string =>
  place.startsWith('.') || isAbsolute(place)
    ? pathToFileURL(resolve(folder, place)).href
    : pathToFileURL(createRequire(join(folder, 'package.json')).resolve(place)).href

const isPluginModule = (loaded: unknown): loaded is PluginModule => {
  const { plugin, provide } = loaded as { readonly plugin?: unknown; readonly provide?: unknown }
  if (typeof plugin !== 'object' || plugin === null || !['function', 'undefined'].includes(typeof provide)) return false
  const { id, listener, gate, needs, routes, jobs, tasks } = plugin as Partial<AnyPlugin>
  return (
    typeof id === 'string' &&
    typeof gate === 'string' &&
    [routes, jobs, tasks].every((part) => typeof part === 'function') &&
    typeof needs === 'object' &&
    (listener === 'api' || listener === 'marketplace')
  )
}
