import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { Chart, ChartTexts } from './chart-ports.ts'
import { findLabelPaths } from './editor-label-paths.ts'
import { parseManifest, renderedText } from './editor-manifest.ts'
import { fetchEditorChart, makeOpenEditor, type OpenChartsDeps, type OpenedChart, type OpenedEditor, type OpenFailure } from './editor-open-charts.ts'
import { crdFilesOf } from './editor-output.ts'
import { EditorUnfit } from './editor-ports.ts'
import { refillModel } from './editor-refill.ts'
import type { RenderChart, RenderFailure } from './editor-render-chart.ts'
import { isFeatureSet, readSubject } from './editor-subject.ts'
import type { ManifestObject } from './manifest-objects.ts'

export interface PreviewDeps extends OpenChartsDeps {
  readonly renderChart: RenderChart
  readonly chartTexts: ChartTexts
}
export type FillFailure = OpenFailure | Failure<'ModelRefused'>
export type PreviewFailure = FillFailure | RenderFailure

/** What a model would become. */
export interface Preview {
  /** All of it as text, in the order of an installation. */
  readonly manifest: string
  readonly objects: readonly ManifestObject[]
  /** Definitions that come with the chart, by file. */
  readonly crds: readonly { readonly path: string; readonly objects: readonly ManifestObject[] }[]
  /** What the names of the objects begin with, for their keys; empty for feature sets. */
  readonly keyPrefix: string
}

/** A model made ready for its chart. */
export interface FilledModel {
  readonly opened: OpenedEditor
  readonly chart: OpenedChart
  readonly values: FreeObject
}

/** Finds the editor of a model, and fills the model by its chart and the release. `isRough` leaves labels below the metadata as they are: enough to judge the model. */
export const makeFillModel =
  (deps: OpenChartsDeps) =>
  async (cluster: MemberCluster, model: FreeObject, signal: AbortSignal, isRough = false): Outcome<FillFailure, FilledModel> => {
    const subject = readSubject(model)
    if (isLeft(subject)) return subject
    const opened = await makeOpenEditor(deps)(cluster, subject.right, signal)
    if (isLeft(opened)) return opened
    const chart = await fetchEditorChart(deps, cluster, opened.right, signal)
    if (isLeft(chart)) return chart
    const labelPaths = isRough ? right(() => []) : await findLabelPaths(deps.editorCatalog, cluster, opened.right, chart.right.facts, signal)
    if (isLeft(labelPaths)) return labelPaths
    const { release, resource } = opened.right.subject
    const values = refillModel(model, { chart: chart.right.facts, release, isFeatureSet: isFeatureSet(resource), labelPaths: labelPaths.right })
    return isLeft(values) ? values : right({ opened: opened.right, chart: chart.right, values: values.right })
  }

const decoder = new TextDecoder()

const readCrds = async (texts: ChartTexts, chart: Chart): Outcome<Failure<'EditorUnfit'>, Preview['crds']> => {
  const crds: Preview['crds'][number][] = []
  for (const { path, bytes } of crdFilesOf(chart)) {
    const objects = await parseManifest(texts, decoder.decode(bytes))
    if (isLeft(objects)) return left(EditorUnfit(`${path} of the chart ${chart.name}: ${objects.left.message}`))
    crds.push({ path, objects: objects.right })
  }
  return right(crds)
}

/** Renders what a model would become. Nothing is written. */
export const makePreview = (deps: PreviewDeps) => {
  const fill = makeFillModel(deps)
  return async (cluster: MemberCluster, model: FreeObject, signal: AbortSignal): Outcome<PreviewFailure, Preview> => {
    const filled = await fill(cluster, model, signal)
    if (isLeft(filled)) return filled
    const { opened, chart, values } = filled.right
    const { release, resource } = opened.subject
    const rendering = await deps.renderChart(cluster, release, chart.chart, values, signal)
    if (isLeft(rendering)) return rendering
    const manifest = renderedText(rendering.right)
    const objects = await parseManifest(deps.chartTexts, manifest)
    if (isLeft(objects)) return objects
    const crds = await readCrds(deps.chartTexts, chart.chart)
    if (isLeft(crds)) return crds
    return right({ manifest, objects: objects.right, crds: crds.right, keyPrefix: isFeatureSet(resource) ? '' : release.name })
  }
}
