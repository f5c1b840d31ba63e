import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { MemberCluster, MemberFailure } from '../clusters/ports.ts'
import type { Chart, ChartFailure, ChartSource } from './chart-ports.ts'
import { editedResourceOf, readEditorChart, unfit } from './editor-chart.ts'
import { makeApiResources, type ApiResources } from './editor-discovery.ts'
import { EditorMissing, type EditorCatalog } from './editor-ports.ts'
import type { EditorChart, EditorSubject, ResourceEditor } from './editor-types.ts'
import { completedSource } from './source-ref.ts'
import type { ChartRef } from './types.ts'

/** The editor of what a request is about, and the way to its charts. */
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

/** Finds the editor. The resource is completed by the cluster's API where the client left out its version or plural. */
export const makeOpenEditor =
  ({ editorCatalog }: Pick<OpenChartsDeps, 'editorCatalog'>) =>
  async (cluster: MemberCluster, subject: EditorSubject, signal: AbortSignal): Outcome<MemberFailure | Failure<'EditorMissing'>, OpenedEditor> => {
    const resources = makeApiResources(cluster, signal)
    const { version, name } = subject.resource
    const resource = version !== '' && name !== '' ? right(subject.resource) : await resources.complete(subject.resource)
    if (isLeft(resource)) return resource
    if (resource.right.version === '' || resource.right.name === '') return left(EditorMissing('There is no editor for it: the cluster does not serve that resource, and the request does not say its version and plural.'))
    const editor = await editorCatalog.find(cluster, resource.right, signal)
    return isLeft(editor) ? editor : right({ subject: { ...subject, resource: resource.right }, editor: editor.right, resources })
  }

const nameOf = ({ resource }: ResourceEditor): string => `${resource.name}${resource.group === '' ? '' : `.${resource.group}`}`

const fetchFor = async (deps: OpenChartsDeps, cluster: MemberCluster, ref: ChartRef, signal: AbortSignal): Outcome<ChartFailure, Chart> => {
  const fetched = await deps.chartSource.fetch({ ...ref, source: completedSource(ref.source) }, { cluster, tenantId: cluster.ownerId }, signal)
  return isLeft(fetched) ? fetched : right(fetched.right.chart)
}

/** The chart that turns options into a model. Failures: EditorMissing where the editor has none, ChartFailure. */
export const fetchOptionsChart = async (deps: OpenChartsDeps, cluster: MemberCluster, { editor }: OpenedEditor, signal: AbortSignal): Outcome<OpenFailure, Chart> =>
  editor.options === undefined ? left(EditorMissing(`The editor of ${nameOf(editor)} has no options chart.`)) : fetchFor(deps, cluster, editor.options, signal)

/** The chart that turns a model into objects, with what it says of itself. Failures: EditorMissing, EditorUnfit, ChartFailure. */
export const fetchEditorChart = async (deps: OpenChartsDeps, cluster: MemberCluster, { editor }: OpenedEditor, signal: AbortSignal): Outcome<OpenFailure, OpenedChart> => {
  if (editor.editor === undefined) return left(EditorMissing(`The editor of ${nameOf(editor)} has no editor chart.`))
  const chart = await fetchFor(deps, cluster, editor.editor, signal)
  if (isLeft(chart)) return chart
  const edited = editedResourceOf(chart.right.metadata)
  if (edited?.group !== editor.resource.group || edited.name !== editor.resource.name) return unfit(chart.right, `its annotation meta.x-helm.dev/editor does not name ${nameOf(editor)}`)
  const facts = readEditorChart(chart.right)
  return isLeft(facts) ? facts : right({ chart: chart.right, facts: facts.right })
}
