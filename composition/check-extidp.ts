import { missingForCustomTokens, readSigningKey } from '../adapters/security/jose-custom-tokens.ts'
import { customTokenOptions } from './custom-token-options.ts'
import type { Finding } from './doctor-checks.ts'
import type { Settings } from './settings.ts'

const subject = 'external id'

/** Whether tokens for the external identity provider can be signed; nothing to say where there is no such route. */
export const checkExtIdp = (settings: Settings): readonly Finding[] => {
  if (settings.deploymentType !== 'VendorHosted') return []
  const options = customTokenOptions(settings, '')
  const missing = missingForCustomTokens(options)
  if (missing !== undefined || options.keyFile === undefined) return [{ subject, state: 'warning', message: `${missing ?? ''} GET /user/extidp-token answers 503 until then.` }]
  try {
    const { algorithm } = readSigningKey(options.keyFile)
    return [{ subject, state: 'ok', message: `${options.keyFile} signs tokens for the external identity provider by ${algorithm}.` }]
  } catch (error) {
    return [{ subject, state: 'problem', message: (error as Error).message }]
  }
}
