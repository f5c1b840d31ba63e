import cluster from 'node:cluster'
import { fstatSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { makeBatchedLines, makePlainLines } from '../../../adapters/logging/log-lines.ts'
import { makeBunyanLog } from '../../../adapters/logging/bunyan-log.ts'
import type { CommonOptions, ExitCode } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { loadRuntimeSettings } from '../config/config.ts'
import { configOf } from './config.ts'
import { beforeCrash, runUntilStopped } from './lifecycle.ts'
import { StartRefused } from '../../part/boot.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { tooFewFiles } from '../http/connections.ts'
import type { RunningService } from '../service/running-service.ts'
import { openWorkerLink } from '../service/worker-link.ts'
import type { RunningWorkers } from './serve-workers.ts'
import { watchOverWorkers } from './serve-workers.ts'
import { releaseVersion } from '../../../core/platform/version.ts'

export interface ServeOptions extends CommonOptions {
  readonly migrate: boolean
  readonly acceptKeyRing?: boolean
}

/** The longest wait of the welcome for lines such as that about helm, which are printed above it. */
const tellingWaitMs = 1_000
/** The longest that the workers may take to end, when one of them ends again and again. */
const longestEndMs = 25_000

/** Signals of the system reach every process of a terminal or a service unit. The first one decides. */
const leaveSignalsToFirst = (): void => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
}

/** A pipe keeps writes of several processes apart up to this length (PIPE_BUF); a file does so at any length. */
const pipeBytes = 4096

/** Returns the log of this process, which goes to stderr. */
const openLog = ({ logFormat, logLevel }: Pick<RuntimeSettings, 'logFormat' | 'logLevel'>, hasOthers: boolean) => {
  const lines = makeBatchedLines({ fd: 2, ...(hasOthers && fstatSync(2).isFIFO() ? { mostBytes: pipeBytes } : {}) })
  beforeCrash(lines.flushNow)
  const isTerminal = process.stderr.isTTY
  const isPlain = logFormat === 'text' || (logFormat === 'auto' && isTerminal)
  const plain = isPlain ? makePlainLines(lines, isTerminal ? () => process.stderr.columns : undefined) : undefined
  return { lines, plain, log: makeBunyanLog({ level: logLevel, lines: plain ?? lines }) }
}

/**
 * Runs the service. Results (the listening address, the first password) go to stdout, the log to stderr. Returns after
 * a stop was requested.
 */
export const serve = async (context: RuntimeContext, options: ServeOptions): Promise<ExitCode> => {
  if (cluster.isWorker) return serveAsWorker(context, options)
  const fewFiles = tooFewFiles()
  if (fewFiles !== undefined) throw new StartRefused([fewFiles])
  const frame = await loadRuntimeSettings({ environment: context.environment, file: options.config })
  if (frame !== undefined && frame.workers > 1) return serveByWorkers(context, frame)
  const config = await configOf(context, options)
  const { settings } = config
  const ownLog = openLog(settings, false)
  const { log, lines } = ownLog
  const start = async (stopping: AbortSignal): Promise<Served> => {
    const { startRunning } = await import('../service/running-service.ts')
    const service = await startRunning({
      config: { ...config, settings: { ...settings, migrate: settings.migrate && options.migrate } },
      log,
      logState: lines.state,
      stopping,
      acceptsKeyring: options.acceptKeyRing === true,
    })
    return servedBy(service)
  }
  return untilStopped({ context, ownLog, start, exitNow: (code) => process.exit(code) })
}

/** Runs an instance of several processes. This one loads no part of the service. */
const serveByWorkers = (context: RuntimeContext, settings: RuntimeSettings): Promise<ExitCode> => {
  const ownLog = openLog(settings, true)
  const exitNow = (code: ExitCode): never => {
    watch.kill()
    ownLog.lines.flushNow()
    process.exit(code)
  }
  const watch = watchOverWorkers({
    settings,
    log: ownLog.log,
    onGivenUp: (reason) => {
      context.say(`moorage: ${reason}`)
      setTimeout(exitNow, longestEndMs, 1).unref()
      void watch.stop({ drains: false }).finally(() => exitNow(1))
    },
  })
  beforeCrash(watch.kill)
  return untilStopped({ context, ownLog, start: watch.start, exitNow })
}

