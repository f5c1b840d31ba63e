import { isLeft } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import { decodedText, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ClusterStore } from '../ports.ts'
import type { Cluster } from '../types.ts'
import type { ClusterInfoReader, Hub, HubKey, HubKind, HubObject, Hubs, SpokeHubs } from './ports.ts'
import { clusterSetLabel, managedClusterKind } from './ports.ts'
import { makeSpokeSupplies } from './spoke-needs.ts'
import {
  agentNamespace,
  bootstrapSecret,
  claimedUid,
  configMapKind,
  isAccepted,
  klusterletKind,
  publicNamespace,
  secretKind,
} from '../hub-types.ts'

/** The kubeconfigs of agents: the one that the hub has given them, and the one with which they asked to join. */
const agentSecrets = ['hub-kubeconfig-secret', bootstrapSecret]
/** A cluster has one Klusterlet for each of its hubs. */
const maxKlusterlets = 10

/** The agents of one hub on a cluster. */
interface Agents {
  readonly managedClusterName: string
  /** The address of the hub. */
  readonly server: string
}

interface Deps {
  readonly authorizer: Authorizer
  readonly clusterInfo: ClusterInfoReader
  readonly clusters: Pick<ClusterStore, 'listOf'>
  readonly hubs: Hubs
}

/** Returns the kubeconfig that an object holds; empty if there is none. */
const kubeconfigIn = async (cluster: Hub, kind: HubKind, key: HubKey): Promise<string> => {
  const found = await cluster.get(kind, key)
  return isLeft(found) ? '' : textAt(found.right?.body, 'data', 'kubeconfig')
}

/** Finds hubs as `SpokeHubs` describes. */
export const makeSpokeHubs = ({ authorizer, clusterInfo, clusters, hubs }: Deps): SpokeHubs => {
  const agentsOf = async (spoke: Hub, { body }: HubObject): Promise<readonly Agents[]> => {
    const namespace = textAt(body, 'spec', 'namespace') || agentNamespace
    for (const name of agentSecrets) {
      const address = clusterInfo.addressOf(decodedText(await kubeconfigIn(spoke, secretKind, { namespace, name })))
      if (address !== undefined)
        return [{ managedClusterName: textAt(body, 'spec', 'clusterName'), server: address.server }]
    }
    return []
  }

  /**
   * Returns the agents on a cluster; none if it does not respond. Hosted agents manage another cluster than the one on
   * which they are.
   */
  const agentsOn = async (call: SignedInCall<never>, cluster: Cluster): Promise<readonly Agents[]> => {
    if (!cluster.hasCredential) return []
    const grant = await authorizer.authorize(
      call.principal,
      { type: 'cluster', account: cluster.ownerName, name: cluster.name },
      'can_view',
    )
    if (isLeft(grant) || grant.right.objectId !== cluster.id) return []
    const spoke = await hubs.openSpoke(call, grant.right)
    if (isLeft(spoke)) return []
    const klusterlets = await spoke.right.list(klusterletKind)
    if (isLeft(klusterlets)) return []
    const own = klusterlets.right.filter(
      ({ isDeleting, body }) => !isDeleting && !textAt(body, 'spec', 'deployOption', 'mode').includes('Hosted'),
    )
    return (await Promise.all(own.slice(0, maxKlusterlets).map((each) => agentsOf(spoke.right, each)))).flat()
  }

  const openHub = async (call: SignedInCall<never>, hub: Cluster): Promise<Hub | undefined> => {
    if (!hub.managers.includes('OCMHub') || call.signal.aborted) return undefined
    const grant = await authorizer.authorize(
      call.principal,
      { type: 'hub', account: hub.ownerName, name: hub.name },
      'can_view',
    )
    if (isLeft(grant)) return undefined
    const opened = await hubs.open(call, grant.right)
    return isLeft(opened) ? undefined : opened.right
  }

  /** Reports whether agents reach the hub: at the address of its record, or at the one that it publishes. */
  const isReached = async (opened: Hub, hub: Cluster, server: string): Promise<boolean> => {
    if (server === hub.endpoint) return true
    const published = clusterInfo.addressOf(
      await kubeconfigIn(opened, configMapKind, { namespace: publicNamespace, name: 'cluster-info' }),
    )
    return published?.server === server
  }

  /**
   * The agents may state any name: it must be that of an accepted cluster that has no other UID, and no other record.
   */
  const nameOn = async (
    opened: Hub,
    hub: Cluster,
    cluster: Cluster,
    agents: readonly Agents[],
    records: readonly Cluster[],
  ): Promise<string | undefined> => {
    for (const { managedClusterName: name, server } of agents) {
      if (
        name === '' ||
        records.some(
          ({ id, hubClusterUid, managedClusterName }) =>
            id !== cluster.id && hubClusterUid === hub.uid && managedClusterName === name,
        )
      )
        continue
      const managed = await opened.get(managedClusterKind, { name })
      if (isLeft(managed) || managed.right === undefined || managed.right.isDeleting) continue
      if (!isAccepted(managed.right) || !['', cluster.uid].includes(claimedUid(managed.right))) continue
      if (await isReached(opened, hub, server)) return name
    }
    return undefined
  }

  return {
    async find(call, cluster) {
      const records = await clusters.listOf(cluster.ownerId)
      const opened: { readonly hub: Cluster; readonly api: Hub }[] = []
      for (const hub of records) {
        const api = await openHub(call, hub)
        if (api === undefined) continue
        opened.push({ hub, api })
        // The agent of a plain spoke reports no UID: such a spoke has no UID to compare, as has a record that was never
        // surveyed.
        const managed = cluster.uid === '' ? undefined : await api.list(managedClusterKind)
        if (managed === undefined || isLeft(managed)) continue
        const same = managed.right.find((each) => !each.isDeleting && claimedUid(each) === cluster.uid)
        if (same !== undefined) return { hub, managedClusterName: same.name }
      }
      const agents = opened.length === 0 ? [] : await agentsOn(call, cluster)
      for (const { hub, api } of opened) {
        const managedClusterName = await nameOn(api, hub, cluster, agents, records)
        if (managedClusterName !== undefined) return { hub, managedClusterName }
      }
      return undefined
    },

    async nameByAgents(call, cluster, hubUid) {
      const agents = await agentsOn(call, cluster)
      const records = agents.length === 0 ? [] : await clusters.listOf(cluster.ownerId)
      const hub = records.find(({ uid }) => uid === hubUid)
      const api = hub === undefined ? undefined : await openHub(call, hub)
      return hub === undefined || api === undefined ? undefined : nameOn(api, hub, cluster, agents, records)
    },
  }
}

