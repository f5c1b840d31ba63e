import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, own, ownObject, ownText, withKey, withoutKeys } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { OpenReaderFailure, ReadChartDeps } from '../charts/chart-cache.ts'
import { openReader, sourceFor } from '../charts/chart-cache.ts'
import type { Chart, ChartTexts } from '../charts/ports.ts'
import { groupVersionOf } from '../../formats/kubernetes/objects.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import type { ReleaseKey } from '../types.ts'
import { isClusterScoped } from './api-resources.ts'
import type {
  OpenChartsDeps,
  OpenedChart,
  OpenedEditor,
  OpenFailure,
  RenderChart,
  RenderFailure,
} from './editor-charts.ts'
import { fetchEditorChart, makeOpenEditor, isFeatureSet, readSubject } from './editor-charts.ts'
import { crdFilesOf, parseManifest, renderedText, nameOfKey, nameSuffixOf, resourceKey } from './manifests.ts'
import { makeModelFromOptions } from './models.ts'
import type { EditorCatalog } from './ports.ts'
import { EditorUnfit, ModelRefused } from './ports.ts'
import type { EditorChart } from './types.ts'

/** The inputs for filling a model. */
export interface Refill {
  readonly chart: EditorChart
  readonly release: ReleaseKey
  /** Objects have names of their own, which must match their keys. */
  readonly isFeatureSet: boolean
  /** Paths in objects of the kind to maps whose instance label follows the release. */
  readonly labelPaths: (kind: { readonly apiVersion: string; readonly kind: string }) => readonly (readonly string[])[]
}
interface Filling extends Refill {
  readonly problems: string[]
}

const maxResources = 200
const instanceLabel = 'app.kubernetes.io/instance'
/** Fields that only the API server writes; a value copied from a live object would make the next change conflict. */
const serverFields = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
  'generateName',
]
const setFields = new Set([...serverFields, 'name', 'namespace', 'annotations'])
/**
 * Reports whether an annotation is a hook annotation: with one an object would be run or kept separately from the
 * release.
 */
const isHookAnnotation = (name: string): boolean => /^helm\.sh\/hook(-|$)/.test(name)
/** Keys of a model that describe the request, not the objects. */
const asideKeys = new Set(['metadata', 'resources', 'patch', 'missing'])

/** Returns the object at a path; an empty one if there is none or the value was rejected. */
const objectAt = (value: Json | undefined, at: string, { problems }: Filling): FreeObject => {
  if (isObject(value)) return value
  if (value !== undefined && value !== null) problems.push(`${at}: an object is expected`)
  return {}
}

/** Sets the instance label at a path to the release, if the label exists. */
const followRelease = (object: FreeObject, path: readonly string[], at: string, filling: Filling): FreeObject => {
  const [key, ...rest] = path
  if (key === undefined)
    return own(object, instanceLabel) === undefined ? object : withKey(object, instanceLabel, filling.release.name)
  const inner = own(object, key)
  return inner === undefined
    ? object
    : withKey(object, key, followRelease(objectAt(inner, `${at}.${key}`, filling), rest, `${at}.${key}`, filling))
}

const annotationsOf = (metadata: FreeObject, defaults: FreeObject, at: string, filling: Filling): FreeObject => {
  const given = objectAt(own(metadata, 'annotations'), `${at}.metadata.annotations`, filling)
  const free = Object.entries(given).filter(([name]) => !isHookAnnotation(name))
  const fixed = Object.entries(ownObject(ownObject(defaults, 'metadata'), 'annotations')).filter(([name]) =>
    isHookAnnotation(name),
  )
  return Object.fromEntries([...free, ...fixed])
}

/**
 * Returns the name that the key requires. An object of a feature set keeps its own name if the key is derived from it.
 */
const nameOf = (
  key: string,
  name: string,
  defaults: FreeObject,
  { release, isFeatureSet, problems }: Filling,
): string => {
  if (!isFeatureSet) return nameOfKey(key, release.name)
  if (name === '') return nameSuffixOf(key)
  const ofName = resourceKey({ apiVersion: ownText(defaults, 'apiVersion'), kind: ownText(defaults, 'kind'), name }, '')
  if (ofName !== key) problems.push(`resources.${key}.metadata.name: does not belong to this key`)
  return name
}

