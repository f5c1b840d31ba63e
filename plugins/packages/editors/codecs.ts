import * as t from 'io-ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import type { ChartTexts } from '../../../core/packages/charts/ports.ts'
import { plainJson } from '../../../core/formats/helm/value-tables.ts'
import type { ObjectPrinter } from '../../../core/packages/editors/manifests.ts'
import {
  answer,
  AnyJson,
  described,
  FreeObjectCodec,
  freeText,
  listOf,
  noted,
  optional,
  plainValue,
  QueryBoolean,
  request,
  ResponseId,
} from '../../kit/codecs.ts'
import { YamlAnswer } from '../../kit/reply.ts'
import { Format, looseInteger } from '../codecs.ts'

/** Options and models are objects. The editor defines their form. */
export const EditorOptions = noted(FreeObjectCodec, {
  description:
    '`metadata.resource` (group, version, name), `metadata.release` (name, namespace), and the values of ' +
    'the options chart; with `form` if the editor has one.',
})
export const EditorModel = noted(FreeObjectCodec, {
  description: '`metadata.resource`, `metadata.release`, and `resources` by key; with `form` if the editor has one.',
})

/** What a preview takes. */
export const OptionsOrModel = noted(FreeObjectCodec, {
  description:
    'Options as for `options/model`, or a model: a body with `resources` is a model. `metadata.resource` ' +
    'and `metadata.release` are part of both.',
})

/** A whole model, or `metadata` with a `patch` (RFC 6902) to the model of the installed release. */
export const EditorApplication = t.intersection(
  [
    FreeObjectCodec,
    request(
      {
        patch: described(
          optional(listOf(AnyJson, 1000)),
          'The operations (RFC 6902) that change the model of the installed release, at most 1,000; absent if the ' +
            'body has a whole model.',
        ),
      },
      'EditorPatch',
    ),
  ],
  'EditorApplication',
)

export const FormatQuery = request(
  {
    format: described(
      optional(plainValue(Format)),
      'The format of the answer: `json` or `yaml`; any other value selects the default of the route.',
    ),
  },
  'EditorFormatQuery',
)
export const ResourcesQuery = request(
  {
    format: described(
      optional(plainValue(Format)),
      'The format of each file: `json` or `yaml` (the default); any other value selects the default.',
    ),
    skipCRDs: described(
      optional(QueryBoolean),
      'Whether to omit the custom resource definitions of the chart; false by default.',
    ),
  },
  'EditorResourcesQuery',
)
export const ApplyQuery = request(
  {
    'response-id': described(
      optional(ResponseId),
      'The name of the task that the request starts, chosen by the client: the last word of `subject`, 1 to 64 ' +
        'characters; a new UUID by default.',
    ),
    installCRDs: described(
      optional(QueryBoolean),
      'Whether to create the custom resource definitions of the chart, too; false by default.',
    ),
    wait: described(
      optional(QueryBoolean),
      'Whether the task waits until the applied objects are ready; true by default.',
    ),
    timeout: described(
      optional(looseInteger(1, 86_400)),
      'The longest time of each single wait in seconds, 1 to 86,400; 300 by default.',
    ),
  },
  'EditorApplyQuery',
)

const word = optional(freeText(253))

/** The subject to remove: flat, or as a model names it. */
export const EditorRemoval = request(
  {
    metadata: described(
      optional(FreeObjectCodec),
      'The resource and the release as in a model, under `resource` and `release`; fields beside it take precedence.',
    ),
    group: described(word, 'The API group of the resource; empty or `core` for the core group.'),
    version: described(word, 'The API version of the resource; by default the one that the cluster prefers.'),
    name: described(
      word,
      'The name of the resource in the plural, as `deployments`; by default it is found by `kind`.',
    ),
    kind: described(word, 'The kind of the resource; by default it is found by `name`.'),
    scope: described(
      word,
      'The scope of the resource, `Namespaced` or `Cluster`; by default the one that the cluster states.',
    ),
    releaseName: described(word, 'The name of the release to remove; by default that of `metadata.release`.'),
    namespace: described(word, 'The namespace of the release to remove; by default that of `metadata.release`.'),
  },
  'EditorRemoval',
)
export type EditorRemoval = t.TypeOf<typeof EditorRemoval>

