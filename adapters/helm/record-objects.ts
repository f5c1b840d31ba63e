import * as t from 'io-ts'
import { isRight } from 'fp-ts/lib/Either.js'
import type { ClusterAnswer } from '../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import { RecordsRefused } from '../../core/packages/ports.ts'
import { releaseStatuses, type ReleaseRecordRef, type ReleaseStatus, type StorageDriver } from '../../core/packages/types.ts'

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
