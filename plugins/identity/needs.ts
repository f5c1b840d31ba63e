import { ContentDigestToken } from '../../core/identity/accounts/ports.ts'
import type { PasswordPolicy } from '../../core/identity/authentication/password-policy.ts'
import { AllowancesToken, AttemptThrottleToken, OnLockedToken } from '../../core/identity/authentication/ports.ts'
import {
  BackgroundToken,
  CommonPasswordsToken,
  CredentialStoreToken,
  CsrfTokensToken,
  DomainNamesToken,
  IdentitySettingsToken,
  IdentityStoresToken,
  IdentityUnitOfWorkToken,
  PasswordHasherToken,
  TokenDigestToken,
} from '../../core/identity/ports.ts'
import { OneTimePasswordsToken, QrCodesToken, UseOneTimeCodeToken } from '../../core/identity/second-factor/ports.ts'
import { BusPassesToken } from '../../core/identity/sessions/ports.ts'
import { CustomTokenIssuerToken } from '../../core/identity/tokens/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { PictureMakerToken } from '../../core/kernel/picture.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the identity plugin. */
export const identityNeeds = {
  stores: IdentityStoresToken,
  unitOfWork: IdentityUnitOfWorkToken,
  credentials: CredentialStoreToken,
  hasher: PasswordHasherToken,
  digest: TokenDigestToken,
  throttle: AttemptThrottleToken,
  allowances: AllowancesToken,
  onLocked: OnLockedToken,
  useOneTimeCode: UseOneTimeCodeToken,
  busPasses: BusPassesToken,
  customTokens: CustomTokenIssuerToken,
  oneTimePasswords: OneTimePasswordsToken,
  qrCodes: QrCodesToken,
  secretBox: SecretBoxToken,
  csrf: CsrfTokensToken,
  pictures: PictureMakerToken,
  contentDigest: ContentDigestToken,
  commonPasswords: CommonPasswordsToken,
  domains: DomainNamesToken,
  settings: IdentitySettingsToken,
  background: BackgroundToken,
  clock: ClockToken,
  entropy: EntropyToken,
}
export type IdentityGiven = Given<typeof identityNeeds>

/** Returns the host name and each of its labels. */
const hostWords = (baseUrl: string): readonly string[] => {
  const host = new URL(baseUrl).hostname
  return [host, ...host.split('.')]
}

export const passwordPolicyOf = (given: Pick<IdentityGiven, 'settings' | 'commonPasswords'>): PasswordPolicy => ({
  minLength: given.settings.passwordMinLength,
  common: given.commonPasswords,
  siteWords: () => hostWords(given.settings.baseUrl()),
})
