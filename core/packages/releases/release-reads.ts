import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterMissing, ClusterNotConnected, MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { NameFilter, NamePatterns, RecordFailure, ReleaseStore, StorageDriverOf } from '../ports.ts'
import { ListOptionRefused, RecordUnreadable, ReleaseAmbiguous, ReleaseMissing } from '../ports.ts'
import type { Release, ReleaseHeader, ReleaseRecordRef, ReleaseStatus, StorageDriver } from '../types.ts'
import { releaseStatuses } from '../types.ts'

/** The release that a request names. */
export interface ReleaseQuestion {
  readonly name: string
  /** Empty or absent means any namespace with a release of that name. */
  readonly namespace?: string | undefined
}

export type FindFailure = RecordFailure | Failure<'ReleaseMissing'> | Failure<'ReleaseAmbiguous'>

/** Maximum number of namespaces in a message. */
const mostNamed = 10

/**
 * Returns the stored revisions of one release, oldest first, at least one. Without a namespace it searches all of them,
 * which needs the right to list in all namespaces. Failures besides those of reading: ReleaseMissing, ReleaseAmbiguous.
 */
export const makeFindRelease =
  ({ releases }: { readonly releases: Pick<ReleaseStore, 'index'> }) =>
  async (
    cluster: MemberCluster,
    driver: StorageDriver,
    { name, namespace = '' }: ReleaseQuestion,
    signal: AbortSignal,
  ): Outcome<FindFailure, readonly ReleaseRecordRef[]> => {
    const found = await releases.index(cluster, driver, namespace === '' ? { name } : { name, namespace }, signal)
    if (isLeft(found)) return found
    const namespaces = [...new Set(found.right.map((ref) => ref.namespace))].sort()
    const [only, ...others] = namespaces
    if (only === undefined)
      return left(
        ReleaseMissing(
          namespace === ''
            ? `There is no release ${name}.`
            : `There is no release ${name} in the namespace ${namespace}.`,
        ),
      )
    if (others.length > 0) {
      const named = namespaces.slice(0, mostNamed).join(', ') + (namespaces.length > mostNamed ? ', …' : '')
      return left(
        ReleaseAmbiguous(
          `There are releases ${name} in ${namespaces.length} namespaces: say which one is meant by the ` +
            `parameter namespace (${named}).`,
        ),
      )
    }
    return right([...found.right].sort((a, b) => a.version - b.version))
  }

/** Returns the record of a revision; the newest one if the version is absent, 0 or negative. */
const revisionOf = (refs: readonly ReleaseRecordRef[], version = 0): ReleaseRecordRef | undefined =>
  version <= 0 ? refs.at(-1) : refs.find((ref) => ref.version === version)

/** List options, named as in Helm. Absent means false, 0 or empty. */
export interface ReleaseListOptions {
  readonly all?: boolean | undefined
  /** Empty means all namespaces. */
  readonly namespace?: string | undefined
  readonly sort?: string | number | undefined
  readonly byDate?: boolean | undefined
  readonly sortReverse?: boolean | undefined
  /** 0 means no limit. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** A pattern that matches anywhere in the name. */
  readonly filter?: string | undefined
  readonly uninstalled?: boolean | undefined
  readonly superseded?: boolean | undefined
  readonly uninstalling?: boolean | undefined
  readonly deployed?: boolean | undefined
  readonly failed?: boolean | undefined
  readonly pending?: boolean | undefined
}

export type ReleaseOrder = 'name' | 'name-desc' | 'date' | 'date-desc'

const orders: ReadonlyMap<string, ReleaseOrder> = new Map([
  ['', 'name'],
  ['0', 'name'],
  ['name', 'name'],
  ['bynameasc', 'name'],
  ['1', 'name-desc'],
  ['name-desc', 'name-desc'],
  ['bynamedesc', 'name-desc'],
  ['2', 'date'],
  ['date', 'date'],
  ['bydateasc', 'date'],
  ['3', 'date-desc'],
  ['date-desc', 'date-desc'],
  ['bydatedesc', 'date-desc'],
])

/** Returns the requested order; `byDate` and `sortReverse` override `sort`, as Helm's flags do. @internal */
export const orderOf = ({
  sort = '',
  byDate,
  sortReverse,
}: ReleaseListOptions): Either<Failure<'ListOptionRefused'>, ReleaseOrder> => {
  const named = orders.get(String(sort).toLowerCase())
  if (named === undefined)
    return left(
      ListOptionRefused(
        'The option sort is one of name, name-desc, date, date-desc, or 1 (name descending), 2 (date ' +
          'ascending), 3 (date descending).',
      ),
    )
  if (byDate === true) return right(sortReverse === true ? 'date-desc' : 'date')
  return right(sortReverse === true ? 'name-desc' : named)
}

