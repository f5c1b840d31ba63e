import { makeNameResolver } from '../../../adapters/outbound/name-resolver.ts'
import { makeHelperProcesses } from '../../../adapters/system/helper-processes.ts'
import { makeAccountLimiter } from '../../../adapters/outbound/account-limiter.ts'
import { makeSecretBox } from '../../../adapters/security/keyring.ts'
import { makeSqlHeldObjects } from '../../../adapters/sql/kit/object-rows.ts'
import { catalogueProblems } from '../../../core/authz/schema.ts'
import type { Deployment } from '../../../core/kernel/deployment.ts'
import { isOpen } from '../../../core/kernel/deployment.ts'
import type { WhyClosed } from '../closed-routes.ts'
import { makeWhyClosed } from '../closed-routes.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { PortKey } from '../../../core/kernel/port-key.ts'
import { TaskHandlersPort } from '../../../core/tasks/ports.ts'
import { releaseVersion } from '../../../core/platform/version.ts'
import type { Needs } from '../../../plugins/kit/group.ts'
import type { Assembly } from '../assemble.ts'
import { assemble, catalogueOf, pluginIdProblems, reasonOf } from '../assemble.ts'
import type { Binding } from '../../part/binding.ts'
import type { Boot, Processes } from '../../part/boot.ts'
import { makeWatchedPools, StartRefused } from '../../part/boot.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { SettingRows, ValuesOf } from '../../part/setting.ts'
import { fileKey } from '../../part/setting.ts'
import { addressUrl } from '../../part/setting-type.ts'
import type { Container } from '../../part/container.ts'
import { makeContainer } from '../container.ts'
import { knownSchemaOf } from '../migrations.ts'
import type { Tag } from '../../part/tag.ts'
import { tagsOf } from '../http/openapi/document.ts'
import type { AnyPart } from '../../part/part.ts'
import type { Source, Wanted } from '../wiring.ts'
import { wiringProblems } from '../wiring.ts'
import type { Foundation } from './foundation.ts'
import { makeSharpPictureMaker } from '../../../adapters/pictures/sharp-picture-maker.ts'
import { pauseInLongTurn } from '../../../adapters/sql/engine/event-loop-turns.ts'
import { makeSqlIdempotencyStore } from '../../../adapters/sql/kernel/idempotency-store.ts'
import {
  makeSqlFleet,
  makeSqlInstanceRegister,
  makeSqlLeaseStore,
} from '../../../adapters/sql/kernel/instance-store.ts'
import { timerPause } from '../../../adapters/system/background.ts'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import { systemEntropy } from '../../../adapters/system/system-entropy.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort, PauseInLongTurnPort, PausePort, TimeTrustPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { IdempotencyStorePort } from '../../../core/kernel/idempotency.ts'
import { FleetPort, InstanceRegisterPort, LeaseStorePort } from '../../../core/kernel/instances.ts'
import { LogPort } from '../../../core/kernel/log.ts'
import { PictureMakerPort } from '../../../core/kernel/picture.ts'
import { ofApiListener } from '../http/api-listener.ts'
import { tracedBindings } from '../../part/spans.ts'
import { FirstAdminPort } from '../../part/operator.ts'
import { bind } from '../../part/binding.ts'

/** Returns how the ports of the runtime are made, which belong to no part. */
const runtimeBindings = (boot: Boot, knownSchema: string): readonly Binding[] => [
  bind(ClockPort, {}, () => boot.clock),
  bind(TimeTrustPort, {}, () => boot.clock),
  bind(PausePort, {}, () => timerPause),
  bind(PauseInLongTurnPort, {}, () => pauseInLongTurn),
  bind(EntropyPort, {}, () => systemEntropy),
  bind(CachesPort, {}, () => lruCaches),
  bind(LogPort, {}, () => boot.log),
  bind(SecretBoxPort, {}, () => boot.secretBox),
  bind(PictureMakerPort, {}, () => {
    const limiter = makeAccountLimiter({
      pool: 'pictures',
      inAll: 1,
      perAccount: 1,
      waitingPerAccount: 8,
      waitMilliseconds: 30_000,
    })
    boot.pools.watch('pictures', limiter.load)
    const { readings } = boot
    return makeSharpPictureMaker((bytes, work) =>
      limiter.run({ account: readings.account(), signal: readings.signal(), bytes, length: 1 + bytes / 65_536 }, work),
    )
  }),
  bind(LeaseStorePort, {}, () => makeSqlLeaseStore(boot.database)),
  bind(IdempotencyStorePort, {}, () => makeSqlIdempotencyStore(boot.database, boot.instanceId)),
  bind(InstanceRegisterPort, {}, () =>
    makeSqlInstanceRegister(boot.database, boot.instanceId, { version: releaseVersion, knownSchema }),
  ),
  bind(FleetPort, { register: InstanceRegisterPort }, ({ register }) => makeSqlFleet(register)),
]