/** How long a hub may take. The set is shown beside other facts, which do not wait longer for it. */
const patienceMilliseconds = 2_500

/**
 * Reads from the hub of a cluster in which cluster set it is. Returns empty text if it is in none, or the hub does not
 * manage it, and undefined if that is not known: no hub is recorded, the caller may not view it, or it does not
 * respond. A spoke that the hub does not know the identity of gets what is missing on it: releases before did not write
 * that.
 */
export const makeReadSetOfSpoke = ({
  authorizer,
  clusters,
  hubs,
}: {
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'findByUid'>
  readonly hubs: Hubs
}) => {
  const { supply } = makeSpokeSupplies({ authorizer, hubs })
  return async (call: SignedInCall<never>, cluster: Cluster): Promise<string | undefined> => {
    const { ownerId, hubClusterUid, managedClusterName: name } = cluster
    const record = hubClusterUid === '' || name === '' ? undefined : await clusters.findByUid(ownerId, hubClusterUid)
    if (record === undefined) return undefined
    const grant = await authorizer.authorize(
      call.principal,
      { type: 'hub', account: record.ownerName, name: record.name },
      'can_view',
    )
    if (isLeft(grant)) return undefined
    const hub = await hubs.open({ ...call, signal: AbortSignal.timeout(patienceMilliseconds) }, grant.right)
    const managed = isLeft(hub) ? hub : await hub.right.get(managedClusterKind, { name })
    if (isLeft(managed)) return undefined
    if (managed.right !== undefined) await supply(call, cluster, managed.right)
    return textAt(managed.right?.body, 'metadata', 'labels', clusterSetLabel)
  }
}
export type ReadSetOfSpoke = ReturnType<typeof makeReadSetOfSpoke>
