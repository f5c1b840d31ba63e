import { left, right } from 'fp-ts/lib/Either.js'
import type { PackedText } from '../../kernel/exchange.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { at, fromWireJson, isObject, listAt, toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { daysOfMonth, monthName, monthText, yearOf } from '../month.ts'
import type { MonthKey, UsageMonth } from '../types.ts'
import { csvHead, csvLayoutOf, csvOrigin, csvRows } from '../../formats/usage-csv.ts'
import type { StoredUsageView, UsageViewKey, UsageViewStore } from './ports.ts'
import { UsageViewMissing, kindsOfClusters } from './ports.ts'

/**
 * A view as it is answered. Reading its texts takes bounded memory, and no step of it more than a piece of the view.
 */
export interface UsageViewAnswer {
  readonly month: UsageMonth
  /** The product and view, as a part of a file name. */
  readonly name: string
  /** Of JSON. Packed texts are as they are stored. */
  json(): AsyncIterable<string | PackedText>
  /** The same JSON without packed texts. */
  plainJson(): AsyncIterable<string>
  csv(): AsyncIterable<string>
}

const missing = (month: MonthKey): Failure<'UsageViewMissing'> =>
  UsageViewMissing(`There is no such report of ${monthName(month)} ${yearOf(month)}.`)

export interface ReadViewInput {
  readonly ownerId: AccountId
  /** The name of the account, for the rows of CSV. */
  readonly account: string
  readonly month: MonthKey
  readonly key: UsageViewKey
  /** The newest revision if undefined. */
  readonly revision: number | undefined
  readonly filter: ViewFilter
}

const isEmpty = (filter: ViewFilter): boolean => Object.values(filter).every((value) => value === undefined)

/** Returns a view of a month. With a filter it has the matching items, and its totals are their sums. */
export const makeReadView =
  ({ views }: { readonly views: UsageViewStore }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, account, month, key, revision, filter }: ReadViewInput,
  ): Outcome<Failure<'UsageViewMissing'>, UsageViewAnswer> => {
    const isOfCluster = key.view === 'gks-usage-view' && filter.clusterUID !== undefined
    const view = await views.find(ownerId, month, isOfCluster ? { ...key, view: kindsOfClusters } : key, revision)
    if (view === undefined) return left(missing(month))
    const items = () => matchingItems(views, view, filter)
    const narrowed = () =>
      narrowedView({ ...view, head: view.head.replace(`"view":"${kindsOfClusters}"`, `"view":"${key.view}"`) }, items())
    const layout = csvLayoutOf(key, daysOfMonth(month))
    const origin = originOf(account, view.month)
    return right({
      month: view.month,
      name: `${key.product}-${key.view}`,
      json: () => (isEmpty(filter) ? wholeView(view, views.packedPieces(view)) : narrowed()),
      plainJson: () => (isEmpty(filter) ? wholeView(view, views.pieces(view)) : narrowed()),
      csv: () => csvOf(csvHead(layout), items(), (item) => csvRows(layout, item, origin)),
    })
  }

/** Returns the facts of the revision as the first members of a JSON object. */
const factsText = ({ revision, status, generatedAt }: UsageMonth): string =>
  `"revision":${revision},"status":"${status}","generatedAt":"${generatedAt.toISOString()}",`

const headText = ({ head, month }: StoredUsageView): string => `{${factsText(month)}${head.slice(1)}`

const wholeView = async function* <Piece>(
  view: StoredUsageView,
  pieces: AsyncIterable<Piece>,
): AsyncGenerator<string | Piece> {
  let before = headText(view)
  for await (const piece of pieces) {
    yield before
    yield piece
    before = ','
  }
  yield view.itemCount === 0 ? before + view.tail : view.tail
}

const itemsOf = (text: string): readonly FreeObject[] =>
  listAt({ items: fromWireJson(`[${text}]`) }, 'items').filter((item) => isObject(item))

/** Returns the items that match, piece by piece. */
const matchingItems = async function* (
  views: UsageViewStore,
  view: StoredUsageView,
  filter: ViewFilter,
): AsyncGenerator<readonly FreeObject[]> {
  const { clusterUID } = filter
  const isByCluster = view.key.view === kindsOfClusters
  for await (const text of views.pieces(view, clusterUID === undefined ? undefined : `${clusterUID}/`)) {
    if (!mayMatch(text, filter)) {
      // Pieces are in the order of clusters: the first one of only later clusters is behind all that match.
      if (clusterUID !== undefined && isBehind(text, clusterUID)) return
      continue
    }
    yield itemsOf(text).flatMap((item) => {
      const narrowed = narrowedItem(item, filter)
      if (narrowed === undefined) return []
      return [isByCluster ? withoutCluster(narrowed) : narrowed]
    })
  }
}

const firstCluster = /^\{"clusterUID":"([^"]*)"/

const isBehind = (text: string, clusterUid: string): boolean => {
  const first = firstCluster.exec(text)?.[1]
  return first !== undefined && first > clusterUid
}

