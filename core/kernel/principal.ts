import type { ClusterId, OrgId, SessionId, TokenId, UserId } from './brand.ts'
import type { KeyedChange } from './idempotency.ts'
import type { Secret } from './secret.ts'
import type { ScopeSet } from './token-scope.ts'

/** A one-time or recovery code that was right and is not used up yet. */
export type UnspentCode = { readonly secondFactorRef: string; readonly step: number } | { readonly recoveryCode: Secret }

/** Who calls, as the carrier of the credential proved it. Rights are always those of `userId`, also under impersonation. */
export interface Principal {
  readonly userId: UserId
  readonly login: string
  readonly isSiteAdmin: boolean
  readonly method: 'token' | 'password' | 'session'
  readonly scopes: ScopeSet
  readonly tokenId?: TokenId
  readonly tokenCreatedAt?: Date
  readonly tokenExpiresAt?: Date
  /** Set when the token is confined to one organization. */
  readonly onlyOrgId?: OrgId
  /** Set when the token is confined to the Kubernetes API of one cluster. */
  readonly onlyClusterId?: ClusterId
  readonly sessionId?: SessionId
  /** For method `password`: the hash that it was compared with, so that a change can tell whether it is still in force. */
  readonly provenPhc?: Secret
  /** Beside `provenPhc`: the second factor whose code was right; absent where the account had none. */
  readonly provenSecondFactorRef?: string
  /** For method `password`: still to be spent before anything is done that the route wants a caller for. */
  readonly unspentCode?: UnspentCode
  /** The password must be replaced before anything else may be done with it. */
  readonly mustChangePassword?: boolean
  /** The site admin who acts as this user. */
  readonly impersonator?: { readonly userId: UserId; readonly login: string }
}

/** Where a caller reaches this service. */
export interface OwnAddress {
  /** Scheme, host and port, without a trailing slash: the operator's base URL, else what the request itself came by. */
  readonly url: string
  /** No proxy that the operator names lies between: the certificate that the caller sees is the service's own. */
  readonly isDirect: boolean
}

/**
 * What every use case is told about the call: who, from where, and until when it matters.
 * `A` is what the call's transaction must give, because the answer is made from it. With the default it may give anything.
 * A function that runs no transaction takes `Call<never>`, which every call is.
 */
export interface Call<A = unknown> {
  readonly principal: Principal | undefined
  readonly requestId: string
  /** Canonical IP text; the socket's peer, or the hop that the trusted proxies name. */
  readonly sourceIp: string
  /** What the client calls itself, as it was sent, at most 255 characters; for a person who looks through the own sessions. */
  readonly userAgent?: string
  /** Absent where no request made the call. */
  readonly ownAddress?: OwnAddress
  /** The route's id, as `authz.createRole`. */
  readonly operation: string
  /** Aborted when the client has left or the deadline passed. */
  readonly signal: AbortSignal
  /** Set when the client sent an Idempotency-Key. */
  readonly keyed?: KeyedChange<A>
}

/** A call with a proven caller. */
export interface SignedInCall<A = unknown> extends Call<A> {
  readonly principal: Principal
}
