import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import { ClusterUnreachable, type MemberCluster, type MemberFailure } from '../clusters/ports.ts'
import { atATime } from './at-a-time.ts'
import { apiVersionOf, objectPath, type ApiResources } from './editor-discovery.ts'
import { isObject, own, ownObject, ownText, withKey, withoutKeys } from './editor-json.ts'
import { maxObjects } from './editor-manifest.ts'
import { EditorUnfit, ObjectRefused } from './editor-ports.ts'
import type { AppRelease, MissingObject } from './editor-types.ts'
import type { ManifestObject } from './manifest-objects.ts'

/** What of a release is there, as the caller may see it. */
export interface LiveObjects {
  readonly found: readonly ManifestObject[]
  readonly missing: readonly MissingObject[]
}

const atOnce = 8
const maxListBytes = 16 * 1024 * 1024
const serverOnly = new Set(['status'])
const bookkeeping = new Set(['managedFields'])

/** The object without what the cluster reports about it. */
const toManifestObject = (json: FreeObject, named: { readonly apiVersion: string; readonly kind: string }): ManifestObject => {
  const metadata = ownObject(json, 'metadata')
  const body = { ...named, ...withKey(withoutKeys(json, new Set([...serverOnly, 'apiVersion', 'kind'])), 'metadata', withoutKeys(metadata, bookkeeping)) }
  return { ...named, name: ownText(metadata, 'name'), namespace: ownText(metadata, 'namespace'), body }
}

type Read = { readonly found: ManifestObject } | { readonly missing: MissingObject }

const unexpected = (what: string, status: number): Failure<'ClusterUnreachable'> => ClusterUnreachable(`The cluster answered ${status} when asked for ${what}.`)

const readOne = async (cluster: MemberCluster, resources: ApiResources, wanted: ManifestObject, home: string, signal: AbortSignal): Outcome<MemberFailure, Read> => {
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
  return status === 200 && isObject(json as Json) ? right({ found: toManifestObject(json as FreeObject, { apiVersion, kind }) }) : left(unexpected(`${kind} ${name}`, status))
}

/**
 * The objects of a manifest as they are now, read one by one as the caller, in the manifest's order. What is gone, or may
 * not be read, is told. `home` is the namespace of objects that name none.
 */
export const readLiveObjects = async (cluster: MemberCluster, resources: ApiResources, wanted: readonly ManifestObject[], home: string, signal: AbortSignal): Outcome<MemberFailure, LiveObjects> => {
  const reads = await atATime(wanted, atOnce, (each) => readOne(cluster, resources, each, home, signal))
  if (isLeft(reads)) return reads
  return right({ found: reads.right.flatMap((read) => ('found' in read ? [read.found] : [])), missing: reads.right.flatMap((read) => ('missing' in read ? [read.missing] : [])) })
}

const listedObjects = (json: unknown, named: { readonly apiVersion: string; readonly kind: string }): readonly ManifestObject[] => {
  const items = isObject(json as Json) ? own(json as FreeObject, 'items') : undefined
  return Array.isArray(items) ? (items as readonly Json[]).filter(isObject).map((item) => toManifestObject(item, named)) : []
}

/**
 * The objects of an installation that another program recorded: those of its kinds that its selector finds in the
 * namespace. Kinds that the cluster does not serve are passed over. Failure: ObjectRefused, when a kind may not be listed.
 */
export const listLiveObjects = async (cluster: MemberCluster, resources: ApiResources, app: AppRelease, namespace: string, signal: AbortSignal): Outcome<MemberFailure | Failure<'ObjectRefused'> | Failure<'EditorUnfit'>, LiveObjects> => {
  const found: ManifestObject[] = []
  for (const component of app.components) {
    const named = { apiVersion: apiVersionOf(component), kind: component.kind }
    const resource = await resources.ofKind(named.apiVersion, named.kind)
    if (isLeft(resource)) return resource
    const path = resource.right === undefined ? undefined : objectPath(named.apiVersion, resource.right, namespace)
    if (path === undefined) continue
    const answer = await cluster.request({ method: 'GET', target: `${path}?labelSelector=${encodeURIComponent(app.selector)}`, limitBytes: maxListBytes }, signal)
    if (isLeft(answer)) return answer
    if (answer.right.status === 403) return left(ObjectRefused(`The cluster does not let you list objects of kind ${named.kind} in the namespace ${namespace}.`))
    if (answer.right.status !== 200) return left(unexpected(`objects of kind ${named.kind}`, answer.right.status))
    const listed = listedObjects(answer.right.json, named)
    if (found.length + listed.length > maxObjects) return left(EditorUnfit(`The installation has more than ${maxObjects} objects, which editors do not show.`))
    found.push(...listed)
  }
  return right({ found, missing: [] })
}
