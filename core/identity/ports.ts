import type { FailureType, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'

/** No, or no valid, credential. The message never says which part was wrong. */
export const NotAuthenticated: FailureType<'NotAuthenticated'> = defineFailure('NotAuthenticated', 'Unauthenticated')
/** The credential is genuine but may not be used so (impersonation refused, account disabled for it). */
export const NotPermitted: FailureType<'NotPermitted'> = defineFailure('NotPermitted', 'Forbidden')
/** The password check is saturated; the same request may be sent again. */
export const TooManyAttempts: FailureType<'TooManyAttempts'> = defineFailure('TooManyAttempts', 'Backoff')

/** A credential as the request carried it, already told apart by its carrier. */
export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly login: string; readonly password: Secret; readonly oneTimeCode: string | undefined }
  | { readonly kind: 'session'; readonly sessionKey: Secret }

/** Proves who calls. One query for a token or session; a password costs a hash as well. */
export interface Authenticator {
  /**
   * `sudo` is the login that a site admin wants to act as.
   * Failures: NotAuthenticated (unknown, expired, revoked, disabled account), NotPermitted (sudo refused), TooManyAttempts.
   */
  authenticate(
    credential: Credential,
    sudo: string | undefined,
    sourceIp: string,
  ): Outcome<
    ReturnType<typeof NotAuthenticated> | ReturnType<typeof NotPermitted> | ReturnType<typeof TooManyAttempts>,
    Principal
  >
}
export const AuthenticatorToken = token<Authenticator>('identity.Authenticator')
