import { mayAct, type RequestUser } from '../api/access-review.ts'
import { namespaces, type ManagedCluster, type ManagedClusterSetBinding } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { clusterSetLabel } from '../api/ocm-names.ts'

export interface AdmissionRequest<Object> {
  readonly uid: string
  readonly operation: 'CREATE' | 'UPDATE'
  readonly userInfo: RequestUser
  readonly object: Object
  readonly oldObject?: Object | null
}

/** Why a request is refused. */
export interface Refused {
  readonly code: number
  readonly reason: 'Forbidden' | 'BadRequest'
  readonly message: string
  readonly details?: { readonly name: string; readonly group: string; readonly kind: string }
}

const group = 'cluster.open-cluster-management.io'

/**
 * 'OCM's webhook then does a SubjectAccessReview (`register.open-cluster-management.io`, `managedclusters`, subresource
 * `accept`, verb update) and rejects with 403 while the cluster namespace is Terminating' (note §5, accept-spoke); 'OCM
 * webhook SARs `managedclustersets/join` create on both old and new set' (note §6, add). Returns `undefined` to allow.
 */
export const judgeCluster = async (
  client: KubeClient,
  { object, oldObject, userInfo }: AdmissionRequest<ManagedCluster>,
): Promise<Refused | undefined> => {
  const wrong = (object.spec?.managedClusterClientConfigs ?? []).find(({ url }) => !isHttpsUrl(url))
  if (wrong !== undefined)
    return { code: 400, reason: 'BadRequest', message: `url "${wrong.url}" is invalid in client configs` }
  if (object.spec?.hubAcceptsClient === true && oldObject?.spec?.hubAcceptsClient !== true) {
    const refused = await judgeAcceptance(client, object.metadata.name, userInfo)
    if (refused !== undefined) return refused
  }
  const [before = '', after = ''] = [
    oldObject?.metadata.labels?.[clusterSetLabel],
    object.metadata.labels?.[clusterSetLabel],
  ]
  if (before === after) return undefined
  for (const set of [before, after].filter((each) => each !== '')) {
    if (
      await mayAct(client, userInfo, {
        group,
        resource: 'managedclustersets',
        subresource: 'join',
        verb: 'create',
        name: set,
      })
    )
      continue
    return forbidden(
      'managedclustersets/join',
      group,
      set,
      `user "${userInfo.username}" cannot add/remove a ManagedCluster to/from ManagedClusterSet "${set}"`,
    )
  }
  return undefined
}

const judgeAcceptance = async (client: KubeClient, name: string, user: RequestUser): Promise<Refused | undefined> => {
  const namespace = await client.get(namespaces, name)
  if (namespace?.status?.phase === 'Terminating')
    return forbidden('managedclusters/accept', group, name, `cluster namespace "${name}" is terminating`)
  if (
    await mayAct(client, user, {
      group: 'register.open-cluster-management.io',
      resource: 'managedclusters',
      subresource: 'accept',
      verb: 'update',
      name,
    })
  )
    return undefined
  return forbidden(
    'managedclusters/accept',
    group,
    name,
    `user "${user.username}" cannot update the HubAcceptsClient field`,
  )
}

/**
 * 'With OCM's webhook and feature gate DefaultClusterSet (default on) every cluster gets label `default`' (note §5,
 * accepted).
 */
export const defaultSetPatch = ({ metadata: { labels } }: ManagedCluster, defaultSet: string): readonly object[] => {
  if ((labels?.[clusterSetLabel] ?? '') !== '') return []
  return [{ op: 'add', path: '/metadata/labels', value: { ...labels, [clusterSetLabel]: defaultSet } }]
}

/**
 * 'Webhook: name must equal clusterSet (400), SAR `managedclustersets/bind`' (note §6, bind): the name always, the
 * right when it is created.
 */
export const judgeBinding = async (
  client: KubeClient,
  { object, operation, userInfo }: AdmissionRequest<ManagedClusterSetBinding>,
): Promise<Refused | undefined> => {
  const set = object.spec.clusterSet
  if (object.metadata.name !== set)
    return {
      code: 400,
      reason: 'BadRequest',
      message: 'The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet',
    }
  if (
    operation !== 'CREATE' ||
    (await mayAct(client, userInfo, {
      group,
      resource: 'managedclustersets',
      subresource: 'bind',
      verb: 'create',
      name: set,
    }))
  )
    return undefined
  // The group is `apps` in OCM too.
  return forbidden(
    'managedclustersets/bind',
    'apps',
    set,
    `user "${userInfo.username}" is not allowed to bind cluster set "${set}"`,
  )
}

const forbidden = (kind: string, ofGroup: string, name: string, why: string): Refused => ({
  code: 403,
  reason: 'Forbidden',
  message: `${kind}.${ofGroup} "${name}" is forbidden: ${why}`,
  details: { name, group: ofGroup, kind },
})

const isHttpsUrl = (text: string): boolean => URL.canParse(text) && new URL(text).protocol === 'https:'
