import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogState } from '../../../adapters/logging/log-lines.ts'
import type { TlsIdentity } from '../../../adapters/security/tls-identity.ts'
import { validityOf, watchExpiry, watchTlsIdentity } from '../../../adapters/security/tls-identity.ts'
import { isCommitUnknown } from '../../../adapters/sql/kit/driver-errors.ts'
import { beatMilliseconds, makeSqlInstanceRegister } from '../../../adapters/sql/kernel/instance-store.ts'
import { makeDatabaseSize } from '../../../adapters/sql/engine/database.ts'
import { MigrationRefused } from '../../../adapters/sql/engine/migration-ledger.ts'
import { migrateUp } from '../../../adapters/sql/engine/migrator.ts'
import { disksOf } from '../../../adapters/system/files.ts'
import type { LocalClock } from '../../../adapters/system/system-clock.ts'
import { isOpen } from '../../../core/kernel/deployment.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { IdempotencyStorePort } from '../../../core/kernel/idempotency.ts'
import { FleetPort, InstanceRegisterPort, LeaseStorePort } from '../../../core/kernel/instances.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { recordChange } from '../../../core/kernel/unit-of-work.ts'
import { PlatformUnitOfWorkPort } from '../../../core/platform/ports.ts'
import type { Assembly, Listener } from '../assemble.ts'
import type { ListenAddress } from '../../part/setting-type.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { Container } from '../../part/container.ts'
import { makeApiListener, ofApiListener } from '../http/api-listener.ts'
import type { ApiServer } from '../http/api-server.ts'
import type { Metrics } from '../http/metrics.ts'
import { besideOthers, knownSchemaOf, migrationsFor, postponed } from '../migrations.ts'
import type { OpsServer, OpsServerDeps } from '../http/ops-server.ts'
import { failingChecks } from '../http/ops-server.ts'
import type { Processes } from '../../part/boot.ts'
import { orBindRefused, StartRefused } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import type { Running } from '../../part/part.ts'
import type { Composition, PartsConfig, StopSequence } from './compose.ts'
import { compose, makeStopSequence } from './compose.ts'
import { addressUrl, showAddress } from '../../part/setting-type.ts'
import type { FirstAdmin } from '../../part/operator.ts'
import { FirstAdminPort, operatorCall } from '../../part/operator.ts'
import type { Foundation } from './foundation.ts'
import type { CertificateInUse } from './readiness.ts'
import { makeCertificateInUse, readinessChecks, releasesCheck } from './readiness.ts'
import { isKeyringOf, openFoundation, refuseOtherKeyring, refuseOtherSchema } from './foundation.ts'
import { startJobs } from './jobs.ts'
import type { Probes } from './probes.ts'
import { listenAt, openProbes } from './probes.ts'
import { makeStartPatience } from './start-patience.ts'
import { openTracing, tracedDatabase } from './tracing.ts'

interface HeldPort {
  /** With the port of the API. */
  readonly settings: RuntimeSettings
  /**
   * Listens on the port that `settings` names, which the API listener takes over. Undefined when the port was
   * configured.
   */
  readonly held: Server | undefined
}

/**
 * Replaces port 0 of the API by a port that the system chooses. Links, cookies and the message bus contain the base
 * URL, so it must be known before the API can listen. The port stays bound in between: no other process can get it.
 */
const holdPort = async (settings: RuntimeSettings, shared: ListenAddress | undefined): Promise<HeldPort> => {
  if (shared !== undefined) return { settings: withPort(settings, shared), held: undefined }
  if (settings.listen.port !== 0) return { settings, held: undefined }
  const { host } = settings.listen
  // No client knows the port yet.
  const held = createServer((socket) => socket.destroy())
  await orBindRefused(
    'MOORAGE_LISTEN',
    settings.listen,
    () => new Promise<void>((resolve, reject) => held.once('error', reject).listen(0, host, resolve)),
  )
  const listen = { host, port: (held.address() as AddressInfo).port }
  return { settings: withPort(settings, listen), held }
}

