import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubObject, HubReadFailure, Hubs, HubSelection } from '../../clusters/hubs/ports.ts'
import { clusterSetBindingKind, clusterSetKind, namespaceKind, spokeNameLabel } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import type { UserStore } from '../../identity/ports.ts'
import type { User, Viewer } from '../../identity/types.ts'
import { maySee } from '../../identity/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { allows } from '../../kernel/principal.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { defineAudit, recordChange } from '../../kernel/unit-of-work.ts'
import type { MembershipStore } from '../../organizations/ports.ts'
import type { ClusterSetInput } from './cluster-sets.ts'
import { findClusterSet } from './types.ts'

const auditOf = defineAudit(
  'cluster',
  ['cluster.namespace_bound', 'cluster.namespace_unbound'],
  ({ id, ownerId, name }: Hub) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)

/** The namespace or the cluster set cannot be bound: it does not exist, or is being deleted. */
export const BindingRefused = defineFailure(
  'BindingRefused',
  'Unprocessable',
  'The cluster set or the namespace does not permit the binding.',
)

/** The cluster sets that are bound to each namespace, sorted by name. */
export type BoundNamespaces = Readonly<Record<string, readonly string[]>>

/** The hub is the cluster of the grant. The names are DNS-1123 labels. */
export interface NamespaceBinding {
  readonly grant: AccessGrant
  readonly clusterSet: string
  readonly namespace: string
}

interface ChangeDeps {
  readonly hubs: Hubs
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}

/** The name of a binding may differ from that of its cluster set, on a hub without the webhooks of OCM. */
const setOf = ({ body }: HubObject): string => textAt(body, 'spec', 'clusterSet')

/** A hub has a namespace for each of its spokes. */
const ofNoSpoke: HubSelection = { labelSelector: `!${spokeNameLabel}`, isMetadataOnly: true }

/**
 * Returns the namespaces of a hub, except those of its spokes, with the cluster sets that are bound to each. A binding
 * may outlive its set.
 */
export const makeListBoundNamespaces =
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, BoundNamespaces> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [bindings, namespaces, sets] = await Promise.all([
      hub.right.list(clusterSetBindingKind),
      hub.right.list(namespaceKind, ofNoSpoke),
      hub.right.list(clusterSetKind, { isMetadataOnly: true }),
    ])
    if (isLeft(bindings)) return bindings
    if (isLeft(namespaces)) return namespaces
    if (isLeft(sets)) return sets
    const existing = new Set(sets.right.map(({ name }) => name))
    const bound = Map.groupBy(bindings.right, ({ namespace }) => namespace)
    const setsOf = (name: string): readonly string[] =>
      [...new Set((bound.get(name) ?? []).map(setOf))].filter((set) => existing.has(set)).sort()
    return right(Object.fromEntries(namespaces.right.map(({ name }) => [name, setsOf(name)])))
  }

const unusable = (what: string, object: HubObject | undefined): Failure<'BindingRefused'> | undefined => {
  if (object === undefined) return BindingRefused(`The ${what} does not exist on the hub.`)
  return object.isDeleting ? BindingRefused(`The ${what} is being deleted.`) : undefined
}

/**
 * Binds a cluster set to a namespace, so that the namespace can place workloads on its spokes. Binding it again
 * succeeds.
 */
export const makeBindNamespace =
  ({ hubs, unitOfWork }: ChangeDeps) =>
  async (
    call: SignedInCall,
    { grant, clusterSet, namespace }: NamespaceBinding,
  ): Outcome<HubChangeFailure | Failure<'BindingRefused'>, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [set, place] = await Promise.all([
      hub.get(clusterSetKind, { name: clusterSet }),
      hub.get(namespaceKind, { name: namespace }),
    ])
    if (isLeft(set)) return set
    if (isLeft(place)) return place
    const refused = unusable(`namespace ${namespace}`, place.right) ?? unusable(`cluster set ${clusterSet}`, set.right)
    if (refused !== undefined) return left(refused)
    const key = { namespace, name: clusterSet }
    const created = await hub.create(clusterSetBindingKind, key, { spec: { clusterSet } })
    if (isLeft(created)) return created
    if (created.right === 'unplaced')
      return left(BindingRefused(`The namespace ${namespace} was deleted during the request.`))
    const existing = created.right === 'exists' ? await hub.get(clusterSetBindingKind, key) : right(undefined)
    if (isLeft(existing)) return existing
    if (existing.right !== undefined && setOf(existing.right) !== clusterSet)
      return left(BindingRefused(`The binding ${clusterSet} of the namespace ${namespace} is for another cluster set.`))
    const entry =
      created.right === 'created' ? auditOf(hub, 'cluster.namespace_bound', { clusterSet, namespace }) : undefined
    return recordChange(unitOfWork, call, entry)
  }

