import type { Entropy } from '../../kernel/entropy.ts'

const table: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value >>> 0
})

/** Returns the CRC-32 (IEEE 802.3, as in zip) of ASCII text, in 0..2^32-1. */
export const crc32 = (ascii: string): number => {
  let value = 0xffffffff
  for (let i = 0; i < ascii.length; i += 1) {
    value = (value >>> 8) ^ (table[(value ^ ascii.charCodeAt(i)) & 0xff] ?? 0)
  }
  return (value ^ 0xffffffff) >>> 0
}

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

const checkOf = (random: string): string => {
  let rest = crc32(random)
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
export const makeAccessToken = (entropy: Entropy): string => {
  const random = randomBase62(entropy, randomLength)
  return prefix + random + checkOf(random)
}

const own = /^moor_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** The token format of related servers. Such tokens are imported. */
const hex40 = /^[0-9a-f]{40}$/

/** Reports whether a text has the form of an access token. Any other text is not looked up. */
export const hasAccessTokenForm = (text: string): boolean => {
  if (hex40.test(text)) return true
  const parts = own.exec(text)
  return parts !== null && checkOf(parts[1] ?? '') === parts[2]
}

/** Returns the characters of a token that lists show. */
export const lastEightOf = (token: string): string => token.slice(-8)
