import { ClusterTasksPort } from '../../../core/cluster-tasks/ports.ts'
import { MemberClustersPort } from '../../../core/clusters/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort, PausePort } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { chartCacheLimits, makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import { ChartSourcePort, ChartTextsPort, ChartToolsPort } from '../../../core/packages/charts/ports.ts'
import { makeRenderChart } from '../../../core/packages/editors/editor-charts.ts'
import {
  applyEditorKind,
  deleteEditorKind,
  makeApplyModel,
  makeDeleteEditor,
} from '../../../core/packages/editors/editor-tasks.ts'
import { crdFiles, documentsText, resourceFiles } from '../../../core/packages/editors/manifests.ts'
import { makeLoadEditor, makeMakeModel, missingOf } from '../../../core/packages/editors/models.ts'
import { AppReleasesPort, EditorCatalogPort } from '../../../core/packages/editors/ports.ts'
import { makePreview } from '../../../core/packages/editors/previews.ts'
import { JsonPatchesPort, ReleaseStorePort, StorageDriverOfPort } from '../../../core/packages/ports.ts'
import { HelmRunnerPort, RecordSizesPort, TextDiffPort } from '../../../core/packages/releases/ports.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { modelAnswer, printerOf, removalSubject, toModel } from './codecs.ts'
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

const modelInput = ({ grant, body }: { readonly grant: AccessGrant; readonly body: FreeObject }) => ({
  grant,
  model: toModel(body),
})
const aboutInput = ({ grant, body }: { readonly grant: AccessGrant; readonly body: FreeObject }) => ({
  grant,
  about: toModel(body),
})

/** Preview routes: options become a model, and a model becomes objects. They write nothing. */
export const editorPreviewGroup = defineGroup({
  needs: {
    caches: CachesPort,
    chartSource: ChartSourcePort,
    chartTexts: ChartTextsPort,
    chartTools: ChartToolsPort,
    clock: ClockPort,
    driverOf: StorageDriverOfPort,
    editorCatalog: EditorCatalogPort,
    helm: HelmRunnerPort,
    memberClusters: MemberClustersPort,
  },
  routes: (given) => {
    // A form sends a request at each change of a field, so the charts are cached per user.
    const open = makeOpenChart(
      { source: given.chartSource, clock: given.clock, caches: given.caches },
      { ...chartCacheLimits, maxBytes: cacheBytes },
    )
    const deps = { ...given, open, renderChart: makeRenderChart(given) }
    const preview = makePreview(deps)
    return [
      handle(makeOptionsModel, makeMakeModel(deps), {
        input: ({ grant, body }) => ({ grant, options: toModel(body) }),
        reply: (model, { query }) => modelAnswer(model, query.format, given.chartTexts),
      }),
      handle(renderOptionsManifest, preview, { input: modelInput, reply: ({ manifest }) => manifest }),
      handle(renderOptionsResources, preview, {
        input: modelInput,
        reply: async ({ objects, crds, keyPrefix }, { query }) => {
          const printer = printerOf(query.format, given.chartTexts)
          return {
            crds: query.skipCRDs === true ? [] : await crdFiles(crds, printer),
            resources: await resourceFiles(objects, keyPrefix, printer),
            missing: undefined,
          }
        },
      }),
    ]
  },
})

/** Routes for installations by editors. Tasks apply and remove them; reads show them as they are in the cluster. */
export const editorGroup = defineGroup({
  needs: {
    appReleases: AppReleasesPort,
    chartSource: ChartSourcePort,
    chartTexts: ChartTextsPort,
    chartTools: ChartToolsPort,
    clock: ClockPort,
    clusterTasks: ClusterTasksPort,
    driverOf: StorageDriverOfPort,
    editorCatalog: EditorCatalogPort,
    helm: HelmRunnerPort,
    memberClusters: MemberClustersPort,
    patches: JsonPatchesPort,
    pause: PausePort,
    recordSizes: RecordSizesPort,
    releases: ReleaseStorePort,
    textDiff: TextDiffPort,
  },
  routes: (given) => {
    const load = makeLoadEditor(given)
    return [
      handle(applyEditor, makeApplyModel(given), {
        input: ({ grant, body, query }) => {
          const { patch, ...model } = toModel(body)
          return {
            grant,
            model,
            ...definedFields({ patch: patch ?? undefined }),
            installCrds: query.installCRDs === true,
            wait: query.wait !== false,
            timeoutSeconds: query.timeout,
            responseId: query['response-id'],
          }
        },
      }),
      handle(deleteEditor, makeDeleteEditor(given), {
        input: ({ grant, body, query }) => ({ grant, about: removalSubject(body), responseId: query['response-id'] }),
      }),
      handle(loadEditorModel, load, {
        input: aboutInput,
        reply: ({ model }, { query }) => modelAnswer(model, query.format, given.chartTexts),
      }),
      handle(loadEditorManifest, load, {
        input: aboutInput,
        reply: ({ objects, missing }) => documentsText(objects, missing, given.chartTexts),
      }),
      handle(loadEditorResources, load, {
        input: aboutInput,
        reply: async ({ objects, missing, keyPrefix }, { query }) => ({
          crds: [],
          resources: await resourceFiles(objects, keyPrefix, printerOf(query.format, given.chartTexts)),
          missing: missing.length === 0 ? undefined : missing.map((each) => missingOf(each, keyPrefix)),
        }),
      }),
    ]
  },
  tasks: (given) => [applyEditorKind(given), deleteEditorKind(given)],
})