/**
 * Returns the statuses to show: the requested ones, else deployed and failed; `all` means every known status.
 *
 * @internal
 */
export const shownStatuses = (options: ReleaseListOptions): ReadonlySet<ReleaseStatus> => {
  if (options.all === true) return new Set(releaseStatuses.filter((status) => status !== 'unknown'))
  const single = (['deployed', 'uninstalled', 'uninstalling', 'failed', 'superseded'] as const).filter(
    (status) => options[status] === true,
  )
  const pending = options.pending === true ? (['pending-install', 'pending-upgrade', 'pending-rollback'] as const) : []
  const named = [...single, ...pending]
  return new Set<ReleaseStatus>(named.length === 0 ? ['deployed', 'failed'] : named)
}

const keyOf = ({ namespace, name }: ReleaseRecordRef): string => `${namespace}/${name}`

/** Returns the newest revision of each release. */
const newestOf = (refs: readonly ReleaseRecordRef[]): readonly ReleaseRecordRef[] => {
  const newest = new Map<string, ReleaseRecordRef>()
  for (const ref of refs) {
    const kept = newest.get(keyOf(ref))
    if (kept === undefined || kept.version < ref.version) newest.set(keyOf(ref), ref)
  }
  return [...newest.values()]
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byName = (a: ReleaseRecordRef, b: ReleaseRecordRef): number =>
  byText(a.name, b.name) || byText(a.namespace, b.namespace) || a.version - b.version

/**
 * Returns the records of these names that a list shows, by name. The newest revision is determined before filtering by
 * status, as in `helm list`.
 *
 * @internal
 */
export const selectRecords = (
  refs: readonly ReleaseRecordRef[],
  options: ReleaseListOptions,
  names: ReadonlySet<string>,
): readonly ReleaseRecordRef[] => {
  const statuses = shownStatuses(options)
  const named = refs.filter(({ name }) => names.has(name))
  const isOnlySuperseded = statuses.size === 1 && statuses.has('superseded')
  const candidates = isOnlySuperseded ? named : newestOf(named)
  return candidates.filter(({ status }) => statuses.has(status)).sort(byName)
}

/**
 * Returns when a release was last deployed, in whole seconds since the epoch; undefined if the record has no date.
 *
 * @internal
 */
export const lastDeployedSeconds = ({ info }: Pick<ReleaseHeader, 'info'>): number | undefined => {
  const text = info['last_deployed']
  const milliseconds = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000)
}

/**
 * Sorts by date, oldest first; releases of the same second keep their order. Releases without a date come first.
 *
 * @internal
 */
export const sortByDate = <H extends Pick<ReleaseHeader, 'info'>>(headers: readonly H[]): readonly H[] =>
  headers
    .map((header) => ({ header, at: lastDeployedSeconds(header) ?? Number.MIN_SAFE_INTEGER }))
    .sort((a, b) => a.at - b.at)
    .map(({ header }) => header)

/** Returns the part of a list that `offset` and `limit` select. @internal */
export const sliceOf = <A>(items: readonly A[], { offset = 0, limit = 0 }: ReleaseListOptions): readonly A[] =>
  items.slice(offset, limit > 0 ? offset + limit : undefined)

type OpenFailure = ReturnType<typeof ClusterMissing> | ReturnType<typeof ClusterNotConnected>
type ListRefusal = Failure<'FilterRefused'> | Failure<'ListOptionRefused'>

/** Rows of a list: headers, or whole releases if requested. */
export type ReleaseRows = readonly (ReleaseHeader | Release)[]

/** Default number of revisions in a history, as in Helm. */
const usualHistory = 256
/** Number of records that are read concurrently when whole releases are requested. */
const readAtOnce = 8
/** Maximum characters of the whole releases in one response: several times what the largest clusters contain. */
const mostChars = 128 * 1024 * 1024

export interface ReleaseReadDeps {
  readonly memberClusters: MemberClusters
  readonly releases: ReleaseStore
  readonly driverOf: StorageDriverOf
  readonly patterns: NamePatterns
}

/** Returns the approximate length of a value as JSON. */
const charsOf = (value: Json | undefined): number => {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let chars = 2
  for (const [key, item] of Object.entries(value as FreeObject)) chars += key.length + charsOf(item)
  return chars
}

export interface ListReleasesInput {
  readonly grant: AccessGrant
  readonly options: ReleaseListOptions
  /** Returns whole releases instead of headers. */
  readonly isFull: boolean
}

export interface ReleaseHistoryInput {
  readonly grant: AccessGrant
  readonly release: ReleaseQuestion
  /** 256 unless it is at least 1. */
  readonly max: number | undefined
  /** Returns whole releases instead of headers. */
  readonly isFull: boolean
}

export interface ReleaseContentInput {
  readonly grant: AccessGrant
  readonly release: ReleaseQuestion
  readonly version: number | undefined
}

const everyName: NameFilter = async (names) => names

