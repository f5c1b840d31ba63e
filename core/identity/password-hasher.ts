import type { Outcome } from '../kernel/failure.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type { TooManyAttempts } from './ports.ts'

/** Slow, salted hashing of passwords, behind a bounded queue. */
export interface PasswordHasher {
  /** A PHC string of at most 255 ASCII characters. TooManyAttempts when the queue is full. */
  hash(password: Secret): Outcome<ReturnType<typeof TooManyAttempts>, string>
  /** Whether the password is the one that was hashed. A malformed PHC string is no match. TooManyAttempts when the queue is full. */
  verify(phc: string, password: Secret): Outcome<ReturnType<typeof TooManyAttempts>, boolean>
  /** Whether the PHC string was made with other parameters than today's. */
  needsRehash(phc: string): boolean
  /** A PHC string of a password that nobody has, so that an unknown login costs as much as a known one. */
  dummyPhc(): Promise<string>
}
export const PasswordHasherToken = token<PasswordHasher>('identity.PasswordHasher')
