import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { ListOptionRefused } from './read-ports.ts'
import { releaseStatuses, type ReleaseHeader, type ReleaseRecordRef, type ReleaseStatus } from './types.ts'

/** Options of a list, in Helm's words. Absent is false, 0 or nothing. */
export interface ReleaseListOptions {
  readonly all?: boolean | undefined
  /** Empty: all namespaces. */
  readonly namespace?: string | undefined
  readonly sort?: string | number | undefined
  readonly byDate?: boolean | undefined
  readonly sortReverse?: boolean | undefined
  /** 0: no limit. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Occurs in the name. */
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

/** The order that was asked for; `byDate` and `sortReverse` win over `sort`, as Helm's flags do. */
export const orderOf = ({ sort = '', byDate, sortReverse }: ReleaseListOptions): Either<Failure<'ListOptionRefused'>, ReleaseOrder> => {
  const named = orders.get(String(sort).toLowerCase())
  if (named === undefined) return left(ListOptionRefused("The option sort is one of name, name-desc, date, date-desc, or 1 (name descending), 2 (date ascending), 3 (date descending)."))
  if (byDate === true) return right(sortReverse === true ? 'date-desc' : 'date')
  return right(sortReverse === true ? 'name-desc' : named)
}

/** Statuses whose releases are shown: those that are named, else deployed and failed; `all` is every known one. */
export const shownStatuses = (options: ReleaseListOptions): ReadonlySet<ReleaseStatus> => {
  if (options.all === true) return new Set(releaseStatuses.filter((status) => status !== 'unknown'))
  const single = (['deployed', 'uninstalled', 'uninstalling', 'failed', 'superseded'] as const).filter((status) => options[status] === true)
  const pending = options.pending === true ? (['pending-install', 'pending-upgrade', 'pending-rollback'] as const) : []
  const named = [...single, ...pending]
  return new Set<ReleaseStatus>(named.length === 0 ? ['deployed', 'failed'] : named)
}

const keyOf = ({ namespace, name }: ReleaseRecordRef): string => `${namespace}/${name}`

/** The newest revision of each release. */
export const newestOf = (refs: readonly ReleaseRecordRef[]): readonly ReleaseRecordRef[] => {
  const newest = new Map<string, ReleaseRecordRef>()
  for (const ref of refs) {
    const kept = newest.get(keyOf(ref))
    if (kept === undefined || kept.version < ref.version) newest.set(keyOf(ref), ref)
  }
  return [...newest.values()]
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byName = (a: ReleaseRecordRef, b: ReleaseRecordRef): number => byText(a.name, b.name) || byText(a.namespace, b.namespace) || a.version - b.version

/** The records of these names that a list shows, by name. Which revisions are newest is decided before statuses count, as `helm list` does. */
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

/** When a release was last deployed, in whole seconds since the epoch; undefined where its record does not tell. */
export const lastDeployedSeconds = ({ info }: Pick<ReleaseHeader, 'info'>): number | undefined => {
  const text = info['last_deployed']
  const milliseconds = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000)
}

/** By date, oldest first; releases of one second stay in the order that they have. Those without a date come first. */
export const sortByDate = <H extends Pick<ReleaseHeader, 'info'>>(headers: readonly H[]): readonly H[] =>
  headers
    .map((header) => ({ header, at: lastDeployedSeconds(header) ?? Number.MIN_SAFE_INTEGER }))
    .sort((a, b) => a.at - b.at)
    .map(({ header }) => header)

/** The part of a list that `offset` and `limit` leave. */
export const sliceOf = <A>(items: readonly A[], { offset = 0, limit = 0 }: ReleaseListOptions): readonly A[] =>
  items.slice(offset, limit > 0 ? offset + limit : undefined)
