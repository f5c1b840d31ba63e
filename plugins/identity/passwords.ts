import type { PasswordPolicy } from '../../core/identity/authentication/password-policy.ts'
import type { CommonPasswords, IdentitySettings } from '../../core/identity/ports.ts'

/** Returns the host name and each of its labels. */
const hostWords = (baseUrl: string): readonly string[] => {
  const host = new URL(baseUrl).hostname
  return [host, ...host.split('.')]
}

/** Returns the rules for the passwords of this site. */
export const passwordPolicyOf = ({
  settings,
  commonPasswords,
}: {
  readonly settings: IdentitySettings
  readonly commonPasswords: CommonPasswords
}): PasswordPolicy => ({
  minLength: settings.passwordMinLength,
  common: commonPasswords,
  siteWords: () => hostWords(settings.baseUrl()),
})
