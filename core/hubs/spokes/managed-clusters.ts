import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { clusterSetLabel, managedClusterKind } from '../../clusters/hubs/ports.ts'
import { claimedUid, distribution, hubUserName, isAccepted, statedUrl } from '../../clusters/hub-types.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { definedFields, listAt, textAt, toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'

const { spokeRoleBinding, setRoleBinding } = distribution.kinds

/** The set that contains every spoke of its hub, whatever their labels. */
const everySpoke = 'global'

const names = (binding: HubObject, user: string): boolean =>
  listAt(binding.body, 'subjects').some(
    (subject) => textAt(subject, 'kind') === 'User' && textAt(subject, 'name') === user,
  )

/** A hub without the kind has no bindings of it. */
const orNone = (listed: Either<HubReadFailure, readonly HubObject[]>): typeof listed =>
  isLeft(listed) && listed.left.tag === 'NotAHub' ? right([]) : listed

/** Returns whether the role bindings of a hub give the user a role on a spoke, by its name or by its cluster set. */
const spokesGrantedTo = async (
  userId: UserId,
  hub: Pick<Hub, 'list'>,
): Outcome<HubReadFailure, (spoke: { readonly name: string; readonly clusterSet?: string }) => boolean> => {
  const [ofClusters, ofSets] = await Promise.all([
    hub.list(spokeRoleBinding).then(orNone),
    hub.list(setRoleBinding).then(orNone),
  ])
  if (isLeft(ofClusters)) return ofClusters
  if (isLeft(ofSets)) return ofSets
  const user = hubUserName(userId)
  const spokes = new Set(ofClusters.right.filter((binding) => names(binding, user)).map(({ namespace }) => namespace))
  const sets = new Set(
    ofSets.right.filter((binding) => names(binding, user)).map(({ body }) => textAt(body, 'clusterSetRef', 'name')),
  )
  return right(
    ({ name, clusterSet }) =>
      spokes.has(name) || sets.has(everySpoke) || (clusterSet !== undefined && sets.has(clusterSet)),
  )
}

/** What the lists show of a spoke. Empty fields are unknown. */
export interface ManagedCluster {
  readonly name: string
  /** The address that the spoke states for its own API server. */
  readonly url: string
  /** The UID that the spoke claims. */
  readonly uid: string
  readonly clusterSet?: string
}

const toManagedCluster = (object: HubObject): ManagedCluster => ({
  name: object.name,
  url: statedUrl(object),
  uid: claimedUid(object),
  ...definedFields({ clusterSet: textAt(object.body, 'metadata', 'labels', clusterSetLabel) || undefined }),
})

const byName = (a: HubObject, b: HubObject): number => (a.name < b.name ? -1 : 1)

const makeList =
  (isListed: (object: HubObject) => boolean) =>
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, readonly ManagedCluster[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const found = await hub.right.list(managedClusterKind)
    return isLeft(found) ? found : right(found.right.filter(isListed).toSorted(byName).map(toManagedCluster))
  }

/** Lists the clusters that ask to join a hub, except those that are being deleted. */
export const makeListNotAccepted = makeList((object) => !isAccepted(object) && !object.isDeleting)

/** Lists the spokes of a hub. One that is being deleted is in the list until it is gone. */
export const makeListAccepted = makeList(isAccepted)

/** Returns the text of the hub's own list of its managed clusters, as one page. */
export const makeReadManagedClusters =
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, string> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const pages = await hub.right.pages(managedClusterKind, readListPage)
    return isLeft(pages) ? pages : right(joinListPages(pages.right))
  }

interface AvailableDeps {
  readonly hubs: Hubs
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'accountsOf' | 'listOf'>
}

/**
 * Lists the spokes of a hub that the caller may use. A caller who may connect to the hub itself may use all of them.
 * Others may use those on which the hub's role bindings give them a role, and those that another account imported whose
 * clusters they may list.
 */
