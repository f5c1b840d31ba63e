import type { Exchange } from '../kernel/exchange.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ImpersonatedUser } from './ports.ts'
import type { ProxyTarget } from './proxy-path.ts'
import type { ClusterConnection } from './types.ts'

export interface WiderInput {
  readonly connection: ClusterConnection
  readonly target: ProxyTarget
  readonly exchange: Exchange
  readonly as: ImpersonatedUser | undefined
  readonly signal: AbortSignal
}

/** Answers a form that is computed from several requests; undefined when the request is to be passed on as it is. */
export type AnswerWiderForm = (
  input: WiderInput,
) => Outcome<Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'> | Failure<'ProxyPathRefused'>, void> | undefined
