import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster, MemberClusters, MemberFailure } from '../../clusters/ports.ts'
import { ClusterUnreachable } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, definedFields, own, ownObject, ownText, withKey, withoutKeys } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { atATime } from '../../kernel/concurrency.ts'
import type { ChartReader, OpenReaderFailure, ReadChartDeps } from '../charts/chart-cache.ts'
import { openReader, sourceFor } from '../charts/chart-cache.ts'
import type { ChartTexts } from '../charts/ports.ts'
import type { RecordFailure, ReleaseStore, StorageDriverOf } from '../ports.ts'
import { RecordUnreadable, ReleaseMissing } from '../ports.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { objectsOf } from '../releases/kubernetes-objects.ts'
import { readReleaseState } from '../releases/release-state.ts'
import type { Release } from '../types.ts'
import type { ApiResources } from './api-resources.ts'
import { apiVersionOf, objectPath } from './api-resources.ts'
import type {
  OpenChartsDeps,
  OpenedChart,
  OpenedEditor,
  OpenFailure,
  RenderChart,
  RenderFailure,
} from './editor-charts.ts'
import { fetchEditorChart, fetchOptionsChart, makeOpenEditor, isFeatureSet, readSubject } from './editor-charts.ts'
import { maxObjects, parseManifest, renderedText, resourceKey } from './manifests.ts'
import type { AppReleases, EditorCatalog } from './ports.ts'
import { EditorUnfit, ObjectRefused } from './ports.ts'
import type { AppRelease, MissingObject } from './types.ts'

/** The live objects of a release, as visible to the caller. */
export interface LiveObjects {
  readonly found: readonly ManifestObject[]
  readonly missing: readonly MissingObject[]
}

const atOnce = 8
const maxListBytes = 16 * 1024 * 1024
const serverOnly = new Set(['status'])
const bookkeeping = new Set(['managedFields'])

/** Returns the object without the fields that the cluster writes. */
const toManifestObject = (
  json: FreeObject,
  named: { readonly apiVersion: string; readonly kind: string },
): ManifestObject => {
  const metadata = ownObject(json, 'metadata')
  const body = {
    ...named,
    ...withKey(
      withoutKeys(json, new Set([...serverOnly, 'apiVersion', 'kind'])),
      'metadata',
      withoutKeys(metadata, bookkeeping),
    ),
  }
  return { ...named, name: ownText(metadata, 'name'), namespace: ownText(metadata, 'namespace'), body }
}

type Read = { readonly found: ManifestObject } | { readonly missing: MissingObject }

const unexpected = (what: string, status: number): Failure<'ClusterUnreachable'> =>
  ClusterUnreachable(`The cluster answered ${status} when asked for ${what}.`)

const readOne = async (
  cluster: MemberCluster,
  resources: ApiResources,
  wanted: ManifestObject,
  home: string,
  signal: AbortSignal,
): Outcome<MemberFailure, Read> => {
  const { apiVersion, kind, name } = wanted
  const namespace = wanted.namespace === '' ? home : wanted.namespace
  const absent = (reason: MissingObject['reason']): Read => ({ missing: { apiVersion, kind, namespace, name, reason } })
  const resource = await resources.ofKind(apiVersion, kind)
  if (isLeft(resource)) return resource
  const path = resource.right === undefined ? undefined : objectPath(apiVersion, resource.right, namespace, name)
  if (path === undefined) return right(absent('not-found'))
  const answer = await cluster.request({ method: 'GET', target: path }, signal)
  if (isLeft(answer)) return answer
  const { status, json } = answer.right
  if (status === 404) return right(absent('not-found'))
  if (status === 403) return right(absent('forbidden'))
  return status === 200 && isObject(json as Json)
    ? right({ found: toManifestObject(json as FreeObject, { apiVersion, kind }) })
    : left(unexpected(`${kind} ${name}`, status))
}

/**
 * Reads the live objects of a manifest one by one as the caller, in the manifest's order. Objects that do not exist or
 * cannot be read are reported as missing. `home` is the namespace of objects that name none.
 */
