import type { Entropy } from './entropy.ts'
import { hex } from './entropy.ts'
import type { Failure, Outcome } from './failure.ts'
import { defineFailure } from './failure.ts'
import type { KeyedChange } from './idempotency.ts'
import type { ClusterId, OrgId, SessionId, TokenId, UserId } from './ids.ts'
import type { Secret } from './secret.ts'
import { token } from './token.ts'

/** The domains that an access token can be limited to. */
export const scopeCategories = [
  'user',
  'organization',
  'authz',
  'cluster',
  'contract',
  'billing',
  'marketplace',
  'admin',
  'misc',
] as const
export type ScopeCategory = (typeof scopeCategories)[number]
export type ScopeLevel = 'read' | 'write'

/** What a route demands of a token. */
export interface RequiredScope {
  readonly category: ScopeCategory
  readonly level: ScopeLevel
}

/** What a token grants: everything (`all`), impersonation (`sudo`), and a level for each category; write includes read. */
export interface ScopeSet {
  readonly all: boolean
  readonly sudo: boolean
  readonly publicOnly: boolean
  readonly levels: Readonly<Partial<Record<ScopeCategory, ScopeLevel>>>
}

export const fullScope: ScopeSet = { all: true, sudo: true, publicOnly: false, levels: {} }

/** Whether a scope set satisfies a route. A category that the set does not name is denied. */
export const allows = (granted: ScopeSet, required: RequiredScope): boolean => {
  if (granted.all) return true
  const level = granted.levels[required.category]
  return level === 'write' || (level === 'read' && required.level === 'read')
}

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

/** Who asked for work that outlives the request. Holds no credential, only what the credential was allowed. */
export interface Actor {
  readonly userId: UserId
  /** The name at that time, for people. */
  readonly login: string
  readonly method: Principal['method']
  readonly scopes: ScopeSet
  /** Set when a token asked: once it is revoked or has run out, the work that has not begun is not begun. */
  readonly tokenId?: TokenId
  readonly onlyOrgId?: OrgId
  readonly impersonator?: Principal['impersonator']
}

/** The account was disabled or removed, or the token that asked was revoked, before its work was done. */
export const ActorGone = defineFailure('ActorGone', 'Forbidden')

export const actorOf = (principal: Principal): Actor => ({
  userId: principal.userId,
  login: principal.login,
  method: principal.method,
  scopes: principal.scopes,
  ...(principal.tokenId === undefined ? {} : { tokenId: principal.tokenId }),
  ...(principal.onlyOrgId === undefined ? {} : { onlyOrgId: principal.onlyOrgId }),
  ...(principal.impersonator === undefined ? {} : { impersonator: principal.impersonator }),
})

/** Makes calls in the name of an actor, with the rights that they hold now. */
export interface ActorCalls {
  /** One query or two. Rights are those of this moment; nothing is remembered. Failure: ActorGone. */
  callOf(actor: Actor, about: { readonly operation: string; readonly requestId: string; readonly sourceIp: string }, signal: AbortSignal): Outcome<Failure<'ActorGone'>, SignedInCall>
}
export const ActorCallsToken = token<ActorCalls>('kernel.ActorCalls')

/** A call that the service makes in nobody's name: a run of a job, or something that comes before a request's own call. */
export type OwnCall = (operation: string, signal?: AbortSignal) => Call

export const makeOwnCall =
  (entropy: Entropy): OwnCall =>
  (operation, signal = new AbortController().signal) => ({
    principal: undefined,
    requestId: hex(entropy.bytes(16)),
    sourceIp: '127.0.0.1',
    operation,
    signal,
  })
