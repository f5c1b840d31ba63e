import type { PasswordPolicy } from '../../core/identity/password-policy.ts'
import type { IdentityGiven } from './needs.ts'

/** The host's name, and each label of it. */
const hostWords = (baseUrl: string): readonly string[] => {
  const host = new URL(baseUrl).hostname
  return [host, ...host.split('.')]
}

export const passwordPolicyOf = (given: Pick<IdentityGiven, 'settings' | 'commonPasswords'>): PasswordPolicy => ({
  minLength: given.settings.passwordMinLength,
  common: given.commonPasswords,
  siteWords: () => hostWords(given.settings.baseUrl()),
})
