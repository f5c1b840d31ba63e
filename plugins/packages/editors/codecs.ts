import * as t from 'io-ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import type { ChartTexts } from '../../../core/packages/charts/ports.ts'
import { plainJson } from '../../../core/packages/charts/value-tables.ts'
import type { ObjectPrinter } from '../../../core/packages/editors/manifests.ts'
import { answer, AnyJson, FreeObjectCodec, freeText, listOf, noted, optional, QueryBoolean, request, ResponseId } from '../../kit/codecs.ts'
import { YamlAnswer } from '../../kit/reply.ts'
import { Format, looseInteger } from '../codecs.ts'

/** Options and models are objects. The editor defines their form. */
export const EditorOptions = noted(FreeObjectCodec, { description: '`metadata.resource` (group, version, name), `metadata.release` (name, namespace), and the values of the options chart; with `form` if the editor has one.' })
export const EditorModel = noted(FreeObjectCodec, { description: '`metadata.resource`, `metadata.release`, and `resources` by key; with `form` if the editor has one.' })

/** What a preview takes. */
export const OptionsOrModel = noted(FreeObjectCodec, {
  description: 'Options as for `options/model`, or a model: a body with `resources` is a model. `metadata.resource` and `metadata.release` are part of both.',
})

/** A whole model, or `metadata` with a `patch` (RFC 6902) to the model of the installed release. */
export const EditorApplication = t.intersection(
  [FreeObjectCodec, request({ patch: optional(listOf(AnyJson, 1000)) }, 'EditorPatch')],
  'EditorApplication',
)

export const FormatQuery = request({ format: optional(Format) }, 'EditorFormatQuery')
export const ResourcesQuery = request({ format: optional(Format), skipCRDs: optional(QueryBoolean) }, 'EditorResourcesQuery')
export const ApplyQuery = request(
  { 'response-id': optional(ResponseId), installCRDs: optional(QueryBoolean), wait: optional(QueryBoolean), timeout: optional(looseInteger(1, 86_400)) },
  'EditorApplyQuery',
)

const word = optional(freeText(253))

/** The subject to remove: flat, or as a model names it. */
export const EditorRemoval = request(
  { metadata: optional(FreeObjectCodec), group: word, version: word, name: word, kind: word, scope: word, releaseName: word, namespace: word },
  'EditorRemoval',
)
export type EditorRemoval = t.TypeOf<typeof EditorRemoval>

const ResourceFile = answer({ filename: t.string, key: optional(t.string), data: t.string }, 'ResourceFile')
const MissingObject = answer({ key: t.string, apiVersion: t.string, kind: t.string, namespace: t.string, name: t.string, reason: t.string }, 'MissingObject')
export const ResourceOutput = answer({ crds: t.readonlyArray(ResourceFile), resources: t.readonlyArray(ResourceFile), missing: optional(t.readonlyArray(MissingObject)) }, 'ResourceOutput')

const metadata = { resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' }, release: { name: 'web', namespace: 'shop' } }
const labels = { 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/instance': 'web' }

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.example.com/web:1.4' }] } } },
}

export const optionsExample = { metadata, spec: { image: 'registry.example.com/web:1.4', replicas: 2 } }
export const modelExample = { metadata, resources: { appsDeployment: deployment } }
export const aboutExample = { metadata }
export const removalExample = { group: 'apps', version: 'v1', name: 'deployments', releaseName: 'web', namespace: 'shop' }

export const manifestExample = `---
# Source: apps-deployment-editor/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
`
export const outputExample = { crds: [], resources: [{ filename: 'deployment.yaml', key: 'appsDeployment', data: 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n' }] }

/** Returns `json` or `yaml`, or the default of the route for any other value. */
const formatOf = (asked: string | undefined, otherwise: 'json' | 'yaml'): 'json' | 'yaml' => (asked === 'json' || asked === 'yaml' ? asked : otherwise)

/** Converts numbers to what charts expect: `1.0` is an ordinary number here. */
export const toModel = (body: FreeObject): FreeObject => plainJson(body) as FreeObject

export const modelAnswer = async (model: FreeObject, asked: string | undefined, texts: Pick<ChartTexts, 'print'>): Promise<FreeObject | YamlAnswer> =>
  formatOf(asked, 'json') === 'yaml' ? new YamlAnswer(await texts.print(model)) : model

export const printerOf = (asked: string | undefined, texts: Pick<ChartTexts, 'print'>): ObjectPrinter =>
  formatOf(asked, 'yaml') === 'json' ? { ending: 'json', print: (object) => Promise.resolve(toWireJson(object)) } : { ending: 'yaml', print: (object) => texts.print(object) }

/** Returns the subject of a removal from the flat form or the model. The flat form takes precedence. */
export const removalSubject = ({ metadata, group, version, name, kind, scope, releaseName, namespace }: EditorRemoval): FreeObject => {
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
