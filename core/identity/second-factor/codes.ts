import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Entropy, SealedPlace, Secret, SecretBox } from '../../kernel/secret.ts'
import { hex } from '../../kernel/secret.ts'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { TokenDigest } from '../ports.ts'
import type { SecondFactorRecord } from './ports.ts'

/** The number of codes that a user is given at once. */
const recoveryCodeCount = 10
/** Crockford's base32, which omits easily confused letters. 24 of them are 120 bits, enough to store a plain digest. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const codeLength = 24
const groupLength = 4

/**
 * Returns a code in its displayed form: six groups of four. 32 divides 256, so each letter is equally likely.
 *
 * @internal
 */
export const makeRecoveryCode = (entropy: Entropy): string => {
  const letters = [...entropy.bytes(codeLength)].map((byte) => alphabet.charAt(byte % alphabet.length)).join('')
  return Array.from({ length: codeLength / groupLength }, (_, i) =>
    letters.slice(i * groupLength, (i + 1) * groupLength),
  ).join('-')
}

/**
 * Returns the normalized form of a typed code, of which a digest is stored: case, spaces and dashes are ignored. Left
 * if the text is not a code.
 */
export const recoveryCodeKey = (typed: string): Either<'malformed', string> => {
  const key = typed.toLowerCase().replaceAll(/[\s-]/g, '')
  return key.length === codeLength && [...key].every((letter) => alphabet.includes(letter))
    ? right(key)
    : left('malformed')
}

/** Returns the stored digest of a generated code. */
export const recoveryCodeHash = (digest: TokenDigest, code: string): Uint8Array => {
  const key = recoveryCodeKey(code)
  if (isLeft(key)) throw new Error('a recovery code that was made here is malformed')
  return digest.digest(key.right)
}

/** The account already has a second factor. */
export const SecondFactorEnrolled = defineFailure(
  'SecondFactorEnrolled',
  'Conflict',
  'A second factor is already enrolled.',
)
/** The account has no second factor. */
export const SecondFactorMissing = defineFailure('SecondFactorMissing', 'Conflict', 'No second factor is enrolled.')
/** The first code does not match the most recently offered seed. */
export const OneTimeCodeWrong = defineFailure(
  'OneTimeCodeWrong',
  'Unprocessable',
  'The code does not belong to the secret that was offered last.',
)

export const alreadyEnrolled = (): Failure<'SecondFactorEnrolled'> =>
  SecondFactorEnrolled('A second factor is already enrolled; remove it before you set up another one.')
export const notEnrolled = (): Failure<'SecondFactorMissing'> => SecondFactorMissing('No second factor is enrolled.')

export const isEnrolled = (record: SecondFactorRecord | undefined): boolean => record?.enrolledAt !== undefined

export const makeRecoveryCodes = (entropy: Entropy): readonly string[] =>
  Array.from({ length: recoveryCodeCount }, () => makeRecoveryCode(entropy))

const refBytes = 16
/** Returns a unique reference for a seed: 32 hexadecimal digits. */
export const makeSeedRef = (entropy: Entropy): string => hex(entropy.bytes(refBytes))

/** Seals and opens seeds, each bound to its own row. */
export interface SealedSeeds {
  seal(seed: Secret, userId: UserId, ref: string): Promise<Uint8Array>
  open(record: Pick<SecondFactorRecord, 'sealedSeed' | 'userId' | 'ref'>): Promise<Secret>
}

const placeOf = (userId: UserId, ref: string): SealedPlace => ({
  table: 'two_factors',
  column: 'sealed_seed',
  tenantId: userId,
  rowRef: ref,
})

export const makeSealedSeeds = (box: SecretBox): SealedSeeds => ({
  seal: (seed, userId, ref) => box.seal(seed, placeOf(userId, ref)),
  open: ({ sealedSeed, userId, ref }) => box.open(sealedSeed, placeOf(userId, ref)),
})
