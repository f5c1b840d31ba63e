import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { LRUCache } from 'lru-cache'
import pMap from 'p-map'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { Outcome } from '../../../core/kernel/failure.ts'
import type { RecordFailure, ReleaseStore } from '../../../core/packages/ports.ts'
import { RecordUnreadable } from '../../../core/packages/ports.ts'
import type { ReleaseHeader, ReleaseRecordRef, StorageDriver } from '../../../core/packages/types.ts'
import type { HeaderDecoder } from './header-decoder.ts'
import { orUnreadable, payloadOf, readObject } from './record-objects.ts'

/** Headers by cluster record, object and resourceVersion. Under one key the header never changes. */
export interface HeaderCache {
  find(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): ReleaseHeader | undefined
  /** Stores a header and returns its length as JSON. */
  keep(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef, header: ReleaseHeader): number
}

/**
 * The key has the id of the cluster record, not the cluster's UID: the owner of an imported cluster could make it report
 * another cluster's UID.
 * @param limitChars of all headers as JSON; the least recently used are removed first.
 */
export const makeHeaderCache = (limitChars: number): HeaderCache => {
  const kept = new LRUCache<string, ReleaseHeader>({ maxSize: limitChars })
  const keyOf = ({ id }: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): string => `${id} ${ref.uid} ${ref.resourceVersion}`

  return {
    find: (cluster, ref) => kept.get(keyOf(cluster, ref)),
    keep(cluster, ref, header) {
      const chars = JSON.stringify(header, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)).length
      kept.set(keyOf(cluster, ref), header, { size: chars })
      return chars
    },
  }
}

/** Objects that one list fetches concurrently from one cluster: a quarter of the connections to it. */
const atOnce = 16
/** Characters of all headers that one list fetches: about twenty thousand headers of typical length. */
const mostChars = 64 * 1024 * 1024

export interface HeaderReading {
  readonly cache: HeaderCache
  readonly decoder: HeaderDecoder
}

/**
 * Fetches one header. Returns undefined if the object no longer exists or only has the labels of a record, so that neither
 * fails the whole list.
 */
const fetchHeader = async (
  { cache, decoder }: HeaderReading,
  cluster: MemberCluster,
  driver: StorageDriver,
  ref: ReleaseRecordRef,
  signal: AbortSignal,
): Outcome<RecordFailure, { readonly header: ReleaseHeader; readonly chars: number } | undefined> => {
  const object = await readObject(cluster, driver, ref, signal)
  if (isLeft(object)) return object.left.tag === 'ReleaseMissing' || object.left.tag === 'RecordUnreadable' ? right(undefined) : left(object.left)
  const { uid, resourceVersion } = object.right.metadata
  const header = await orUnreadable(ref, async () => decoder.decode(payloadOf(driver, object.right), ref))
  if (isLeft(header)) return right(undefined)
  return right({ header: header.right, chars: cache.keep(cluster, { ...ref, uid, resourceVersion }, header.right) })
}

/** ReleaseStore.headers: cached headers, and the others by a bounded number of concurrent requests. */
export const makeReadHeaders = (reading: HeaderReading): ReleaseStore['headers'] =>
  async (cluster, driver, refs, signal) => {
    const found = refs.map((ref) => reading.cache.find(cluster, ref))
    const missing = refs.flatMap((_, at) => (found[at] === undefined ? [at] : []))
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    let failed: RecordFailure | undefined
    let chars = 0

    const take = (at: number, got: Awaited<ReturnType<typeof fetchHeader>>): Either<RecordFailure, void> => {
      if (isLeft(got)) return got
      found[at] = got.right?.header
      chars += got.right?.chars ?? 0
      return chars <= mostChars ? right(undefined) : left(RecordUnreadable('The release records of the cluster are larger than one list can be. Ask for fewer, by namespace, limit or filter.'))
    }
    const fetchOne = async (at: number): Promise<void> => {
      if (failed !== undefined) return
      const taken = take(at, await fetchHeader(reading, cluster, driver, refs[at] as ReleaseRecordRef, either))
      if (!isLeft(taken)) return
      failed ??= taken.left
      stop.abort()
    }
    await pMap(missing, fetchOne, { concurrency: atOnce })
    return failed === undefined ? right(found.filter((header) => header !== undefined)) : left(failed)
  }