const withPort = (settings: RuntimeSettings, listen: ListenAddress): RuntimeSettings => ({
  ...settings,
  listen,
  ...(isOneSocket(settings) ? { marketplaceListen: listen } : {}),
})

/** Reports whether one socket serves the API and the notifications of marketplaces. */
const isOneSocket = ({ listen, marketplaceListen }: Pick<RuntimeSettings, 'listen' | 'marketplaceListen'>): boolean =>
  showAddress(listen) === showAddress(marketplaceListen)

export interface ServiceInput {
  readonly config: PartsConfig
  readonly log: Log
  /** Aborted when the process is asked to stop. */
  readonly stopping?: AbortSignal
  /** What became of the lines of the log. */
  readonly logState?: () => LogState
  /** Starts with a key ring that is not that of the database. */
  readonly acceptsKeyring?: boolean
  /** For tests, which may replace what no setting changes, such as the cost of hashes. */
  readonly replaced?: readonly Binding[]
  /** False for a command that does the work of jobs itself. */
  readonly runsJobs?: boolean
  /** Defaults to the clock of this machine. */
  readonly localClock?: LocalClock
  /** Set in a worker of an instance with several processes. */
  readonly worker?: WorkerPlace
}

/** What a worker has from the process that started it. */
export interface WorkerPlace {
  readonly processes: Processes
  /** Where the workers serve the API, if the port of the setting is 0. */
  readonly address: ListenAddress | undefined
  /** The id of a process that ended, whose place this one takes. */
  readonly replaces: string | undefined
  /** Serves the operations listener by the process that started this one. */
  makeOpsServer(deps: OpsServerDeps): OpsServer
}

/** A service that is listening. */
export interface RunningService {
  readonly baseUrl: string
  readonly opsUrl: string
  /** Where notifications of a marketplace arrive; undefined on other deployments. */
  readonly marketplaceUrl: string | undefined
  readonly firstAdmin: FirstAdmin | undefined
  /** Identifies this process among the instances. */
  readonly instanceId: string
  readonly assembly: Assembly
  readonly container: Container
  /** Resolves when the log has what the operator must know of the start, such as which helm is used. */
  readonly isTold: Promise<void>
  /**
   * Stops the service. Readiness fails immediately. After the drain time, which `drains: false` skips, nothing new is
   * accepted, requests in flight end, jobs release their leases, and everything closes. Reports whether all of it
   * closed in order.
   */
  stop(how?: { readonly drains: boolean }): Promise<boolean>
}

/** The time that requests in flight have from the signal, including the drain time. */
const requestGraceMs = 20_000
/** The time that watches and tunnels, which never end by themselves, have after they are asked to end. */
const streamGraceMs = 3_000
/** A connection is idle after this time. */
const quietMs = 2_000
/**
 * The same without a time to drain, for connections that were answered before: long enough for clients that send one
 * request after the other.
 */
const shortQuietMs = 250
/** A connection that the first process accepted reaches a worker within this time. */
const sharedSocketMs = 50