const readLiveObjects = async (
  cluster: MemberCluster,
  resources: ApiResources,
  wanted: readonly ManifestObject[],
  home: string,
  signal: AbortSignal,
): Outcome<MemberFailure, LiveObjects> => {
  const reads = await atATime(wanted, atOnce, (each) => readOne(cluster, resources, each, home, signal))
  if (isLeft(reads)) return reads
  return right({
    found: reads.right.flatMap((read) => ('found' in read ? [read.found] : [])),
    missing: reads.right.flatMap((read) => ('missing' in read ? [read.missing] : [])),
  })
}

const listedObjects = (
  json: unknown,
  named: { readonly apiVersion: string; readonly kind: string },
): readonly ManifestObject[] => {
  const items = isObject(json as Json) ? own(json as FreeObject, 'items') : undefined
  return Array.isArray(items)
    ? (items as readonly Json[]).filter(isObject).map((item) => toManifestObject(item, named))
    : []
}

/**
 * Lists the objects of an installation that another program recorded: those of its kinds that match its selector in the
 * namespace. Kinds that the cluster does not serve are skipped. Failure: ObjectRefused if the caller may not list a
 * kind.
 */
const listLiveObjects = async (
  cluster: MemberCluster,
  resources: ApiResources,
  app: AppRelease,
  namespace: string,
  signal: AbortSignal,
): Outcome<MemberFailure | Failure<'ObjectRefused'> | Failure<'EditorUnfit'>, LiveObjects> => {
  const found: ManifestObject[] = []
  for (const component of app.components) {
    const named = { apiVersion: apiVersionOf(component), kind: component.kind }
    const resource = await resources.ofKind(named.apiVersion, named.kind)
    if (isLeft(resource)) return resource
    const path = resource.right === undefined ? undefined : objectPath(named.apiVersion, resource.right, namespace)
    if (path === undefined) continue
    const answer = await cluster.request(
      { method: 'GET', target: `${path}?labelSelector=${encodeURIComponent(app.selector)}`, limitBytes: maxListBytes },
      signal,
    )
    if (isLeft(answer)) return answer
    if (answer.right.status === 403)
      return left(
        ObjectRefused(`The cluster does not let you list objects of kind ${named.kind} in the namespace ${namespace}.`),
      )
    if (answer.right.status !== 200) return left(unexpected(`objects of kind ${named.kind}`, answer.right.status))
    const listed = listedObjects(answer.right.json, named)
    if (found.length + listed.length > maxObjects)
      return left(EditorUnfit(`The installation has more than ${maxObjects} objects, which editors do not show.`))
    found.push(...listed)
  }
  return right({ found, missing: [] })
}

export interface LoadModelDeps extends OpenChartsDeps {
  readonly releases: ReleaseStore
  readonly driverOf: StorageDriverOf
  readonly appReleases: AppReleases
  readonly chartTexts: ChartTexts
}
export type LoadModelFailure =
  | OpenFailure
  | RecordFailure
  | Failure<'ModelRefused'>
  | Failure<'ReleaseMissing'>
  | Failure<'ObjectRefused'>

/** The current state of an installation. */
export interface LoadedModel {
  readonly model: FreeObject
  /** All objects of the installation, including those that the model omits. */
  readonly objects: readonly ManifestObject[]
  readonly missing: readonly MissingObject[]
  /** Prefix of the objects' names, used for their keys; empty for feature sets. */
  readonly keyPrefix: string
}

/** The objects of an installation, which of them belong to the model, and the form that they were made from. */
interface Installation extends LiveObjects {
  readonly resourceKeys: ReadonlySet<string>
  readonly form: FreeObject | undefined
}
interface Place {
  readonly cluster: MemberCluster
  readonly opened: OpenedEditor
  readonly chart: OpenedChart
  readonly keyPrefix: string
  readonly signal: AbortSignal
}

/** Returns the deployed record, or else the newest one; undefined if the release does not exist or was uninstalled. */
const findRecord = async (
  { releases, driverOf }: LoadModelDeps,
  { cluster, opened, signal }: Place,
): Outcome<RecordFailure, Release | undefined> => {
  const driver = await driverOf(cluster)
  const standing = await readReleaseState(releases, { cluster, driver, release: opened.subject.release }, signal)
  if (isLeft(standing)) return standing
  const ref = standing.right.live ?? standing.right.newest
  if (ref === undefined || ref.status === 'uninstalled') return right(undefined)
  const release = await releases.read(cluster, driver, ref, signal)
  if (!isLeft(release)) return release
  return release.left.tag === 'ReleaseMissing' ? right(undefined) : left(release.left as RecordFailure)
}

