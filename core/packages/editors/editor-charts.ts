import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject } from '../../kernel/json.ts'
import type { Chart, ChartFailure, ChartSource, ChartTools } from '../charts/ports.ts'
import { completedSource } from '../charts/source-refs.ts'
import type { StorageDriverOf } from '../ports.ts'
import type { HelmFailure, HelmRendering, HelmRunner } from '../releases/ports.ts'
import type { ChartRef, ReleaseKey } from '../types.ts'
import type { ApiResources } from './api-resources.ts'
import { makeApiResources } from './api-resources.ts'
import { own, ownObject, ownText } from './json-members.ts'
import type { EditorCatalog } from './ports.ts'
import { EditorMissing, EditorUnfit } from './ports.ts'
import type { EditorChart, EditorSubject, ResourceEditor, ResourceId } from './types.ts'

const editorAnnotation = 'meta.x-helm.dev/editor'
const resourceKeysAnnotation = 'meta.x-helm.dev/resource-keys'
const formKeysAnnotation = 'meta.x-helm.dev/form-keys'

const declaredKeys = (chart: Chart, annotation: string): readonly string[] =>
  ownText(ownObject(chart.metadata, 'annotations'), annotation)
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')

/** Returns EditorUnfit for a chart that cannot serve as an editor. */
const unfit = (chart: Chart, what: string): Either<Failure<'EditorUnfit'>, never> =>
  left(EditorUnfit(`The chart ${chart.name} ${chart.version} cannot serve as an editor: ${what}.`))

/** Returns the resource that an editor chart declares in its annotation, `{"group", "version", "resource"}`; undefined for other charts. */
export const editedResourceOf = (metadata: FreeObject): Pick<ResourceId, 'group' | 'name'> | undefined => {
  try {
    const named = JSON.parse(ownText(ownObject(metadata, 'annotations'), editorAnnotation)) as Json
    return isObject(named) && ownText(named, 'resource') !== '' ? { group: ownText(named, 'group'), name: ownText(named, 'resource') } : undefined
  } catch {
    return undefined
  }
}

/** Reads the values and annotations of an editor chart. Failure: EditorUnfit. */
export const readEditorChart = (chart: Chart): Either<Failure<'EditorUnfit'>, EditorChart> => {
  const resource = own(ownObject(chart.values, 'metadata'), 'resource')
  if (!isObject(resource)) return unfit(chart, 'its values have no metadata.resource')
  const defaults = new Map<string, FreeObject>()
  for (const [key, value] of Object.entries(ownObject(chart.values, 'resources'))) {
    if (!isObject(value) || ownText(value, 'apiVersion') === '' || ownText(value, 'kind') === '') return unfit(chart, `resources.${key} of its values names no apiVersion and kind`)
    defaults.set(key, value)
  }
  const declared = declaredKeys(chart, resourceKeysAnnotation)
  return right({
    defaults,
    resource,
    usesForm: own(chart.values, 'form') !== undefined,
    resourceKeys: new Set(declared.length > 0 ? declared : defaults.keys()),
    formKeys: new Set(declaredKeys(chart, formKeysAnnotation)),
  })
}

const defaultsFile = 'values.yaml'

/** Returns the chart without its default values, which helm would merge into the given values. */
export const withoutDefaults = (chart: Chart): Chart => ({
  ...chart,
  values: {},
  files: new Map([...chart.files].filter(([path]) => path !== defaultsFile)),
})

/** The editor of the requested resource, with access to its charts. */
export interface OpenedEditor {
  readonly subject: EditorSubject
  readonly editor: ResourceEditor
  readonly resources: ApiResources
}
export interface OpenedChart {
  readonly chart: Chart
  readonly facts: EditorChart
}

export type OpenFailure = ChartFailure | MemberFailure | Failure<'EditorMissing'> | Failure<'EditorUnfit'>

export interface OpenChartsDeps {
  readonly editorCatalog: EditorCatalog
  readonly chartSource: ChartSource
}

/** Finds the editor. A missing version or plural of the resource is filled in from the cluster's API. */
export const makeOpenEditor =
  ({ editorCatalog }: Pick<OpenChartsDeps, 'editorCatalog'>) =>
  async (cluster: MemberCluster, subject: EditorSubject, signal: AbortSignal): Outcome<MemberFailure | Failure<'EditorMissing'>, OpenedEditor> => {
    const resources = makeApiResources(cluster, signal)
    const { version, name } = subject.resource
    const resource = version !== '' && name !== '' ? right(subject.resource) : await resources.complete(subject.resource)
    if (isLeft(resource)) return resource
    if (resource.right.version === '' || resource.right.name === '') return left(EditorMissing('There is no editor for it: the cluster does not serve that resource, and the request does not say its version and plural.'))
    const completed = { ...subject, resource: resource.right }
    return pipe(await editorCatalog.find(cluster, resource.right, signal), map((editor) => ({ subject: completed, editor, resources })))
  }

const nameOf = ({ resource }: ResourceEditor): string => `${resource.name}${resource.group === '' ? '' : `.${resource.group}`}`

const fetchFor = async (deps: OpenChartsDeps, cluster: MemberCluster, ref: ChartRef, signal: AbortSignal): Outcome<ChartFailure, Chart> =>
  pipe(
    await deps.chartSource.fetch({ ...ref, source: completedSource(ref.source) }, { cluster, tenantId: cluster.ownerId }, signal),
    map(({ chart }) => chart),
  )

/** Fetches the chart that turns options into a model. Failures: EditorMissing if the editor has none, ChartFailure. */
export const fetchOptionsChart = async (deps: OpenChartsDeps, cluster: MemberCluster, { editor }: OpenedEditor, signal: AbortSignal): Outcome<OpenFailure, Chart> =>
  editor.options === undefined ? left(EditorMissing(`The editor of ${nameOf(editor)} has no options chart.`)) : fetchFor(deps, cluster, editor.options, signal)

/** Fetches the chart that turns a model into objects, with its metadata. Failures: EditorMissing, EditorUnfit, ChartFailure. */
export const fetchEditorChart = async (deps: OpenChartsDeps, cluster: MemberCluster, { editor }: OpenedEditor, signal: AbortSignal): Outcome<OpenFailure, OpenedChart> => {
  if (editor.editor === undefined) return left(EditorMissing(`The editor of ${nameOf(editor)} has no editor chart.`))
  const chart = await fetchFor(deps, cluster, editor.editor, signal)
  if (isLeft(chart)) return chart
  const edited = editedResourceOf(chart.right.metadata)
  if (edited?.group !== editor.resource.group || edited.name !== editor.resource.name) return unfit(chart.right, `its annotation meta.x-helm.dev/editor does not name ${nameOf(editor)}`)
  return pipe(readEditorChart(chart.right), map((facts) => ({ chart: chart.right, facts })))
}

export interface RenderChartDeps {
  readonly helm: HelmRunner
  readonly chartTools: ChartTools
  readonly driverOf: StorageDriverOf
}
export type RenderFailure = HelmFailure | Failure<'ValuesRefused'>

/** Renders a chart with exactly these values and without its defaults. `lookup` reads the cluster as the caller; nothing is written. */
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
