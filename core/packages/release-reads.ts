import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterMissing, ClusterNotConnected, MemberCluster, MemberClusters } from '../clusters/ports.ts'
import { makeFindRelease, revisionOf, type FindFailure, type ReleaseQuestion } from './find-release.ts'
import { RecordUnreadable, ReleaseMissing, type RecordFailure, type ReleaseStore, type StorageDriverOf } from './ports.ts'
import type { NameFilter, NamePatterns } from './read-ports.ts'
import { orderOf, selectRecords, sliceOf, sortByDate, type ReleaseListOptions } from './release-list.ts'
import type { Release, ReleaseHeader, ReleaseRecordRef, StorageDriver } from './types.ts'

type OpenFailure = ReturnType<typeof ClusterMissing> | ReturnType<typeof ClusterNotConnected>
type ListRefusal = Failure<'FilterRefused'> | Failure<'ListOptionRefused'>

/** Rows of a list: trimmed ones, or whole releases when they were asked for. */
export type ReleaseRows = readonly (ReleaseHeader | Release)[]

/** Revisions that a history shows when it is not told how many, as Helm's does. */
export const usualHistory = 256
/** Records that are read at once where whole releases are wanted. */
const readAtOnce = 8
/** Characters of the whole releases that one answer holds: several times what the largest clusters have. */
const mostChars = 128 * 1024 * 1024

export interface ReleaseReadDeps {
  readonly memberClusters: MemberClusters
  readonly releases: ReleaseStore
  readonly driverOf: StorageDriverOf
  readonly patterns: NamePatterns
}

/** About how long a value is as JSON. */
const charsOf = (value: Json | undefined): number => {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let chars = 2
  for (const [key, item] of Object.entries(value as FreeObject)) chars += key.length + charsOf(item)
  return chars
}

const everyName: NameFilter = async (names) => names

interface Opened {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
}

/** Reads of releases on one member cluster, as the caller. */
export const makeReleaseReads = (deps: ReleaseReadDeps) => {
  const find = makeFindRelease(deps)

  const open = async (call: SignedInCall, grant: AccessGrant): Outcome<OpenFailure, Opened> => {
    const cluster = await deps.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : right({ cluster: cluster.right, driver: await deps.driverOf(cluster.right) })
  }

  const wholeOnes = async ({ cluster, driver }: Opened, refs: readonly ReleaseRecordRef[], signal: AbortSignal): Outcome<RecordFailure, readonly Release[]> => {
    const found: Release[] = []
    let room = mostChars
    for (let at = 0; at < refs.length; at += readAtOnce) {
      const read = await Promise.all(refs.slice(at, at + readAtOnce).map((ref) => deps.releases.read(cluster, driver, ref, signal)))
      for (const one of read) {
        if (!isLeft(one)) {
          room -= charsOf(one.right as unknown as Json)
          if (room < 0) return left(RecordUnreadable('The releases are larger together than one answer can be. Ask for fewer, or without `full`.'))
          found.push(one.right)
        }
        // As in trimmed rows: what went away meanwhile, or only wears the labels, is no row.
        else if (one.left.tag !== 'ReleaseMissing' && one.left.tag !== 'RecordUnreadable') return left(one.left)
      }
    }
    return right(found)
  }

  const rowsOf = (opened: Opened, refs: readonly ReleaseRecordRef[], isFull: boolean, signal: AbortSignal): Outcome<RecordFailure, ReleaseRows> =>
    isFull ? wholeOnes(opened, refs, signal) : deps.releases.headers(opened.cluster, opened.driver, refs, signal)

  /** As `helm list`: filter, newest revisions, statuses, order, offset and limit. */
  const list = async (call: SignedInCall, grant: AccessGrant, options: ReleaseListOptions, isFull: boolean): Outcome<OpenFailure | RecordFailure | ListRefusal, ReleaseRows> => {
    const order = orderOf(options)
    if (isLeft(order)) return order
    const filter = options.filter === undefined || options.filter === '' ? right(everyName) : deps.patterns.compile(options.filter)
    if (isLeft(filter)) return filter
    const opened = await open(call, grant)
    if (isLeft(opened)) return opened
    const { cluster, driver } = opened.right
    const { namespace = '' } = options
    const index = await deps.releases.index(cluster, driver, namespace === '' ? {} : { namespace }, call.signal)
    if (isLeft(index)) return index
    const wanted = await filter.right(new Set(index.right.map(({ name }) => name)))
    const selected = selectRecords(index.right, options, wanted)
    const byName = order.right === 'name-desc' ? [...selected].reverse() : selected
    if (order.right === 'name' || order.right === 'name-desc') return rowsOf(opened.right, sliceOf(byName, options), isFull, call.signal)
    const dated = await datedRefs(opened.right, selected, call.signal)
    if (isLeft(dated)) return dated
    const ordered = order.right === 'date' ? dated.right : [...dated.right].reverse()
    return rowsOf(opened.right, sliceOf(ordered, options), isFull, call.signal)
  }

  const datedRefs = async ({ cluster, driver }: Opened, refs: readonly ReleaseRecordRef[], signal: AbortSignal): Outcome<RecordFailure, readonly ReleaseRecordRef[]> => {
    const headers = await deps.releases.headers(cluster, driver, refs, signal)
    if (isLeft(headers)) return headers
    const keyOf = (key: { readonly namespace: string; readonly name: string; readonly version: number }): string => `${key.namespace}/${key.name}/${key.version}`
    const byKey = new Map(refs.map((ref) => [keyOf(ref), ref]))
    return right(sortByDate(headers.right).flatMap((header) => byKey.get(keyOf(header)) ?? []))
  }

  /** The newest `max` stored revisions of one release, oldest first. */
  const history = async (
    call: SignedInCall,
    grant: AccessGrant,
    question: ReleaseQuestion,
    { max = usualHistory, isFull = false }: { readonly max?: number | undefined; readonly isFull?: boolean | undefined },
  ): Outcome<OpenFailure | FindFailure, ReleaseRows> => {
    const opened = await open(call, grant)
    if (isLeft(opened)) return opened
    const refs = await find(opened.right.cluster, opened.right.driver, question, call.signal)
    if (isLeft(refs)) return refs
    return rowsOf(opened.right, refs.right.slice(-(max > 0 ? max : usualHistory)), isFull, call.signal)
  }

  /** One whole revision: the newest for a version that is absent, 0 or below. */
  const content = async (call: SignedInCall, grant: AccessGrant, question: ReleaseQuestion, version: number | undefined): Outcome<OpenFailure | FindFailure, Release> => {
    const opened = await open(call, grant)
    if (isLeft(opened)) return opened
    const refs = await find(opened.right.cluster, opened.right.driver, question, call.signal)
    if (isLeft(refs)) return refs
    const ref = revisionOf(refs.right, version)
    if (ref === undefined) return left(ReleaseMissing(`The release ${question.name} has no stored revision ${version}.`))
    return deps.releases.read(opened.right.cluster, opened.right.driver, ref, call.signal)
  }

  return { list, history, content }
}