/** Returns the totals of a stored view, all of them 0. */
const emptyTotals = ({ tail }: StoredUsageView): FreeObject => {
  const parsed = fromWireJson(`{"items":[${tail}`)
  const totals = isObject(parsed) ? parsed['totals'] : undefined
  return isObject(totals) ? zeroFigures(totals) : {}
}

const narrowedView = async function* (
  view: StoredUsageView,
  pieces: AsyncIterable<readonly FreeObject[]>,
): AsyncGenerator<string> {
  let totals = emptyTotals(view)
  let shown = 0
  let before = headText(view)
  for await (const items of pieces) {
    if (items.length === 0) continue
    shown += items.length
    totals = items.reduce(addFigures, totals)
    yield before + items.map(toWireJson).join(',')
    before = ','
  }
  // An item of an object has no number of objects.
  const counted = view.key.view.startsWith('object') ? { ...totals, objectCount: shown } : totals
  yield `${before === ',' ? '' : before}],"totals":${toWireJson(counted)}}`
}

/** What all rows of a file begin with. */
const originOf = (account: string, { month, revision, status }: StoredUsageView['month']): string =>
  csvOrigin({ account, month: monthText(month), revision, status })

const csvOf = async function* (
  head: string,
  pieces: AsyncIterable<readonly FreeObject[]>,
  rowsOf: (item: FreeObject) => string,
): AsyncGenerator<string> {
  yield head
  for await (const items of pieces) yield items.map(rowsOf).join('')
}

export interface ReadObjectInput {
  readonly ownerId: AccountId
  readonly account: string
  readonly month: MonthKey
  readonly key: UsageViewKey
  readonly revision: number | undefined
  readonly clusterUid: string
  readonly objectUid: string
}

/** Returns the item of an object in a view of a month, as a view with this one item. */
export const makeReadObject =
  ({ views }: { readonly views: UsageViewStore }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, account, month, key, revision, clusterUid, objectUid }: ReadObjectInput,
  ): Outcome<Failure<'UsageViewMissing'>, UsageViewAnswer> => {
    const view = await views.find(ownerId, month, key, revision)
    if (view === undefined) return left(missing(month))
    const item = await findObject(views, view, clusterUid, objectUid)
    if (item === undefined)
      return left(UsageViewMissing(`The report of ${monthName(month)} ${yearOf(month)} does not have this object.`))
    const layout = csvLayoutOf(key, daysOfMonth(month))
    const only = async function* (): AsyncGenerator<readonly FreeObject[]> {
      yield [item]
    }
    const json = () => narrowedView(view, only())
    return right({
      month: view.month,
      name: `${key.product}-${key.view}-${objectUid}`,
      json,
      plainJson: json,
      csv: () => csvOf(csvHead(layout), only(), (each) => csvRows(layout, each, originOf(account, view.month))),
    })
  }

/** Returns the item of an object in a view of objects. */
const findObject = async (
  views: UsageViewStore,
  view: StoredUsageView,
  clusterUid: string,
  objectUid: string,
): Promise<FreeObject | undefined> => {
  const text = await views.pieceWith(view, `${clusterUid}/${objectUid}`)
  if (text === undefined || !text.includes(toWireJson(objectUid))) return undefined
  return itemsOf(text).find(({ clusterUID, objectID }) => clusterUID === clusterUid && objectID === objectUid)
}

export interface ObjectHistoryInput {
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly objectUid: string
}

/** What an object occupied in all generated months, from the newest revision of each. */
export interface ObjectHistory {
  /** The members that name the object, as the newest month has them. */
  readonly object: FreeObject
  /** `2026-06`, ascending: the months in which the object occupied something. */
  readonly months: readonly string[]
  /** In the order of time. A segment that continues in the next month is one segment. */
  readonly segments: readonly FreeObject[]
}

const quotaView: UsageViewKey = { product: 'dbProduct', view: 'object-quota-history-summaries-view', viewType: 'total' }
const naming = ['clusterUID', 'objectID', 'group', 'kind', 'namespace', 'namespaceUID', 'name'] as const
const occupied = ['milliCPU', 'memMiB', 'replicas', 'generation'] as const

/** Returns the history of an object over all generated months. */
export const makeReadObjectHistory =
  ({ views }: { readonly views: UsageViewStore }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, clusterUid, objectUid }: ObjectHistoryInput,
  ): Outcome<Failure<'UsageViewMissing'>, ObjectHistory> => {
    let object: FreeObject | undefined
    const months: string[] = []
    const segments: FreeObject[] = []
    for (const month of await views.monthsOf(ownerId)) {
      const view = await views.find(ownerId, month, quotaView)
      const item = view === undefined ? undefined : await findObject(views, view, clusterUid, objectUid)
      if (item === undefined) continue
      months.push(monthText(month))
      object = Object.fromEntries(naming.map((name) => [name, item[name]]))
      for (const segment of listAt(item, 'segments')) if (isObject(segment)) append(segments, segment)
    }
    return object === undefined
      ? left(UsageViewMissing('No report has this object.'))
      : right({ object, months, segments })
  }

