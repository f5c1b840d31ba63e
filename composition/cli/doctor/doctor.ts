import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf, printJson } from '../command-context.ts'
import type { LoadedConfig } from '../../config/config.ts'
import type { Settings } from '../../config/settings.ts'
import type { Finding } from './doctor-checks.ts'
import {
  checkBus,
  checkExtIdp,
  checkDatabase,
  checkDataFolder,
  checkKeyring,
  checkListeners,
  checkNode,
  checkOpenFiles,
  checkPasswordList,
  checkTempFolder,
  checkTls,
  checkMail,
} from './doctor-checks.ts'
import { describeDeployment } from '../deployment.ts'
import { checkHelm } from '../helm.ts'
import { StartRefused } from '../../boot.ts'

/** Checks everything that the service depends on. Changes nothing. */
export const doctor = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
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

const findingsOf = async (context: CommandContext, options: CommonOptions): Promise<readonly Finding[]> => {
  let config: LoadedConfig
  try {
    config = await configOf(context, options)
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return problemsOf(error, 'settings')
  }
  const { settings, file } = config
  const database = await checkDatabase(settings)
  const isKeyringWrong = database.some(({ subject }) => subject === 'key ring')
  return [
    {
      subject: 'settings',
      state: 'ok',
      message: file === undefined ? 'The settings are valid.' : `The settings of ${file} are valid.`,
    },
    ...(await checkPlugins(settings)),
    ...(await checkListeners(settings)),
    checkDataFolder(settings),
    await checkTempFolder(settings),
    checkOpenFiles(),
    ...(isKeyringWrong ? [] : [checkKeyring(settings)]),
    checkTls(settings),
    ...database,
    await checkBus(settings),
    ...checkExtIdp(settings),
    ...checkPasswordList(settings),
    await checkMail(settings),
    await checkHelm(settings),
  ]
}

const problemsOf = ({ problems }: StartRefused, subject: string): readonly Finding[] =>
  problems.map((message) => ({ subject, state: 'problem', message }))

/** Composes the deployment as a start does: its own plugins, those of the deployer, and files that settings name. */
const checkPlugins = async (settings: Settings): Promise<readonly Finding[]> => {
  try {
    const { assembly } = await describeDeployment(settings)
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
