import {
  CommonPasswordsToken, CredentialStoreToken, CsrfTokensToken, DomainNamesToken, IdentitySettingsToken, IdentityStoresToken,
  IdentityUnitOfWorkToken, PasswordHasherToken, TokenDigestToken,
} from '../../core/identity/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the identity plugin. */
export const identityNeeds = {
  stores: IdentityStoresToken,
  unitOfWork: IdentityUnitOfWorkToken,
  credentials: CredentialStoreToken,
  hasher: PasswordHasherToken,
  digest: TokenDigestToken,
  csrf: CsrfTokensToken,
  commonPasswords: CommonPasswordsToken,
  domains: DomainNamesToken,
  settings: IdentitySettingsToken,
  clock: ClockToken,
  entropy: EntropyToken,
}
export type IdentityGiven = Given<typeof identityNeeds>
