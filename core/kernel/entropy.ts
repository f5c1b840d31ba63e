import { token } from './token.ts'

/** A cryptographically strong source of randomness. */
export interface Entropy {
  /** Returns `length` random bytes. */
  bytes(length: number): Uint8Array
}
export const EntropyToken = token<Entropy>('kernel.Entropy')

/** Encodes bytes as lower-case hexadecimal, two digits per byte. */
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns a version 4 UUID from 16 random bytes. */
export const uuidFrom = (random: Uint8Array): string => {
  const bytes = Uint8Array.from(random.subarray(0, 16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const digits = hex(bytes)
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]].map(([from, to]) => digits.slice(from, to)).join('-')
}
