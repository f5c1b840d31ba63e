import type { CustomTokenOptions } from '../../../adapters/security/jose-custom-tokens.ts'
import type { IdentityValues } from './settings.ts'

/** Returns the options for signing tokens for the external identity provider. */
export const customTokenOptions = (settings: IdentityValues, baseUrl: string): CustomTokenOptions => ({
  keyFile: settings.extIdpKey,
  issuer: settings.extIdpIssuer ?? baseUrl,
  audience: settings.extIdpAudience,
})
