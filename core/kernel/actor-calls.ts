import type { OrgId, TokenId, UserId } from './brand.ts'
import { defineFailure, type Failure, type Outcome } from './failure.ts'
import type { Principal, SignedInCall } from './principal.ts'
import { token } from './token.ts'
import type { ScopeSet } from './token-scope.ts'

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
