import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import { ChartMissing, ChartRefused, ChartSourceRefused, ChartSourceUnreachable, ValuesRefused } from '../../core/packages/chart-ports.ts'
import { EditorMissing, EditorUnfit, ModelRefused } from '../../core/packages/editor-ports.ts'
import { HelmBusy, HelmMissing, HelmRefused, HelmStopped } from '../../core/packages/helm-ports.ts'
import { read, requires } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { json, orYaml, text } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { clusterInPath, ClusterPath } from './codecs.ts'
import { EditorModel, EditorOptions, FormatQuery, ResourceOutput, ResourcesQuery } from './editor-codecs.ts'
import { manifestExample, modelExample, optionsExample, outputExample } from './editor-examples.ts'

const prefix = '/clusters/{owner}/{cluster}/helm/options'
const common = { tag: 'Helm', access: requires('can_connect', clusterInPath), scope: read('cluster'), params: ClusterPath } as const
const failures = [
  ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, EditorMissing, EditorUnfit, ModelRefused, ChartMissing, ChartRefused,
  ChartSourceRefused, ChartSourceUnreachable, ValuesRefused, HelmBusy, HelmMissing, HelmRefused, HelmStopped,
] as const
/** The chart is named by an editor, not by the request: that it is not there makes what is asked impossible. */
const statusOf = { ChartMissing: 422 } as const

export const makeOptionsModel = defineRoute({
  ...common,
  id: 'packages.makeOptionsModel',
  method: 'PUT',
  path: `${prefix}/model`,
  summary: 'Turn options into an editor model',
  description:
    "Renders the options chart of the resource's editor with the body as its whole values, and puts each object under its key. With a `form`, only the keys that the editor keeps in a model. " +
    'Nothing is written. JSON, or YAML with `format=yaml`.',
  query: FormatQuery,
  body: body(EditorOptions, optionsExample),
  ok: orYaml(json(200, FreeObjectCodec, modelExample)),
  failures,
  statusOf,
})

export const renderOptionsManifest = defineRoute({
  ...common,
  id: 'packages.renderOptionsManifest',
  method: 'PUT',
  path: `${prefix}/manifest`,
  summary: 'Show the manifest that an editor model would become',
  description: "Renders the chart of the resource's editor with the model as its whole values: hooks before the installation, manifests, hooks after it. Nothing is written.",
  body: body(EditorModel, modelExample),
  ok: text('text/plain; charset=utf-8', manifestExample),
  failures,
  statusOf,
})

export const renderOptionsResources = defineRoute({
  ...common,
  id: 'packages.renderOptionsResources',
  method: 'PUT',
  path: `${prefix}/resources`,
  summary: 'Show the objects that an editor model would become, one by one',
  description: 'As `manifest`, each object as a file of its own, by apiVersion and kind: YAML, or JSON with `format=json`. `skipCRDs=true` leaves out the definitions that come with the chart.',
  query: ResourcesQuery,
  body: body(EditorModel, modelExample),
  ok: json(200, ResourceOutput, outputExample),
  failures,
  statusOf,
})
