import { makeBatchedLines } from '../../adapters/logging/batched-lines.ts'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { plainLine } from '../../adapters/logging/plain-line.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf } from '../command-context.ts'
import { beforeCrash } from '../crash-handlers.ts'
import { untilStopped } from '../lifecycle.ts'
import type { RunningService } from '../running-service.ts'
import { startRunning } from '../running-service.ts'
import { releaseVersion } from '../../core/platform/version.ts'

/** Results (where it listens, the first password) go to stdout, the log to stderr. Answers when it was told to stop. */
export const serve = async (context: CommandContext, options: CommonOptions & { readonly migrate: boolean }): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const lines = makeBatchedLines({ fd: 2 })
  beforeCrash(lines.flushNow)
  const { log } = makeBunyanLog({ level: settings.logLevel, lines: process.stderr.isTTY ? { add: (line) => lines.add(plainLine(line)) } : lines })
  const exitNow = (code: ExitCode): never => {
    lines.flushNow()
    process.exit(code)
  }
  try {
    const service = await startRunning({ settings: { ...settings, migrate: settings.migrate && options.migrate }, log })
    log.info({ version: releaseVersion, plugins: service.assembly.plugins.map(({ id }) => id), routes: service.assembly.routes.length }, 'ready')
    // Before the welcome, since whoever reads it may answer with a signal.
    const stopped = untilStopped({ signals: process, log, stop: service.stop, exitNow })
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