/** Appends a segment, or extends the last one if the object occupied the same without a gap. */
const append = (segments: FreeObject[], segment: FreeObject): void => {
  const last = segments.at(-1)
  const isContinued =
    last !== undefined && last['to'] === segment['from'] && occupied.every((name) => at(last, name) === segment[name])
  if (isContinued) segments[segments.length - 1] = { ...last, to: segment['to'] }
  else segments.push(segment)
}

/** Filters of a request, combined by AND. Only those that the route has are set. */
export interface ViewFilter {
  readonly group?: string
  readonly kind?: string
  readonly clusterUID?: string
  readonly namespace?: string
  readonly namespaceUID?: string
  /** -1 for an id that no contract can have. */
  readonly contractID?: number
}

/** The members of items that are figures, at any depth, and are sums over the parts of an item. */
const figures: ReadonlySet<string> = new Set(['cpu', 'memory', 'objectCount', 'clusterHours'])
/** The members that hold figures of classes. */
const classes: ReadonlySet<string> = new Set(['prod', 'nonProd', 'free', 'trial', 'freeContract'])

/** Returns a sum of figures with three decimals, without the errors of fractions in binary. */
const added = (a: number, b: number): number => (Math.round(a * 1000) + Math.round(b * 1000)) / 1000

const isFigure = (key: string, value: Json | undefined): value is number =>
  figures.has(key) && typeof value === 'number'

/** Returns the figures of an object without its other members, all of them 0. @internal */
export const zeroFigures = (of: FreeObject): FreeObject =>
  Object.fromEntries(
    Object.entries(of).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
      if (isFigure(key, value)) return [[key, 0]]
      return classes.has(key) && isObject(value) ? [[key, zeroFigures(value)]] : []
    }),
  )

/** Returns figures with those of another object added. @internal */
export const addFigures = (sum: FreeObject, more: FreeObject): FreeObject =>
  Object.fromEntries(
    Object.entries(sum).map(([key, value]): readonly [string, Json | undefined] => {
      const other = more[key]
      if (isFigure(key, value)) return [key, isFigure(key, other) ? added(value, other) : value]
      return [key, isObject(value) && isObject(other) ? addFigures(value, other) : value]
    }),
  )

const sumOf = (parts: readonly FreeObject[], like: FreeObject): FreeObject =>
  parts.reduce<FreeObject>(addFigures, zeroFigures(like))

const objectsAt = (item: FreeObject, key: string): readonly FreeObject[] => {
  const list = item[key]
  return Array.isArray(list) ? (list as readonly Json[]).filter(isObject) : []
}

/** The filters whose value an item has itself. */
const plainFilters = ['group', 'kind', 'clusterUID', 'namespace', 'namespaceUID'] as const

const hasPlain = (item: FreeObject, filter: ViewFilter, names: readonly (typeof plainFilters)[number][]): boolean =>
  names.every((name) => filter[name] === undefined || item[name] === filter[name])

/** Returns the kind of a cluster with only what was used for one contract. */
const ofContract = (kind: FreeObject, contractId: number): readonly FreeObject[] => {
  const contracts = objectsAt(kind, 'contracts').filter(({ contractID }) => contractID === contractId)
  return contracts.length === 0 ? [] : [{ ...kind, ...sumOf(contracts, zeroFigures(kind)), contracts }]
}

/** Returns a cluster with only the kinds and contracts of the filter; undefined if it has none of them. */
const narrowedCluster = (cluster: FreeObject, filter: ViewFilter): FreeObject | undefined => {
  const { contractID, group, kind: kindName } = filter
  // A cluster without objects has no kinds.
  if (contractID === undefined && group === undefined && kindName === undefined) return cluster
  const matching = objectsAt(cluster, 'kinds').filter((kind) => hasPlain(kind, filter, ['group', 'kind']))
  const kinds = contractID === undefined ? matching : matching.flatMap((kind) => ofContract(kind, contractID))
  if (kinds.length === 0) return undefined
  const { clusterHours: _, ...like } = zeroFigures(cluster)
  return { ...cluster, ...sumOf(kinds, like), kinds }
}

/** Returns an item of a view as a filter shows it; undefined if it does not match. @internal */
export const narrowedItem = (item: FreeObject, filter: ViewFilter): FreeObject | undefined => {
  if ('kinds' in item) return narrowedCluster(item, filter)
  return hasPlain(item, filter, plainFilters) ? item : undefined
}

/** Returns the item of kinds of one cluster as the view of kinds shows it. */
const withoutCluster = ({ clusterUID: _, ...item }: FreeObject): FreeObject => item

/** Reports whether a piece may have an item that matches, without parsing it. */
const mayMatch = (
  items: string,
  { group, kind, clusterUID, namespace, namespaceUID, contractID }: ViewFilter,
): boolean =>
  Object.entries({ group, kind, clusterUID, namespace, namespaceUID }).every(
    ([name, value]) => value === undefined || items.includes(`"${name}":${toWireJson(value)}`),
  ) &&
  (contractID === undefined || items.includes(`"contractID":${contractID}`))
