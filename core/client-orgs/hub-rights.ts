import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubKey, HubKind, HubObject } from '../clusters/hubs/ports.ts'
import {
  bindingLabel,
  distribution,
  hubUserName,
  isMadeByUs,
  managedByLabel,
  managedByValue,
  uniqueLabelFor,
} from '../clusters/hub-types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { at, isObject, listAt, textAt } from '../kernel/json.ts'
import { clientRoleName, rbacApi } from './client-roles.ts'
import type { Blocked, Client } from './places.ts'
import { ClientObjectBlocked, isOf } from './places.ts'
import type { ClientGrant } from './types.ts'

const { account: accountKind, setRoleBinding, spokeRoleBinding } = distribution.kinds
const { organizationKey } = distribution

/** Whether the hub has the controllers of accounts and roles. */
type HubRights = 'written' | 'not served'

const isNotServed = ({ tag }: Failure): boolean => tag === 'NotAHub'

/**
 * Adds the client organization to the account of its admin on the hub. An account of another program stays as it is.
 */
const writeAccount = async (hub: Hub, { orgId, adminId }: Client): Outcome<HubChangeFailure, void> => {
  const [name, org] = [hubUserName(adminId), String(orgId)]
  const created = await hub.create(
    accountKind,
    { name },
    {
      metadata: { labels: { [managedByLabel]: managedByValue, [distribution.ownerLabel]: org } },
      spec: { username: name, uid: String(adminId), groups: { [org]: [] }, extra: { [organizationKey]: [org] } },
    },
  )
  if (isLeft(created)) return created
  const edited = await hub.edit(accountKind, { name }, (object) => {
    const known = listAt(object.body, 'spec', 'extra', organizationKey) as readonly string[]
    return right(
      !isMadeByUs(object) || known.includes(org)
        ? undefined
        : { merge: { spec: { groups: { [org]: [] }, extra: { [organizationKey]: [...known, org] } } } },
    )
  })
  return isLeft(edited) ? edited : right(undefined)
}

interface HubBinding {
  readonly kind: HubKind
  readonly key: HubKey
  readonly content: FreeObject
}

/**
 * Returns the bindings of a grant on the hub. They name the roles that members have on the cluster: that of the main
 * namespace, and that of the namespaces whose objects the platform writes.
 */
const bindingsOf = (spokeName: string, { name }: Pick<Client, 'name'>, grant: ClientGrant): readonly HubBinding[] => {
  const { clusterSet, bindingName, roleType, roleName, namespaces } = grant
  const own = bindingName ?? `moorage-client-${name}-${roleType.toLowerCase()}-${roleName}`.replaceAll(':', '-')
  const scopes = [
    ['main', own, namespaces.filter((each) => each === name)],
    ['platform', `${own}-observer`, namespaces.filter((each) => each !== name)],
  ] as const
  return scopes
    .filter(([, , within]) => within.length > 0)
    .map(([scope, key, within]) => {
      const role = roleType === 'Role' ? roleName : clientRoleName(scope, roleName)
      const roleRef = { apiGroup: rbacApi, kind: roleType, name: role, namespaces: within }
      return clusterSet === undefined
        ? { kind: spokeRoleBinding, key: { namespace: spokeName, name: key }, content: { roleRef } }
        : { kind: setRoleBinding, key: { name: key }, content: { roleRef, clusterSetRef: { name: clusterSet } } }
    })
}

/** Removes a role binding, when nothing else has all of its labels. */
const removeBinding = async (hub: Hub, kind: HubKind, binding: HubObject): Outcome<HubChangeFailure, unknown> => {
  const labelled = await hub.edit(kind, binding, (found) => right(uniqueLabelFor(found)), binding)
  return isLeft(labelled) ? labelled : hub.remove(kind, binding)
}

const isSameRole = ({ body }: HubObject, { content }: HubBinding): boolean =>
  textAt(body, 'roleRef', 'name') === textAt(content, 'roleRef', 'name')

