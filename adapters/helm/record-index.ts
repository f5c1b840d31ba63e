import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { ClusterUnreachable, type MemberCluster } from '../../core/clusters/ports.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { RecordFailure, ReleaseStore } from '../../core/packages/ports.ts'
import type { ReleaseRecordRef } from '../../core/packages/types.ts'
import { collectionPath, ObjectList, refOf, refusalOf } from './record-objects.ts'

/** The content of the objects stays in the cluster. */
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const pageSize = 500
/** Beyond it nobody would read the list, and memory has an end. */
const mostPages = 200
/** A page of 500 objects' metadata, or of all of it where pages kept expiring. */
const limitBytes = 32 * 1024 * 1024
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
    const asked = await cluster.request({ method: 'GET', target: targetOf(path, selector, isPaged, continueAt), headers: [['accept', metadataOnly]], limitBytes }, signal)
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
