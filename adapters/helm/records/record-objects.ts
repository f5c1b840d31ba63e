import { setImmediate } from 'node:timers/promises'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { ClusterAnswer, MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { at, listAt, textAt } from '../../../core/kernel/json.ts'
import type { RecordFailure, ReleaseStore } from '../../../core/packages/ports.ts'
import { RecordsRefused, RecordUnreadable, ReleaseMissing } from '../../../core/packages/ports.ts'
import type { ReleaseRecordRef, ReleaseStatus, StorageDriver } from '../../../core/packages/types.ts'
import { releaseStatuses } from '../../../core/packages/types.ts'
import { packedBytes, PayloadUnreadable } from './record-payload.ts'

const plurals: Readonly<Record<StorageDriver, string>> = { Secret: 'secrets', ConfigMap: 'configmaps' }

/** Returns the path of the collection in one namespace, or in all of them. */
const collectionPath = (driver: StorageDriver, namespace?: string): string =>
  namespace === undefined
    ? `/api/v1/${plurals[driver]}`
    : `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plurals[driver]}`

export const objectPath = (
  driver: StorageDriver,
  { namespace, objectName }: Pick<ReleaseRecordRef, 'namespace' | 'objectName'>,
): string => `${collectionPath(driver, namespace)}/${encodeURIComponent(objectName)}`

const Metadata = t.intersection([
  t.type({ name: t.string, namespace: t.string, uid: t.string, resourceVersion: t.string }),
  t.partial({ labels: t.record(t.string, t.string) }),
])

/** A complete Secret or ConfigMap, including unknown keys. */
export const RecordObject = t.intersection([
  t.type({ metadata: Metadata }),
  t.partial({ data: t.record(t.string, t.string) }),
])
export type RecordObject = t.TypeOf<typeof RecordObject>

const statusOf = (word: string | undefined): ReleaseStatus =>
  releaseStatuses.find((status) => status === word) ?? 'unknown'

/** The maximum length of Kubernetes names, UIDs and versions. Longer ones from a cluster would fill the memory. */
const longestWord = 253

/** Returns the record that an object's labels describe, or undefined if the labels are incomplete. */
const refOf = (metadata: unknown): ReleaseRecordRef | undefined => {
  const decoded = Metadata.decode(metadata)
  if (!isRight(decoded)) return undefined
  const { name: objectName, namespace, uid, resourceVersion, labels = {} } = decoded.right
  const { owner, name, version = '', status } = labels
  if (owner !== 'helm' || name === undefined || name === '' || !/^[1-9][0-9]{0,9}$/.test(version)) return undefined
  if ([objectName, namespace, uid, resourceVersion, name].some(({ length }) => length > longestWord)) return undefined
  return { namespace, name, version: Number(version), status: statusOf(status), objectName, uid, resourceVersion }
}

const longestWords = 500

/** Returns the cluster's own message about a refusal. */
const wordsOf = ({ json, text }: ClusterAnswer): string => {
  const message = (json as { readonly message?: unknown } | undefined)?.message
  const words = typeof message === 'string' ? message : text
  return words
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, longestWords)
}

/** Returns why a request for records failed: the caller may not read them, or the cluster cannot serve them. */
export const refusalOf = (
  answer: ClusterAnswer,
): ReturnType<typeof RecordsRefused> | ReturnType<typeof ClusterUnreachable> =>
  answer.status === 403
    ? RecordsRefused(`The cluster does not let you at its release records: ${wordsOf(answer)}`)
    : ClusterUnreachable(`The cluster answered ${answer.status} to a request for release records: ${wordsOf(answer)}`)

/** The maximum size of a Kubernetes object: 1 MiB of data, in base64, with its metadata. */
const limitBytes = 4 * 1024 * 1024

const unreadable = ({ namespace, objectName }: ReleaseRecordRef): Failure<'RecordUnreadable'> =>
  RecordUnreadable(`The object ${objectName} in the namespace ${namespace} is no release record that can be read.`)

/** Reads one object with its data. Failures: those of reading, and ReleaseMissing if the object does not exist. */
export const readObject = async (
  cluster: MemberCluster,
  driver: StorageDriver,
  ref: ReleaseRecordRef,
  signal: AbortSignal,
): Outcome<RecordFailure | Failure<'ReleaseMissing'>, RecordObject> => {
  const asked = await cluster.request(
    { method: 'GET', target: objectPath(driver, ref), limitBytes, isReduced: true },
    signal,
  )
  if (isLeft(asked)) return asked
  if (asked.right.status === 404)
    return left(ReleaseMissing(`The revision ${ref.version} of the release ${ref.name} is no longer there.`))
  if (asked.right.status !== 200) return left(refusalOf(asked.right))
  const object = RecordObject.decode(asked.right.json)
  return isRight(object) ? object : left(unreadable(ref))
}

