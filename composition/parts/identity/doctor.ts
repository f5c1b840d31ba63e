import { missingForCustomTokens, readSigningKey } from '../../../adapters/security/jose-custom-tokens.ts'
import type { Finding } from '../../part/finding.ts'
import { warning } from '../../part/finding.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { customTokenOptions } from './settings.ts'
import type { IdentityValues } from './settings.ts'

/** Warns of a deployment that accepts leaked passwords. */
export const checkPasswordList = ({ passwordList }: Pick<IdentityValues, 'passwordList'>): readonly Finding[] =>
  passwordList === 'on'
    ? []
    : [
        warning(
          'passwords',
          'Common passwords are accepted, which attackers try first. Remove MOORAGE_PASSWORD_LIST=off ' +
            'unless another system checks passwords.',
        ),
      ]

const subject = 'external id'

/**
 * Checks that tokens for the external identity provider can be signed. Returns nothing when the route does not exist.
 */
export const checkExtIdp = (settings: Pick<RuntimeSettings, 'deploymentType'> & IdentityValues): readonly Finding[] => {
  if (settings.deploymentType !== 'VendorHosted') return []
  const options = customTokenOptions(settings, '')
  const missing = missingForCustomTokens(options)
  if (missing !== undefined || options.keyFile === undefined)
    return [{ subject, state: 'warning', message: `${missing ?? ''} GET /user/extidp-token answers 503 until then.` }]
  try {
    const { algorithm } = readSigningKey(options.keyFile)
    return [
      {
        subject,
        state: 'ok',
        message: `${options.keyFile} signs tokens for the external identity provider by ${algorithm}.`,
      },
    ]
  } catch (error) {
    return [{ subject, state: 'problem', message: (error as Error).message }]
  }
}
