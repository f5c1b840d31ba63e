import { setTimeout as delay } from 'node:timers/promises'
import { makeBatchedLines, makePlainLines } from '../../adapters/logging/log-lines.ts'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import type { CommandContext, CommonOptions, ExitCode } from './command-context.ts'
import { configOf } from './loaded-config.ts'
import { beforeCrash, runUntilStopped } from './lifecycle.ts'
import { StartRefused } from '../boot.ts'
import { tooFewFiles } from '../http/connections.ts'
import type { RunningService } from '../service/running-service.ts'
import { startRunning } from '../service/running-service.ts'
import { releaseVersion } from '../../core/platform/version.ts'

export interface ServeOptions extends CommonOptions {
  readonly migrate: boolean
  readonly acceptKeyRing?: boolean
}

/** The longest wait of the welcome for lines such as that about helm, which are printed above it. */
const tellingWaitMs = 1_000

/**
 * Runs the service. Results (the listening address, the first password) go to stdout, the log to stderr. Returns after
 * a stop was requested.
 */
export const serve = async (context: CommandContext, options: ServeOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const { settings } = config
  const fewFiles = tooFewFiles()
  if (fewFiles !== undefined) throw new StartRefused([fewFiles])
  const lines = makeBatchedLines({ fd: 2 })
  beforeCrash(lines.flushNow)
  const isTerminal = process.stderr.isTTY
  const isPlain = settings.logFormat === 'text' || (settings.logFormat === 'auto' && isTerminal)
  const plain = isPlain ? makePlainLines(lines, isTerminal ? () => process.stderr.columns : undefined) : undefined
  const log = makeBunyanLog({ level: settings.logLevel, lines: plain ?? lines })
  const exitNow = (code: ExitCode): never => {
    lines.flushNow()
    process.exit(code)
  }
  const start = async (): Promise<RunningService> => {
    const service = await startRunning({
      config: { ...config, settings: { ...settings, migrate: settings.migrate && options.migrate } },
      log,
      logState: lines.state,
      acceptsKeyring: options.acceptKeyRing === true,
    })
    const facts = {
      version: releaseVersion,
      plugins: service.assembly.plugins.map(({ id }) => id),
      routes: service.assembly.routes.length,
    }
    // The welcome reports it to terminal users.
    if (plain === undefined) log.info(facts, 'ready')
    else {
      await Promise.race([service.isTold, delay(tellingWaitMs, undefined, { ref: false })])
      plain.clear()
      await lines.flush()
    }
    for (const line of welcome(service)) context.print(line)
    return service
  }
  try {
    return await runUntilStopped({ signals: process, log, start, exitNow })
  } finally {
    await lines.flush()
  }
}

const welcome = ({ baseUrl, opsUrl, marketplaceUrl, firstAdmin }: RunningService): readonly string[] => [
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
