import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import { isObject, own, ownObject, ownText, withKey, withoutKeys } from './editor-json.ts'
import { ModelRefused } from './editor-ports.ts'
import { nameOfKey, nameSuffixOf, resourceKey } from './editor-resource-key.ts'
import { isClusterScoped } from './editor-scope.ts'
import type { EditorChart } from './editor-types.ts'
import type { ReleaseKey } from './types.ts'

/** What a model is filled by. */
export interface Refill {
  readonly chart: EditorChart
  readonly release: ReleaseKey
  /** Objects have names of their own, which must belong to their keys. */
  readonly isFeatureSet: boolean
  /** Maps in objects of the kind whose instance label follows the release. */
  readonly labelPaths: (kind: { readonly apiVersion: string; readonly kind: string }) => readonly (readonly string[])[]
}
interface Filling extends Refill {
  readonly problems: string[]
}

const maxResources = 200
const instanceLabel = 'app.kubernetes.io/instance'
/** Written by the API server alone; a value that came from a live object would make the next change conflict. */
const serverFields = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields', 'selfLink', 'generateName']
const setFields = new Set([...serverFields, 'name', 'namespace', 'annotations'])
/** With one of these an object would leave the release, to be run or kept apart from it. */
const isHookAnnotation = (name: string): boolean => /^helm\.sh\/hook(-|$)/.test(name)
/** Keys of a model that say what is asked, not what is to be made. */
const asideKeys = new Set(['metadata', 'resources', 'patch', 'missing'])

/** An object where one may stand; an empty one where there is none, or where something else was refused. */
const objectAt = (value: Json | undefined, at: string, { problems }: Filling): FreeObject => {
  if (isObject(value)) return value
  if (value !== undefined && value !== null) problems.push(`${at}: an object is expected`)
  return {}
}

/** The instance label at a path set to the release, where there is one. */
const followRelease = (object: FreeObject, path: readonly string[], at: string, filling: Filling): FreeObject => {
  const [key, ...rest] = path
  if (key === undefined) return own(object, instanceLabel) === undefined ? object : withKey(object, instanceLabel, filling.release.name)
  const inner = own(object, key)
  return inner === undefined ? object : withKey(object, key, followRelease(objectAt(inner, `${at}.${key}`, filling), rest, `${at}.${key}`, filling))
}

const annotationsOf = (metadata: FreeObject, defaults: FreeObject, at: string, filling: Filling): FreeObject => {
  const given = objectAt(own(metadata, 'annotations'), `${at}.metadata.annotations`, filling)
  const free = Object.entries(given).filter(([name]) => !isHookAnnotation(name))
  const fixed = Object.entries(ownObject(ownObject(defaults, 'metadata'), 'annotations')).filter(([name]) => isHookAnnotation(name))
  return Object.fromEntries([...free, ...fixed])
}

/** The name that the key demands. A feature set's object keeps its own where the key is made of it. */
const nameOf = (key: string, name: string, defaults: FreeObject, { release, isFeatureSet, problems }: Filling): string => {
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
  const filled = Object.entries(resources).slice(0, maxResources).flatMap(([key, value]) => {
    const fixed = defaults.get(key)
    if (fixed !== undefined) return [[key, refillObject(key, value, fixed, filling)] as const]
    // What a chart makes from its form may stand in what a client saw; the chart makes it anew.
    if (!usesForm) filling.problems.push(`resources.${key.slice(0, 100)}: the editor has no such resource`)
    return []
  })
  if (Object.keys(resources).length > maxResources) filling.problems.push(`resources: at most ${maxResources} are taken`)
  return Object.fromEntries(filled)
}

/**
 * The values for an editor's chart. What a caller may not choose comes from the chart and the release: in each resource
 * apiVersion, kind, name, namespace and hook annotations, and the instance label wherever there is one. What an API
 * server writes goes. A key that the chart's defaults lack is refused, or left out where the chart uses a form.
 * Failure: ModelRefused, which says where.
 */
export const refillModel = (model: FreeObject, refill: Refill): Either<Failure<'ModelRefused'>, FreeObject> => {
  const filling: Filling = { ...refill, problems: [] }
  const given = own(model, 'resources') ?? undefined
  // Without them all that is installed would go: only what a form makes can stand alone.
  if (given === undefined && !(refill.chart.usesForm && isObject(own(model, 'form')))) filling.problems.push('resources: an object is expected')
  const resources = refillResources(objectAt(given, 'resources', filling), filling)
  const errors = filling.problems.slice(0, 20)
  if (errors.length > 0) return left(ModelRefused(`The model is not valid: ${errors.slice(0, 5).join('; ')}.`, { errors }))
  const { name, namespace } = refill.release
  return right({ ...withoutKeys(model, asideKeys), metadata: { resource: refill.chart.resource, release: { name, namespace } }, resources })
}
