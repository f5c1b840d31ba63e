import type { Exchange } from '../kernel/exchange.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { ClusterUnreachable, type ClusterAnswer, type ClusterRequest, type ImpersonatedUser, type ReachFailure } from './ports.ts'
import type { ProxyTarget } from './proxy-path.ts'
import type { ClusterConnection } from './types.ts'

export interface WiderInput {
  readonly connection: ClusterConnection
  readonly target: ProxyTarget
  readonly exchange: Exchange
  readonly as: ImpersonatedUser | undefined
  readonly signal: AbortSignal
}

type UpstreamFailure = Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'>
export type WiderFailure = UpstreamFailure | Failure<'ProxyBodyRefused'>

/** One request as the caller. */
export type Ask = (request: ClusterRequest) => Outcome<UpstreamFailure, ClusterAnswer>

/** A computed answer. The text is JSON, made by us or by the cluster. */
export interface WiderAnswer {
  readonly status: number
  readonly text: string
}
export type Computed = Outcome<WiderFailure, WiderAnswer>

export const jsonAnswer = (status: number, value: unknown): WiderAnswer => ({ status, text: JSON.stringify(value) })

/** A Kubernetes Status, as a cluster itself would say that something is not there. */
export const notFound = (message: string): WiderAnswer =>
  jsonAnswer(404, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'NotFound', code: 404 })

/** An address that the policy refuses is our configuration's fault, not the request's. */
export const asUpstream = (failure: ReachFailure): UpstreamFailure =>
  failure.tag === 'AddressRefused' ? ClusterUnreachable(failure.message) : failure
