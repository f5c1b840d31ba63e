import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { ChartTexts } from './chart-ports.ts'
import { own } from './editor-json.ts'
import { renderedText, parseManifest } from './editor-manifest.ts'
import { fetchEditorChart, fetchOptionsChart, makeOpenEditor, type OpenChartsDeps, type OpenFailure } from './editor-open-charts.ts'
import { EditorUnfit } from './editor-ports.ts'
import type { RenderChart, RenderFailure } from './editor-render-chart.ts'
import { resourceKey } from './editor-resource-key.ts'
import { isFeatureSet, readSubject } from './editor-subject.ts'
import type { ManifestObject } from './manifest-objects.ts'

export interface MakeModelDeps extends OpenChartsDeps {
  readonly renderChart: RenderChart
  readonly chartTexts: ChartTexts
}
export type MakeModelFailure = OpenFailure | RenderFailure | Failure<'ModelRefused'>

const keyed = (objects: readonly ManifestObject[], releaseName: string, isWanted: (key: string) => boolean): readonly (readonly [string, FreeObject])[] =>
  objects.map((object) => [resourceKey(object, releaseName), object.body] as const).filter(([key]) => isWanted(key))

const repeatedKey = (keys: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  return keys.find((key) => seen.size === seen.add(key).size)
}

/**
 * Turns options into a model: renders the options chart with the whole body as its values, and puts each object under its
 * key. With a `form`, only the keys that the editor's chart keeps in a model. Nothing is written.
 */
export const makeMakeModel =
  (deps: MakeModelDeps) =>
  async (cluster: MemberCluster, options: FreeObject, signal: AbortSignal): Outcome<MakeModelFailure, FreeObject> => {
    const subject = readSubject(options)
    if (isLeft(subject)) return subject
    const opened = await makeOpenEditor(deps)(cluster, subject.right, signal)
    if (isLeft(opened)) return opened
    const form = own(options, 'form')
    const editor = form === undefined ? undefined : await fetchEditorChart(deps, cluster, opened.right, signal)
    if (editor !== undefined && isLeft(editor)) return editor
    const chart = await fetchOptionsChart(deps, cluster, opened.right, signal)
    if (isLeft(chart)) return chart
    const { release, resource } = opened.right.subject
    const rendering = await deps.renderChart(cluster, release, chart.right, options, signal)
    if (isLeft(rendering)) return rendering
    const objects = await parseManifest(deps.chartTexts, renderedText(rendering.right))
    if (isLeft(objects)) return objects
    const resources = keyed(objects.right, isFeatureSet(resource) ? '' : release.name, (key) => editor === undefined || editor.right.facts.resourceKeys.has(key))
    const repeated = repeatedKey(resources.map(([key]) => key))
    if (repeated !== undefined) return left(EditorUnfit(`The options chart ${chart.right.name} ${chart.right.version} makes two objects of the key ${repeated}.`))
    return right({ metadata: own(options, 'metadata'), resources: Object.fromEntries(resources), ...(form === undefined ? {} : { form }) })
  }