interface UntilStoppedInput {
  readonly context: RuntimeContext
  readonly ownLog: ReturnType<typeof openLog>
  readonly start: (stopping: AbortSignal) => Promise<Served>
  readonly exitNow: (code: ExitCode) => void
}

/** Starts the service, welcomes its operator, and stops it at a signal. */
const untilStopped = async ({ context, ownLog, start, exitNow }: UntilStoppedInput): Promise<ExitCode> => {
  const { log, plain, lines } = ownLog
  const welcomed = async (stopping: AbortSignal): Promise<Served> => {
    const service = await start(stopping)
    // The welcome reports it to terminal users.
    if (plain === undefined)
      log.info({ version: releaseVersion, plugins: service.plugins, routes: service.routes }, 'ready')
    else {
      await untilTold(service.isTold)
      plain.clear()
      await lines.flush()
    }
    for (const line of welcome(service)) context.print(line)
    return service
  }
  const flushAndExit = (code: ExitCode): void => {
    lines.flushNow()
    exitNow(code)
  }
  try {
    return await runUntilStopped({ signals: process, log, start: welcomed, exitNow: flushAndExit })
  } finally {
    await lines.flush()
  }
}

/** What the welcome says of a service, and how it is stopped. */
type Served = Omit<RunningWorkers, 'instanceId'> & { readonly isTold?: Promise<void> }

const servedBy = ({ assembly, ...service }: RunningService): Served => ({
  ...service,
  plugins: assembly.plugins.map(({ id }) => id),
  routes: assembly.routes.length,
})

const untilTold = async (isTold: Promise<void> | undefined): Promise<void> => {
  await Promise.race([isTold, delay(tellingWaitMs, undefined, { ref: false })])
}

/** Runs a worker of an instance. The process that started it sends it its place, and asks it to stop. */
const serveAsWorker = async (context: RuntimeContext, options: ServeOptions): Promise<ExitCode> => {
  leaveSignalsToFirst()
  const link = await openWorkerLink(process)
  const refuse = async (error: unknown): Promise<ExitCode> => {
    if (!(error instanceof StartRefused)) throw error
    await link.refused(error.problems)
    return 1
  }
  try {
    const config = await configOf(context, options)
    const { settings } = config
    const { lines, plain, log } = openLog(settings, true)
    const start = async (stopping: AbortSignal): Promise<RunningService> => {
      const { startRunning } = await import('../service/running-service.ts')
      const service = await startRunning({
        config: { ...config, settings: { ...settings, migrate: link.migrates && settings.migrate && options.migrate } },
        log,
        logState: lines.state,
        stopping,
        acceptsKeyring: options.acceptKeyRing === true,
        worker: link.place,
      })
      const { baseUrl, marketplaceUrl, firstAdmin } = service
      const { plugins, routes } = servedBy(service)
      const { instanceId } = service
      if (plain !== undefined) await untilTold(service.isTold)
      lines.flushNow()
      await link.started({ baseUrl, marketplaceUrl, firstAdmin, plugins, routes, instanceId })
      return service
    }
    const exitNow = (code: ExitCode): never => {
      lines.flushNow()
      process.exit(code)
    }
    try {
      return await runUntilStopped({ signals: link.signals, log, start, exitNow })
    } finally {
      lines.flushNow()
    }
  } catch (error) {
    return refuse(error)
  }
}

const welcome = ({ baseUrl, opsUrl, marketplaceUrl, firstAdmin }: Served): readonly string[] => [
  `Moorage ${releaseVersion} is ready.`,
  `  API      ${baseUrl}/api/v1`,
  `  Docs     ${baseUrl}/api/v1/docs`,
  ...(marketplaceUrl === undefined ? [] : [`  Webhooks ${marketplaceUrl}/marketplace/api/v1`]),
  `  Health   ${opsUrl}/readyz`,
  ...(firstAdmin === undefined ? [] : [`  Admin    ${firstAdmin.username}`]),
  ...(firstAdmin?.generatedPassword === undefined
    ? []
    : [`  Password ${firstAdmin.generatedPassword}   (shown only this once: keep it)`]),
]
