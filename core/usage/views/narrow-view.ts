import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, toWireJson } from '../../kernel/json.ts'

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

/** Returns the figures of an object without its other members, all of them 0. */
export const zeroFigures = (of: FreeObject): FreeObject =>
  Object.fromEntries(
    Object.entries(of).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
      if (isFigure(key, value)) return [[key, 0]]
      return classes.has(key) && isObject(value) ? [[key, zeroFigures(value)]] : []
    }),
  )

/** Returns figures with those of another object added. */
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

/** Returns an item of a view as a filter shows it; undefined if it does not match. */
export const narrowedItem = (item: FreeObject, filter: ViewFilter): FreeObject | undefined => {
  if ('kinds' in item) return narrowedCluster(item, filter)
  return hasPlain(item, filter, plainFilters) ? item : undefined
}

/** Returns the item of kinds of one cluster as the view of kinds shows it. */
export const withoutCluster = ({ clusterUID: _, ...item }: FreeObject): FreeObject => item

/** Reports whether a piece may have an item that matches, without parsing it. */
export const mayMatch = (
  items: string,
  { group, kind, clusterUID, namespace, namespaceUID, contractID }: ViewFilter,
): boolean =>
  Object.entries({ group, kind, clusterUID, namespace, namespaceUID }).every(
    ([name, value]) => value === undefined || items.includes(`"${name}":${toWireJson(value)}`),
  ) &&
  (contractID === undefined || items.includes(`"contractID":${contractID}`))