/** Writes one binding. One of an earlier release that gives another role is replaced. */
const writeBinding = async (
  hub: Hub,
  { orgId, adminId }: Client,
  binding: HubBinding,
  uniqueLabel: string,
): Outcome<HubChangeFailure | Blocked, void> => {
  const { kind, key, content } = binding
  for (;;) {
    const created = await hub.create(kind, key, {
      ...content,
      metadata: {
        labels: {
          [managedByLabel]: managedByValue,
          [distribution.userLabel]: String(adminId),
          [distribution.ownerLabel]: String(orgId),
          [bindingLabel]: uniqueLabel,
        },
        annotations: { [organizationKey]: String(orgId) },
      },
      subjects: [{ apiGroup: rbacApi, kind: 'User', name: hubUserName(adminId) }],
    })
    if (isLeft(created)) return created
    if (created.right === 'unplaced')
      return left(ClientObjectBlocked(`The hub has no namespace ${key.namespace ?? ''}, or is deleting it.`))
    if (created.right === 'created') return right(undefined)
    const found = await hub.get(kind, key)
    if (isLeft(found)) return found
    if (found.right === undefined) continue
    if (!isOf(found.right, { orgId }))
      return left(ClientObjectBlocked(`The hub has a role binding ${key.name} of another program.`))
    if (isSameRole(found.right, binding)) {
      const labelled = await hub.edit(kind, key, (object) => right(uniqueLabelFor(object)), found.right)
      return isLeft(labelled) ? labelled : right(undefined)
    }
    if (found.right.isDeleting)
      return left(ClientObjectBlocked(`The hub is deleting the role binding ${key.name}. Repeat the request.`))
    const removed = await removeBinding(hub, kind, found.right)
    if (isLeft(removed)) return removed
  }
}

/**
 * Writes the account of the client's admin on the hub, and its roles on the cluster, for the controllers there. A hub
 * without these controllers gets nothing: the roles in the namespaces do not depend on them.
 */
export const writeHubRights = async (
  hub: Hub,
  client: Client,
  spokeName: string,
  grants: readonly ClientGrant[],
  uniqueLabel: () => string,
): Outcome<HubChangeFailure | Blocked, HubRights> => {
  const account = await writeAccount(hub, client)
  if (isLeft(account)) return isNotServed(account.left) ? right('not served') : account
  for (const binding of grants.flatMap((grant) => bindingsOf(spokeName, client, grant))) {
    const written = await writeBinding(hub, client, binding, uniqueLabel())
    if (isLeft(written)) return isNotServed(written.left) ? right('not served') : written
  }
  return right('written')
}

/**
 * Removes the roles of the client's admin on a cluster from its hub. With `leaves`, the organization has no cluster of
 * this hub any more: its account, or its part of one, is removed too.
 */
export const removeHubRights = async (
  hub: Hub,
  client: Client,
  spokeName: string,
  { leaves }: { readonly leaves: boolean },
): Outcome<HubChangeFailure, void> => {
  const own = `${distribution.ownerLabel}=${client.orgId}`
  const kinds = [[spokeRoleBinding, { namespace: spokeName, labelSelector: own }] as const]
  for (const [kind, selection] of leaves ? [...kinds, [setRoleBinding, { labelSelector: own }] as const] : kinds) {
    const listed = await hub.list(kind, selection)
    if (isLeft(listed) && isNotServed(listed.left)) continue
    if (isLeft(listed)) return listed
    for (const binding of listed.right.filter((each) => isOf(each, client))) {
      const removed = await removeBinding(hub, kind, binding)
      if (isLeft(removed)) return removed
    }
  }
  return leaves ? leaveAccount(hub, client) : right(undefined)
}

const leaveAccount = async (hub: Hub, { orgId, adminId }: Client): Outcome<HubChangeFailure, void> => {
  const [name, org] = [hubUserName(adminId), String(orgId)]
  const found = await hub.get(accountKind, { name })
  if (isLeft(found)) return isNotServed(found.left) ? right(undefined) : found
  const account = found.right
  if (account === undefined || !isMadeByUs(account)) return right(undefined)
  const others = listAt(account.body, 'spec', 'extra', organizationKey).filter((each) => each !== org)
  if (others.length === 0) {
    const removed = await hub.remove(accountKind, account, { asRead: true })
    return isLeft(removed) ? removed : right(undefined)
  }
  const edited = await hub.edit(accountKind, { name }, ({ body }) => {
    const known = listAt(body, 'spec', 'extra', organizationKey) as readonly string[]
    const hasGroups = isObject(at(body, 'spec', 'groups'))
    return right(
      known.includes(org)
        ? {
            merge: {
              spec: {
                extra: { [organizationKey]: known.filter((each) => each !== org) },
                ...(hasGroups ? { groups: { [org]: null } } : {}),
              },
            },
          }
        : undefined,
    )
  })
  return isLeft(edited) ? edited : right(undefined)
}
