import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
} from '../../../core/clusters/ports.ts'
import {
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
  ValuesRefused,
} from '../../../core/packages/charts/ports.ts'
import { EditorMissing, EditorUnfit, ModelRefused, ObjectRefused } from '../../../core/packages/editors/ports.ts'
import { PatchRefused, RecordsRefused, RecordUnreadable, ReleaseMissing } from '../../../core/packages/ports.ts'
import {
  HelmBusy,
  HelmMissing,
  HelmRefused,
  HelmStopped,
  ReleaseNameTaken,
  ReleasePending,
} from '../../../core/packages/releases/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../../core/tasks/ports.ts'
import { read, requires } from '../../kit/access.ts'
import { FreeObjectCodec, ResponseIdQuery, taskExample, TaskResponse } from '../../kit/codecs.ts'
import { json, orYaml, text } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { clusterInPath, ClusterPath } from '../codecs.ts'
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
  OptionsOrModel,
  optionsExample,
  outputExample,
  removalExample,
  ResourceOutput,
  ResourcesQuery,
} from './codecs.ts'

const optionsPath = '/clusters/{owner}/{cluster}/helm/options'
const common = { tag: 'Helm', access: requires('can_connect', clusterInPath), params: ClusterPath } as const
const optionsFailures = [
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
  EditorMissing,
  EditorUnfit,
  ModelRefused,
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
  ValuesRefused,
  HelmBusy,
  HelmMissing,
  HelmRefused,
  HelmStopped,
] as const
/** The editor names the chart, not the request. When it is missing the request cannot be carried out: 422. */
const statusOf = { ChartMissing: 422 } as const
// A PUT that only reads.
const optionsRoute = routesOf({ ...common, scope: read('cluster'), failures: optionsFailures, statusOf })

export const makeOptionsModel = optionsRoute({
  id: 'packages.makeOptionsModel',
  method: 'PUT',
  path: `${optionsPath}/model`,
  summary: 'Convert options to an editor model',
  description:
    "Renders the options chart of the resource's editor with the body as its complete values, and returns " +
    'each object under its key. With a `form`, returns only the keys that the editor stores in a model. ' +
    'Nothing is written. JSON, or YAML with `format=yaml`.',
  query: FormatQuery,
  body: body(EditorOptions, optionsExample),
  ok: orYaml(json(200, FreeObjectCodec, modelExample)),
})

export const renderOptionsManifest = optionsRoute({
  id: 'packages.renderOptionsManifest',
  method: 'PUT',
  path: `${optionsPath}/manifest`,
  summary: 'Render the manifest of options or an editor model',
  description:
    "Renders the chart of the resource's editor with the model as its complete values: hooks before the " +
    'installation, manifests, hooks after it. Options are converted to a model first, as by `model`. ' +
    'Nothing is written.',
  body: body(OptionsOrModel, optionsExample),
  ok: text('text/plain; charset=utf-8', manifestExample),
})

export const renderOptionsResources = optionsRoute({
  id: 'packages.renderOptionsResources',
  method: 'PUT',
  path: `${optionsPath}/resources`,
  summary: 'Render the objects of options or an editor model, one by one',
  description:
    'Like `manifest`, with a file for each object, by apiVersion and kind: YAML, or JSON with ' +
    '`format=json`. `skipCRDs=true` omits the custom resource definitions of the chart.',
  query: ResourcesQuery,
  body: body(OptionsOrModel, optionsExample),
  ok: json(200, ResourceOutput, outputExample),
})

const editorPath = '/clusters/{owner}/{cluster}/helm/editor'
const clusterFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused] as const
const editorFailures = [
  EditorMissing,
  EditorUnfit,
  ModelRefused,
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
] as const
const recordFailures = [RecordsRefused, RecordUnreadable, ReleaseMissing] as const
const taskFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const
const loadFailures = [...editorFailures, ...recordFailures, ObjectRefused] as const
const editorRoute = routesOf({ ...common, scopeCategory: 'cluster', failures: clusterFailures })
const loadRoute = routesOf({
  ...common,
  scope: read('cluster'),
  failures: [...clusterFailures, ...loadFailures],
  statusOf,
})
const about = body(EditorModel, aboutExample)
const followed =
  'The response names a task, whose progress is published on the bus under `subject` and at `/tasks/{id}`. ' +
  '`response-id` is the last word of `subject`, chosen by the client.'

export const applyEditor = editorRoute({
  id: 'packages.applyEditor',
  method: 'PUT',
  path: editorPath,
  summary: 'Install or upgrade an editor model',
  description:
    'Kind, apiVersion, name and namespace of each resource come from the editor and the release; those of ' +
    'the model are ignored. With `patch` (RFC 6902) instead of `resources` the model of the installed ' +
    'release is patched. Waits until the applied objects are ready, unless `wait=false`; `timeout` is in seconds. ' +
    '`installCRDs=true` also creates the custom resource definitions of the chart. ' +
    followed,
  query: ApplyQuery,
  body: body(EditorApplication, modelExample),
  ok: json(200, TaskResponse, taskExample),
  failures: [...loadFailures, ...taskFailures, HelmMissing, PatchRefused, ReleaseNameTaken, ReleasePending],
  statusOf,
})

export const deleteEditor = editorRoute({
  id: 'packages.deleteEditor',
  method: 'DELETE',
  path: editorPath,
  summary: 'Uninstall the release of an editor',
  description:
    'Removes the history as well. The release is named by `releaseName` and `namespace` beside the ' +
    'resource, in the body or the query, or by `metadata` as in a model. A release that was not created by ' +
    'the editor is rejected. ' +
    followed,
  query: ResponseIdQuery,
  body: body(EditorRemoval, removalExample, { orQuery: true, whenAbsent: {} }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...recordFailures, ...taskFailures, ModelRefused],
})

export const loadEditorModel = loadRoute({
  id: 'packages.loadEditorModel',
  method: 'PUT',
  path: `${editorPath}/model`,
  summary: 'Get the editor model of an installed release',
  description:
    'Reads the present objects from the cluster as the caller. Objects that do not exist or that the ' +
    'caller may not read are listed under `missing`. JSON, or YAML with `format=yaml`.',
  query: FormatQuery,
  body: about,
  ok: orYaml(json(200, FreeObjectCodec, modelExample)),
})

export const loadEditorManifest = loadRoute({
  id: 'packages.loadEditorManifest',
  method: 'PUT',
  path: `${editorPath}/manifest`,
  summary: 'Get the manifest of an installed release of an editor',
  description:
    'All present objects of the release as YAML. Objects that do not exist or that the caller may not read ' +
    'are named in comments.',
  body: about,
  ok: text('text/plain; charset=utf-8', manifestExample),
})

export const loadEditorResources = loadRoute({
  id: 'packages.loadEditorResources',
  method: 'PUT',
  path: `${editorPath}/resources`,
  summary: 'Get the objects of an installed release of an editor, one by one',
  description: 'With a file for each object, by apiVersion and kind: YAML, or JSON with `format=json`.',
  query: FormatQuery,
  body: about,
  ok: json(200, ResourceOutput, outputExample),
})
