import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { SecretBoxToken } from '../../core/kernel/secret-box.ts'
import { PasswordHasherToken } from '../../core/identity/password-hasher.ts'
import { makeArgon2PasswordHasher } from '../../adapters/security/argon2-password-hasher.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import type { Provide } from '../boot.ts'

export const provideKernel: Provide = (container, boot) => {
  container.provideValue(ClockToken, systemClock)
  container.provideValue(EntropyToken, systemEntropy)
  container.provideValue(LogToken, boot.log)
  container.provideValue(SecretBoxToken, boot.secretBox)
  container.provide(PasswordHasherToken, () => makeArgon2PasswordHasher())
}
