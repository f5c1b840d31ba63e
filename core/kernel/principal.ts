import type { Entropy, Secret } from './secret.ts'
import { hex } from './secret.ts'
import type { Failure, Outcome } from './failure.ts'
import { defineFailure } from './failure.ts'
import type { KeyedChange } from './idempotency.ts'
import type { ClusterId, OrgId, SessionId, TokenId, UserId } from './ids.ts'
import { portKey } from './port-key.ts'
import { definedFields } from './json.ts'

/** The categories that an access token can be limited to. */
export const scopeCategories = [
  'user',
  'organization',
  'authz',
  'cluster',
  'contract',
  'billing',
  'marketplace',
  'provisioning',
  'admin',
  'misc',
] as const
export type ScopeCategory = (typeof scopeCategories)[number]
export type ScopeLevel = 'read' | 'write'

/** The scope that a route requires of a token. */
export interface RequiredScope {
  readonly category: ScopeCategory
  readonly level: ScopeLevel
}

/** What a token grants: everything (`all`), impersonation (`sudo`), and a level per category. Write includes read. */
export interface ScopeSet {
  readonly all: boolean
  readonly sudo: boolean
  readonly publicOnly: boolean
  readonly levels: Readonly<Partial<Record<ScopeCategory, ScopeLevel>>>
}

export const fullScope: ScopeSet = { all: true, sudo: true, publicOnly: false, levels: {} }

/** Reports whether a scope set satisfies a route. A category that is not in the set is denied. */
export const allows = (granted: ScopeSet, required: RequiredScope): boolean => {
  if (granted.all) return true
  const level = granted.levels[required.category]
  return level === 'write' || (level === 'read' && required.level === 'read')
}

/** A correct one-time or recovery code that is not used up yet. */
export type UnspentCode =
  | { readonly secondFactorRef: string; readonly step: number }
  | { readonly recoveryCode: Secret }

/**
 * The state of everything that decides access, at an instant after a request arrived: a random number for each group of
 * accounts, which each change replaces. What was read after the numbers that are still the same is still true.
 */
export interface AccessMoment {
  readonly revisions: readonly number[]
}

/** By what the sign-in of a session proved its user: the strongest proof counts. */
export type SessionProof = 'password' | 'code' | 'passkey' | 'provider'

/** The authenticated caller. Rights are always those of `userId`, also under impersonation. */
export interface Principal {
  readonly userId: UserId
  readonly login: string
  readonly isSiteAdmin: boolean
  readonly method: 'token' | 'password' | 'session'
  readonly scopes: ScopeSet
  readonly tokenId?: TokenId
  readonly tokenCreatedAt?: Date
  readonly tokenExpiresAt?: Date
  /** Set if the token is restricted to one organization. */
  readonly onlyOrgId?: OrgId
  /** Set if the token is restricted to the Kubernetes API of one cluster. */
  readonly onlyClusterId?: ClusterId
  readonly sessionId?: SessionId
  /** Absent if the session was opened by a release that did not record it. */
  readonly sessionProof?: SessionProof
  /**
   * For method `password`: the hash that the password was verified against. A change compares it to check that it is
   * still in force.
   */
  readonly provenPhc?: Secret
  /** With `provenPhc`: the second factor whose code was correct; absent if the account had none. */
  readonly provenSecondFactorRef?: string
  /** For method `password`: the code to spend before a route that requires a caller does anything. */
  readonly unspentCode?: UnspentCode
  /** The password must be replaced before any other operation. */
  readonly mustChangePassword?: boolean
  /**
   * The moment at which the caller was proven, if it is known. Only the checks that follow at once may use it; what is
   * judged later takes a moment of its own.
   */
  readonly provenAt?: AccessMoment
  /** The site admin who acts as this user. */
  readonly impersonator?: { readonly userId: UserId; readonly login: string }
}

/** The address at which a caller reaches this service. */
export interface OwnAddress {
  /** Scheme, host and port, without a trailing slash: the operator's base URL, else that of the request. */
  readonly url: string
  /** The request passed no configured proxy, so the certificate that the caller sees is the service's own. */
  readonly isDirect: boolean
}

/**
 * The context of a call, passed to every use case: the caller, the source address, and the cancellation signal. `A` is
 * the result type that the call's transaction must have, because the response is built from it. By default it may be
 * any type. A function that runs no transaction takes `Call<never>`, to which every call is assignable.
 */
export interface Call<A = unknown> {
  readonly principal: Principal | undefined
  /** The user of a valid remember cookie that the request carried and that opened no session. */
  readonly rememberedUserId?: UserId | undefined
  readonly requestId: string
  /** Canonical IP text: the socket's peer, or the hop named by the trusted proxies. */
  readonly sourceIp: string
  /** The client's User-Agent as sent, at most 255 characters. It is shown in the user's list of sessions. */
  readonly userAgent?: string
  /** Absent if the call was not made by a request. */
  readonly ownAddress?: OwnAddress
  /** The route's id, such as `authz.createRole`. */
  readonly operation: string
  /** Aborted when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal
  /** W3C trace context, if the call is traced. */
  readonly trace?: string
  /** Set if the client sent an Idempotency-Key. */
  readonly keyed?: KeyedChange<A>
}

/** A call with an authenticated caller. */
export interface SignedInCall<A = unknown> extends Call<A> {
  readonly principal: Principal
}

/** The user who requested work that outlives the request. Holds no credential, only what the credential allowed. */
export interface Actor {
  readonly userId: UserId
  /** The login at that time, for display. */
  readonly login: string
  readonly method: Principal['method']
  readonly scopes: ScopeSet
  /**
   * Set if a token made the request. Once the token is revoked or has expired, work that has not started is not
   * started.
   */
  readonly tokenId?: TokenId
  readonly onlyOrgId?: OrgId
  readonly impersonator?: Principal['impersonator']
}

/** The account was disabled or removed, or the requesting token was revoked, before the work was done. */
export const ActorGone = defineFailure(
  'ActorGone',
  'Forbidden',
  'The user of the task may no longer do this, or another worker has the task.',
)

export const actorOf = (principal: Principal): Actor => ({
  userId: principal.userId,
  login: principal.login,
  method: principal.method,
  scopes: principal.scopes,
  ...definedFields({
    tokenId: principal.tokenId,
    onlyOrgId: principal.onlyOrgId,
    impersonator: principal.impersonator,
  }),
})

/** Makes calls on behalf of an actor, with the actor's current rights. */
export interface ActorCalls {
  /** Takes one query or two. Rights are current; nothing is cached. Failure: ActorGone. */
  callOf(
    actor: Actor,
    about: { readonly operation: string; readonly requestId: string; readonly sourceIp: string },
    signal: AbortSignal,
  ): Outcome<Failure<'ActorGone'>, SignedInCall>
}
export const ActorCallsPort = portKey<ActorCalls>('kernel.ActorCalls')

/** Makes a call without a caller: a run of a job, or a step that precedes a request's own call. */
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
