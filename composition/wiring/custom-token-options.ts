import type { CustomTokenOptions } from '../../adapters/security/jose-custom-tokens.ts'
import type { Settings } from '../config/settings.ts'

/** What tokens for the external identity provider are signed with. */
export const customTokenOptions = (settings: Settings, baseUrl: string): CustomTokenOptions => ({
  keyFile: settings.extIdpKey,
  issuer: settings.extIdpIssuer ?? baseUrl,
  audience: settings.extIdpAudience,
})
