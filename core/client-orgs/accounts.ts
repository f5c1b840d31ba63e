import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubKind, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { namespaceKind } from '../clusters/hubs/ports.ts'
import {
  clusterRoleKind,
  distribution,
  managedByLabel,
  managedByValue,
  secretKind,
  serviceAccountKind,
} from '../clusters/hub-types.ts'
import { clusterRoleBindingKind } from '../hubs/spokes/ports.ts'
import type { Outcome } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { textAt } from '../kernel/json.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import { applied } from './client-objects.ts'
import { clientRoleName, rbacApi, writeClientRoles } from './client-roles.ts'
import type { Blocked, Client } from './places.ts'
import { ClientObjectBlocked, isOf, marked } from './places.ts'
import type { ClientGrant, ClusterPlan } from './types.ts'
import { namespacesOf } from './types.ts'

type Named = Pick<Client, 'orgId' | 'name'>

const roleBindingKind: HubKind = { apiVersion: `${rbacApi}/v1`, kind: 'RoleBinding', plural: 'rolebindings' }
const admissionApi = 'admissionregistration.k8s.io/v1'
const policyKind: HubKind = {
  apiVersion: admissionApi,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
}
const policyBindingKind: HubKind = {
  apiVersion: admissionApi,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
}

/** The namespace of the accounts of all client organizations. No client has rights in it. */
const accountNamespace = 'moorage-clients'
const accountsGroup = `system:serviceaccounts:${accountNamespace}`
/** The right to read the UID of a cluster, by which this service knows it. */
const surveyRole = 'moorage:client-survey'
const policyName = 'moorage-client-credentials'
const tokenSecretType = 'kubernetes.io/service-account-token'
const bindingPrefix = 'moorage-client:'
/** Releases before 2026.12 had one account for all members, in the main namespace, with a token without an end. */
const formerAccount = 'moorage-client'
const formerSecret = 'moorage-client-token'

/**
 * Returns the name of the account of a member; without a user, that of the organization itself, which has no rights in
 * namespaces. The names of client organizations contain no dot.
 */
const accountName = ({ name }: Pick<Client, 'name'>, userId: UserId | undefined): string =>
  userId === undefined ? name : `${name}.${userId}`

/** What marks the accounts of one client organization: a label, so that they can be selected, beside the annotation. */
const accountMarks = (client: Named): FreeObject =>
  marked(client, { labels: { [distribution.organizationKey]: String(client.orgId) } })
const accountsOf = ({ orgId }: Named) => ({
  namespace: accountNamespace,
  labelSelector: `${managedByLabel}=${managedByValue},${distribution.organizationKey}=${orgId}`,
})

const bindingName = ({ roleType, roleName }: ClientGrant, userId: UserId): string =>
  `${bindingPrefix}${roleType.toLowerCase()}:${roleName}:${userId}`

/** Whether the cluster keeps clients from making Secrets with tokens. Kubernetes before 1.30 cannot. */
export type CredentialPolicy = 'enforced' | 'not served'

/** Keeps the accounts of clients from making Secrets that contain a token of a service account, which has no end. */
const writePolicy = async (spoke: Hub): Outcome<HubChangeFailure | Blocked, CredentialPolicy> => {
  const metadata = { labels: { [managedByLabel]: managedByValue } }
  const policy = await applied(
    spoke,
    policyKind,
    { name: policyName },
    {
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['secrets'] },
          ],
        },
        matchConditions: [{ name: 'client', expression: `'${accountsGroup}' in request.userInfo.groups` }],
        validations: [
          {
            expression: `object.type != '${tokenSecretType}'`,
            message: 'Clients may not store tokens of service accounts in Secrets.',
          },
        ],
      },
    },
  )
  if (isLeft(policy)) return policy.left.tag === 'NotAHub' ? right('not served') : policy
  const bound = await applied(
    spoke,
    policyBindingKind,
    { name: policyName },
    { metadata, spec: { policyName, validationActions: ['Deny'] } },
  )
  return isLeft(bound) ? bound : right('enforced')
}

/**
 * Writes what all accounts need on a cluster: their namespace, the policy, the right to read the UID of the cluster,
 * and the roles of the grants.
 */