/** Returns the packed record of an object. Throws PayloadUnreadable. */
export const payloadOf = (driver: StorageDriver, { data }: RecordObject): Buffer => {
  const text = data?.['release']
  if (text === undefined || text === '') throw new PayloadUnreadable('no record')
  return packedBytes(driver, text)
}

/** Returns the result of `work`, or a failure that the record cannot be read if it throws PayloadUnreadable. */
export const orUnreadable = async <A>(
  ref: ReleaseRecordRef,
  work: () => Promise<A>,
): Outcome<Failure<'RecordUnreadable'>, A> => {
  try {
    return right(await work())
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error
    return left(unreadable(ref))
  }
}

/** The content of the objects is not transferred. */
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const pageSize = 500
/** A longer list is of no use, and memory is limited. */
const mostPages = 200
/**
 * In bytes: a page with the metadata of 500 objects, the whole list if pages kept expiring, and all pages of a list.
 */
const limits = { page: 4 * 1024 * 1024, whole: 32 * 1024 * 1024, inAll: 64 * 1024 * 1024 }
/** A list whose pages expire twice is requested without paging. */
const pagedAttempts = 2

const labelValue = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

const targetOf = (path: string, selector: string, isPaged: boolean, continueAt: string | undefined): string => {
  const query = new URLSearchParams({ labelSelector: selector })
  if (isPaged) query.set('limit', String(pageSize))
  if (continueAt !== undefined) query.set('continue', continueAt)
  return `${path}?${query.toString()}`
}

/**
 * Reports whether this is one page of objects or of their metadata. In a metadata list without items, a server sends
 * `null`.
 */
const isList = (json: unknown): boolean => Array.isArray(at(json, 'items')) || at(json, 'items') === null

/** Objects that are judged before other work runs. */
const itemsAtOnce = 250

const refsOf = async (items: readonly unknown[]): Promise<readonly ReleaseRecordRef[]> => {
  const refs: ReleaseRecordRef[] = []
  for (const [index, item] of items.entries()) {
    if (index % itemsAtOnce === itemsAtOnce - 1) await setImmediate()
    const ref = refOf(at(item, 'metadata'))
    if (ref !== undefined) refs.push(ref)
  }
  return refs
}

type Pages = { readonly kind: 'whole'; readonly refs: readonly ReleaseRecordRef[] } | { readonly kind: 'expired' }

const readPages = async (
  cluster: MemberCluster,
  path: string,
  selector: string,
  isPaged: boolean,
  signal: AbortSignal,
): Outcome<RecordFailure, Pages> => {
  const refs: ReleaseRecordRef[] = []
  const tooMany = left(ClusterUnreachable(`The cluster holds more than ${mostPages * pageSize} release records.`))
  let continueAt: string | undefined
  let bytesLeft = limits.inAll
  for (let page = 0; page < mostPages; page += 1) {
    if (bytesLeft <= 0)
      return left(ClusterUnreachable('The list of release records of the cluster is larger than can be read.'))
    const limitBytes = Math.min(bytesLeft, isPaged ? limits.page : limits.whole)
    const request = {
      method: 'GET',
      target: targetOf(path, selector, isPaged, continueAt),
      headers: [['accept', metadataOnly]],
      limitBytes,
      isReduced: true,
    } as const
    const asked = await cluster.request(request, signal)
    if (isLeft(asked)) return asked
    bytesLeft -= asked.right.text.length
    if (asked.right.status === 410 && isPaged) return right({ kind: 'expired' })
    if (asked.right.status !== 200) return left(refusalOf(asked.right))
    const { json } = asked.right
    if (!isList(json)) return left(ClusterUnreachable('The cluster answered something that is no list of objects.'))
    refs.push(...(await refsOf(listAt(json, 'items'))))
    if (refs.length > mostPages * pageSize) return tooMany
    continueAt = textAt(json, 'metadata', 'continue')
    if (continueAt === '') return right({ kind: 'whole', refs })
  }
  return tooMany
}

/** Returns the labels of all records, read in pages of metadata. A list that expires is started again. */
export const readIndex: ReleaseStore['index'] = async (cluster, driver, { namespace, name }, signal) => {
  // No label can have another value, and a comma would be parsed as a second selector.
  if (name !== undefined && !labelValue.test(name)) return right([])
  const path = collectionPath(driver, namespace)
  const selector = name === undefined ? 'owner=helm' : `owner=helm,name=${name}`
  for (let attempt = 0; attempt <= pagedAttempts; attempt += 1) {
    const pages = await readPages(cluster, path, selector, attempt < pagedAttempts, signal)
    if (isLeft(pages)) return pages
    if (pages.right.kind === 'whole') return right(pages.right.refs)
  }
  return left(ClusterUnreachable('The list of release records changes faster than it can be read.'))
}