/** Unbinds a cluster set from a namespace, by all bindings for it. Unbinding one that is not bound succeeds. */
export const makeUnbindNamespace =
  ({ hubs, unitOfWork }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, namespace }: NamespaceBinding): Outcome<HubChangeFailure, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const listed = await hub.list(clusterSetBindingKind, { namespace })
    if (isLeft(listed)) return listed
    let isChanged = false
    for (const each of listed.right.filter((candidate) => setOf(candidate) === clusterSet)) {
      const removed = await hub.remove(clusterSetBindingKind, each)
      if (isLeft(removed)) return removed
      isChanged ||= removed.right
    }
    return recordChange(
      unitOfWork,
      call,
      isChanged ? auditOf(hub, 'cluster.namespace_unbound', { clusterSet, namespace }) : undefined,
    )
  }

/** The most users that one statement reads. */
const maxUsers = 500

const userOf = ({ body }: HubObject): UserId | undefined => {
  const text = textAt(body, 'metadata', 'labels', distribution.userLabel)
  const id = text.startsWith(distribution.userPrefix) ? text.slice(distribution.userPrefix.length) : text
  return /^[1-9][0-9]{0,14}$/.test(id) ? (Number(id) as UserId) : undefined
}

/** The users to whom each role is bound on the clusters of a set, by login. */
export type UsersByRole = Readonly<Record<string, readonly User[]>>

interface Deps {
  readonly hubs: Hubs
  readonly memberships: Pick<MembershipStore, 'among'>
  readonly users: Pick<UserStore, 'byIds'>
}

export interface UsersOfSetInput extends ClusterSetInput {
  /** The caller, as a viewer of users. */
  readonly viewer: Viewer
}

/** Reports whether the caller sees all members of the organization that owns the hub, as in the list of its members. */
const seesMembers = ({ principal: { scopes } }: SignedInCall<never>, { context }: AccessGrant): boolean =>
  context.isMember && !scopes.publicOnly && allows(scopes, { category: 'organization', level: 'read' })

/**
 * Returns the users with a role on a cluster set. The labels are whatever the hub says, so a user is shown only to
 * callers who may see that user anyway: by the user's visibility, or as a member of the organization that owns the hub.
 */
export const makeListUsersOfSet = ({ hubs, memberships, users }: Deps) => {
  const visible = async (
    call: SignedInCall<never>,
    { grant, viewer }: UsersOfSetInput,
    found: readonly User[],
  ): Promise<readonly User[]> => {
    const hidden = found.filter((user) => user.isActive && !maySee(viewer, user)).map(({ id }) => id)
    const members = new Set(
      grant.orgId !== undefined && seesMembers(call, grant) ? await memberships.among(grant.orgId, hidden) : [],
    )
    return found.filter((user) => maySee(viewer, user) || members.has(user.id))
  }

  return async (
    call: SignedInCall<never>,
    input: UsersOfSetInput,
  ): Outcome<HubReadFailure | Failure<'ClusterSetMissing'>, UsersByRole> => {
    const { grant, clusterSet } = input
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, bindings] = await Promise.all([
      findClusterSet(hub.right, clusterSet),
      hub.right.list(distribution.kinds.setRoleBinding),
    ])
    if (isLeft(set)) return set
    // A hub without the controller of role bindings has none.
    if (isLeft(bindings) && bindings.left.tag === 'NotAHub') return right({})
    if (isLeft(bindings)) return bindings
    const ofSet = bindings.right.filter(({ body }) => textAt(body, 'clusterSetRef', 'name') === clusterSet)
    const ids = [...new Set(ofSet.map(userOf).filter((id) => id !== undefined))].slice(0, maxUsers)
    const found = new Map((await visible(call, input, await users.byIds(ids))).map((user) => [user.id, user]))
    const usersOf = (role: readonly HubObject[]): readonly User[] =>
      [...new Set(role.map(userOf))]
        .flatMap((id) => (id === undefined ? [] : (found.get(id) ?? [])))
        .sort((a, b) => (a.login < b.login ? -1 : 1))
    const byRole = Map.groupBy(ofSet, ({ body }) => textAt(body, 'roleRef', 'name'))
    return right(Object.fromEntries([...byRole].map(([role, bound]) => [role, usersOf(bound)])))
  }
}
