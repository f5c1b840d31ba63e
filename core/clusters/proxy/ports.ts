import type { ProxyTarget } from '../../formats/kubernetes/proxy-path.ts'
import type { Exchange } from '../../kernel/exchange.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { ImpersonatedUser, ReachFailure } from '../ports.ts'
import type { ClusterConnection } from '../types.ts'

/** One request of a caller to a cluster. */
export interface ComputedRequest {
  readonly connection: ClusterConnection
  readonly target: ProxyTarget
  readonly exchange: Exchange
  readonly as: ImpersonatedUser | undefined
  readonly signal: AbortSignal
}

/**
 * Responds to the forms of the wider API that no single request to the Kubernetes API can answer. Returns undefined if
 * the request is to be forwarded unchanged.
 */
export type ComputeResponse = (
  request: ComputedRequest,
) => Outcome<ReachFailure | Failure<'ProxyBodyRefused'>, void> | undefined
export const ComputeResponsePort = portKey<ComputeResponse>('clusters.ComputeResponse')
