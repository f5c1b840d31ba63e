import type { Failure } from '../../kernel/failure.ts'
import { textAt } from '../../kernel/json.ts'
import type { ClusterAnswer } from '../ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../ports.ts'
import type { GatewayRoute } from '../types.ts'

const gatewayGroup = 'gateway.open-cluster-management.io'

/** The discovery document of the cluster gateway. It is served exactly if the gateway is installed and answers. */
export const gatewayDiscovery = `/apis/${gatewayGroup}/v1alpha1`

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the path below which a hub serves the API of a cluster that it manages; undefined if the name cannot be that of a ManagedCluster. */
export const gatewayPath = (managedClusterName: string): string | undefined =>
  dnsLabel.test(managedClusterName) ? `${gatewayDiscovery}/clustergateways/${managedClusterName}/proxy` : undefined

type WayFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'>
type SeenAnswer = Pick<ClusterAnswer, 'status' | 'json' | 'text'>

/** The statuses that the hub or its gateway may have given instead of the cluster. */
const doubtfulStatuses: ReadonlySet<number> = new Set([401, 403, 404, 500, 502, 503, 504])

/** Reports whether an answer with this status must be read before it can count as the cluster's own. */
export const isDoubtful = (status: number): boolean => doubtfulStatuses.has(status)

/**
 * Reports whether only the gateway's discovery document shows who gave this answer: both API servers use the same text for a path
 * that they do not serve, and the same Status for a credential that they refuse.
 */
export const needsDiscovery = ({ status, text }: SeenAnswer): boolean =>
  status === 401 || (status === 404 && text.trim() === '404 page not found') || status === 502 || status === 503 || status === 504

const isUnknownCluster = ({ status, json }: SeenAnswer): boolean =>
  (status === 404 && textAt(json, 'details', 'group') === gatewayGroup) || (status === 500 && textAt(json, 'message').includes('no such cluster'))

/** Returns the failure that an answer says on its own; undefined if the cluster gave it. */
export const failureOnTheWay = (answer: SeenAnswer, { managedClusterName }: GatewayRoute): WayFailure | undefined => {
  if (answer.status === 403 && textAt(answer.json, 'message').includes('cannot impersonate'))
    return CredentialRefused("The credential of the hub, or that of its cluster gateway, may not impersonate users. It needs the verb impersonate on users and userextras.")
  return isUnknownCluster(answer) ? ClusterUnreachable(`The cluster gateway of the hub does not know the cluster ${managedClusterName}.`) : undefined
}

/** Returns the failure that follows from the status of the gateway's discovery document; undefined if the cluster gave the answer. */
export const failureByDiscovery = ({ status }: SeenAnswer, discoveryStatus: number): WayFailure | undefined => {
  if (discoveryStatus === 401) return CredentialRefused('The hub refused the stored credential of its record.')
  if (discoveryStatus === 404)
    return ClusterUnreachable(`The hub does not serve ${gatewayGroup}. Install the cluster gateway on the hub, or store an access config for this cluster.`)
  if (discoveryStatus >= 500) return ClusterUnreachable('The cluster gateway of the hub does not answer.')
  // A 401 would tell clients that their token for this service is refused.
  return status === 401 ? CredentialRefused('The cluster refused the credential of the cluster gateway of its hub.') : undefined
}