const refillObject = (key: string, value: Json | undefined, defaults: FreeObject, filling: Filling): FreeObject => {
  const at = `resources.${key}`
  if (value === null) filling.problems.push(`${at}: an object is expected`)
  const given = objectAt(value, at, filling)
  const kind = { apiVersion: ownText(defaults, 'apiVersion'), kind: ownText(defaults, 'kind') }
  const metadata = objectAt(own(given, 'metadata'), `${at}.metadata`, filling)
  const annotations = annotationsOf(metadata, defaults, at, filling)
  const hasAnnotations = Object.keys(annotations).length > 0
  const filled: FreeObject = {
    ...kind,
    metadata: {
      ...withoutKeys(metadata, setFields),
      ...(hasAnnotations ? { annotations } : {}),
      name: nameOf(key, ownText(metadata, 'name'), defaults, filling),
      ...(isClusterScoped(kind, filling.chart.resource) ? {} : { namespace: filling.release.namespace }),
    },
    ...withoutKeys(given, new Set(['apiVersion', 'kind', 'metadata', 'status'])),
  }
  const paths = [['metadata', 'labels'], ...filling.labelPaths(kind)]
  return paths.reduce((object, path) => followRelease(object, path, at, filling), filled)
}

const refillResources = (resources: FreeObject, filling: Filling): FreeObject => {
  const { defaults, usesForm } = filling.chart
  const filled = Object.entries(resources)
    .slice(0, maxResources)
    .flatMap(([key, value]) => {
      const fixed = defaults.get(key)
      if (fixed !== undefined) return [[key, refillObject(key, value, fixed, filling)] as const]
      // A model that a client read may contain objects that the chart makes from its form; the chart makes them again.
      if (!usesForm) filling.problems.push(`resources.${key.slice(0, 100)}: does not exist in the editor`)
      return []
    })
  if (Object.keys(resources).length > maxResources)
    filling.problems.push(`resources: at most ${maxResources} are taken`)
  return Object.fromEntries(filled)
}

/**
 * Returns the values for an editor's chart. Fields that the caller must not choose come from the chart and the release:
 * apiVersion, kind, name, namespace and hook annotations of each resource, and every instance label. Fields that the
 * API server writes are removed. A key that the chart's defaults lack is rejected, or omitted if the chart uses a form.
 * Failure: ModelRefused, with the position.
 *
 * @internal
 */
export const refillModel = (model: FreeObject, refill: Refill): Either<Failure<'ModelRefused'>, FreeObject> => {
  const filling: Filling = { ...refill, problems: [] }
  const given = own(model, 'resources') ?? undefined
  // Without resources everything installed would be removed; only a model with a form can do without them.
  if (given === undefined && !(refill.chart.usesForm && isObject(own(model, 'form'))))
    filling.problems.push('resources: an object is expected')
  const resources = refillResources(objectAt(given, 'resources', filling), filling)
  const errors = filling.problems.slice(0, 20)
  if (errors.length > 0)
    return left(ModelRefused(`The model is not valid: ${errors.slice(0, 5).join('; ')}.`, { errors }))
  const { name, namespace } = refill.release
  return right({
    ...withoutKeys(model, asideKeys),
    metadata: { resource: refill.chart.resource, release: { name, namespace } },
    resources,
  })
}

type Kind = Parameters<Refill['labelPaths']>[0]
type Paths = readonly (readonly string[])[]

const wordOf = ({ apiVersion, kind }: Kind): string => `${apiVersion}/${kind}`

const ofOneKind = async (
  catalog: EditorCatalog,
  cluster: MemberCluster,
  { editor, resources }: OpenedEditor,
  kind: Kind,
  signal: AbortSignal,
): Outcome<MemberFailure, Paths> => {
  const { group, version } = groupVersionOf(kind.apiVersion)
  if (editor.resource.group === group && editor.resource.kind === kind.kind) return right(editor.instanceLabelPaths)
  const resource = await resources.ofKind(kind.apiVersion, kind.kind)
  if (isLeft(resource)) return resource
  // Its CRD may be part of this release.
  if (resource.right === undefined) return right([])
  const found = await catalog.find(
    cluster,
    { group, version, name: resource.right.plural, kind: kind.kind, scope: '' },
    signal,
  )
  if (!isLeft(found)) return right(found.right.instanceLabelPaths)
  return found.left.tag === 'EditorMissing' ? right([]) : left(found.left as MemberFailure)
}