const ResourceFile = answer(
  {
    filename: described(
      t.string,
      'The name of the file: the kind of the object and, where needed, its name and API group.',
    ),
    key: described(optional(t.string), 'The key of the object in a model; absent for a custom resource definition.'),
    data: described(t.string, 'The content of the file: the object as YAML or JSON.'),
  },
  'ResourceFile',
)
const MissingObject = answer(
  {
    key: described(t.string, 'The key of the object in a model.'),
    apiVersion: described(t.string, 'The API version of the object.'),
    kind: described(t.string, 'The kind of the object.'),
    namespace: described(t.string, 'The namespace of the object; empty for an object of the cluster.'),
    name: described(t.string, 'The name of the object.'),
    reason: described(
      t.string,
      'Why it is missing: `not-found` if it does not exist, `forbidden` if the cluster does not let you read it.',
    ),
  },
  'MissingObject',
)
export const ResourceOutput = answer(
  {
    crds: described(
      t.readonlyArray(ResourceFile),
      'The custom resource definitions of the chart; empty if there are none or they are omitted.',
    ),
    resources: described(t.readonlyArray(ResourceFile), 'The objects, one in each file.'),
    missing: described(
      optional(t.readonlyArray(MissingObject)),
      'The objects of the release that do not exist or that you may not read; absent if there are none.',
    ),
  },
  'ResourceOutput',
)

const metadata = {
  resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' },
  release: { name: 'web', namespace: 'shop' },
}
const labels = { 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/instance': 'web' }

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.example.com/web:1.4' }] } },
  },
}

export const optionsExample = { metadata, spec: { image: 'registry.example.com/web:1.4', replicas: 2 } }
export const modelExample = { metadata, resources: { appsDeployment: deployment } }
export const aboutExample = { metadata }
export const removalExample = {
  group: 'apps',
  version: 'v1',
  name: 'deployments',
  releaseName: 'web',
  namespace: 'shop',
}

export const manifestExample = `---
# Source: apps-deployment-editor/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
`
export const outputExample = {
  crds: [],
  resources: [
    {
      filename: 'deployment.yaml',
      key: 'appsDeployment',
      data: 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n',
    },
  ],
}

/** Returns `json` or `yaml`, or the default of the route for any other value. */
const formatOf = (asked: string | undefined, otherwise: 'json' | 'yaml'): 'json' | 'yaml' =>
  asked === 'json' || asked === 'yaml' ? asked : otherwise

/** Converts numbers to what charts expect: `1.0` is an ordinary number here. */
export const toModel = (body: FreeObject): FreeObject => plainJson(body) as FreeObject

export const modelAnswer = async (
  model: FreeObject,
  asked: string | undefined,
  texts: Pick<ChartTexts, 'print'>,
): Promise<FreeObject | YamlAnswer> =>
  formatOf(asked, 'json') === 'yaml' ? new YamlAnswer(await texts.print(model)) : model

export const printerOf = (asked: string | undefined, texts: Pick<ChartTexts, 'print'>): ObjectPrinter =>
  formatOf(asked, 'yaml') === 'json'
    ? { ending: 'json', print: (object) => Promise.resolve(toWireJson(object)) }
    : { ending: 'yaml', print: (object) => texts.print(object) }

/** Returns the subject of a removal from the flat form or the model. The flat form takes precedence. */
export const removalSubject = ({
  metadata,
  group,
  version,
  name,
  kind,
  scope,
  releaseName,
  namespace,
}: EditorRemoval): FreeObject => {
  const within = (key: string): FreeObject => {
    const value: Json | undefined = metadata === undefined ? undefined : metadata[key]
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as FreeObject) : {}
  }
  return {
    metadata: {
      resource: { ...within('resource'), ...definedFields({ group, version, name, kind, scope }) },
      release: { ...within('release'), ...definedFields({ name: releaseName, namespace }) },
    },
  }
}
