import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { LRUCache } from 'lru-cache'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { mapWithin } from '../../../core/kernel/concurrency.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import type { RecordFailure, ReleaseStore } from '../../../core/packages/ports.ts'
import { RecordChanged, RecordUnreadable, ReleaseMissing } from '../../../core/packages/ports.ts'
import type { ReleaseHeader, ReleaseKey, ReleaseRecordRef, StorageDriver } from '../../../core/packages/types.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import { makeBoundedThreads, WorkStopped } from '../../outbound/bounded-threads.ts'
import { JsonUnreadable } from '../../outbound/json-pieces.ts'
import { makeJsonReader } from '../../outbound/json-reader.ts'
import { amendInfo, headerOfBegin } from './record-members.ts'
import type { RecordObject } from './record-objects.ts'
import { objectPath, orUnreadable, payloadOf, readIndex, readObject, refusalOf } from './record-objects.ts'
import {
  headerOf,
  pack,
  parseRecord,
  PayloadUnreadable,
  releaseOf,
  smallRecordBytes,
  unpack,
  unpackedSize,
  unpackSync,
} from './record-payload.ts'
import { makeTimeSlices } from '../../outbound/time-slices.ts'
import { programUrl } from '../../system/processes.ts'

/** Headers by cluster record, object and resourceVersion. Under one key the header never changes. */
export interface HeaderCache {
  find(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): ReleaseHeader | undefined
  /** Stores a header and returns its length as JSON. */
  keep(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef, header: ReleaseHeader): number
}

/**
 * The key has the id of the cluster record, not the cluster's UID: the owner of an imported cluster could make it
 * report another cluster's UID.
 * @param limitChars of all headers as JSON; the least recently used are removed first.
 *
 * @internal
 */
export const makeHeaderCache = (limitChars: number): HeaderCache => {
  const kept = new LRUCache<string, ReleaseHeader>({ maxSize: limitChars })
  const keyOf = ({ id }: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): string =>
    `${id} ${ref.uid} ${ref.resourceVersion}`

  return {
    find: (cluster, ref) => kept.get(keyOf(cluster, ref)),
    keep(cluster, ref, header) {
      const chars = toWireJson(header).length
      kept.set(keyOf(cluster, ref), header, { size: chars })
      return chars
    },
  }
}

/** Objects that one list fetches concurrently from one cluster: a quarter of the connections to it. */
const atOnce = 16
/** Characters of all headers that one list fetches: about twenty thousand headers of typical length. */
const mostChars = 64 * 1024 * 1024

interface HeaderReading {
  readonly cache: HeaderCache
  readonly decoder: HeaderDecoder
}

/** A record that could not be read now is a failure. Without it a list would look whole. */
const unlessStopped = async <F extends Failure, A>(
  work: () => Outcome<F, A>,
): Outcome<F | Failure<'RecordUnreadable'>, A> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WorkStopped)) throw error
    return left(RecordUnreadable(`A release record of the cluster could not be read. ${error.message}`))
  }
}

/**
 * Fetches one header. Returns undefined if the object no longer exists or only has the labels of a record, so that
 * neither fails the whole list.
 */
const fetchHeader = async (
  { cache, decoder }: HeaderReading,
  cluster: MemberCluster,
  driver: StorageDriver,
  ref: ReleaseRecordRef,
  signal: AbortSignal,
): Outcome<RecordFailure, { readonly header: ReleaseHeader; readonly chars: number } | undefined> => {
  const object = await readObject(cluster, driver, ref, signal)
  if (isLeft(object))
    return object.left.tag === 'ReleaseMissing' || object.left.tag === 'RecordUnreadable'
      ? right(undefined)
      : left(object.left)
  const { uid, resourceVersion } = object.right.metadata
  const got = await unlessStopped(async () => {
    const header = await orUnreadable(ref, async () => decoder.decode(payloadOf(driver, object.right), ref, signal))
    return right(isLeft(header) ? undefined : header.right)
  })
  if (isLeft(got)) return got
  return right(
    got.right === undefined
      ? undefined
      : { header: got.right, chars: cache.keep(cluster, { ...ref, uid, resourceVersion }, got.right) },
  )
}

