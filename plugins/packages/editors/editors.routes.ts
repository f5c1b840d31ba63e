import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../../core/clusters/ports.ts'
import { ChartMissing, ChartRefused, ChartSourceRefused, ChartSourceUnreachable, ValuesRefused } from '../../../core/packages/charts/ports.ts'
import { EditorMissing, EditorUnfit, ModelRefused, ObjectRefused } from '../../../core/packages/editors/ports.ts'
import { PatchRefused, RecordsRefused, RecordUnreadable, ReleaseMissing } from '../../../core/packages/ports.ts'
import { HelmBusy, HelmMissing, HelmRefused, HelmStopped, ReleaseNameTaken, ReleasePending } from '../../../core/packages/releases/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../../core/tasks/ports.ts'
import { read, requires, write } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { json, orYaml, text } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { clusterInPath, ClusterPath, ResponseIdQuery, taskExample, TaskResponse } from '../codecs.ts'
import {
  aboutExample,
  ApplyQuery,
  EditorApplication,
  EditorModel,
  EditorOptions,
  EditorRemoval,
  FormatQuery,
  manifestExample,
  modelExample,
  optionsExample,
  outputExample,
  removalExample,
  ResourceOutput,
  ResourcesQuery,
} from './codecs.ts'

const optionsPath = '/clusters/{owner}/{cluster}/helm/options'
const optionsRoute = { tag: 'Helm', access: requires('can_connect', clusterInPath), scope: read('cluster'), params: ClusterPath } as const
const optionsFailures = [
  ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, EditorMissing, EditorUnfit, ModelRefused, ChartMissing, ChartRefused,
  ChartSourceRefused, ChartSourceUnreachable, ValuesRefused, HelmBusy, HelmMissing, HelmRefused, HelmStopped,
] as const
/** The editor names the chart, not the request. When it is missing the request cannot be carried out: 422. */
const statusOf = { ChartMissing: 422 } as const

export const makeOptionsModel = defineRoute({
  ...optionsRoute,
  id: 'packages.makeOptionsModel',
  method: 'PUT',
  path: `${optionsPath}/model`,
  summary: 'Turn options into an editor model',
  description:
    "Renders the options chart of the resource's editor with the body as its whole values, and puts each object under its key. With a `form`, only the keys that the editor keeps in a model. " +
    'Nothing is written. JSON, or YAML with `format=yaml`.',
  query: FormatQuery,
  body: body(EditorOptions, optionsExample),
  ok: orYaml(json(200, FreeObjectCodec, modelExample)),
  failures: optionsFailures,
  statusOf,
})

export const renderOptionsManifest = defineRoute({
  ...optionsRoute,
  id: 'packages.renderOptionsManifest',
  method: 'PUT',
  path: `${optionsPath}/manifest`,
  summary: 'Show the manifest that an editor model would become',
  description: "Renders the chart of the resource's editor with the model as its whole values: hooks before the installation, manifests, hooks after it. Nothing is written.",
  body: body(EditorModel, modelExample),
  ok: text('text/plain; charset=utf-8', manifestExample),
  failures: optionsFailures,
  statusOf,
})

export const renderOptionsResources = defineRoute({
  ...optionsRoute,
  id: 'packages.renderOptionsResources',
  method: 'PUT',
  path: `${optionsPath}/resources`,
  summary: 'Show the objects that an editor model would become, one by one',
  description: 'As `manifest`, each object as a file of its own, by apiVersion and kind: YAML, or JSON with `format=json`. `skipCRDs=true` leaves out the definitions that come with the chart.',
  query: ResourcesQuery,
  body: body(EditorModel, modelExample),
  ok: json(200, ResourceOutput, outputExample),
  failures: optionsFailures,
  statusOf,
})

const editorPath = '/clusters/{owner}/{cluster}/helm/editor'
const editorRoute = { tag: 'Helm', access: requires('can_connect', clusterInPath), params: ClusterPath } as const
const clusterFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused] as const
const editorFailures = [EditorMissing, EditorUnfit, ModelRefused, ChartMissing, ChartRefused, ChartSourceRefused, ChartSourceUnreachable] as const
const recordFailures = [RecordsRefused, RecordUnreadable, ReleaseMissing] as const
const taskFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const
const loadFailures = [...clusterFailures, ...editorFailures, ...recordFailures, ObjectRefused] as const
const followed = 'The answer names a task: its progress is on the bus under `subject` and at `/tasks/{id}`. `response-id` is what the client chooses as the last word of `subject`.'

export const applyEditor = defineRoute({
  ...editorRoute,
  id: 'packages.applyEditor',
  method: 'PUT',
  path: editorPath,
  summary: 'Install what an editor model says, or bring it up to date',
  description:
    'Kind, apiVersion, name and namespace of each resource come from the editor and the release, whatever the model says. With `patch` (RFC 6902) instead of `resources` the model of what is installed is changed. ' +
    'Waits until what was applied is ready, unless `wait=false`; `timeout` is in seconds. `installCRDs=true` also creates definitions that come with the chart. ' +
    followed,
  scope: write('cluster'),
  query: ApplyQuery,
  body: body(EditorApplication, modelExample),
  ok: json(200, TaskResponse, taskExample),
  failures: [...loadFailures, ...taskFailures, HelmMissing, PatchRefused, ReleaseNameTaken, ReleasePending],
  statusOf,
})

export const deleteEditor = defineRoute({
  ...editorRoute,
  id: 'packages.deleteEditor',
  method: 'DELETE',
  path: editorPath,
  summary: 'Remove what an editor installed',
  description: 'With its history. The release is named by `releaseName` and `namespace` beside the resource, in the body or the query, or by `metadata` as in a model. A release that the editor did not make is refused. ' + followed,
  scope: write('cluster'),
  query: ResponseIdQuery,
  body: body(EditorRemoval, removalExample, { orQuery: true, whenAbsent: {} }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...clusterFailures, ...recordFailures, ...taskFailures, ModelRefused],
})

const loading = { ...editorRoute, scope: read('cluster'), body: body(EditorModel, aboutExample), failures: loadFailures, statusOf } as const

export const loadEditorModel = defineRoute({
  ...loading,
  id: 'packages.loadEditorModel',
  method: 'PUT',
  path: `${editorPath}/model`,
  summary: 'Get the editor model of what is installed',
  description: 'From the objects as they are in the cluster now, read as the caller. Those that are gone or may not be read are listed under `missing`. JSON, or YAML with `format=yaml`.',
  query: FormatQuery,
  ok: orYaml(json(200, FreeObjectCodec, modelExample)),
})

export const loadEditorManifest = defineRoute({
  ...loading,
  id: 'packages.loadEditorManifest',
  method: 'PUT',
  path: `${editorPath}/manifest`,
  summary: 'Get what an editor installed as one YAML text',
  description: 'All objects of the installation as they are now. Those that are gone or may not be read are named in comments.',
  ok: text('text/plain; charset=utf-8', manifestExample),
})

export const loadEditorResources = defineRoute({
  ...loading,
  id: 'packages.loadEditorResources',
  method: 'PUT',
  path: `${editorPath}/resources`,
  summary: 'Get what an editor installed, object by object',
  description: 'Each object as a file of its own, by apiVersion and kind: YAML, or JSON with `format=json`.',
  query: FormatQuery,
  ok: json(200, ResourceOutput, outputExample),
})
