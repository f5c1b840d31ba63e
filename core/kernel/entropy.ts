import { token } from './token.ts'

/** A cryptographically strong source of randomness. */
export interface Entropy {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array
}
export const EntropyToken = token<Entropy>('kernel.Entropy')