/** Composes the deployment, migrates, listens, starts the jobs and creates the first admin. Throws StartRefused. */
export const startRunning = async (input: ServiceInput): Promise<RunningService> => {
  const { worker } = input
  const { settings, held } = await holdPort(input.config.settings, worker?.address)
  const stops = makeStopSequence(input.log)
  try {
    const patience = makeStartPatience({
      waitSeconds: settings.databaseWaitSeconds,
      log: input.log,
      stopping: input.stopping,
    })
    const probes = await openProbes({ settings, makeOps: worker?.makeOpsServer, waitsFor: patience.waitsFor, stops })
    const opened = await patience.run(() => openFoundation(settings, input.localClock))
    stops.add('database', () => opened.database.close())
    const foundation = await withTraces(opened, settings, input.log)
    stops.add('traces', () => foundation.traces.close())
    stops.add('clock', () => foundation.clock.stop())
    foundation.clock.watch(input.log)
    const composition = compose({
      ...input,
      ...definedFields({ processes: worker?.processes }),
      config: { ...input.config, settings },
      foundation,
      stops,
    })
    await patience.run(() => bringSchemaUp(foundation, { ...input.config, settings }, input.log))
    await patience.run(() =>
      input.acceptsKeyring === true
        ? acceptKeyring(composition, foundation)
        : refuseOtherKeyring(foundation, settings.keyring),
    )
    const replaced = worker?.replaces
    if (replaced !== undefined) await patience.run(() => makeSqlInstanceRegister(foundation.database, replaced).leave())
    await patience.run(() => startHeartbeat(composition, foundation, stops))
    // A step that removes what this version uses may have begun before this process was seen.
    await patience.run(() => refuseOtherSchema(foundation.database, input.config))
    const listening = await openListeners({
      composition,
      foundation,
      stops,
      held,
      probes,
      sharesSockets: worker !== undefined,
      runsJobs: input.runsJobs ?? true,
      knownSchema: knownSchemaOf(input.config),
      logState: input.logState ?? (() => ({ lost: 0, trouble: undefined, backlogLength: 0, backlogAgeMs: 0 })),
    })
    // Only after the listeners are bound: a start that fails there would lose a password that is shown only once.
    const makeFirstAdmin = composition.container.resolve(FirstAdminPort)
    const firstAdmin = await patience.run(() => onceCommitted(makeFirstAdmin))
    // Instances that start together on an empty database have all found no rows before.
    if (input.acceptsKeyring !== true) await patience.run(() => refuseOtherKeyring(foundation, settings.keyring))
    probes.setStarted()
    const ready = runSteps(composition, 'ready', stops)
    const told = ready.flatMap(({ isTold }) => (isTold === undefined ? [] : [isTold]))
    return { ...listening, firstAdmin, isTold: Promise.all(told).then(() => undefined) }
  } catch (error) {
    await stops.run()
    held?.close()
    throw error
  }
}

/** A second attempt could find an admin whose generated password was never shown. */
const onceCommitted = async <A>(step: () => Promise<A>): Promise<A> => {
  try {
    return await step()
  } catch (error) {
    throw isCommitUnknown(error) ? new StartRefused([(error as Error).message]) : error
  }
}

/** Writes a row of the audit log, by which the next start knows the key ring as that of the database. */
const acceptKeyring = async ({ container }: Composition, foundation: Foundation): Promise<void> => {
  if (await isKeyringOf(foundation.database, foundation.keyring)) return
  await recordChange(container.resolve(PlatformUnitOfWorkPort), operatorCall('serve.acceptKeyRing'), {
    action: 'key-ring.accepted',
    objectType: 'key-ring',
  })
}

/** Opens the traces that the settings ask for. They end before the database, after everything that they record. */
const withTraces = async (foundation: Foundation, settings: RuntimeSettings, log: Log): Promise<Foundation> => {
  const traces = await openTracing(settings, foundation.instanceId, log)
  return { ...foundation, traces, database: tracedDatabase(foundation.database, traces.tracing) }
}

const bringSchemaUp = async ({ database }: Foundation, config: PartsConfig, log: Log): Promise<void> => {
  if (!config.settings.migrate) return refuseOtherSchema(database, config)
  try {
    const applied = await migrateUp(database, {
      ...besideOthers(database),
      migrations: await migrationsFor(config, database),
      say: (line) => log.info({ isStep: true }, line),
      onPostponed: ({ id }, instances) => log.info({}, postponed(id, instances)),
    })
    if (applied.length > 0)
      log.info(
        {},
        `the database schema is up to date: ${applied.length} ${applied.length === 1 ? 'migration' : 'migrations'} ran`,
      )
  } catch (error) {
    throw error instanceof MigrationRefused ? new StartRefused([error.message]) : error
  }
}

type Listening = Omit<RunningService, 'firstAdmin' | 'isTold'>

interface ListeningDeps {
  readonly composition: Composition
  readonly foundation: Foundation
  readonly stops: StopSequence
  readonly held: Server | undefined
  readonly probes: Probes
  readonly sharesSockets: boolean
  readonly runsJobs: boolean
  readonly logState: () => LogState
  readonly knownSchema: string
}