/** Returns the instance label paths in an editor's objects, as declared by the editor of each kind. */
const findLabelPaths = async (
  catalog: EditorCatalog,
  cluster: MemberCluster,
  opened: OpenedEditor,
  chart: EditorChart,
  signal: AbortSignal,
): Outcome<MemberFailure, Refill['labelPaths']> => {
  const kinds = new Map(
    [...chart.defaults.values()]
      .map((object) => ({ apiVersion: ownText(object, 'apiVersion'), kind: ownText(object, 'kind') }))
      .map((kind) => [wordOf(kind), kind] as const),
  )
  const found = new Map<string, Paths>()
  for (const [word, kind] of kinds) {
    const paths = await ofOneKind(catalog, cluster, opened, kind, signal)
    if (isLeft(paths)) return paths
    found.set(word, paths.right)
  }
  return right((kind) => found.get(wordOf(kind)) ?? [])
}

export interface PreviewDeps extends ReadChartDeps {
  readonly editorCatalog: EditorCatalog
  readonly renderChart: RenderChart
  readonly chartTexts: ChartTexts
}
export type FillFailure = OpenFailure | Failure<'ModelRefused'>
export type PreviewFailure = OpenReaderFailure | FillFailure | RenderFailure

export interface PreviewInput {
  readonly grant: AccessGrant
  /** A model, or options for one. */
  readonly model: FreeObject
}

/** The result of applying a model. */
export interface Preview {
  /** All objects as text, in install order. */
  readonly manifest: string
  readonly objects: readonly ManifestObject[]
  /** CRDs that the chart contains, by file. */
  readonly crds: readonly { readonly path: string; readonly objects: readonly ManifestObject[] }[]
  /** Prefix of the objects' names, used for their keys; empty for feature sets. */
  readonly keyPrefix: string
}

/** A model that is complete for its chart. */
export interface FilledModel {
  readonly opened: OpenedEditor
  readonly chart: OpenedChart
  readonly values: FreeObject
}

/**
 * Finds the editor of a model and fills the model from its chart and the release. `isRough` leaves labels below the
 * metadata unchanged, which is enough for validation.
 */
export const makeFillModel =
  (deps: OpenChartsDeps) =>
  async (
    cluster: MemberCluster,
    model: FreeObject,
    signal: AbortSignal,
    isRough = false,
  ): Outcome<FillFailure, FilledModel> => {
    const subject = readSubject(model)
    if (isLeft(subject)) return subject
    const opened = await makeOpenEditor(deps)(cluster, subject.right, signal)
    if (isLeft(opened)) return opened
    const chart = await fetchEditorChart(deps, cluster, opened.right, signal)
    if (isLeft(chart)) return chart
    const labelPaths = isRough
      ? right(() => [])
      : await findLabelPaths(deps.editorCatalog, cluster, opened.right, chart.right.facts, signal)
    if (isLeft(labelPaths)) return labelPaths
    const { release, resource } = opened.right.subject
    const values = refillModel(model, {
      chart: chart.right.facts,
      release,
      isFeatureSet: isFeatureSet(resource),
      labelPaths: labelPaths.right,
    })
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

/**
 * Reports whether a body holds options. A model has `resources`; one of an editor with a form may have only `form`. All
 * other bodies are options, whose form their chart decides.
 */
const isOptions = (body: FreeObject): boolean =>
  own(body, 'resources') === undefined &&
  (own(body, 'form') === undefined || Object.keys(body).some((key) => key !== 'metadata' && key !== 'form'))

/**
 * Renders the result of applying a model, or the model of the given options, to the cluster of the grant. Nothing is
 * written.
 */
export const makePreview = (deps: PreviewDeps) => {
  const modelFrom = makeModelFromOptions(deps)
  return async (call: SignedInCall<never>, { grant, model: given }: PreviewInput): Outcome<PreviewFailure, Preview> => {
    const reader = await openReader(deps, call, grant)
    if (isLeft(reader)) return reader
    const { cluster } = reader.right
    const fill = makeFillModel({ editorCatalog: deps.editorCatalog, chartSource: sourceFor(deps.open, reader.right) })
    const model = isOptions(given) ? await modelFrom(reader.right, given, call.signal) : right(given)
    if (isLeft(model)) return model
    const filled = await fill(cluster, model.right, call.signal)
    if (isLeft(filled)) return filled
    const { opened, chart, values } = filled.right
    const { release, resource } = opened.subject
    const rendering = await deps.renderChart(cluster, release, chart.chart, values, call.signal)
    if (isLeft(rendering)) return rendering
    const manifest = renderedText(rendering.right)
    const objects = await parseManifest(deps.chartTexts, manifest)
    if (isLeft(objects)) return objects
    const crds = await readCrds(deps.chartTexts, chart.chart)
    if (isLeft(crds)) return crds
    return right({
      manifest,
      objects: objects.right,
      crds: crds.right,
      keyPrefix: isFeatureSet(resource) ? '' : release.name,
    })
  }
}