export const makeListAvailable = (deps: AvailableDeps) => {
  const accepted = makeListAccepted(deps)

  const uidsOfOthers = async ({ principal }: SignedInCall<never>, hub: Hub): Promise<ReadonlySet<string>> => {
    const accounts = (await deps.clusters.accountsOf(principal.userId)).filter(({ id }) => id !== hub.ownerId)
    const lists = await Promise.all(
      accounts.map(async ({ id, name }) => {
        const allowed = await deps.authorizer.authorize(principal, { type: 'account', name }, 'can_list_clusters')
        return isLeft(allowed) ? [] : deps.clusters.listOf(id)
      }),
    )
    // A record that is not surveyed yet has no UID, and the agent of a plain spoke claims none.
    return new Set(
      lists
        .flat()
        .map(({ uid }) => uid)
        .filter((uid) => uid !== ''),
    )
  }

  return async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, readonly ManagedCluster[]> => {
    const hub = await deps.hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const spokes = await accepted(call, grant)
    if (isLeft(spokes)) return spokes
    const object = { type: 'cluster', account: grant.context.accountName, name: grant.objectName }
    if (!isLeft(await deps.authorizer.authorize(call.principal, object, 'can_connect'))) return spokes
    const [granted, imported] = await Promise.all([
      spokesGrantedTo(call.principal.userId, hub.right),
      uidsOfOthers(call, hub.right),
    ])
    return isLeft(granted)
      ? granted
      : right(spokes.right.filter((spoke) => granted.right(spoke) || imported.has(spoke.uid)))
  }
}

/** A part of a text: from `start` up to `end`, exclusive. */
interface Span {
  readonly start: number
  readonly end: number
}

/** A key of an object and the place of its value. */
interface Member {
  readonly key: string
  /** From the quote of the key to the end of the value. */
  readonly whole: Span
  readonly value: Span
}

const space = /\s/
const pastSpace = (text: string, from: number): number => {
  let at = from
  while (space.test(text.charAt(at))) at += 1
  return at
}

const quote = 34
const backslash = 92

/** Returns the place after the string whose opening quote is at `from`. */
const pastString = (text: string, from: number): number => {
  for (let at = from + 1; ; at += 1) {
    at = text.indexOf('"', at)
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return at + 1
  }
}

const numberOrWord = /[\w.+-]+/y

/** Returns the place after the value that begins at `from`. */
const pastValue = (text: string, from: number): number => {
  const first = text.charAt(from)
  if (first === '"') return pastString(text, from)
  if (first !== '{' && first !== '[') {
    numberOrWord.lastIndex = from
    numberOrWord.test(text)
    return numberOrWord.lastIndex
  }
  let [at, depth] = [from, 0]
  do {
    const sign = text.charCodeAt(at)
    if (sign === quote) at = pastString(text, at)
    else {
      // Brackets and braces have the codes 91, 93, 123 and 125.
      if (sign === 91 || sign === 123) depth += 1
      else if (sign === 93 || sign === 125) depth -= 1
      at += 1
    }
  } while (depth > 0)
  return at
}

const membersOf = (text: string, from: number): readonly Member[] => {
  const found: Member[] = []
  let at = pastSpace(text, from + 1)
  while (text[at] === '"') {
    const keyEnd = pastString(text, at)
    const start = pastSpace(text, pastSpace(text, keyEnd) + 1)
    const end = pastValue(text, start)
    found.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, whole: { start: at, end }, value: { start, end } })
    const next = pastSpace(text, end)
    at = text[next] === ',' ? pastSpace(text, next + 1) : next
  }
  return found
}

const topLevel = (text: string): readonly Member[] => membersOf(text, pastSpace(text, 0))
const cut = (text: string, { start, end }: Span): string => text.slice(start, end)
const within = (text: string, { start, end }: Span): string => text.slice(start + 1, end - 1).trim()

/** The keys of a list's metadata that say where the page is in the list. */
const placeKeys = ['continue', 'remainingItemCount']

const withoutPlace = (text: string, { start }: Span): string =>
  `{${membersOf(text, start)
    .filter(({ key }) => !placeKeys.includes(key))
    .map(({ whole }) => cut(text, whole))
    .join(',')}}`

/** A page of a list of the Kubernetes API, with the places of its keys. */
export interface ListPage {
  readonly text: string
  readonly members: readonly Member[]
}

/** Reads a page, which must be the text of a JSON object whose `items` is an array. @internal */
export const readListPage = (text: string): ListPage => ({ text, members: topLevel(text) })

/**
 * Joins the pages of a list to one list. Every item, and every other key of the first page, keeps its text: unknown
 * fields, the order of keys, and integers of any size.
 *
 * @internal
 */
export const joinListPages = ([first, ...others]: readonly ListPage[]): string => {
  if (first === undefined) return '{}'
  if (others.length === 0) return first.text
  const items = [first, ...others].map(({ text, members }) =>
    members
      .filter(({ key, value }) => key === 'items' && text[value.start] === '[')
      .map(({ value }) => within(text, value))
      .join(','),
  )
  const valueOf = ({ key, value }: Member): string => {
    if (key === 'items') return `[${items.filter((each) => each !== '').join(',')}]`
    return key === 'metadata' ? withoutPlace(first.text, value) : cut(first.text, value)
  }
  return `{${first.members.map((member) => `${toWireJson(member.key)}:${valueOf(member)}`).join(',')}}`
}
