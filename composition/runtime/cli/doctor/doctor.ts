import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { printJson } from '../../../part/command-context.ts'
import { configOf } from '../config.ts'
import type { LoadedConfig } from '../../config/config.ts'
import type { Finding } from '../../../part/finding.ts'
import {
  checkDataFolder,
  checkDatabase,
  checkKeyring,
  checkListeners,
  checkNode,
  checkOpenFiles,
  checkTempFolder,
  checkTls,
} from './doctor-checks.ts'
import { isOpenPart } from '../../service/compose.ts'
import { describeDeployment } from '../deployment.ts'
import type { RuntimeSettings } from '../../../part/runtime-settings.ts'
import type { AnyPart } from '../../../part/part.ts'
import { StartRefused } from '../../../part/boot.ts'

/** Checks everything that the service depends on. Changes nothing. */
export const doctor = async (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> => {
  const findings = [checkNode(), ...(await findingsOf(context, options))]
  const isHealthy = findings.every(({ state }) => state !== 'problem')
  if (options.json === true) printJson(context, { isHealthy, findings })
  else {
    for (const { subject, state, message } of findings)
      context.print(`${state.padEnd(8)} ${subject.padEnd(12)} ${message}`)
    context.print(
      isHealthy ? 'Nothing must be repaired.' : 'Repair what is marked as a problem, then run moorage doctor again.',
    )
  }
  return isHealthy ? 0 : 1
}

const findingsOf = async (context: RuntimeContext, options: CommonOptions): Promise<readonly Finding[]> => {
  let config: LoadedConfig
  try {
    config = await configOf(context, options)
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return problemsOf(error, 'settings')
  }
  const { settings, file, parts } = config
  const database = await checkDatabase(settings, config)
  const isKeyringWrong = database.some(({ subject }) => subject === 'key ring')
  return [
    {
      subject: 'settings',
      state: 'ok',
      message: file === undefined ? 'The settings are valid.' : `The settings of ${file} are valid.`,
    },
    ...(await checkPlugins(config)),
    ...(await checkListeners(settings)),
    checkDataFolder(settings),
    await checkTempFolder(settings),
    checkOpenFiles(),
    ...(isKeyringWrong ? [] : [checkKeyring(settings)]),
    checkTls(settings),
    ...database,
    ...(await findingsOfParts(parts, settings)),
  ]
}

/** The checks of the parts that exist here. */
const findingsOfParts = async (parts: readonly AnyPart[], settings: RuntimeSettings): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const part of parts) {
    if (isOpenPart(part, settings)) findings.push(...((await part.doctor?.(settings)) ?? []))
  }
  return findings
}

const problemsOf = ({ problems }: StartRefused, subject: string): readonly Finding[] =>
  problems.map((message) => ({ subject, state: 'problem', message }))

/** Composes the deployment as a start does: its own plugins, those of the deployer, and files that settings name. */
const checkPlugins = async (config: LoadedConfig): Promise<readonly Finding[]> => {
  try {
    const { assembly } = await describeDeployment(config)
    return [
      {
        subject: 'plugins',
        state: 'ok',
        message: `${assembly.plugins.length} plugins with ${assembly.routes.length} routes.`,
      },
    ]
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return problemsOf(error, 'plugins')
  }
}
