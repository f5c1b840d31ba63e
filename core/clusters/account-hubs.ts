import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { ClusterTokens } from '../identity/tokens/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ListUserClusters } from './clusters.ts'
import type { ClusterConnections, ClusterStore, PublicAddress } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import type { Cluster } from './types.ts'

const isHub = ({ managers }: Cluster): boolean => managers.includes('OCMHub')

/** Reports whether an account has a hub. */
export const makeHasHub =
  ({ clusters }: { readonly clusters: Pick<ClusterStore, 'listOf'> }) =>
  async (_call: SignedInCall<never>, ownerId: AccountId): Outcome<never, boolean> =>
    right((await clusters.listOf(ownerId)).some(isHub))

/**
 * Lists every cluster of an account. For the caller's own account these are also the clusters of every organization
 * where the caller may see them.
 */
export const makeListAllClusters =
  (deps: { readonly clusters: Pick<ClusterStore, 'listOf'>; readonly listUserClusters: ListUserClusters }) =>
  async (call: SignedInCall<never>, ownerId: AccountId): Outcome<never, readonly Cluster[]> =>
    ownerId === call.principal.userId
      ? deps.listUserClusters(call, { all: true })
      : right(await deps.clusters.listOf(ownerId))

/** How a client reaches the Kubernetes API of a hub: through this service. */
export interface HubAccess {
  readonly name: string
  readonly apiServer: string
  /** Undefined if none was requested. */
  readonly token: string | undefined
}

export interface GetHubAccessInput {
  readonly ownerId: AccountId
  readonly makesToken: boolean
  /** The maximum token lifetime that the account accepts, in days; 0 means no limit. */
  readonly maxTokenLifeDays: number
}

/**
 * Returns how to reach each hub of an account that the caller may connect to. The address is that of the proxy, and the
 * token is made for it: it reaches this hub alone and has no more rights than the caller.
 */
export const makeGetHubAccess =
  (deps: {
    readonly clusters: Pick<ClusterStore, 'listOf'>
    readonly authorizer: Authorizer
    readonly clusterTokens: ClusterTokens
    readonly address: PublicAddress
  }) =>
  async (
    call: SignedInCall,
    { ownerId, makesToken, maxTokenLifeDays }: GetHubAccessInput,
  ): Outcome<Failure<'NotAuthenticated' | 'NotPermitted'>, readonly HubAccess[]> => {
    const { url } = deps.address.kubernetesUrl(call)
    const found: HubAccess[] = []
    for (const hub of (await deps.clusters.listOf(ownerId)).filter(isHub)) {
      const grant = await deps.authorizer.authorize(
        call.principal,
        { type: 'cluster', account: hub.ownerName, name: hub.name },
        'can_connect',
      )
      if (isLeft(grant)) continue
      const made = makesToken
        ? await deps.clusterTokens.issue(call, { ...hub, maxTokenLifeDays }, undefined)
        : undefined
      if (made !== undefined && isLeft(made)) return made
      const apiServer = `${url}/api/v1/clusters/${encodeURIComponent(hub.ownerName)}/${encodeURIComponent(hub.name)}/proxy`
      found.push({ name: hub.name, apiServer, token: made?.right.value.reveal() })
    }
    return right(found)
  }

/** Direct grants that allow their holder to see a cluster. */
const seeingRelations = ['viewer', 'editor']
const longestUid = 64

/** A cluster with the certificate authority of its API server, which is public. */
export interface IdentifiedRecord {
  readonly cluster: Cluster
  readonly authorityPem: string
}

/**
 * Finds a cluster that the caller may view by its UID: in the accounts of the caller, and among the clusters granted to
 * them.
 */
export const makeGetClusterByUid =
  (deps: {
    readonly clusters: Pick<ClusterStore, 'accountsOf' | 'findByUid' | 'listGranted'>
    readonly connections: ClusterConnections
    readonly authorizer: Authorizer
  }) =>
  async (call: SignedInCall<never>, uid: string): Outcome<Failure<'ClusterMissing'>, IdentifiedRecord> => {
    const { userId } = call.principal
    const accounts = uid === '' || uid.length > longestUid ? [] : await deps.clusters.accountsOf(userId)
    const owned = await Promise.all(accounts.map(({ id }) => deps.clusters.findByUid(id, uid)))
    const granted = accounts.length === 0 ? [] : await deps.clusters.listGranted(userId, seeingRelations)
    for (const cluster of [...owned, ...granted.filter((each) => each.uid === uid)]) {
      if (cluster === undefined) continue
      const grant = await deps.authorizer.authorize(
        call.principal,
        { type: 'cluster', account: cluster.ownerName, name: cluster.name },
        'can_view',
      )
      if (isLeft(grant)) continue
      const opened = await deps.connections.open(cluster.id)
      return right({ cluster, authorityPem: isLeft(opened) ? '' : (opened.right.credential.authorityPem ?? '') })
    }
    return left(ClusterMissing('The cluster does not exist, or you may not see it.'))
  }