export const writeAccountBasis = async (
  spoke: Hub,
  client: Client,
  { grants }: Pick<ClusterPlan, 'grants'>,
): Outcome<HubChangeFailure | Blocked, CredentialPolicy> => {
  const metadata = { labels: { [managedByLabel]: managedByValue } }
  const namespace = await applied(spoke, namespaceKind, { name: accountNamespace }, { metadata })
  if (isLeft(namespace)) return namespace
  const policy = await writePolicy(spoke)
  if (isLeft(policy)) return policy
  const rules = [{ apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] }]
  const role = await applied(spoke, clusterRoleKind, { name: surveyRole }, { metadata, rules })
  if (isLeft(role)) return role
  const bound = await applied(
    spoke,
    clusterRoleBindingKind,
    { name: `${surveyRole}s` },
    {
      metadata,
      roleRef: { apiGroup: rbacApi, kind: 'ClusterRole', name: surveyRole },
      subjects: [{ apiGroup: rbacApi, kind: 'Group', name: accountsGroup }],
    },
  )
  if (isLeft(bound)) return bound
  const roles = await writeClientRoles(spoke, client.name, grants)
  return isLeft(roles) ? roles : policy
}

/** Writes the account of a member, or of the organization itself, and the bindings of a member. */
export const writeAccount = async (
  spoke: Hub,
  client: Named,
  plan: ClusterPlan,
  userId: UserId | undefined,
): Outcome<HubChangeFailure | Blocked, void> => {
  const name = accountName(client, userId)
  const key = { namespace: accountNamespace, name }
  const account = await applied(spoke, serviceAccountKind, key, {
    metadata: accountMarks(client),
    automountServiceAccountToken: false,
  })
  if (isLeft(account) || userId === undefined) return account
  for (const grant of plan.grants)
    for (const namespace of grant.namespaces) {
      const scope = namespace === client.name ? 'main' : 'platform'
      const role = grant.roleType === 'Role' ? grant.roleName : clientRoleName(scope, grant.roleName)
      const bound = await applied(
        spoke,
        roleBindingKind,
        { namespace, name: bindingName(grant, userId) },
        {
          metadata: marked(client),
          roleRef: { apiGroup: rbacApi, kind: grant.roleType, name: role },
          subjects: [{ kind: 'ServiceAccount', name, namespace: accountNamespace }],
        },
      )
      if (isLeft(bound)) return bound
    }
  return right(undefined)
}