/** Runs a step of every part, in the order of the list. What they start is stopped in reverse. */
const runSteps = (
  { parts, container }: Pick<Composition, 'parts' | 'container'>,
  name: 'start' | 'ready',
  stops: StopSequence,
): readonly Running[] =>
  parts.flatMap(({ plugin, [name]: step }) => {
    const running = step?.make(container.give(step.needs))
    if (running === undefined) return []
    const { stop } = running
    if (stop !== undefined) stops.add(plugin.id, () => stop.call(running))
    return [running]
  })

const openListeners = async (deps: ListeningDeps): Promise<Listening> => {
  const { composition, foundation, stops, held, probes, sharesSockets, runsJobs, logState, knownSchema } = deps
  const { boot, container, assembly, parts } = composition
  const { metrics } = probes
  metrics.read({ clockSkewSeconds: () => boot.clock.skewMs() / 1000 })
  const certificate = makeCertificateInUse(boot.tls)
  const checks = [
    ...readinessChecks({ foundation, settings: boot.settings, certificate: certificate.current, logState }),
    releasesCheck(container.resolve(FleetPort), knownSchema),
    ...parts.flatMap((part) => part.checks?.make(container.give(part.checks.needs)) ?? []),
  ]
  for (const { gauges, read } of parts.flatMap((part) => part.metrics ?? []))
    metrics.add(gauges, read.make(container.give(read.needs)))
  const { tls } = boot
  metrics.read({
    failingChecks: () => failingChecks(checks),
    ...(tls && { certificateUntil: () => validityOf(certificate.current() ?? tls).until }),
    log: logState,
    takesChanges: () => foundation.refusal() === undefined,
    databaseBytes: makeDatabaseSize(foundation.database, boot.settings.databaseUrl.reveal()),
    disks: () => disksOf({ data: boot.settings.dataDir, temp: boot.settings.tempDir }),
    pools: boot.pools.loads,
    helpers: boot.helpers.uses,
    spansLost: () =>
      [...boot.helpers.uses().values()].reduce((sum, { counts }) => sum + counts.spansLost, foundation.traces.lost()),
  })
  probes.addChecks(checks)
  if (runsJobs) runJobs(composition, foundation, metrics, stops)
  const started = runSteps(composition, 'start', stops)
  const isMarketplace = isOpen('any-marketplace', boot.deployment)
  const isShared = isMarketplace && isOneSocket(boot.settings)
  const ports = container.give(ofApiListener)
  const pages = parts.flatMap((part) => part.pages ?? [])
  const sites = parts.flatMap((part) => part.sites ?? [])
  const listenerOf = (serves: readonly Listener[]): ApiServer =>
    makeApiListener({
      boot,
      ports,
      assembly,
      whyClosed: composition.whyClosed,
      tags: composition.tags,
      pages,
      sites,
      observers: [metrics],
      serves,
    })
  const api = listenerOf(isShared ? ['api', 'marketplace'] : ['api'])
  const notifications = isMarketplace && !isShared ? listenerOf(['marketplace']) : undefined
  metrics.read({ openStreams: () => api.openStreams(), databasePool: () => foundation.database.load() })
  await listenAt('MOORAGE_LISTEN', boot.settings.listen, { listen: (address) => api.listen(address, held) })
  const listeners = notifications === undefined ? [api] : [api, notifications]
  stops.add('certificate watch', watchCertificate(boot, certificate, listeners))
  let drainMs = 0
  stops.add('listeners', async () => {
    const times = {
      accepts: sharesSockets ? sharedSocketMs : 0,
      quiet: drainMs === 0 ? shortQuietMs : quietMs,
      fresh: quietMs,
      requests: requestGraceMs - drainMs,
      streams: streamGraceMs,
    }
    await Promise.all(listeners.map((listener) => listener.close(times)))
  })
  const marketplaceAddress =
    notifications === undefined
      ? boot.settings.listen
      : await listenAt('MOORAGE_MARKETPLACE_LISTEN', boot.settings.marketplaceListen, notifications)
  return {
    baseUrl: boot.baseUrl(),
    opsUrl: addressUrl(probes.opsAddress),
    marketplaceUrl: isMarketplace ? addressUrl(marketplaceAddress) : undefined,
    instanceId: boot.instanceId,
    assembly,
    container,
    stop: async ({ drains } = { drains: true }) => {
      probes.setStopping()
      // Tasks are asked to stop now. What they still do continues in parallel with the requests in flight.
      for (const running of started) running.beginStop?.()
      for (const listener of listeners) listener.drain()
      drainMs = drains ? boot.settings.drainSeconds * 1000 : 0
      await sleep(drainMs)
      return stops.run()
    },
  }
}

