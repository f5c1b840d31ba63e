import type { PasswordPolicy } from '../../core/identity/password-policy.ts'
import type { IdentityGiven } from './needs.ts'

export const passwordPolicyOf = (given: Pick<IdentityGiven, 'settings' | 'commonPasswords'>): PasswordPolicy => ({
  minLength: given.settings.passwordMinLength,
  common: given.commonPasswords,
})
