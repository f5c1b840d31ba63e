import { availableParallelism, tmpdir } from 'node:os'
import type { BundledHelm, HelmSupply } from '../../adapters/helm/process/bundled-helm.ts'
import { makeBundledHelm, makeHelmSupply } from '../../adapters/helm/process/bundled-helm.ts'
import { makeGuards, makeHelmProcessRunner } from '../../adapters/helm/process/helm-runner.ts'
import { makeHelmFinder, type HelmFinder } from '../../adapters/helm/process/helm-finder.ts'
import { usualLimits, type HelmLimits } from '../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../adapters/helm/process/loopback-proxy.ts'
import { token } from '../../core/kernel/token.ts'
import { ChartTextsToken } from '../../core/packages/charts/ports.ts'
import { HelmRunnerToken } from '../../core/packages/releases/ports.ts'
import type { Provide } from '../boot.ts'
import type { Settings } from '../config/settings.ts'

export const HelmFinderToken = token<HelmFinder>('packages.HelmFinder')
/** Limits of helm processes. No setting changes them. */
export const HelmLimitsToken = token<HelmLimits>('packages.HelmLimits')
/** Started only by `serve`, since it may download a program. */
export const HelmSupplyToken = token<HelmSupply>('packages.HelmSupply')

const searchPath = (): string => process.env['PATH'] ?? ''

/** Returns the finder and the bundled helm of a deployment, for the service and for commands. */
export const helmOf = ({
  dataDir,
  helm,
}: Pick<Settings, 'dataDir' | 'helm'>): { readonly finder: HelmFinder; readonly bundled: BundledHelm } => {
  const bundled = makeBundledHelm({ dataDir })
  return { bundled, finder: makeHelmFinder({ setting: helm, searchPath: searchPath(), bundled: () => bundled.path() }) }
}

/** Provides the helm program. */
export const provideHelm: Provide = (container, boot) => {
  const { finder, bundled } = helmOf(boot.settings)
  container.provideValue(HelmFinderToken, finder)
  container.provideValue(HelmLimitsToken, usualLimits(availableParallelism()))
  container.provide(HelmRunnerToken, (resolve) => {
    const runner = makeHelmProcessRunner({
      chartTexts: resolve(ChartTextsToken),
      finder: resolve(HelmFinderToken),
      proxy: makeLoopbackProxy(),
      guards: makeGuards(searchPath()),
      limits: resolve(HelmLimitsToken),
      folder: boot.settings.tempDir,
    })
    boot.onStop('helm', () => runner.close())
    return runner
  })
  container.provide(HelmSupplyToken, (resolve) => {
    // Releases before the setting made their folders in that of the system.
    const folders = [boot.settings.tempDir, tmpdir()]
    const supply = makeHelmSupply({
      finder: resolve(HelmFinderToken),
      bundled,
      log: boot.log,
      setting: boot.settings.helm,
      folders,
    })
    boot.onStop('fetching helm', () => supply.stop())
    return supply
  })
}
