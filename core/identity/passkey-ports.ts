import type { Failure, Outcome } from '../kernel/failure.ts'
import type { PasskeyId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { portKey } from '../kernel/port-key.ts'

/** How long a challenge can be answered. It is also the time that browsers give their users. */
export const challengeSeconds = 300

/** The service as browsers know it: keys belong to the host `id`, and are used at `origin` only. */
export interface RelyingParty {
  /** The host of the base URL. A key is bound to it for ever. */
  readonly id: string
  readonly origin: string
}

/** What a new key proves about itself. */
export interface PasskeyContent {
  /** Base64url, at most 1,023 bytes. */
  readonly credentialId: string
  /** COSE. */
  readonly publicKey: Uint8Array
  /** The number of signatures so far; 0 for keys that do not count, such as synchronized ones. */
  readonly counter: number
  /** How the browser reaches the key, such as `usb` or `internal`. */
  readonly transports: readonly string[]
  /** The model of the authenticator, a UUID; all zeros if it is not disclosed. */
  readonly aaguid: string
  /** Whether the provider of the key keeps a copy, so that the key exists on several devices. */
  readonly isBackedUp: boolean
}

export interface NewPasskey extends PasskeyContent {
  readonly userId: UserId
  readonly name: string
  /** SHA-256 of the credential's id. */
  readonly credentialHash: Uint8Array
  readonly rpId: string
  readonly createdAt: Date
}

export interface PasskeyRecord extends Omit<NewPasskey, 'credentialHash'> {
  readonly id: PasskeyId
  readonly lastUsedAt: Date | undefined
}

/** The state of a key after it was used. */
export interface PasskeyUse {
  readonly counter: number
  readonly isBackedUp: boolean
  readonly at: Date
}

export interface NewChallenge {
  /** SHA-256 of the challenge and of what it is bound to. */
  readonly keyHash: Uint8Array
  /** The name of the key that is to be registered. */
  readonly name: string
  readonly expiresAt: Date
}

/** Passkeys and challenges for them. Each change of keys is limited to one user. */
export interface PasskeyStore {
  /** Lists the user's keys in the order of their registration. */
  list(userId: UserId): Promise<readonly PasskeyRecord[]>
  findByCredential(credentialHash: Uint8Array): Promise<PasskeyRecord | undefined>
  /** Returns undefined if an account has the key already. */
  insert(passkey: NewPasskey): Promise<PasskeyId | undefined>
  /** Returns false if the key no longer exists. */
  markUsed(id: PasskeyId, use: PasskeyUse): Promise<boolean>
  rename(userId: UserId, id: PasskeyId, name: string): Promise<boolean>
  remove(userId: UserId, id: PasskeyId): Promise<boolean>
  /** Returns the number of keys removed. */
  removeAll(userId: UserId): Promise<number>
  addChallenge(challenge: NewChallenge): Promise<void>
  /** Removes the challenge and returns its name: once, over all instances. Returns undefined for an expired one. */
  takeChallenge(keyHash: Uint8Array, now: Date): Promise<{ readonly name: string } | undefined>
  /** Removes some of the challenges that expired before `at`. Returns the number removed, 0 when none is left. */
  purgeChallenges(at: Date): Promise<number>
}

/** `RegistrationResponseJSON` of WebAuthn. Binary values are base64url. */
export interface RegistrationResponse {
  readonly id: string
  readonly rawId: string
  readonly response: {
    readonly clientDataJSON: string
    readonly attestationObject: string
    readonly transports: readonly string[] | undefined
  }
}

/** `AuthenticationResponseJSON` of WebAuthn. Binary values are base64url. */
export interface AssertionResponse {
  readonly id: string
  readonly rawId: string
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle: string | undefined
  }
}

/** The ceremonies of WebAuthn. Each requires that the authenticator verifies its user, by a PIN or biometrics. */
export interface WebAuthn {
  /** Undefined if the base URL allows no passkeys: it is not set, names no host, or is not encrypted. */
  readonly relyingParty: RelyingParty | undefined
  /** Returns `PublicKeyCredentialCreationOptionsJSON` for a discoverable key, without attestation. */
  creationOptions(
    party: RelyingParty,
    challenge: Uint8Array,
    user: {
      readonly handle: Uint8Array
      readonly name: string
      readonly displayName: string
      readonly keys: readonly Pick<PasskeyRecord, 'credentialId' | 'transports'>[]
    },
  ): Promise<FreeObject>
  /** Returns `PublicKeyCredentialRequestOptionsJSON` for one of the keys, or for any discoverable key. */
  requestOptions(
    party: RelyingParty,
    challenge: Uint8Array,
    keys: readonly Pick<PasskeyRecord, 'credentialId' | 'transports'>[],
  ): Promise<FreeObject>
  /** Returns the challenge that the browser claims to answer, in base64url. */
  challengeOf(response: RegistrationResponse | AssertionResponse): string | undefined
  /** Returns the new key; undefined if the response is not valid for the challenge at the origin. */
  verifyRegistration(
    party: RelyingParty,
    response: RegistrationResponse,
    challenge: string,
  ): Promise<PasskeyContent | undefined>
  /**
   * Returns the state of the key; undefined if the response is not valid, or names another user by its handle. Does not
   * judge the counter.
   */
  verifyAssertion(
    party: RelyingParty,
    response: AssertionResponse,
    challenge: string,
    key: Pick<PasskeyRecord, 'credentialId' | 'publicKey'> & { readonly handle: Uint8Array },
  ): Promise<Pick<PasskeyUse, 'counter' | 'isBackedUp'> | undefined>
}
export const WebAuthnPort = portKey<WebAuthn>('identity.WebAuthn')

/**
 * What a challenge is for, and who may answer it: the browser that asked for a sign-in, or the credential of a caller
 * who is signed in.
 */
export interface ChallengeBinding {
  readonly purpose: 'sign-in' | 'proof' | 'registration'
  readonly holder: string
}

/** A response of a passkey with the binding of the challenge that it must answer. */
export interface PresentedPasskey {
  readonly response: AssertionResponse
  readonly binding: ChallengeBinding
}

export interface UsedPasskey {
  readonly id: PasskeyId
  readonly userId: UserId
  readonly name: string
}

/**
 * Judges a response of a passkey and uses up its challenge, for every surface. With `userId`, only a key of this user
 * is accepted.
 * Failures: PasskeyRefused, TooManyAttempts (this address), PasskeysUnavailable.
 */
export type UsePasskey = (
  presented: PresentedPasskey & { readonly userId: UserId | undefined; readonly sourceIp: string },
) => Outcome<Failure<'PasskeyRefused'> | Failure<'TooManyAttempts'> | Failure<'PasskeysUnavailable'>, UsedPasskey>
export const UsePasskeyPort = portKey<UsePasskey>('identity.UsePasskey')
