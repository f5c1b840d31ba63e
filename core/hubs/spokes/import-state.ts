import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubRight } from '../../clusters/hubs/ports.ts'
import { managedClusterKind, namespaceKind } from '../../clusters/hubs/ports.ts'
import {
  agentNamespace,
  clusterClaimKind,
  clusterRoleKind,
  isAccepted,
  klusterletKind,
  operatorNamespace,
  secretKind,
  serviceAccountKind,
} from '../../clusters/hub-types.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { listAt, textAt } from '../../kernel/json.ts'
import type { AgentImages } from './ports.ts'
import { clusterRoleBindingKind, definitionKind, deploymentKind } from './ports.ts'
import { unknownStatus } from './spoke-steps.ts'

/** Reports whether a condition of an object is True. */
export const isTrue = (object: HubObject | undefined, type: string): boolean =>
  listAt(object?.body, 'status', 'conditions').some(
    (condition) => textAt(condition, 'type') === type && textAt(condition, 'status') === 'True',
  )

export const joined = 'ManagedClusterJoined'
export const available = 'ManagedClusterConditionAvailable'

export const hasJoined = (managed: HubObject | undefined): boolean =>
  isTrue(managed, joined) && isTrue(managed, available)

/** On a ManagedCluster and on a bootstrap credential: the task of the import that has made it. */
export const importAnnotation = 'moorage/import-task'

const madeByImport = ({ body }: HubObject): boolean => textAt(body, 'metadata', 'annotations', importAnnotation) !== ''

/**
 * The rights on a cluster that an import needs. The operator gets every right, so who installs it must be allowed to
 * give them.
 */
export const neededRights = ({ version }: AgentImages): readonly HubRight[] => [
  { verb: 'get', kind: namespaceKind, namespace: 'kube-system', name: 'kube-system' },
  { verb: 'create', kind: namespaceKind },
  { verb: 'create', kind: definitionKind },
  { verb: 'get', kind: secretKind, namespace: agentNamespace },
  { verb: 'create', kind: secretKind, namespace: agentNamespace },
  { verb: 'patch', kind: secretKind, namespace: agentNamespace },
  { verb: 'list', kind: klusterletKind },
  { verb: 'create', kind: klusterletKind },
  { verb: 'create', kind: clusterClaimKind },
  { verb: 'create', kind: clusterRoleKind },
  ...(version === undefined
    ? []
    : ([
        { verb: 'get', kind: deploymentKind, namespace: operatorNamespace },
        { verb: 'create', kind: deploymentKind, namespace: operatorNamespace },
        { verb: 'create', kind: serviceAccountKind, namespace: operatorNamespace },
        { verb: 'create', kind: clusterRoleBindingKind },
        { verb: 'bind', kind: clusterRoleKind },
      ] as const)),
]

/** Returns rights in words: `create namespaces, create secrets`. */
export const inWords = (rights: readonly HubRight[]): string =>
  [...new Set(rights.map(({ verb, kind }) => `${verb} ${kind.plural}`))].join(', ')

/** Returns what the hub has of a cluster whose import has ended before its end. */
export const statusOfImport = async (hub: Hub | undefined, name: string): Promise<string> => {
  const found = hub === undefined ? undefined : await hub.get(managedClusterKind, { name })
  if (found === undefined || isLeft(found)) return unknownStatus
  const managed = found.right
  if (managed === undefined) return 'The hub does not have the cluster.'
  if (managed.isDeleting) return 'The hub is removing the cluster.'
  if (hasJoined(managed)) return 'The cluster has joined the hub and stays there.'
  if (isTrue(managed, joined)) return 'The cluster has joined the hub, stays there, and is not available.'
  return isAccepted(managed)
    ? 'The hub has accepted the cluster and keeps it; agents on it may join at any time.'
    : 'The hub knows the cluster and has not accepted it.'
}

/**
 * Removes a cluster from the hub if an import has registered it there and no agent has joined in its name. Returns what
 * was done, for people.
 */
export const unregister = async (hub: Hub, name: string): Promise<string> => {
  const found = await hub.get(managedClusterKind, { name })
  if (isLeft(found)) return unknownStatus
  const managed = found.right
  if (managed === undefined || managed.isDeleting || !madeByImport(managed) || isTrue(managed, joined)) return ''
  const denied = await hub.edit(managedClusterKind, { name }, (object) =>
    right(
      object.uid === managed.uid && isAccepted(object) ? { merge: { spec: { hubAcceptsClient: false } } } : undefined,
    ),
  )
  const removed: Awaited<Outcome<Failure, unknown>> = isLeft(denied)
    ? denied
    : await hub.remove(managedClusterKind, managed)
  return isLeft(removed)
    ? `It could not be removed from the hub again: ${removed.left.message}`
    : 'It is removed from the hub again.'
}
