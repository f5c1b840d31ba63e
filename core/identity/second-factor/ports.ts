import type { UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UnspentCode } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { PresentedPasskey } from '../passkey-ports.ts'

/** A user's second factor as stored. */
export interface SecondFactorRecord {
  readonly userId: UserId
  /** The seed, sealed for this row. */
  readonly sealedSeed: Uint8Array
  /** The random reference that the seal is bound to. */
  readonly ref: string
  /** Undefined until the first code was correct: the second factor is not in force before that. */
  readonly enrolledAt: Date | undefined
  /** The time step of the newest code used; undefined before the first. */
  readonly lastStep: number | undefined
}

/** Second factors and recovery codes. Each method is limited to one user. */
export interface SecondFactorStore {
  find(userId: UserId): Promise<SecondFactorRecord | undefined>
  /**
   * Stores a seed that waits for its first code, and replaces one that waits. Returns false if the user is enrolled.
   */
  offer(userId: UserId, sealedSeed: Uint8Array, ref: string, at: Date): Promise<boolean>
  /** Enrolls the offered seed `ref`, with its first code used. Returns false if it is not the one that waits. */
  enroll(userId: UserId, ref: string, step: number, at: Date): Promise<boolean>
  /**
   * Uses up the code of a time step of the seed `ref`, with one conditional update. Returns true once per step, and
   * never for an older one.
   */
  useStep(userId: UserId, ref: string, step: number): Promise<boolean>
  /**
   * Returns the reference of the second factor in force: that of the seed, or else one for all passkeys of the user.
   * Undefined if the user has neither.
   */
  enrolledRef(userId: UserId): Promise<string | undefined>
  /** Removes the seed, and the recovery codes unless a passkey remains. Returns false if there was no seed. */
  remove(userId: UserId): Promise<boolean>
  /** Removes the recovery codes of a user who has neither an enrolled seed nor a passkey. */
  removeIdleRecoveryCodes(userId: UserId): Promise<void>
  /** The hashes are SHA-256, 32 bytes each. */
  replaceRecoveryCodes(userId: UserId, hashes: readonly Uint8Array[], at: Date): Promise<void>
  /** Returns true once for each code. */
  useRecoveryCode(userId: UserId, hash: Uint8Array, at: Date): Promise<boolean>
  /** Reports whether the code is one of the user's and unused. */
  hasRecoveryCode(userId: UserId, hash: Uint8Array): Promise<boolean>
  countRecoveryCodes(userId: UserId): Promise<number>
}

/**
 * Time-based one-time passwords: RFC 6238, SHA-1, 6 digits, 30 seconds, the parameters of common authenticator apps.
 */
export interface OneTimePasswords {
  /** Returns 160 random bits in base32. */
  newSeed(): Secret
  /** Returns `otpauth://totp/...`, which apps read. */
  uri(seed: Secret, issuer: string, accountName: string): Secret
  /** Returns the time step of a code, at most one step from the current one; undefined if the code is wrong. */
  stepOf(seed: Secret, code: string, now: Date): number | undefined
}
export const OneTimePasswordsPort = portKey<OneTimePasswords>('identity.OneTimePasswords')

export interface PresentedCode {
  readonly userId: UserId
  /** Six digits from the authenticator, or a recovery code as typed. */
  readonly code: string | undefined
  /** A response of a passkey of the user instead of a code. */
  readonly passkey?: PresentedPasskey | undefined
  /** Canonical IP text. */
  readonly sourceIp: string
}

/**
 * Judges a code and uses it up, for every surface.
 * Failures: OneTimeCodeRequired (missing, wrong, old or used, or the account is locked after too many), TooManyAttempts
 * (this address).
 */
export type UseOneTimeCode = (
  presented: PresentedCode,
) => Outcome<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>, void>
export const UseOneTimeCodePort = portKey<UseOneTimeCode>('identity.UseOneTimeCode')

/**
 * Judges a code as `UseOneTimeCode` does and counts a wrong one, but does not use up a correct one: it remains correct
 * until `SpendOneTimeCode` is called. For requests that may be refused for reasons other than their caller.
 */
export type CheckOneTimeCode = (
  presented: PresentedCode,
) => Outcome<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>, UnspentCode>

/**
 * Uses up a code that was judged correct. Returns true once for each. Failure: OneTimeCodeRequired, if a concurrent
 * request has used it.
 */
export type SpendOneTimeCode = (
  userId: UserId,
  code: UnspentCode,
  sourceIp: string,
) => Outcome<Failure<'OneTimeCodeRequired'>, void>

/** Encodes a text as a QR code. */
export interface QrCodes {
  /** Returns a PNG as a `data:` URL. */
  dataUrl(text: Secret): Promise<string>
}
export const QrCodesPort = portKey<QrCodes>('identity.QrCodes')