/** Uses the operator's certificate as soon as it is renewed, and warns of its end. Returns a function that stops. */
const watchCertificate = (
  { settings: { tlsCertificate, tlsKey }, tls, log }: Composition['boot'],
  certificate: CertificateInUse,
  listeners: readonly ApiServer[],
): (() => Promise<void>) => {
  if (tls === undefined) return async () => undefined
  const stopWarning = watchExpiry(
    () => certificate.current() ?? tls,
    (told) => log.warn({ reason: told }, 'the TLS certificate must be renewed'),
  )
  if (tlsCertificate === undefined || tlsKey === undefined) return async () => stopWarning()
  const replace = (identity: TlsIdentity): void => {
    for (const listener of listeners) listener.replaceTls(identity)
    certificate.replace(identity)
    log.info({ until: validityOf(identity).until }, 'the TLS certificate was replaced: new connections use it')
  }
  const refuse = (reason: string): void =>
    log.warn({ reason }, 'the TLS certificate on disk cannot be used: the one before is kept')
  const stop = watchTlsIdentity({ certificatePath: tlsCertificate, keyPath: tlsKey, current: tls, replace, refuse })
  return async () => {
    stop()
    stopWarning()
  }
}

/**
 * Starts before the first request: this process owns the work of its requests while its heartbeat continues. It ends
 * after all other work.
 */
const startHeartbeat = async (
  { boot, container }: Composition,
  { keyring }: Foundation,
  stops: StopSequence,
): Promise<void> => {
  const register = container.resolve(InstanceRegisterPort)
  const idempotency = container.resolve(IdempotencyStorePort)
  let told: string | undefined
  const sayAlive = async (): Promise<void> => {
    const { trouble, ...keys } = await keyring.refresh()
    if (trouble !== undefined && trouble !== told)
      boot.log.warn({ reason: trouble }, 'the key ring cannot be read again: the keys of before are kept')
    told = trouble
    await register.beat(keys)
  }
  const beat = async (): Promise<void> => {
    await sayAlive()
    await idempotency.sweep()
  }
  if (boot.database.dialect === 'sqlite' && boot.processes.count === 1 && (await register.alive()).length > 0)
    boot.log.warn(
      {},
      'another service used this SQLite file within the last ten seconds. Stop it if it still runs: clients of one ' +
        'service do not get the events of the other. For several services use MySQL or MariaDB.',
    )
  await sayAlive()
  const orWarn = (step: Promise<void>): Promise<void> =>
    step.catch((error: unknown) => boot.log.warn({ error }, 'the database was not told whether this process lives'))
  const beats = setInterval(() => void orWarn(beat()), beatMilliseconds)
  beats.unref()
  stops.add('heartbeat', async () => {
    clearInterval(beats)
    await orWarn(register.leave())
  })
}

const runJobs = (
  { boot, container, assembly }: Composition,
  { instanceId }: Foundation,
  metrics: Metrics,
  stops: StopSequence,
): void => {
  const jobs = startJobs({
    jobs: assembly.jobs.map(({ job }) => job),
    leases: container.resolve(LeaseStorePort),
    holder: instanceId,
    log: boot.log,
    trusted: () => boot.clock.trusted(),
    onStart: metrics.jobStarted,
    onRun: metrics.jobRan,
    tracing: boot.tracing,
  })
  stops.add('jobs', () => jobs.stop())
}
