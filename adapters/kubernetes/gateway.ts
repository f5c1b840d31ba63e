import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterAnswer, ClusterRequest, ReachFailure } from '../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import { failureByDiscovery, failureOnTheWay, gatewayDiscovery, needsDiscovery } from '../../core/clusters/hubs/gateway.ts'
import type { ClusterConnection, GatewayRoute } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'

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

/** Returns the failure of the way to the cluster that an answer through the hub's gateway shows; undefined if it is the cluster's own answer. */
export const judgeAnswer = async (answer: ClusterAnswer, via: GatewayRoute, askHub: AskHub): Promise<ReachFailure | undefined> => {
  const failure = failureOnTheWay(answer, via)
  if (failure !== undefined || !needsDiscovery(answer)) return failure
  const discovery = await askHub({ method: 'GET', target: gatewayDiscovery })
  if (!isLeft(discovery)) return failureByDiscovery(answer, discovery.right.status)
  // The request to the hub reports its refusal of the credential as a failure.
  return discovery.left.tag === 'CredentialRefused' ? failureByDiscovery(answer, 401) : discovery.left
}

/** Returns a failure of the connection with the host that failed. */
export const namingHub = (failure: ReachFailure, via: GatewayRoute | undefined): ReachFailure =>
  via !== undefined && failure.tag === 'ClusterUnreachable' ? ClusterUnreachable(`The cluster is reached through its hub. ${failure.message.replace(/^The cluster\b/, 'The hub')}`) : failure
