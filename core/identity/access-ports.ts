import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SessionId, UserId } from '../kernel/ids.ts'
import { portKey } from '../kernel/port-key.ts'
import type { Call, SessionProof, SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { AssertionResponse } from './passkey-ports.ts'
import type { IdentityChanges, ProvenStores } from './ports.ts'
import type { UseOneTimeCode } from './second-factor/ports.ts'
import type { User } from './types.ts'

/** The credential is correct, but the account may not sign in, or not in this way. */
export const SignInProhibited = defineFailure(
  'SignInProhibited',
  'Prohibited',
  'The account is not active, or may not sign in, or not with a password.',
)
/** The credential is correct, and a one-time code is also required. */
export const SecondFactorNeeded = defineFailure(
  'SecondFactorNeeded',
  'Prohibited',
  'The password is right; the one-time code is still needed.',
)

/** The caller is authenticated, but did not supply the password (and code) in this request. */
export const ProofRequired = defineFailure(
  'ProofRequired',
  'Forbidden',
  'The request must prove the password, and the second factor if one is enrolled.',
)

/** The sentence for a user whose password or passkey is correct and not accepted. */
export const localSignInOff =
  'Passwords and passkeys of this service are not accepted for this account: it signs in with the identity provider of its organization. Open the ' +
  'sign-in page and continue there. If the provider is out of order, ask a site administrator.'

/** Opens sessions for users whom another part has proven, such as by an identity provider. */
export interface SessionOpening {
  /**
   * Opens a session with a new key inside a transaction that holds the lock on the user's row, and records the sign-in;
   * a session that the call came with ends. The caller must have asked for a second factor. Failure: SignInProhibited.
   */
  openIn(
    stores: Pick<IdentityChanges, 'audit' | 'sessions' | 'users'>,
    call: Call,
    user: User,
    signIn: { readonly proof: SessionProof; readonly shown: AuditEntry['changes'] },
  ): Outcome<Failure<'SignInProhibited'>, { readonly sessionId: SessionId; readonly sessionKey: Secret }>
  /** Returns a pass for the message bus. It is called after the transaction. */
  passFor(user: User): Promise<Secret | undefined>
  /**
   * Judges a one-time or recovery code, or a response of a passkey in its place, and uses it up. It is called outside of
   * transactions. Failures: as those of `UseOneTimeCode`.
   */
  useFactor(presented: PresentedFactor): ReturnType<UseOneTimeCode>
}

/** The second factor of a user, from the browser that is signing in. */
export interface PresentedFactor {
  readonly userId: UserId
  readonly code: string | undefined
  readonly passkey: AssertionResponse | undefined
  readonly browserKey: Secret | undefined
  readonly sourceIp: string
}
export const SessionOpeningPort = portKey<SessionOpening>('identity.SessionOpening')

/** What was ended. */
export interface EndedAccess {
  readonly sessions: number
  readonly tokens: number
}

/**
 * Ends the access of a person: the one operation for whatever learns that a person has left, such as an identity
 * provider that no longer knows the person.
 */
export interface AccessEnd {
  /**
   * Ends the user's sessions and remembered logins, access tokens with the tokens of kubeconfigs, and codes to set a
   * new password, inside a transaction that holds the lock on the user's row. Streams, tunnels and connections to the
   * bus end at their next check, on every instance. The account stays as it is: neither its memberships nor its state
   * change. Robot accounts belong to organizations and are not touched.
   */
  end(
    stores: Pick<IdentityChanges, 'audit' | 'linkCodes' | 'sessions' | 'tokens'>,
    user: Pick<User, 'id' | 'login'>,
    what: { readonly at: Date; readonly because: string },
  ): Promise<EndedAccess>
}
export const AccessEndPort = portKey<AccessEnd>('identity.AccessEnd')

/** What a signed-in caller proves again in a request. */
export interface PresentedProof {
  readonly password: Secret | undefined
  /** A code of the authenticator, or a recovery code. */
  readonly passCode: string | undefined
  /** The response of a passkey, in place of the code or of both. */
  readonly passkey?: AssertionResponse | undefined
}

/** The password with the code of a second factor, or a passkey, that a signed-in caller proves again in a request. */
export interface CallerProofs {
  /**
   * Verifies the proof; HTTP Basic has proven both already. Failures: ProofRequired (missing, wrong, used or locked),
   * TooManyAttempts. It is called outside of transactions.
   */
  prove(
    call: SignedInCall<never>,
    proof: PresentedProof,
  ): Outcome<Failure<'ProofRequired'> | Failure<'TooManyAttempts'>, ProvenCaller>
  /**
   * Locks the caller's row in the transaction and returns the user, if the credential and what was proven are still in
   * force. Failure: NotAuthenticated.
   */
  lockProven(
    stores: ProvenStores,
    call: SignedInCall<never>,
    proven: ProvenCaller,
  ): Outcome<Failure<'NotAuthenticated'>, User>
}
export const CallerProofsPort = portKey<CallerProofs>('identity.CallerProofs')

/** What a caller has proven, for the check within the transaction. */
export interface ProvenCaller {
  readonly secrets: { readonly phc: Secret; readonly secondFactorRef: string | undefined } | undefined
}
