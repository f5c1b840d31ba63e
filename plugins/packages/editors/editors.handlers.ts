import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { Outcome } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { chartCacheLimits, makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import type { ChartSource } from '../../../core/packages/charts/ports.ts'
import { makeRenderChart } from '../../../core/packages/editors/editor-charts.ts'
import { applyEditorKind, deleteEditorKind, makeApplyModel, makeDeleteEditor } from '../../../core/packages/editors/editor-tasks.ts'
import { crdFiles, documentsText, resourceFiles } from '../../../core/packages/editors/manifests.ts'
import type { LoadedModel, LoadModelFailure } from '../../../core/packages/editors/models.ts'
import { makeLoadModel, makeMakeModel, missingOf } from '../../../core/packages/editors/models.ts'
import type { Preview, PreviewFailure } from '../../../core/packages/editors/previews.ts'
import { makePreview } from '../../../core/packages/editors/previews.ts'
import type { OpenFailure } from '../../../core/packages/releases/release-tasks.ts'
import type { TaskKind } from '../../../core/tasks/ports.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { PackagesGiven } from '../needs.ts'
import { taskWire } from '../releases/releases.handlers.ts'
import { modelAnswer, printerOf, removalSubject, toModel } from './editor-wire.ts'
import {
  applyEditor,
  deleteEditor,
  loadEditorManifest,
  loadEditorModel,
  loadEditorResources,
  makeOptionsModel,
  renderOptionsManifest,
  renderOptionsResources,
} from './editors.routes.ts'

const cacheBytes = 16 * 1024 * 1024

/** Preview routes: options become a model, and a model becomes objects. They write nothing. */
export const optionsHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const open = makeOpenChart({ source: given.chartSource, clock: given.clock, caches: given.caches }, { ...chartCacheLimits, maxBytes: cacheBytes })
  const renderChart = makeRenderChart(given)
  /** A form sends a request at each change of a field, so the charts are cached per user. */
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

/** Routes for installations by editors. Tasks apply and remove them; reads show them as they are in the cluster. */
export const editorHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const apply = makeApplyModel(given)
  const remove = makeDeleteEditor(given)
  const load = makeLoadModel(given)
  const loadFor = async (call: SignedInCall, grant: AccessGrant, about: FreeObject): Outcome<OpenFailure | LoadModelFailure, LoadedModel> => {
    const cluster = await given.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : load(cluster.right, toModel(about), call.signal)
  }
  return [
    handleChange(applyEditor, taskWire, ({ call, grant, body, query }) => {
      const { patch, ...model } = toModel(body)
      return apply(call, grant, {
        model,
        ...(patch === undefined || patch === null ? {} : { patch }),
        installCrds: query.installCRDs === true,
        wait: query.wait !== false,
        timeoutSeconds: query.timeout,
        responseId: query['response-id'],
      })
    }),
    handleChange(deleteEditor, taskWire, ({ call, grant, body, query }) => remove(call, grant, removalSubject(body), query['response-id'])),
    handle(loadEditorModel, async ({ call, grant, body, query }) => {
      const loaded = await loadFor(call, grant, body)
      return isLeft(loaded) ? loaded : right(await modelAnswer(loaded.right.model, query.format, given.chartTexts))
    }),
    handle(loadEditorManifest, async ({ call, grant, body }) => {
      const loaded = await loadFor(call, grant, body)
      return isLeft(loaded) ? loaded : right(await documentsText(loaded.right.objects, loaded.right.missing, given.chartTexts))
    }),
    handle(loadEditorResources, async ({ call, grant, body, query }) => {
      const loaded = await loadFor(call, grant, body)
      if (isLeft(loaded)) return loaded
      const { objects, missing, keyPrefix } = loaded.right
      const resources = await resourceFiles(objects, keyPrefix, printerOf(query.format, given.chartTexts))
      return right({ crds: [], resources, missing: missing.length === 0 ? undefined : missing.map((each) => missingOf(each, keyPrefix)) })
    }),
  ]
}

/** The kinds of tasks that apply and remove. */
export const editorTaskKinds = (given: PackagesGiven): readonly TaskKind[] => [applyEditorKind(given), deleteEditorKind(given)]