const removeAll = async (
  spoke: Hub,
  kind: HubKind,
  objects: readonly (HubObject | undefined)[],
): Outcome<HubChangeFailure, void> => {
  for (const object of objects) {
    const removed = object === undefined ? right(false) : await spoke.remove(kind, object)
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}

/**
 * Returns the role bindings of this service in a namespace of a client, by their names: a client could once change
 * their labels.
 */
const ownBindings = async (spoke: Hub, namespace: string): Outcome<HubReadFailure, readonly HubObject[]> => {
  const listed = await spoke.list(roleBindingKind, { namespace })
  return isLeft(listed) ? listed : right(listed.right.filter(({ name }) => name.startsWith(bindingPrefix)))
}

/** Removes the bindings for which `isKept` is false, from each of the namespaces. */
const removeBindings = async (
  spoke: Hub,
  namespaces: Iterable<string>,
  isKept: (name: string, namespace: string) => boolean,
): Outcome<HubChangeFailure, void> => {
  for (const namespace of namespaces) {
    const bindings = await ownBindings(spoke, namespace)
    if (isLeft(bindings)) return bindings
    const removed = await removeAll(
      spoke,
      roleBindingKind,
      bindings.right.filter(({ name }) => !isKept(name, namespace)),
    )
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}

/** Writes the accounts of the organization and of members, and takes back what an earlier plan gave. */
export const writeAccounts = async (
  spoke: Hub,
  client: Client,
  plan: ClusterPlan,
  members: readonly UserId[],
): Outcome<HubChangeFailure | Blocked, void> => {
  for (const member of [undefined, ...members]) {
    const written = await writeAccount(spoke, client, plan, member)
    if (isLeft(written)) return written
  }
  const kept = new Set(
    members.flatMap((member) =>
      plan.grants.flatMap((grant) => grant.namespaces.map((namespace) => `${namespace}/${bindingName(grant, member)}`)),
    ),
  )
  const bindings = await removeBindings(spoke, namespacesOf(client.name, plan), (name, namespace) =>
    kept.has(`${namespace}/${name}`),
  )
  return isLeft(bindings) ? bindings : removeFormerAccount(spoke, client)
}

/** Removes the account that all members shared, with its token. The names decide: a client could change the marks. */
const removeFormerAccount = async (spoke: Hub, { name }: Named): Outcome<HubChangeFailure, void> => {
  const keys = [
    [secretKind, { namespace: name, name: formerSecret }],
    [serviceAccountKind, { namespace: name, name: formerAccount }],
    [clusterRoleBindingKind, { name: `${surveyRole}:${name}` }],
  ] as const
  for (const [kind, key] of keys) {
    const found = await spoke.get(kind, key)
    if (isLeft(found)) return found
    const removed = await removeAll(spoke, kind, [found.right])
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}

/** Removes the account of a user who is no member any more: its tokens are invalid at once. Then its bindings. */
export const removeAccount = async (
  spoke: Hub,
  client: Named,
  namespaces: Iterable<string>,
  userId: UserId,
): Outcome<HubChangeFailure, void> => {
  const found = await spoke.get(serviceAccountKind, {
    namespace: accountNamespace,
    name: accountName(client, userId),
  })
  if (isLeft(found)) return found
  const removed = await removeAll(spoke, serviceAccountKind, [found.right])
  return isLeft(removed) ? removed : removeBindings(spoke, namespaces, (name) => !name.endsWith(`:${userId}`))
}

/** Returns the accounts of a client organization on a cluster. */
export const listAccounts = async (spoke: Hub, client: Named): Outcome<HubReadFailure, readonly HubObject[]> => {
  const listed = await spoke.list(serviceAccountKind, accountsOf(client))
  return isLeft(listed) ? listed : right(listed.right.filter((each) => isOf(each, client)))
}

/** Removes every account of a client organization, and its bindings in those of its namespaces that exist. */
export const removeAccounts = async (
  spoke: Hub,
  client: Named,
  namespaces: Iterable<string>,
): Outcome<HubChangeFailure, void> => {
  const accounts = await listAccounts(spoke, client)
  if (isLeft(accounts)) return accounts
  const removed = await removeAll(spoke, serviceAccountKind, accounts.right)
  if (isLeft(removed)) return removed
  const bindings = await removeBindings(spoke, namespaces, () => false)
  return isLeft(bindings) ? bindings : removeFormerAccount(spoke, client)
}

/** A token of an account, and its end. */
export interface IssuedToken {
  readonly token: Secret
  readonly endsAt: Date
}

/** Seconds. The API server may shorten or lengthen it; the answer tells. */
const tokenSeconds = 3600

/** Requests a token of an account. */
export const requestToken = async (
  spoke: Hub,
  client: Pick<Client, 'name'>,
  userId: UserId | undefined,
): Outcome<HubChangeFailure | Blocked, IssuedToken> => {
  const key = { namespace: accountNamespace, name: accountName(client, userId) }
  const issued = await spoke.createWithin(serviceAccountKind, key, 'token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: tokenSeconds },
  })
  if (isLeft(issued)) return issued
  const [text, end] = [textAt(issued.right, 'status', 'token'), textAt(issued.right, 'status', 'expirationTimestamp')]
  const endsAt = new Date(end)
  return text === '' || Number.isNaN(endsAt.getTime())
    ? left(ClientObjectBlocked(`The cluster has issued no token for the account ${key.name}.`))
    : right({ token: secret(text), endsAt })
}

/**
 * Names what gives rights in the namespaces of a client organization and is not of this service: role bindings, and
 * Secrets with tokens of service accounts. Kubernetes does not record who made them.
 */
export const listOtherCredentials = async (
  spoke: Hub,
  namespaces: Iterable<string>,
): Outcome<HubReadFailure, readonly string[]> => {
  const names: string[] = []
  for (const namespace of namespaces) {
    const bindings = await spoke.list(roleBindingKind, { namespace })
    if (isLeft(bindings)) return bindings
    const secrets = await spoke.list(secretKind, {
      namespace,
      fieldSelector: `type=${tokenSecretType}`,
      isMetadataOnly: true,
    })
    if (isLeft(secrets)) return secrets
    names.push(
      ...bindings.right
        .filter(({ name }) => !name.startsWith(bindingPrefix))
        .map(({ name, body }) => `RoleBinding ${namespace}/${name} (${textAt(body, 'roleRef', 'name')})`),
      ...secrets.right.map(({ name }) => `Secret ${namespace}/${name} (a token)`),
    )
  }
  return right(names)
}
