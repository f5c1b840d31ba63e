import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterAnswer, ClusterRequest, ReachFailure } from '../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import type { ClusterConnection, GatewayRoute } from '../../core/clusters/types.ts'
import { gatewayGroup, gatewayRoot } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { textAt } from '../../core/kernel/json.ts'

/** An address with the credential that is sent there. */
export type Endpoint = Pick<ClusterConnection, 'credential' | 'via'>

/** Returns what precedes every path of the cluster: the server's own prefix, and the hub's path to the cluster. */
export const prefixOf = ({ credential, via }: Endpoint): string => `${new URL(credential.server).pathname.replace(/\/+$/, '')}${via?.path ?? ''}`

/**
 * Reports whether a path has parent segments or encoded separators. Below a prefix such a path could leave the cluster. No path of
 * a Kubernetes API needs either.
 */
export const leavesPrefix = (target: string): boolean => {
  const [path = ''] = target.split(/[?#]/, 1)
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)|%2f|%5c/i.test(path) || /[\t\n\r]/.test(path)
}

/** Sends one request to the hub itself, without the identity of a caller. */
export type AskHub = (request: ClusterRequest) => Outcome<ReachFailure, ClusterAnswer>

/** The statuses that the hub or its gateway may have given instead of the cluster. */
const doubtfulStatuses: ReadonlySet<number> = new Set([401, 403, 404, 500, 502, 503, 504])

/** Reports whether an answer with this status must be read before it can count as the cluster's own. */
export const isDoubtful = (status: number): boolean => doubtfulStatuses.has(status)

/**
 * Reports whether only the gateway's discovery document shows who gave this answer: both API servers use the same text for a path
 * that they do not serve, and the same Status for a credential that they refuse.
 */
const needsDiscovery = ({ status, text }: ClusterAnswer): boolean =>
  status === 401 || (status === 404 && text.trim() === '404 page not found') || status === 502 || status === 503 || status === 504

const isUnknownCluster = ({ status, json }: ClusterAnswer): boolean =>
  (status === 404 && textAt(json, 'details', 'group') === gatewayGroup) || (status === 500 && textAt(json, 'message').includes('no such cluster'))

/** Returns the failure that an answer says on its own; undefined if the cluster gave it. */
const failureOnTheWay = (answer: ClusterAnswer, { managedClusterName }: GatewayRoute): ReachFailure | undefined => {
  if (answer.status === 403 && textAt(answer.json, 'message').includes('cannot impersonate'))
    return CredentialRefused("The credential of the hub, or that of its cluster gateway, may not impersonate users. It needs the verb impersonate on users and userextras.")
  return isUnknownCluster(answer) ? ClusterUnreachable(`The cluster gateway of the hub does not know the cluster ${managedClusterName}.`) : undefined
}

/** Returns the failure that follows from the status of the gateway's discovery document; undefined if the cluster gave the answer. */
const failureByDiscovery = ({ status }: ClusterAnswer, discoveryStatus: number): ReachFailure | undefined => {
  if (discoveryStatus === 401) return CredentialRefused('The hub refused the stored credential of its record.')
  if (discoveryStatus === 404)
    return ClusterUnreachable(`The hub does not serve ${gatewayGroup}. Install the cluster gateway on the hub, or store an access config for this cluster.`)
  if (discoveryStatus >= 500) return ClusterUnreachable('The cluster gateway of the hub does not answer.')
  // A 401 would tell clients that their token for this service is refused.
  return status === 401 ? CredentialRefused('The cluster refused the credential of the cluster gateway of its hub.') : undefined
}

/** Returns the failure of the way to the cluster that an answer through the hub's gateway shows; undefined if it is the cluster's own answer. */
export const judgeAnswer = async (answer: ClusterAnswer, via: GatewayRoute, askHub: AskHub): Promise<ReachFailure | undefined> => {
  const failure = failureOnTheWay(answer, via)
  if (failure !== undefined || !needsDiscovery(answer)) return failure
  const discovery = await askHub({ method: 'GET', target: gatewayRoot })
  if (!isLeft(discovery)) return failureByDiscovery(answer, discovery.right.status)
  // The request to the hub reports its refusal of the credential as a failure.
  return discovery.left.tag === 'CredentialRefused' ? failureByDiscovery(answer, 401) : discovery.left
}

/** Returns a failure of the connection with the host that failed. */
export const namingHub = (failure: ReachFailure, via: GatewayRoute | undefined): ReachFailure =>
  via !== undefined && failure.tag === 'ClusterUnreachable' ? ClusterUnreachable(`The cluster is reached through its hub. ${failure.message.replace(/^The cluster\b/, 'The hub')}`) : failure
