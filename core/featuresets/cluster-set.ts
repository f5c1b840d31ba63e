import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel, managedClusterKind } from '../clusters/hubs/ports.ts'
import type { AccessGrant } from '../kernel/access.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import { at, definedFields, isObject, listAt, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'

/** The cluster set that the path names does not exist on the hub. */
export const FeatureTargetMissing = defineFailure('FeatureTargetMissing', 'NotFound')

/** A cluster set, in the hub of the grant. */
export interface ClusterSetRef {
  readonly grant: AccessGrant
  /** A DNS-1123 label. */
  readonly clusterSet: string
}

const keyForm = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/
const valueForm = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/

/** Returns one requirement in the syntax of the API, or undefined if it is not valid. */
const requirement = (key: string, operator: string, values: readonly unknown[]): string | undefined => {
  const names = values.filter((value): value is string => typeof value === 'string' && valueForm.test(value))
  if (!keyForm.test(key) || names.length !== values.length) return undefined
  if (operator === 'Exists' || operator === 'DoesNotExist') return names.length > 0 ? undefined : `${operator === 'Exists' ? '' : '!'}${key}`
  if ((operator !== 'In' && operator !== 'NotIn') || names.length === 0) return undefined
  return `${key} ${operator === 'In' ? 'in' : 'notin'} (${names.join(',')})`
}

/**
 * Returns the label selector of the clusters of a set; empty if all belong to it, undefined if none do. A set without a type selects
 * by its own label, as does an exclusive one. As on the hub, a selector that is missing or not valid selects none.
 */
export const memberSelector = ({ name, body }: Pick<HubObject, 'name' | 'body'>): string | undefined => {
  const selector = at(body, 'spec', 'clusterSelector')
  if (textAt(selector, 'selectorType') !== 'LabelSelector') return `${clusterSetLabel}=${name}`
  const labels = at(selector, 'labelSelector')
  if (!isObject(labels)) return undefined
  const matchLabels = labels['matchLabels'] ?? {}
  const requirements = [
    ...Object.entries(isObject(matchLabels) ? matchLabels : {}).map(([key, value]) => requirement(key, 'In', [value])),
    ...listAt(labels, 'matchExpressions').map((each) => requirement(textAt(each, 'key'), textAt(each, 'operator'), listAt(each, 'values'))),
  ]
  return requirements.includes(undefined) ? undefined : requirements.join(',')
}

/** A cluster set that was found on its hub. */
export interface OpenedSet {
  readonly hub: Hub
  readonly set: HubObject
}

/** Opens the hub of a cluster set and reads the set. One that is being deleted counts as missing. */
export const openSet = async (
  hubs: Hubs,
  call: SignedInCall<never>,
  { grant, clusterSet }: ClusterSetRef,
): Outcome<HubReadFailure | Failure<'FeatureTargetMissing'>, OpenedSet> => {
  const hub = await hubs.open(call, grant)
  if (isLeft(hub)) return hub
  const set = await hub.right.get(clusterSetKind, { name: clusterSet })
  if (isLeft(set)) return set
  return set.right === undefined || set.right.isDeleting
    ? left(FeatureTargetMissing(`The cluster set ${clusterSet} does not exist on the hub, or is being deleted.`))
    : right({ hub: hub.right, set: set.right })
}

/** Lists the clusters of a set with one list, sorted by name; with `only`, at most the cluster of that name. */
export const listMembers = async ({ hub, set }: OpenedSet, only?: string): Outcome<HubReadFailure, readonly HubObject[]> => {
  const labelSelector = memberSelector(set)
  if (labelSelector === undefined) return right([])
  const fieldSelector = only === undefined ? undefined : `metadata.name=${only}`
  const listed = await hub.list(managedClusterKind, definedFields({ labelSelector: labelSelector === '' ? undefined : labelSelector, fieldSelector }))
  return isLeft(listed) ? listed : right([...listed.right].sort((a, b) => (a.name < b.name ? -1 : 1)))
}