/** The ports that `serve` needs beside those of the routes, jobs and tasks of plugins. */
const runtimeNeeds = {
  ...ofApiListener,
  register: InstanceRegisterPort,
  fleet: FleetPort,
  leases: LeaseStorePort,
  firstAdmin: FirstAdminPort,
  taskHandlers: TaskHandlersPort,
}

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

/** @internal */
export const deploymentOf = ({
  deploymentType,
  billingEnabled,
  runMode,
}: Pick<RuntimeSettings, 'deploymentType' | 'billingEnabled' | 'runMode'>): Deployment => ({
  type: deploymentType,
  billingEnabled,
  runMode,
})

/** A configuration as `loadConfig` returns it. */
export interface PartsConfig {
  readonly settings: RuntimeSettings
  readonly rows: SettingRows
  /** Those of this repository first, then those of a deployer. */
  readonly parts: readonly AnyPart[]
  /** The number of parts of this repository. */
  readonly ownParts: number
}

export interface ComposeInput {
  readonly config: PartsConfig
  readonly foundation: Foundation
  readonly log: Log
  readonly stops: Pick<StopSequence, 'add'>
  /** This process alone, if absent. */
  readonly processes?: Processes
  /** For tests, which may replace what no setting changes. */
  readonly replaced?: readonly Binding[]
  /** Called for each port that is made. */
  readonly onMade?: (port: string) => void
}

/** A composed deployment. Nothing listens or runs yet. */
export interface Composition {
  readonly boot: Boot
  readonly container: Container
  readonly assembly: Assembly
  /** The parts that exist in this deployment. */
  readonly parts: readonly AnyPart[]
  readonly whyClosed: WhyClosed
  /** The tag groups of the document. Those of closed parts keep the others in place. */
  readonly tags: readonly Tag[]
}

/** Reports whether a part exists in a deployment: by the gate of its plugin, and if the settings ask for it. */
export const isOpenPart = ({ plugin, isWanted }: AnyPart, settings: RuntimeSettings): boolean =>
  isOpen(plugin.gate, deploymentOf(settings)) && (isWanted?.(settings) ?? true)

/**
 * Checks the wiring of the open parts, then makes the ports that their plugins need and assembles the plugins. A port
 * of our own is replaced by the part of a deployer that provides it too. Throws StartRefused with every problem.
 */
export const compose = (input: ComposeInput): Composition => {
  const { config, stops, onMade } = input
  const { parts: all, settings } = config
  const parts = all.filter((part) => isOpenPart(part, settings))
  const boot = bootOf(input, parts)
  const { sources, wanted } = wiringOf(config, boot, input.replaced)
  const whyMissing = closedPortOf(config, boot)
  refuseIfAny([
    ...pluginIdProblems(all.map(({ plugin }) => plugin)),
    ...wiringProblems({ sources, wanted, whyMissing }),
    ...catalogueProblems(boot.catalogue),
  ])
  const container = makeContainer(
    tracedBindings(
      boot.tracing,
      sources.flatMap(({ bindings }) => bindings),
      parts.flatMap(({ spans = [] }) => spans),
    ),
    {
      onMade: (port, close) => {
        onMade?.(port)
        if (close !== undefined) stops.add(port, close)
      },
      whyMissing: (port) => {
        const why = whyMissing(port)
        return why === undefined ? undefined : `The port ${port.name} cannot be used, ${why}.`
      },
    },
  )
  const plugins = parts.map(({ plugin }) => plugin)
  const assembly = assemble(plugins, container, boot.deployment)
  container.resolve(TaskHandlersPort).declare(assembly.tasks)
  const whyClosed = makeWhyClosed(
    all.map(({ plugin }) => plugin),
    boot.deployment,
  )
  return { boot, container, assembly, parts, whyClosed, tags: tagsOf(all) }
}

const refuseIfAny = (problems: readonly string[]): void => {
  if (problems.length > 0) throw new StartRefused(problems)
}

