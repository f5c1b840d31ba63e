import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { Chart, ChartTools } from './chart-ports.ts'
import { withoutDefaults } from './editor-chart.ts'
import type { HelmFailure, HelmRendering, HelmRunner } from './helm-ports.ts'
import type { StorageDriverOf } from './ports.ts'
import type { ReleaseKey } from './types.ts'

export interface RenderChartDeps {
  readonly helm: HelmRunner
  readonly chartTools: ChartTools
  readonly driverOf: StorageDriverOf
}
export type RenderFailure = HelmFailure | Failure<'ValuesRefused'>

/** Renders a chart with just these values: its own defaults count for nothing. Look-ups see the cluster as the caller does; nothing is written. */
export const makeRenderChart =
  ({ helm, chartTools, driverOf }: RenderChartDeps) =>
  async (cluster: MemberCluster, release: ReleaseKey, chart: Chart, values: FreeObject, signal: AbortSignal): Outcome<RenderFailure, HelmRendering> => {
    const bare = withoutDefaults(chart)
    const checked = await chartTools.checkValues(bare, values)
    if (isLeft(checked)) return checked
    const target = { cluster, driver: await driverOf(cluster), tenantId: cluster.ownerId }
    return helm.template({ target, release, flags: { dryRun: 'server' } }, { archive: await chartTools.pack(bare), values }, signal)
  }
export type RenderChart = ReturnType<typeof makeRenderChart>
