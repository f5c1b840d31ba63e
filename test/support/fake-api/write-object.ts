import { parse } from 'yaml'
import { admit } from './admission.ts'
import type { ApiPath } from './api-path.ts'
import { isTree, type KubeObject } from './kube-object.ts'
import type { ObjectStore } from './object-store.ts'
import { applyJsonPatch, mergePatch, serverSideApply, strategicMergePatch } from './patches.ts'
import { isProtobuf, readProtobuf } from './protobuf-body.ts'
import { notFound, StatusError } from './status-answer.ts'

/** The body as JSON, YAML (which an apply may be) or protobuf. */
export const readObject = (body: Buffer): unknown => {
  if (isProtobuf(body)) return readProtobuf(body)
  try {
    return parse(body.toString('utf8'))
  } catch {
    throw new StatusError(
      400,
      'BadRequest',
      'the object provided is unrecognized (must be of type JSON, YAML or protobuf)',
    )
  }
}

/** What each manager applied last, by object and manager. */
export type AppliedBefore = Map<string, unknown>

const asObject = (value: unknown): KubeObject => {
  if (!isTree(value) || !isTree(value['metadata']))
    throw new StatusError(400, 'BadRequest', 'the object provided has no metadata')
  return value as unknown as KubeObject
}

const mustHaveNamespace = (store: ObjectStore, path: ApiPath): void => {
  if (path.namespace === undefined) return
  const namespaces = store.kindOf({ apiVersion: 'v1', kind: 'Namespace' })
  if (store.get(namespaces, undefined, path.namespace) === undefined) throw notFound('namespaces', path.namespace)
}

export interface Written {
  readonly object: KubeObject
  readonly isNew: boolean
}

/** POST of a collection. */
export const createObject = (store: ObjectStore, path: ApiPath, body: Buffer, isDryRun: boolean): Written => {
  const object = admit(path.kind, path.namespace, asObject(readObject(body)))
  mustHaveNamespace(store, path)
  return { object: isDryRun ? object : store.create(path.kind, object), isNew: true }
}

/** PUT of an object or of its status. */
export const updateObject = (store: ObjectStore, path: ApiPath, body: Buffer, isDryRun: boolean): Written => {
  const known = store.mustGet(path.kind, path.namespace, path.name ?? '')
  const wanted = asObject(readObject(body))
  const expected = wanted.metadata.resourceVersion
  if (expected !== undefined && expected !== '' && expected !== known.metadata.resourceVersion) throw conflict(path)
  return { object: save(store, path, known, wanted, isDryRun), isNew: false }
}

const conflict = ({ kind, name = '' }: ApiPath): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${kind.resource} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
  )

const patchers: Readonly<Record<string, (known: KubeObject, patch: unknown) => unknown>> = {
  'application/merge-patch+json': mergePatch,
  'application/json-patch+json': applyJsonPatch,
  'application/strategic-merge-patch+json': (known, patch) => strategicMergePatch(known, isTree(patch) ? patch : {}),
}

/** PATCH in all four forms; an apply creates what is not there. */
export const patchObject = (
  store: ObjectStore,
  applied: AppliedBefore,
  path: ApiPath,
  contentType: string,
  query: URLSearchParams,
  body: Buffer,
): Written => {
  const isDryRun = query.has('dryRun')
  const known = store.get(path.kind, path.namespace, path.name ?? '')
  const patch = readObject(body)
  if (contentType.startsWith('application/apply-patch+yaml')) {
    const key = `${path.kind.group}/${path.kind.resource}/${path.namespace ?? ''}/${path.name ?? ''} ${query.get('fieldManager') ?? ''}`
    const before = applied.get(key)
    if (!isDryRun) applied.set(key, patch)
    if (known === undefined) {
      mustHaveNamespace(store, path)
      const object = admit(path.kind, path.namespace, asObject(patch))
      return { object: isDryRun ? object : store.create(path.kind, object), isNew: true }
    }
    return { object: save(store, path, known, asObject(serverSideApply(known, before, patch)), isDryRun), isNew: false }
  }
  const apply = patchers[contentType.split(';')[0] ?? '']
  if (apply === undefined)
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - ${contentType}`,
    )
  if (known === undefined) throw notFound(path.kind.resource, path.name ?? '')
  const wanted = asObject(apply(known, patch))
  const expected = isTree(patch) && isTree(patch['metadata']) ? patch['metadata']['resourceVersion'] : undefined
  if (typeof expected === 'string' && expected !== known.metadata.resourceVersion) throw conflict(path)
  return { object: save(store, path, known, wanted, isDryRun), isNew: false }
}

/** Status is written through its own path only, and there alone. */
const save = (
  store: ObjectStore,
  path: ApiPath,
  known: KubeObject,
  wanted: KubeObject,
  isDryRun: boolean,
): KubeObject => {
  const kept = path.subresource === 'status' || known.status === undefined ? known : { ...known }
  const object =
    path.subresource === 'status'
      ? { ...kept, ...(wanted.status === undefined ? {} : { status: wanted.status }) }
      : {
          ...admit(path.kind, path.namespace, keepAddress(known, wanted)),
          ...(known.status === undefined ? {} : { status: known.status }),
        }
  return isDryRun ? object : store.replace(path.kind, known, object)
}

/** The address that the server chose stays when a client sends none. */
const keepAddress = (known: KubeObject, wanted: KubeObject): KubeObject =>
  known.kind === 'Service'
    ? {
        ...wanted,
        spec: { clusterIP: known.spec?.['clusterIP'], clusterIPs: known.spec?.['clusterIPs'], ...wanted.spec },
      }
    : wanted
