import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { ClusterAnswer, MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import type { RecordFailure, ReleaseStore } from '../../../core/packages/ports.ts'
import { RecordsRefused, RecordUnreadable, ReleaseMissing } from '../../../core/packages/ports.ts'
import type { ReleaseRecordRef, ReleaseStatus, StorageDriver } from '../../../core/packages/types.ts'
import { releaseStatuses } from '../../../core/packages/types.ts'
import { packedBytes, PayloadUnreadable } from './record-payload.ts'

const plurals: Readonly<Record<StorageDriver, string>> = { Secret: 'secrets', ConfigMap: 'configmaps' }

/** Of a namespace, or of all of them. */
export const collectionPath = (driver: StorageDriver, namespace?: string): string =>
  namespace === undefined ? `/api/v1/${plurals[driver]}` : `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plurals[driver]}`

export const objectPath = (driver: StorageDriver, { namespace, objectName }: Pick<ReleaseRecordRef, 'namespace' | 'objectName'>): string =>
  `${collectionPath(driver, namespace)}/${encodeURIComponent(objectName)}`

const Metadata = t.intersection([
  t.type({ name: t.string, namespace: t.string, uid: t.string, resourceVersion: t.string }),
  t.partial({ labels: t.record(t.string, t.string) }),
])

/** One page of objects, or of their metadata alone; of the latter a server says `null` where there are none. */
export const ObjectList = t.intersection([
  t.type({ items: t.union([t.array(t.type({ metadata: t.unknown })), t.null]) }),
  t.partial({ metadata: t.partial({ continue: t.string }) }),
])

/** A Secret or ConfigMap whole, other keys kept. */
export const RecordObject = t.intersection([t.type({ metadata: Metadata }), t.partial({ data: t.record(t.string, t.string) })])
export type RecordObject = t.TypeOf<typeof RecordObject>

const statusOf = (word: string | undefined): ReleaseStatus => releaseStatuses.find((status) => status === word) ?? 'unknown'

/** Names, UIDs and versions of Kubernetes are no longer; a cluster that answers longer ones would fill our memory with them. */
const longestWord = 253

/** The record that an object's labels tell of; undefined for one that merely wears some of them. */
export const refOf = (metadata: unknown): ReleaseRecordRef | undefined => {
  const decoded = Metadata.decode(metadata)
  if (!isRight(decoded)) return undefined
  const { name: objectName, namespace, uid, resourceVersion, labels = {} } = decoded.right
  const { owner, name, version = '', status } = labels
  if (owner !== 'helm' || name === undefined || name === '' || !/^[1-9][0-9]{0,9}$/.test(version)) return undefined
  if ([objectName, namespace, uid, resourceVersion, name].some(({ length }) => length > longestWord)) return undefined
  return { namespace, name, version: Number(version), status: statusOf(status), objectName, uid, resourceVersion }
}

const longestWords = 500

/** What the cluster said about its refusal, for people. */
const wordsOf = ({ json, text }: ClusterAnswer): string => {
  const message = (json as { readonly message?: unknown } | undefined)?.message
  const words = typeof message === 'string' ? message : text
  return words.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim().slice(0, longestWords)
}

/** Why a request for records was not served: the caller may not, or the cluster cannot. */
export const refusalOf = (answer: ClusterAnswer): ReturnType<typeof RecordsRefused> | ReturnType<typeof ClusterUnreachable> =>
  answer.status === 403
    ? RecordsRefused(`The cluster does not let you at its release records: ${wordsOf(answer)}`)
    : ClusterUnreachable(`The cluster answered ${answer.status} to a request for release records: ${wordsOf(answer)}`)

/** No object of Kubernetes is larger: 1 MiB of data, in base64, with its metadata. */
const limitBytes = 4 * 1024 * 1024

export const unreadable = ({ namespace, objectName }: ReleaseRecordRef): Failure<'RecordUnreadable'> =>
  RecordUnreadable(`The object ${objectName} in the namespace ${namespace} is no release record that can be read.`)

/** One object with its data. Failures beside those of reading: ReleaseMissing when it is gone. */
export const readObject = async (
  cluster: MemberCluster,
  driver: StorageDriver,
  ref: ReleaseRecordRef,
  signal: AbortSignal,
): Outcome<RecordFailure | Failure<'ReleaseMissing'>, RecordObject> => {
  const asked = await cluster.request({ method: 'GET', target: objectPath(driver, ref), limitBytes }, signal)
  if (isLeft(asked)) return asked
  if (asked.right.status === 404) return left(ReleaseMissing(`The revision ${ref.version} of the release ${ref.name} is no longer there.`))
  if (asked.right.status !== 200) return left(refusalOf(asked.right))
  const object = RecordObject.decode(asked.right.json)
  return isRight(object) ? object : left(unreadable(ref))
}

/** The packed record of an object. Throws PayloadUnreadable. */
export const payloadOf = (driver: StorageDriver, { data }: RecordObject): Buffer => {
  const text = data?.['release']
  if (text === undefined || text === '') throw new PayloadUnreadable('no record')
  return packedBytes(driver, text)
}

/** Answers what `work` made, or that the record cannot be read when it threw PayloadUnreadable. */
export const orUnreadable = async <A>(ref: ReleaseRecordRef, work: () => Promise<A>): Outcome<Failure<'RecordUnreadable'>, A> => {
  try {
    return right(await work())
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error
    return left(unreadable(ref))
  }
}

/** The content of the objects stays in the cluster. */
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const pageSize = 500
/** Beyond it nobody would read the list, and memory has an end. */
const mostPages = 200
/** A page of 500 objects' metadata, or of all of it where pages kept expiring. */
const indexLimitBytes = 32 * 1024 * 1024
/** A list that changes so fast that its pages expire twice is asked for in one piece. */
const pagedAttempts = 2

const labelValue = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

const targetOf = (path: string, selector: string, isPaged: boolean, continueAt: string | undefined): string => {
  const query = new URLSearchParams({ labelSelector: selector })
  if (isPaged) query.set('limit', String(pageSize))
  if (continueAt !== undefined) query.set('continue', continueAt)
  return `${path}?${query.toString()}`
}

type Pages = { readonly kind: 'whole'; readonly refs: readonly ReleaseRecordRef[] } | { readonly kind: 'expired' }

const readPages = async (cluster: MemberCluster, path: string, selector: string, isPaged: boolean, signal: AbortSignal): Outcome<RecordFailure, Pages> => {
  const refs: ReleaseRecordRef[] = []
  const tooMany = left(ClusterUnreachable(`The cluster holds more than ${mostPages * pageSize} release records.`))
  let continueAt: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const asked = await cluster.request({ method: 'GET', target: targetOf(path, selector, isPaged, continueAt), headers: [['accept', metadataOnly]], limitBytes: indexLimitBytes }, signal)
    if (isLeft(asked)) return asked
    if (asked.right.status === 410 && isPaged) return right({ kind: 'expired' })
    if (asked.right.status !== 200) return left(refusalOf(asked.right))
    const list = ObjectList.decode(asked.right.json)
    if (!isRight(list)) return left(ClusterUnreachable('The cluster answered something that is no list of objects.'))
    for (const { metadata } of list.right.items ?? []) {
      const ref = refOf(metadata)
      if (ref !== undefined) refs.push(ref)
    }
    if (refs.length > mostPages * pageSize) return tooMany
    continueAt = list.right.metadata?.continue
    if (continueAt === undefined || continueAt === '') return right({ kind: 'whole', refs })
  }
  return tooMany
}

/** The labels of all records, by pages of metadata. A list that expired meanwhile begins anew. */
export const readIndex: ReleaseStore['index'] = async (cluster, driver, { namespace, name }, signal) => {
  // No label can have another value, and a comma would be read as a second selector.
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
