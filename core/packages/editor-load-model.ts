import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { ChartTexts } from './chart-ports.ts'
import { isObject, own } from './editor-json.ts'
import { listLiveObjects, readLiveObjects, type LiveObjects } from './editor-live-objects.ts'
import { fetchEditorChart, makeOpenEditor, type OpenChartsDeps, type OpenedChart, type OpenedEditor, type OpenFailure } from './editor-open-charts.ts'
import { maxObjects } from './editor-manifest.ts'
import { EditorUnfit, type AppReleases } from './editor-ports.ts'
import { resourceKey } from './editor-resource-key.ts'
import { isFeatureSet, readSubject } from './editor-subject.ts'
import type { MissingObject } from './editor-types.ts'
import { objectsOf, type ManifestObject } from './manifest-objects.ts'
import { ReleaseMissing, RecordUnreadable, type RecordFailure, type ReleaseStore, type StorageDriverOf } from './ports.ts'
import { readStanding } from './standing.ts'
import type { Release } from './types.ts'

export interface LoadModelDeps extends OpenChartsDeps {
  readonly releases: ReleaseStore
  readonly driverOf: StorageDriverOf
  readonly appReleases: AppReleases
  readonly chartTexts: ChartTexts
}
export type LoadModelFailure = OpenFailure | RecordFailure | Failure<'ModelRefused'> | Failure<'ReleaseMissing'> | Failure<'ObjectRefused'>

/** An installation as it is now. */
export interface LoadedModel {
  readonly model: FreeObject
  /** All objects of the installation, those that a model leaves out included. */
  readonly objects: readonly ManifestObject[]
  readonly missing: readonly MissingObject[]
  /** What the names of the objects begin with, for their keys; empty for feature sets. */
  readonly keyPrefix: string
}

/** Objects of an installation, which of them a model holds, and the form that they came from. */
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

/** The record of what is live, else the newest; undefined where the release is not, or no longer. */
const findRecord = async ({ releases, driverOf }: LoadModelDeps, { cluster, opened, signal }: Place): Outcome<RecordFailure, Release | undefined> => {
  const driver = await driverOf(cluster)
  const standing = await readStanding(releases, { cluster, driver, release: opened.subject.release }, signal)
  if (isLeft(standing)) return standing
  const ref = standing.right.live ?? standing.right.newest
  if (ref === undefined || ref.status === 'uninstalled') return right(undefined)
  const release = await releases.read(cluster, driver, ref, signal)
  if (!isLeft(release)) return release
  return release.left.tag === 'ReleaseMissing' ? right(undefined) : left(release.left as RecordFailure)
}

const ofRecord = async ({ chartTexts }: LoadModelDeps, { cluster, opened, chart, signal }: Place, release: Release): Outcome<RecordFailure | Failure<'EditorUnfit'>, Installation> => {
  const wanted = await objectsOf(chartTexts, release.manifest)
  if (isLeft(wanted)) return left(RecordUnreadable(`The manifest of revision ${release.version} cannot be read: ${wanted.left.message}`))
  if (wanted.right.length > maxObjects) return left(EditorUnfit(`The release has ${wanted.right.length} objects; editors show at most ${maxObjects}.`))
  const live = await readLiveObjects(cluster, opened.resources, wanted.right, release.namespace, signal)
  if (isLeft(live)) return live
  const form = chart.facts.usesForm && release.config !== undefined ? own(release.config, 'form') : undefined
  return right({ ...live.right, resourceKeys: chart.facts.resourceKeys, form: isObject(form) ? form : undefined })
}

/** What another program of the same interface installed: only objects of keys that it wrote down belong to it. */
const ofAppRelease = async (deps: LoadModelDeps, { cluster, opened, keyPrefix, signal }: Place): Outcome<LoadModelFailure, Installation> => {
  const { release } = opened.subject
  const app = await deps.appReleases.find(cluster, release, signal)
  if (isLeft(app)) return app
  if (app.right === undefined) return left(ReleaseMissing(`There is no release ${release.name} in the namespace ${release.namespace}.`))
  const { resourceKeys, formKeys, form } = app.right
  const live = await listLiveObjects(cluster, opened.resources, app.right, release.namespace, signal)
  if (isLeft(live)) return live
  const isOwn = (object: ManifestObject): boolean => [resourceKeys, formKeys].some((keys) => keys.has(resourceKey(object, keyPrefix)))
  return right({ found: live.right.found.filter(isOwn), missing: [], resourceKeys, form })
}

/** What is missing, with its key. */
export const missingOf = (missing: MissingObject, keyPrefix: string): MissingObject & { readonly key: string } => ({ key: resourceKey(missing, keyPrefix), ...missing })

const modelOf = ({ found, missing, resourceKeys, form }: Installation, { opened, chart, keyPrefix }: Place): FreeObject => {
  const { name, namespace } = opened.subject.release
  const keyed = found.map((object) => [resourceKey(object, keyPrefix), object.body] as const).filter(([key]) => resourceKeys.has(key))
  return {
    metadata: { resource: chart.facts.resource, release: { name, namespace } },
    resources: Object.fromEntries(keyed),
    ...(form === undefined ? {} : { form }),
    ...(missing.length === 0 ? {} : { missing: missing.map((each) => ({ ...missingOf(each, keyPrefix) })) }),
  }
}

/**
 * The model of an installation, from its objects as they are now, read as the caller. Objects that are gone, or that the
 * caller may not read, are told and left out. Failures: ReleaseMissing, those of reading.
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
    const place: Place = { cluster, opened: opened.right, chart: chart.right, keyPrefix: isFeatureSet(resource) ? '' : release.name, signal }
    const record = await findRecord(deps, place)
    if (isLeft(record)) return record
    const installation = record.right === undefined ? await ofAppRelease(deps, place) : await ofRecord(deps, place, record.right)
    if (isLeft(installation)) return installation
    const { found, missing } = installation.right
    return right({ model: modelOf(installation.right, place), objects: found, missing, keyPrefix: place.keyPrefix })
  }