const ofRecord = async (
  { chartTexts }: LoadModelDeps,
  { cluster, opened, chart, signal }: Place,
  release: Release,
): Outcome<RecordFailure | Failure<'EditorUnfit'>, Installation> => {
  const wanted = await objectsOf(chartTexts, release.manifest)
  if (isLeft(wanted))
    return left(RecordUnreadable(`The manifest of revision ${release.version} cannot be read: ${wanted.left.message}`))
  if (wanted.right.length > maxObjects)
    return left(EditorUnfit(`The release has ${wanted.right.length} objects; editors show at most ${maxObjects}.`))
  const live = await readLiveObjects(cluster, opened.resources, wanted.right, release.namespace, signal)
  if (isLeft(live)) return live
  const form = chart.facts.usesForm && release.config !== undefined ? own(release.config, 'form') : undefined
  return right({ ...live.right, resourceKeys: chart.facts.resourceKeys, form: isObject(form) ? form : undefined })
}

/** Reads what another program of the same interface installed. Only objects with recorded keys belong to it. */
const ofAppRelease = async (
  deps: LoadModelDeps,
  { cluster, opened, keyPrefix, signal }: Place,
): Outcome<LoadModelFailure, Installation> => {
  const { release } = opened.subject
  const app = await deps.appReleases.find(cluster, release, signal)
  if (isLeft(app)) return app
  if (app.right === undefined)
    return left(ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`))
  const { resourceKeys, formKeys, form } = app.right
  const live = await listLiveObjects(cluster, opened.resources, app.right, release.namespace, signal)
  if (isLeft(live)) return live
  const isOwn = (object: ManifestObject): boolean =>
    [resourceKeys, formKeys].some((keys) => keys.has(resourceKey(object, keyPrefix)))
  return right({ found: live.right.found.filter(isOwn), missing: [], resourceKeys, form })
}

/** Adds the key to a missing object. */
export const missingOf = (missing: MissingObject, keyPrefix: string): MissingObject & { readonly key: string } => ({
  key: resourceKey(missing, keyPrefix),
  ...missing,
})

const modelOf = (
  { found, missing, resourceKeys, form }: Installation,
  { opened, chart, keyPrefix }: Place,
): FreeObject => {
  const { name, namespace } = opened.subject.release
  const keyed = found
    .map((object) => [resourceKey(object, keyPrefix), object.body] as const)
    .filter(([key]) => resourceKeys.has(key))
  return {
    metadata: { resource: chart.facts.resource, release: { name, namespace } },
    resources: Object.fromEntries(keyed),
    ...definedFields({ form }),
    ...(missing.length === 0 ? {} : { missing: missing.map((each) => ({ ...missingOf(each, keyPrefix) })) }),
  }
}

/**
 * Returns the model of an installation from its live objects, read as the caller. Objects that do not exist or that the
 * caller cannot read are reported and omitted. Failures: ReleaseMissing, read failures.
 */
export const makeLoadModel =
  (deps: LoadModelDeps) =>
  async (cluster: MemberCluster, about: FreeObject, signal: AbortSignal): Outcome<LoadModelFailure, LoadedModel> => {
    const subject = readSubject(about)
    if (isLeft(subject)) return subject
    const opened = await makeOpenEditor(deps)(cluster, subject.right, signal)
    if (isLeft(opened)) return opened
    const chart = await fetchEditorChart(deps, cluster, opened.right, signal)
    if (isLeft(chart)) return chart
    const { release, resource } = opened.right.subject
    const place: Place = {
      cluster,
      opened: opened.right,
      chart: chart.right,
      keyPrefix: isFeatureSet(resource) ? '' : release.name,
      signal,
    }
    const record = await findRecord(deps, place)
    if (isLeft(record)) return record
    const installation =
      record.right === undefined ? await ofAppRelease(deps, place) : await ofRecord(deps, place, record.right)
    if (isLeft(installation)) return installation
    const { found, missing } = installation.right
    return right({ model: modelOf(installation.right, place), objects: found, missing, keyPrefix: place.keyPrefix })
  }

export interface LoadEditorInput {
  readonly grant: AccessGrant
  /** A model, or only its metadata. */
  readonly about: FreeObject
}

/** Returns the current state of an installation on the cluster of the grant, as `makeLoadModel`. */
export const makeLoadEditor = (deps: LoadModelDeps & { readonly memberClusters: MemberClusters }) => {
  const load = makeLoadModel(deps)
  return async (
    call: SignedInCall<never>,
    { grant, about }: LoadEditorInput,
  ): Outcome<OpenReaderFailure | LoadModelFailure, LoadedModel> => {
    const cluster = await deps.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : load(cluster.right, about, call.signal)
  }
}

export interface MakeModelDeps extends ReadChartDeps {
  readonly editorCatalog: EditorCatalog
  readonly renderChart: RenderChart
  readonly chartTexts: ChartTexts
}
export type MakeModelFailure = OpenReaderFailure | OpenFailure | RenderFailure | Failure<'ModelRefused'>

export interface MakeModelInput {
  readonly grant: AccessGrant
  readonly options: FreeObject
}

const keyed = (
  objects: readonly ManifestObject[],
  releaseName: string,
  isWanted: (key: string) => boolean,
): readonly (readonly [string, FreeObject])[] =>
  objects.map((object) => [resourceKey(object, releaseName), object.body] as const).filter(([key]) => isWanted(key))

const repeatedKey = (keys: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  return keys.find((key) => seen.size === seen.add(key).size)
}

/**
 * Turns options into a model: renders the options chart with the whole body as its values and stores each object under
 * its key. With a `form`, only the keys that the editor's chart keeps in a model remain. Nothing is written.
 */
export const makeModelFromOptions =
  (deps: Omit<MakeModelDeps, 'memberClusters'>) =>
  async (
    reader: ChartReader,
    options: FreeObject,
    signal: AbortSignal,
  ): Outcome<Exclude<MakeModelFailure, OpenReaderFailure> | MemberFailure, FreeObject> => {
    const { cluster } = reader
    const subject = readSubject(options)
    if (isLeft(subject)) return subject
    const opened = await makeOpenEditor(deps)(cluster, subject.right, signal)
    if (isLeft(opened)) return opened
    const charts = { editorCatalog: deps.editorCatalog, chartSource: sourceFor(deps.open, reader) }
    const form = own(options, 'form')
    const editor = form === undefined ? undefined : await fetchEditorChart(charts, cluster, opened.right, signal)
    if (editor !== undefined && isLeft(editor)) return editor
    const chart = await fetchOptionsChart(charts, cluster, opened.right, signal)
    if (isLeft(chart)) return chart
    const { release, resource } = opened.right.subject
    const rendering = await deps.renderChart(cluster, release, chart.right, options, signal)
    if (isLeft(rendering)) return rendering
    const objects = await parseManifest(deps.chartTexts, renderedText(rendering.right))
    if (isLeft(objects)) return objects
    const resources = keyed(
      objects.right,
      isFeatureSet(resource) ? '' : release.name,
      (key) => editor === undefined || editor.right.facts.resourceKeys.has(key),
    )
    const repeated = repeatedKey(resources.map(([key]) => key))
    if (repeated !== undefined)
      return left(
        EditorUnfit(
          `The options chart ${chart.right.name} ${chart.right.version} makes two objects of the key ${repeated}.`,
        ),
      )
    return right({
      metadata: own(options, 'metadata'),
      resources: Object.fromEntries(resources),
      ...definedFields({ form }),
    })
  }

/** Turns options into a model, with the cluster of the grant. */
export const makeMakeModel = (deps: MakeModelDeps) => {
  const modelFrom = makeModelFromOptions(deps)
  return async (
    call: SignedInCall<never>,
    { grant, options }: MakeModelInput,
  ): Outcome<MakeModelFailure, FreeObject> => {
    const reader = await openReader(deps, call, grant)
    return isLeft(reader) ? reader : modelFrom(reader.right, options, call.signal)
  }
}