/** ReleaseStore.headers: cached headers, and the others by a bounded number of concurrent requests. */
const makeReadHeaders =
  (reading: HeaderReading): ReleaseStore['headers'] =>
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
      return chars <= mostChars
        ? right(undefined)
        : left(
            RecordUnreadable(
              'The release records of the cluster are larger than one list can be. Ask for fewer, by ' +
                'namespace, limit or filter.',
            ),
          )
    }
    const fetchOne = async (at: number): Promise<void> => {
      if (failed !== undefined) return
      try {
        const taken = take(at, await fetchHeader(reading, cluster, driver, refs[at] as ReleaseRecordRef, either))
        if (!isLeft(taken)) return
        failed ??= taken.left
      } catch (error) {
        // The wait for a thread ends with the others.
        if (failed === undefined) throw error
      } finally {
        if (failed !== undefined) stop.abort()
      }
    }
    await mapWithin(missing, atOnce, fetchOne)
    return failed === undefined ? right(found.filter((header) => header !== undefined)) : left(failed)
  }

/** Characters of cached headers: about ten thousand headers. */
const cacheChars = 32 * 1024 * 1024

type Change = Parameters<ReleaseStore['amend']>[3]

const amended = async (
  driver: StorageDriver,
  object: RecordObject,
  amendedJson: string,
  change: Change,
  at: Date,
): Promise<RecordObject> => {
  const { labels = {} } = object.metadata
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: {
        ...labels,
        ...definedFields({ status: change.status }),
        modifiedAt: String(Math.floor(at.getTime() / 1000)),
      },
    },
    data: { ...object.data, release: await pack(driver, amendedJson) },
  }
}

export interface HelmReleaseStoreDeps {
  readonly clock: Clock
  /** The account for which records are read. Accounts get the threads in turn. */
  readonly account?: () => AccountKey
}

/** ReleaseStore over the records that Helm 3 and 4 keep in Secrets or ConfigMaps. */
export const makeHelmReleaseStore = ({
  clock,
  account = () => undefined,
}: HelmReleaseStoreDeps): ReleaseStore & { load(): PoolLoad; close(): Promise<void> } => {
  const decoder = makeHeaderDecoder(account)
  const json = makeJsonReader()

  /** Parses a whole record. A large one is parsed on a thread. Throws PayloadUnreadable. */
  const parseWhole = async (text: Buffer, signal: AbortSignal): Promise<unknown> => {
    const value = await json.parse(text, account(), signal).catch((error: unknown) => {
      throw error instanceof JsonUnreadable ? new PayloadUnreadable(error.message) : error
    })
    if (value === undefined) throw new PayloadUnreadable('no JSON')
    return value
  }

  return {
    index: readIndex,
    headers: makeReadHeaders({ cache: makeHeaderCache(cacheChars), decoder }),

    async read(cluster, driver, ref, signal) {
      const object = await readObject(cluster, driver, ref, signal)
      if (isLeft(object)) return object
      return orUnreadable(ref, async () =>
        releaseOf(await parseWhole(await unpack(payloadOf(driver, object.right)), signal), ref),
      )
    },

    async amend(cluster, driver, ref, change, signal) {
      const changed = left(
        RecordChanged(
          `The record of the release ${ref.name}, revision ${ref.version}, was changed by another request.`,
        ),
      )
      const object = await readObject(cluster, driver, ref, signal)
      if (isLeft(object)) return object
      const { uid, resourceVersion } = object.right.metadata
      if (uid !== ref.uid || resourceVersion !== ref.resourceVersion) return changed
      const amend = async () =>
        amended(
          driver,
          object.right,
          await decoder.amend(payloadOf(driver, object.right), ref, change, signal),
          change,
          clock.now(),
        )
      const next = await unlessStopped(() => orUnreadable(ref, amend))
      if (isLeft(next)) return next
      // An update, not a patch: Helm itself requires the right to update.
      const written = await cluster.request(
        {
          method: 'PUT',
          target: objectPath(driver, ref),
          headers: [['content-type', 'application/json']],
          body: Buffer.from(toWireJson(next.right)),
        },
        signal,
      )
      if (!isRight(written)) return written
      if (written.right.status === 409) return changed
      if (written.right.status === 404)
        return left(ReleaseMissing(`The revision ${ref.version} of the release ${ref.name} is no longer there.`))
      return written.right.status === 200 ? right(undefined) : left(refusalOf(written.right))
    },

    load: () => decoder.load(),
    close: async () => {
      await Promise.all([decoder.close(), json.close()])
    },
  }
}

