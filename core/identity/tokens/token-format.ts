import type { Entropy } from '../../kernel/secret.ts'
import type { TokenDigest } from '../ports.ts'

const prefix = 'moor_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^30 is slightly more than 2^178. */
const randomLength = 30
/** 62^6 is more than 2^32. */
const checkLength = 6

/** Returns a text of `length` base62 characters, each equally likely. */
export const randomBase62 = (entropy: Entropy, length: number): string => {
  let text = ''
  while (text.length < length) {
    for (const byte of entropy.bytes(length - text.length + 8)) {
      // 248 is the greatest multiple of 62 in a byte. Greater values would favour the first letters.
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

const checkOf = (random: string, digest: TokenDigest): string => {
  let rest = digest.checksum(random)
  let text = ''
  for (let i = 0; i < checkLength; i += 1) {
    text = alphabet.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * Returns a new access token: prefix, 30 random characters, and their checksum, so that scanners recognize it and typos
 * need no look-up.
 */
export const makeAccessToken = (entropy: Entropy, digest: TokenDigest): string => {
  const random = randomBase62(entropy, randomLength)
  return prefix + random + checkOf(random, digest)
}

const own = /^moor_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** The token format of related servers. Such tokens are imported. */
const hex40 = /^[0-9a-f]{40}$/

/** Reports whether a text has the form of an access token. Any other text is not looked up. */
export const hasAccessTokenForm = (text: string, digest: TokenDigest): boolean => {
  if (hex40.test(text)) return true
  const parts = own.exec(text)
  return parts !== null && checkOf(parts[1] ?? '', digest) === parts[2]
}

/** Returns the characters of a token that lists show. */
export const lastEightOf = (token: string): string => token.slice(-8)