const revisionKey = (key: { readonly namespace: string; readonly name: string; readonly version: number }): string =>
  `${key.namespace}/${key.name}/${key.version}`

interface Opened {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
}

/** Reads of releases on one member cluster, as the caller. */
export const makeReleaseReads = (deps: ReleaseReadDeps) => {
  const find = makeFindRelease(deps)

  const open = async (call: SignedInCall<never>, grant: AccessGrant): Outcome<OpenFailure, Opened> => {
    const cluster = await deps.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : right({ cluster: cluster.right, driver: await deps.driverOf(cluster.right) })
  }

  const wholeOnes = async (
    { cluster, driver }: Opened,
    refs: readonly ReleaseRecordRef[],
    signal: AbortSignal,
  ): Outcome<RecordFailure, readonly Release[]> => {
    const found: Release[] = []
    let room = mostChars
    for (let at = 0; at < refs.length; at += readAtOnce) {
      const read = await Promise.all(
        refs.slice(at, at + readAtOnce).map((ref) => deps.releases.read(cluster, driver, ref, signal)),
      )
      for (const one of read) {
        if (!isLeft(one)) {
          room -= charsOf(one.right as unknown as Json)
          if (room < 0)
            return left(
              RecordUnreadable(
                'The releases are larger together than one answer can be. Ask for fewer, or without `full`.',
              ),
            )
          found.push(one.right)
        }
        // As for headers: records that no longer exist, or only have the labels of a record, are skipped.
        else if (one.left.tag !== 'ReleaseMissing' && one.left.tag !== 'RecordUnreadable') return left(one.left)
      }
    }
    return right(found)
  }

  const rowsOf = (
    opened: Opened,
    refs: readonly ReleaseRecordRef[],
    isFull: boolean,
    signal: AbortSignal,
  ): Outcome<RecordFailure, ReleaseRows> =>
    isFull ? wholeOnes(opened, refs, signal) : deps.releases.headers(opened.cluster, opened.driver, refs, signal)

  /** Lists releases as `helm list` does: filter, newest revisions, statuses, order, offset and limit. */
  const list = async (
    call: SignedInCall<never>,
    { grant, options, isFull }: ListReleasesInput,
  ): Outcome<OpenFailure | RecordFailure | ListRefusal, ReleaseRows> => {
    const order = orderOf(options)
    if (isLeft(order)) return order
    const filter =
      options.filter === undefined || options.filter === '' ? right(everyName) : deps.patterns.compile(options.filter)
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
    if (order.right === 'name' || order.right === 'name-desc')
      return rowsOf(opened.right, sliceOf(byName, options), isFull, call.signal)
    const dated = await datedRefs(opened.right, selected, call.signal)
    if (isLeft(dated)) return dated
    const ordered = order.right === 'date' ? dated.right : [...dated.right].reverse()
    return rowsOf(opened.right, sliceOf(ordered, options), isFull, call.signal)
  }

  const datedRefs = async (
    { cluster, driver }: Opened,
    refs: readonly ReleaseRecordRef[],
    signal: AbortSignal,
  ): Outcome<RecordFailure, readonly ReleaseRecordRef[]> => {
    const headers = await deps.releases.headers(cluster, driver, refs, signal)
    if (isLeft(headers)) return headers
    const byKey = new Map(refs.map((ref) => [revisionKey(ref), ref]))
    return right(sortByDate(headers.right).flatMap((header) => byKey.get(revisionKey(header)) ?? []))
  }

  /** Returns the newest `max` stored revisions of one release, oldest first. */
  const history = async (
    call: SignedInCall<never>,
    { grant, release, max = usualHistory, isFull }: ReleaseHistoryInput,
  ): Outcome<OpenFailure | FindFailure, ReleaseRows> => {
    const opened = await open(call, grant)
    if (isLeft(opened)) return opened
    const refs = await find(opened.right.cluster, opened.right.driver, release, call.signal)
    if (isLeft(refs)) return refs
    return rowsOf(opened.right, refs.right.slice(-(max > 0 ? max : usualHistory)), isFull, call.signal)
  }

  /** Returns one whole revision; the newest one if the version is absent, 0 or negative. */
  const content = async (
    call: SignedInCall<never>,
    { grant, release, version }: ReleaseContentInput,
  ): Outcome<OpenFailure | FindFailure, Release> => {
    const opened = await open(call, grant)
    if (isLeft(opened)) return opened
    const refs = await find(opened.right.cluster, opened.right.driver, release, call.signal)
    if (isLeft(refs)) return refs
    const ref = revisionOf(refs.right, version)
    if (ref === undefined) return left(ReleaseMissing(`The release ${release.name} has no stored revision ${version}.`))
    return deps.releases.read(opened.right.cluster, opened.right.driver, ref, call.signal)
  }

  return { list, history, content }
}