type Expected = ReleaseKey & { readonly version: number }

export interface RecordTask {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly expected: Expected
  /** If absent, the header is read. */
  readonly change?: Change
}
export type RecordAnswer =
  | { readonly header: ReleaseHeader }
  | { readonly amended: string }
  | { readonly unreadable: string }

/**
 * Decodes headers of packed records without blocking the event loop. It reads the start of the record if that is
 * enough, otherwise the whole record: small ones in slices, large ones on a thread.
 */
interface HeaderDecoder {
  /**
   * Rejects with PayloadUnreadable, with WorkStopped if the record could not be read now, and with what AccountLimiter
   * rejects with. The signal ends the wait for a thread.
   */
  decode(bytes: Buffer, expected: Expected, signal?: AbortSignal): Promise<ReleaseHeader>
  /** Returns the JSON of a record with another status or description. Rejects as `decode` does. */
  amend(bytes: Buffer, expected: Expected, change: Change, signal?: AbortSignal): Promise<string>
  load(): PoolLoad
  close(): Promise<void>
}

const program = programUrl('./header-thread', import.meta.url)
const sliceMilliseconds = 4
/** A record unpacks to at most 32 MiB. */
const threadLimits = {
  pool: 'helm-records',
  threads: 2,
  perAccount: 1,
  waitingPerAccount: 64,
  bytesPerAccount: 64 * 1024 * 1024,
  bytesInAll: 192 * 1024 * 1024,
  waitMilliseconds: 30_000,
  jobMilliseconds: 10_000,
  heapMegabytes: 512,
  idleMilliseconds: 60_000,
}

/** @param account the account for which a record is read. @internal */
export const makeHeaderDecoder = (account: () => AccountKey = () => undefined): HeaderDecoder => {
  const slices = makeTimeSlices(sliceMilliseconds)
  const threads = makeBoundedThreads({ program, ...threadLimits })

  const aside = async (
    bytes: Buffer,
    expected: Expected,
    signal: AbortSignal | undefined,
    change?: Change,
  ): Promise<Exclude<RecordAnswer, { readonly unreadable: string }>> => {
    const copy = new Uint8Array(bytes)
    const task: RecordTask = { bytes: copy, expected, ...definedFields({ change }) }
    const answer = (await threads.run({ account: account(), signal, moved: [copy.buffer] }, task)) as RecordAnswer
    if ('unreadable' in answer) throw new PayloadUnreadable(answer.unreadable)
    return answer
  }

  return {
    async decode(bytes, expected, signal) {
      const isSmall = unpackedSize(bytes) <= smallRecordBytes
      const whole = (): ReleaseHeader => headerOf(parseRecord(unpackSync(bytes).toString()), expected)
      const header = await slices.run(() => headerOfBegin(bytes, expected) ?? (isSmall ? whole() : undefined))
      if (header !== undefined) return header
      const answer = await aside(bytes, expected, signal)
      if (!('header' in answer)) throw new Error('a thread returned no header')
      return answer.header
    },
    async amend(bytes, expected, change, signal) {
      if (unpackedSize(bytes) <= smallRecordBytes) {
        return slices.run(() => {
          const text = unpackSync(bytes).toString()
          headerOf(parseRecord(text), expected)
          return amendInfo(text, change)
        })
      }
      const answer = await aside(bytes, expected, signal, change)
      if (!('amended' in answer)) throw new Error('a thread returned no record')
      return answer.amended
    },
    load: () => threads.load(),
    close: () => threads.close(),
  }
}
