import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Entropy } from '../kernel/entropy.ts'
import type { TokenDigest } from './ports.ts'

/** How many codes a user is given at once. */
export const recoveryCodeCount = 10
/** Crockford's base32 without letters that people mistake; 24 of them are 120 bits, enough for a plain digest to keep. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const codeLength = 24
const groupLength = 4

/** A code as it is shown: six groups of four. 32 divides 256, so each letter is equally likely. */
export const makeRecoveryCode = (entropy: Entropy): string => {
  const letters = [...entropy.bytes(codeLength)].map((byte) => alphabet.charAt(byte % alphabet.length)).join('')
  return Array.from({ length: codeLength / groupLength }, (_, i) => letters.slice(i * groupLength, (i + 1) * groupLength)).join('-')
}

/** What of a code is kept as a digest: case, blanks and dashes do not matter to whoever types it. Left when it is no code. */
export const recoveryCodeKey = (typed: string): Either<'malformed', string> => {
  const key = typed.toLowerCase().replaceAll(/[\s-]/g, '')
  return key.length === codeLength && [...key].every((letter) => alphabet.includes(letter)) ? right(key) : left('malformed')
}

/** What is kept of a code that was made here. */
export const recoveryCodeHash = (digest: TokenDigest, code: string): Uint8Array => {
  const key = recoveryCodeKey(code)
  if (isLeft(key)) throw new Error('a recovery code that was made here is malformed')
  return digest.digest(key.right)
}
