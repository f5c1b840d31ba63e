import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubKind } from '../clusters/hubs/ports.ts'
import { clusterRoleKind, managedByLabel, managedByValue } from '../clusters/hub-types.ts'
import type { Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { listAt } from '../kernel/json.ts'
import { applied } from './client-objects.ts'
import type { Blocked } from './places.ts'
import { ClientObjectBlocked } from './places.ts'
import type { ClientGrant } from './types.ts'

export const rbacApi = 'rbac.authorization.k8s.io'
const roleKind: HubKind = { apiVersion: `${rbacApi}/v1`, kind: 'Role', plural: 'roles' }

/** Where a role holds: in the main namespace, or in those whose objects the platform writes for the vendor's tools. */
export type RoleScope = 'main' | 'platform'

/** Returns the name of the copy of a cluster role that clients get. */
export const clientRoleName = (scope: RoleScope, roleName: string): string =>
  `moorage:client${scope === 'main' ? '' : '-observer'}:${roleName}`

const readVerbs = ['get', 'list', 'watch']
/** What `*` stands for. */
const allVerbs = [...readVerbs, 'create', 'update', 'patch', 'delete', 'deletecollection']
/** They give the rights of others. */
const borrowingVerbs = ['impersonate', 'bind', 'escalate']

type Access = 'all' | 'read' | 'none'

/** Returns how much of a resource a client may use. */
const accessTo = (scope: RoleScope, group: string, resource: string): Access => {
  if (group === rbacApi) return 'read'
  if (group !== '') return 'all'
  if (resource === 'serviceaccounts/token') return 'none'
  // Within a namespace, `namespaces` is that namespace itself, with the marks of its owner.
  if (resource.split('/')[0] === 'namespaces') return 'read'
  return scope === 'platform' && resource === 'configmaps' ? 'read' : 'all'
}

const textsAt = (rule: unknown, key: string): readonly string[] =>
  listAt(rule, key).filter((each) => typeof each === 'string')

/**
 * Returns the rules of a role without what outlasts a membership: tokens of service accounts, writes of roles and role
 * bindings, and impersonation. In the scope `platform` also without writes of ConfigMaps. RBAC has no exceptions, so a
 * rule for all resources of a group that contains one of these is refused. @internal
 */
export const clientRules = (scope: RoleScope, rules: readonly unknown[]): Either<string, readonly FreeObject[]> => {
  const kept: FreeObject[] = []
  for (const rule of rules) {
    const [groups, resources, verbs] = [textsAt(rule, 'apiGroups'), textsAt(rule, 'resources'), textsAt(rule, 'verbs')]
    const names = textsAt(rule, 'resourceNames')
    const written = verbs.includes('*') ? allVerbs : verbs.filter((verb) => !borrowingVerbs.includes(verb))
    for (const group of groups) {
      const isBroad = resources.some((resource) => resource.includes('*'))
      if (group === '*' || (isBroad && group === ''))
        return left(`apiGroups "${group}", resources "${resources.join()}"`)
      for (const access of ['all', 'read'] as const) {
        const own = resources.filter((resource) => accessTo(scope, group, resource) === access)
        const allowed = access === 'all' ? written : written.filter((verb) => readVerbs.includes(verb))
        if (own.length > 0 && allowed.length > 0)
          kept.push({
            apiGroups: [group],
            resources: own,
            verbs: allowed,
            ...(names.length > 0 ? { resourceNames: names } : {}),
          })
      }
    }
  }
  return right(kept)
}

const tooBroad = (role: string, rule: string): Blocked =>
  ClientObjectBlocked(
    `The ${role} gives rights that clients must not have, such as tokens of service accounts, by a rule for ${rule}. ` +
      'Choose a role that names its resources.',
  )

/** Copies a cluster role for clients. The copy follows the role each time that it is written. */
const copyClusterRole = async (spoke: Hub, roleName: string): Outcome<HubChangeFailure | Blocked, void> => {
  const source = await spoke.get(clusterRoleKind, { name: roleName })
  if (isLeft(source)) return source
  if (source.right === undefined) return left(ClientObjectBlocked(`The cluster has no ClusterRole ${roleName}.`))
  for (const scope of ['main', 'platform'] as const) {
    const rules = clientRules(scope, listAt(source.right.body, 'rules'))
    if (isLeft(rules)) return left(tooBroad(`ClusterRole ${roleName}`, rules.left))
    const content = { metadata: { labels: { [managedByLabel]: managedByValue } }, rules: rules.right }
    const written = await applied(spoke, clusterRoleKind, { name: clientRoleName(scope, roleName) }, content)
    if (isLeft(written)) return written
  }
  return right(undefined)
}

/** Returns the number of rights in rules. `*` on ServiceAccounts includes `impersonate`. */
const countOf = (rules: readonly unknown[]): number =>
  rules
    .map((rule) => {
      const verbs = textsAt(rule, 'verbs')
      const broad = (resource: string): number => allVerbs.length + (resource === 'serviceaccounts' ? 1 : 0)
      const ofResource = (resource: string): number => (verbs.includes('*') ? broad(resource) : verbs.length)
      const rights = textsAt(rule, 'resources').reduce((sum, resource) => sum + ofResource(resource), 0)
      return textsAt(rule, 'apiGroups').length * rights
    })
    .reduce((sum, rights) => sum + rights, 0)

/** A role in a namespace is the vendor's own, and may come later. It is judged if it is there. */
const judgeRole = async (
  spoke: Hub,
  main: string,
  { roleName, namespaces }: ClientGrant,
): Outcome<HubChangeFailure | Blocked, void> => {
  for (const namespace of namespaces) {
    const found = await spoke.get(roleKind, { namespace, name: roleName })
    if (isLeft(found)) return found
    const given = listAt(found.right?.body, 'rules')
    const rules = clientRules(namespace === main ? 'main' : 'platform', given)
    if (isLeft(rules)) return left(tooBroad(`Role ${namespace}/${roleName}`, rules.left))
    if (countOf(rules.right) < countOf(given))
      return left(
        ClientObjectBlocked(
          `The Role ${namespace}/${roleName} gives rights that clients must not have: tokens of service accounts, ` +
            'writes of roles and role bindings, impersonation, or, outside of the main namespace, writes of ConfigMaps.',
        ),
      )
  }
  return right(undefined)
}

/** Writes the cluster roles that the grants of clients need. */
export const writeClientRoles = async (
  spoke: Hub,
  main: string,
  grants: readonly ClientGrant[],
): Outcome<HubChangeFailure | Blocked, void> => {
  const copied = new Set<string>()
  for (const grant of grants) {
    if (grant.roleType === 'ClusterRole' && copied.has(grant.roleName)) continue
    copied.add(grant.roleName)
    const done =
      grant.roleType === 'Role' ? await judgeRole(spoke, main, grant) : await copyClusterRole(spoke, grant.roleName)
    if (isLeft(done)) return done
  }
  return right(undefined)
}
