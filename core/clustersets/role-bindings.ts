import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { HubObject, HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/vendor-types.ts'
import type { UserStore } from '../identity/ports.ts'
import type { User, Viewer } from '../identity/types.ts'
import { maySee } from '../identity/types.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import { textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import type { MembershipStore } from '../organizations/ports.ts'
import type { ClusterSetInput } from './cluster-sets.ts'
import { findClusterSet } from './types.ts'

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
 * Returns the users with a role on a cluster set. The labels are whatever the hub says, so a user is shown only to callers who
 * may see that user anyway: by the user's visibility, or as a member of the organization that owns the hub.
 */
export const makeListUsersOfSet = ({ hubs, memberships, users }: Deps) => {
  const visible = async (call: SignedInCall<never>, { grant, viewer }: UsersOfSetInput, found: readonly User[]): Promise<readonly User[]> => {
    const hidden = found.filter((user) => user.isActive && !maySee(viewer, user)).map(({ id }) => id)
    const members = new Set(grant.orgId !== undefined && seesMembers(call, grant) ? await memberships.among(grant.orgId, hidden) : [])
    return found.filter((user) => maySee(viewer, user) || members.has(user.id))
  }

  return async (call: SignedInCall<never>, input: UsersOfSetInput): Outcome<HubReadFailure | Failure<'ClusterSetMissing'>, UsersByRole> => {
    const { grant, clusterSet } = input
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, bindings] = await Promise.all([findClusterSet(hub.right, clusterSet), hub.right.list(distribution.kinds.setRoleBinding)])
    if (isLeft(set)) return set
    // A hub without the controller of role bindings has none.
    if (isLeft(bindings) && bindings.left.tag === 'NotAHub') return right({})
    if (isLeft(bindings)) return bindings
    const ofSet = bindings.right.filter(({ body }) => textAt(body, 'clusterSetRef', 'name') === clusterSet)
    const ids = [...new Set(ofSet.map(userOf).filter((id) => id !== undefined))].slice(0, maxUsers)
    const found = new Map((await visible(call, input, await users.byIds(ids))).map((user) => [user.id, user]))
    const usersOf = (role: readonly HubObject[]): readonly User[] =>
      [...new Set(role.map(userOf))].flatMap((id) => (id === undefined ? [] : (found.get(id) ?? []))).sort((a, b) => (a.login < b.login ? -1 : 1))
    const byRole = Map.groupBy(ofSet, ({ body }) => textAt(body, 'roleRef', 'name'))
    return right(Object.fromEntries([...byRole].map(([role, bound]) => [role, usersOf(bound)])))
  }
}
