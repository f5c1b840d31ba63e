import { setTimeout as delay } from 'node:timers/promises'
import { makeBatchedLines, makePlainLines } from '../../adapters/logging/log-lines.ts'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import type { CommandContext, CommonOptions, ExitCode } from './command-context.ts'
import { configOf } from './command-context.ts'
import { beforeCrash, endAtOnce, untilStopped } from './lifecycle.ts'
import type { RunningService } from '../service/running-service.ts'
import { startRunning } from '../service/running-service.ts'
import { releaseVersion } from '../../core/platform/version.ts'

/** The longest wait of the welcome for the line about helm, which is printed above it. */
const helmWaitMs = 1_000

/**
 * Runs the service. Results (the listening address, the first password) go to stdout, the log to stderr. Returns after a stop
 * was requested.
 */
export const serve = async (context: CommandContext, options: CommonOptions & { readonly migrate: boolean }): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const lines = makeBatchedLines({ fd: 2 })
  beforeCrash(lines.flushNow)
  const isTerminal = process.stderr.isTTY
  const isPlain = settings.logFormat === 'text' || (settings.logFormat === 'auto' && isTerminal)
  const plain = isPlain ? makePlainLines(lines, isTerminal ? () => process.stderr.columns : undefined) : undefined
  const { log } = makeBunyanLog({ level: settings.logLevel, lines: plain ?? lines })
  const exitNow = (code: ExitCode): never => {
    lines.flushNow()
    process.exit(code)
  }
  try {
    const starting = startRunning({ settings: { ...settings, migrate: settings.migrate && options.migrate }, log })
    let isStarted = false
    // A signal during the start stops the service as soon as it has started: a migration that is cut off needs a person.
    const stop = async ({ drains }: { readonly drains: boolean }): Promise<boolean> => {
      const hasTraffic = isStarted
      return (await starting).stop({ drains: drains && hasTraffic })
    }
    const stopped = untilStopped({ signals: process, log, stop, exitNow })
    // Of a start that fails, only the reason is reported.
    stopped.catch(() => undefined)
    process.off('SIGTERM', endAtOnce)
    const service = await starting
    isStarted = true
    const facts = { version: releaseVersion, plugins: service.assembly.plugins.map(({ id }) => id), routes: service.assembly.routes.length }
    // The welcome reports it to terminal users.
    if (plain === undefined) log.info(facts, 'ready')
    else {
      await Promise.race([service.helmTold, delay(helmWaitMs, undefined, { ref: false })])
      plain.clear()
      lines.flushNow()
    }
    for (const line of welcome(service)) context.print(line)
    return await stopped
  } finally {
    lines.flushNow()
  }
}

const welcome = ({ baseUrl, opsUrl, firstAdmin }: RunningService): readonly string[] => [
  `Moorage ${releaseVersion} is ready.`,
  `  API      ${baseUrl}/api/v1`,
  `  Docs     ${baseUrl}/api/v1/docs`,
  `  Health   ${opsUrl}/readyz`,
  ...(firstAdmin === undefined ? [] : [`  Admin    ${firstAdmin.username}`]),
  ...(firstAdmin?.generatedPassword === undefined ? [] : [`  Password ${firstAdmin.generatedPassword}   (shown only this once: keep it)`]),
]
