import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { HubKind, HubObject, HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import type { UserStore } from '../identity/ports.ts'
import type { User, Viewer } from '../identity/types.ts'
import { maySee } from '../identity/types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import { textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterSetInput } from './cluster-sets.ts'
import { findClusterSet } from './types.ts'

const roleBindingKind: HubKind = { apiVersion: 'authorization.k8s.appscode.com/v1alpha1', kind: 'ManagedClusterSetRoleBinding', plural: 'managedclustersetrolebindings' }
/** The label with the user of this service to whom a role is bound: the id, or the name of the user's Account. */
const userLabel = 'authentication.k8s.appscode.com/user'

/** The most users that one statement reads. */
const maxUsers = 500

const userOf = ({ body }: HubObject): UserId | undefined => {
  const [, id] = /^(?:ace\.user\.)?([1-9][0-9]{0,14})$/.exec(textAt(body, 'metadata', 'labels', userLabel)) ?? []
  return id === undefined ? undefined : (Number(id) as UserId)
}

/** The users to whom each role is bound on the clusters of a set, by login. */
export type UsersByRole = Readonly<Record<string, readonly User[]>>

interface Deps {
  readonly hubs: Hubs
  readonly users: Pick<UserStore, 'byIds'>
}

export interface UsersOfSetInput extends ClusterSetInput {
  /** The caller, as a viewer of users. */
  readonly viewer: Viewer
}

/**
 * Returns the users with a role on a cluster set. The labels are whatever the hub says, so a user is shown only to callers who
 * may see that user anyway.
 */
export const makeListUsersOfSet = ({ hubs, users }: Deps) =>
  async (call: SignedInCall<never>, { grant, clusterSet, viewer }: UsersOfSetInput): Outcome<HubReadFailure | Failure<'ClusterSetMissing'>, UsersByRole> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, bindings] = await Promise.all([findClusterSet(hub.right, clusterSet), hub.right.list(roleBindingKind)])
    if (isLeft(set)) return set
    // A hub without the controller of role bindings has none.
    if (isLeft(bindings) && bindings.left.tag === 'NotAHub') return right({})
    if (isLeft(bindings)) return bindings
    const ofSet = bindings.right.filter(({ body }) => textAt(body, 'clusterSetRef', 'name') === clusterSet)
    const ids = [...new Set(ofSet.map(userOf).filter((id) => id !== undefined))].slice(0, maxUsers)
    const found = new Map((await users.byIds(ids)).filter((user) => maySee(viewer, user)).map((user) => [user.id, user]))
    const usersOf = (role: readonly HubObject[]): readonly User[] =>
      [...new Set(role.map(userOf))].flatMap((id) => (id === undefined ? [] : (found.get(id) ?? []))).sort((a, b) => (a.login < b.login ? -1 : 1))
    const byRole = Map.groupBy(ofSet, ({ body }) => textAt(body, 'roleRef', 'name'))
    return right(Object.fromEntries([...byRole].map(([role, bound]) => [role, usersOf(bound)])))
  }
