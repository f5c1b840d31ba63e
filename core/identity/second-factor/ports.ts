import type { UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UnspentCode } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { token } from '../../kernel/token.ts'

/** A user's second factor as it is kept. */
export interface SecondFactorRecord {
  readonly userId: UserId
  /** The seed, sealed for this row. */
  readonly sealedSeed: Uint8Array
  /** The random reference that the seal is bound to. */
  readonly ref: string
  /** Undefined until the first code was right: the second factor does not count before that. */
  readonly enrolledAt: Date | undefined
  /** The time step of the newest code that was used; undefined before the first. */
  readonly lastStep: number | undefined
}

/** Second factors and recovery codes. Each method stays inside one user. */
export interface SecondFactorStore {
  find(userId: UserId): Promise<SecondFactorRecord | undefined>
  /** Puts a seed in place that waits for its first code; replaces one that waits. False when the user is enrolled. */
  offer(userId: UserId, sealedSeed: Uint8Array, ref: string, at: Date): Promise<boolean>
  /** Makes the offered seed `ref` count, its first code used. False when it is not the one that waits. */
  enroll(userId: UserId, ref: string, step: number, at: Date): Promise<boolean>
  /** Uses the code of a time step of the seed `ref`: one conditional update, true once for each step and never for an older one. */
  useStep(userId: UserId, ref: string, step: number): Promise<boolean>
  /** Removes seed and recovery codes. False when there was none. */
  remove(userId: UserId): Promise<boolean>
  /** SHA-256 of each code, 32 bytes. */
  replaceRecoveryCodes(userId: UserId, hashes: readonly Uint8Array[], at: Date): Promise<void>
  /** True once for each code. */
  useRecoveryCode(userId: UserId, hash: Uint8Array, at: Date): Promise<boolean>
  /** Whether the code is one of the user's and unused. */
  hasRecoveryCode(userId: UserId, hash: Uint8Array): Promise<boolean>
  countRecoveryCodes(userId: UserId): Promise<number>
}

/** Time-based one-time passwords: RFC 6238, SHA-1, 6 digits, 30 seconds, as every authenticator app does them. */
export interface OneTimePasswords {
  /** 160 random bits in base32. */
  newSeed(): Secret
  /** `otpauth://totp/...` as an app reads it. */
  uri(seed: Secret, issuer: string, accountName: string): Secret
  /** The time step whose code this is, at most one step off; undefined when it is none. */
  stepOf(seed: Secret, code: string, now: Date): number | undefined
}
export const OneTimePasswordsToken = token<OneTimePasswords>('identity.OneTimePasswords')

export interface PresentedCode {
  readonly userId: UserId
  /** Six digits of the authenticator, or a recovery code as it was typed. */
  readonly code: string | undefined
  /** Canonical IP text. */
  readonly sourceIp: string
}

/**
 * Judges a code and uses it up, for every surface. Failures: OneTimeCodeRequired (none, wrong, old, used, or the account
 * is locked after too many), TooManyAttempts (this address).
 */
export type UseOneTimeCode = (presented: PresentedCode) => Outcome<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>, void>
export const UseOneTimeCodeToken = token<UseOneTimeCode>('identity.UseOneTimeCode')

/**
 * Judges a code as `UseOneTimeCode` does, counts a wrong one, and leaves a right one unused: it is right again until
 * `SpendOneTimeCode` was asked. For requests that may be refused for other reasons than their caller.
 */
export type JudgeOneTimeCode = (presented: PresentedCode) => Outcome<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>, UnspentCode>

/** Uses up a code that was judged right: true once for each. Failure: OneTimeCodeRequired, where another request was quicker. */
export type SpendOneTimeCode = (userId: UserId, code: UnspentCode, sourceIp: string) => Outcome<Failure<'OneTimeCodeRequired'>, void>

/** A text as a picture that a phone reads. */
export interface QrCodes {
  /** A PNG as `data:` URL. */
  dataUrl(text: Secret): Promise<string>
}
export const QrCodesToken = token<QrCodes>('identity.QrCodes')