/** Returns what the open parts and the runtime provide, and what they need beside that. @internal */
export const wiringOf = (
  { parts, ownParts, settings }: PartsConfig,
  boot: Boot,
  replaced: readonly Binding[] = [],
): { readonly sources: readonly Source[]; readonly wanted: readonly Wanted[] } => {
  const open = parts.flatMap((part, index) =>
    isOpenPart(part, settings) ? [{ part, owner: `the part ${part.plugin.id}`, isOutside: index >= ownParts }] : [],
  )
  return {
    sources: [
      { owner: 'the runtime', bindings: runtimeBindings(boot, knownSchemaOf({ parts, ownParts })) },
      ...open.map(({ part, owner, isOutside }) => ({ owner, isOutside, bindings: provisionsOf(part, boot) })),
      { owner: 'the caller', bindings: replaced, isOutside: true },
    ],
    wanted: [{ owner: 'The runtime', needs: runtimeNeeds }, ...open.flatMap(({ part }) => neededBy(part))],
  }
}

/** Returns the bindings of a part. Throws StartRefused that names the part. */
const provisionsOf = (part: AnyPart, boot: Boot): readonly Binding[] => {
  let bindings: unknown
  try {
    bindings = part.provide?.(boot as Boot<ValuesOf<SettingRows>>) ?? []
  } catch (cause) {
    throw cause instanceof StartRefused
      ? cause
      : new StartRefused([`\`provide\` of the plugin ${part.plugin.id} failed: ${reasonOf(cause)}`])
  }
  if (Array.isArray(bindings) && bindings.every(isBinding)) return bindings
  throw new StartRefused([
    `\`provide\` of the plugin ${part.plugin.id} must return a list of bind(token, needs, make), and must ` +
      'not be async.',
  ])
}

const isBinding = (binding: Partial<Binding> | undefined): binding is Binding =>
  typeof binding?.token?.key === 'symbol' && typeof binding.needs === 'object' && typeof binding.make === 'function'

const neededBy = ({
  plugin,
  checks,
  metrics = [],
  start,
  ready,
  storedFiles,
  restored,
}: AnyPart): readonly Wanted[] => {
  const owner = `Plugin ${plugin.id}`
  const others = [checks, ...metrics.map(({ read }) => read), start, ready, storedFiles, restored]
  return [plugin.needs, ...others.map((using): Needs => using?.needs ?? {})].map((needs) => ({ owner, needs }))
}

/** Returns a function that tells which closed part provides a port. */
const closedPortOf = (
  { parts, settings }: PartsConfig,
  boot: Boot,
): ((port: PortKey<unknown>) => string | undefined) => {
  const closed = parts.filter((part) => !isOpenPart(part, settings))
  return ({ key }) => {
    const part = closed.find((one) => provisionsOf(one, boot).some(({ token }) => token.key === key))
    return part === undefined
      ? undefined
      : `which the part ${part.plugin.id} provides: it is closed in this deployment (${part.plugin.gate})`
  }
}

const oneProcess: Processes = { count: 1, share: (total) => total, topic: () => undefined }

const bootOf = ({ config, foundation, log, processes = oneProcess }: ComposeInput, open: readonly AnyPart[]): Boot => {
  const { settings, rows, parts } = config
  const deployment = deploymentOf(settings)
  const { keyring, database, clock, instanceId, readings } = foundation
  const { tracing, scope } = foundation.traces
  // The objects of closed parts are in the database too.
  const objectRows = parts.flatMap((part) => part.objectRows ?? [])
  const baseUrl = settings.baseUrl ?? addressUrl(settings.listen)
  const pools = makeWatchedPools()
  const resolver = makeNameResolver({ account: readings.account })
  pools.watch('names', resolver.load)
  return {
    settings,
    deployment,
    log: scope.logOf(log),
    database,
    clock,
    instanceId,
    tracing,
    scope,
    pools,
    helpers: makeHelperProcesses(
      log,
      parts.flatMap(({ helperPrograms = [] }) => helperPrograms),
    ),
    processes,
    secretBox: makeSecretBox(keyring.wrapper),
    tls: foundation.tls,
    keys: { audit: keyring.auditKey, csrf: keyring.csrfKey },
    catalogue: catalogueOf(
      open.map(({ plugin }) => plugin),
      deployment,
    ),
    objectRows,
    // The claims of accounts are the same in every deployment.
    subjects: parts.flatMap((part) => part.subjects ?? []),
    readings,
    resolver,
    heldObjects: makeSqlHeldObjects(database, objectRows),
    baseUrl: () => baseUrl,
    shownSettings: () => shownSettings(rows, settings),
  }
}

/** Returns the settings as `moorage config print` shows them. */
const shownSettings = (rows: SettingRows, settings: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const value = (settings as Readonly<Record<string, unknown>>)[name]
      return [fileKey(row), value === undefined ? null : row.type.show(value)]
    }),
  )
