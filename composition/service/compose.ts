import type { HelmLimits } from '../../adapters/helm/process/limits.ts'
import { makeObjectRowsRegister, makeSqlHeldObjects } from '../../adapters/sql/kit/object-rows.ts'
import { makeSecretBox } from '../../adapters/security/secret-box.ts'
import type { PasswordHasher } from '../../core/identity/ports.ts'
import { PasswordHasherToken } from '../../core/identity/ports.ts'
import type { Deployment } from '../../core/kernel/deployment.ts'
import type { Log } from '../../core/kernel/log.ts'
import { TaskHandlersToken } from '../../core/tasks/ports.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import type { Assembly } from '../assemble.ts'
import { assemble, catalogueOf } from '../assemble.ts'
import type { Boot, Provide } from '../boot.ts'
import { showAddress } from '../config/setting-type.ts'
import type { Settings } from '../config/settings.ts'
import type { Container } from '../container.ts'
import { makeContainer } from '../container.ts'
import { plugins as ownPlugins, providers as ownProviders } from '../plugins.ts'
import { HelmLimitsToken } from '../wiring/helm.ts'
import { loadExternalPlugins } from './external-plugins.ts'
import type { Foundation } from './foundation.ts'
import type { StopSequence } from './stop-sequence.ts'

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
 * Provides every port, and assembles the open plugins. A deployer's providers come last, so that they can replace adapters.
 * Throws StartRefused.
 */
export const compose = async (input: ComposeInput): Promise<Composition> => {
  const { settings } = input
  const external = await loadExternalPlugins(settings.plugins, process.cwd())
  const plugins = [...ownPlugins, ...(input.extraPlugins ?? []), ...external.map(({ plugin }) => plugin)]
  const providers = [...ownProviders, ...external.flatMap(({ provide }): readonly Provide[] => (provide === undefined ? [] : [provide]))]
  const boot = bootOf(input, plugins)
  const container = makeContainer()
  for (const provide of providers) provide(container, boot)
  if (input.passwordHasher !== undefined) container.provideValue(PasswordHasherToken, input.passwordHasher)
  if (input.helmLimits !== undefined) container.provideValue(HelmLimitsToken, input.helmLimits)
  const assembly = assemble(plugins, container, boot.deployment)
  container.resolve(TaskHandlersToken).declare(assembly.tasks)
  return { boot, container, assembly }
}

const bootOf = ({ settings, foundation, log, stops }: ComposeInput, plugins: readonly AnyPlugin[]): Boot => {
  const deployment = deploymentOf(settings)
  const { keyring, database, clock, instanceId } = foundation
  const objectRows = makeObjectRowsRegister()
  const baseUrl = settings.baseUrl ?? addressUrl(settings.listen)
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
    heldObjects: makeSqlHeldObjects(database, objectRows),
    baseUrl: () => baseUrl,
    onStop: (name, close) => stops.add(name, close),
  }
}

/** Returns the URL of a listener. One that is bound to every address is reached by the name of this machine. */
export const addressUrl = (address: Settings['listen']): string =>
  `http://${showAddress(['0.0.0.0', '::'].includes(address.host) ? { ...address, host: 'localhost' } : address)}`
