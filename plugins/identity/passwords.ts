import type { PasswordPolicy } from '../../core/identity/authentication/password-policy.ts'
import type { Proof } from '../../core/identity/credentials.ts'
import type { CommonPasswords, IdentitySettings } from '../../core/identity/ports.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

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

/** Returns the secret in an optional field of a request. */
export const optionalSecret = (text: string | undefined): Secret | undefined =>
  text === undefined ? undefined : secret(text)

/** Returns what proves in a request that the caller is the owner of the account. */
export const proofOf = ({
  password,
  passCode,
  passkey,
}: Omit<Proof, 'password'> & { readonly password: string | undefined }): Proof => ({
  password: optionalSecret(password),
  passCode,
  passkey,
})
