import { token } from './token.ts'

/** A cryptographically strong source of randomness. */
export interface Entropy {
  /** Returns `length` random bytes. */
  bytes(length: number): Uint8Array
  /** Returns a new version 4 UUID. */
  uuid(): string
}
export const EntropyToken = token<Entropy>('kernel.Entropy')

/** Encodes bytes as lower-case hexadecimal, two digits per byte. */
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
