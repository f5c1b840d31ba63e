import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { ChartSource } from '../../core/packages/chart-ports.ts'
import { makeMakeModel } from '../../core/packages/editor-make-model.ts'
import { crdFiles, resourceFiles } from '../../core/packages/editor-output.ts'
import { makePreview, type Preview, type PreviewFailure } from '../../core/packages/editor-preview.ts'
import { makeRenderChart } from '../../core/packages/editor-render-chart.ts'
import { chartCacheLimits, makeOpenChart } from '../../core/packages/open-chart.ts'
import type { OpenFailure } from '../../core/packages/submit-release-task.ts'
import { handle, type BoundRoute } from '../kit/route.ts'
import { modelAnswer, printerOf, toModel } from './editor-wire.ts'
import type { PackagesGiven } from './needs.ts'
import { makeOptionsModel, renderOptionsManifest, renderOptionsResources } from './options.routes.ts'

const cacheBytes = 16 * 1024 * 1024

/** Previews: options become a model, a model becomes objects. Nothing is written. */
export const optionsHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const open = makeOpenChart({ source: given.chartSource, clock: given.clock }, { ...chartCacheLimits, maxBytes: cacheBytes })
  const renderChart = makeRenderChart(given)
  /** A form asks with each change of a field: the charts behind it are kept for its person. */
  const depsFor = ({ principal }: SignedInCall, cluster: MemberCluster) => {
    const chartSource: ChartSource = { fetch: (ref, _, signal) => open(ref, { cluster, userId: principal.userId }, signal) }
    return { ...given, renderChart, chartSource }
  }
  const previewFor = async (call: SignedInCall, grant: AccessGrant, model: FreeObject): Outcome<OpenFailure | PreviewFailure, Preview> => {
    const cluster = await given.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : makePreview(depsFor(call, cluster.right))(cluster.right, toModel(model), call.signal)
  }
  return [
    handle(makeOptionsModel, async ({ call, grant, body, query }) => {
      const cluster = await given.memberClusters.open(call, grant)
      if (isLeft(cluster)) return cluster
      const model = await makeMakeModel(depsFor(call, cluster.right))(cluster.right, toModel(body), call.signal)
      return isLeft(model) ? model : right(await modelAnswer(model.right, query.format, given.chartTexts))
    }),
    handle(renderOptionsManifest, async ({ call, grant, body }) => {
      const previewed = await previewFor(call, grant, body)
      return isLeft(previewed) ? previewed : right(previewed.right.manifest)
    }),
    handle(renderOptionsResources, async ({ call, grant, body, query }) => {
      const previewed = await previewFor(call, grant, body)
      if (isLeft(previewed)) return previewed
      const { objects, crds, keyPrefix } = previewed.right
      const printer = printerOf(query.format, given.chartTexts)
      return right({ crds: query.skipCRDs === true ? [] : await crdFiles(crds, printer), resources: await resourceFiles(objects, keyPrefix, printer), missing: undefined })
    }),
  ]
}
