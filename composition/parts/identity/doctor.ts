import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { missingForCustomTokens, readSigningKey } from '../../../adapters/security/jose-custom-tokens.ts'
import type { Finding } from '../../part/finding.ts'
import { ok, warning } from '../../part/finding.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { relyingPartyAt } from '../../../adapters/security/webauthn.ts'
import { missingFile } from '../../runtime/cli/doctor/doctor-checks.ts'
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

/**
 * Returns how many passkeys are for a host, and for others. Undefined if the database is away or has no such table yet.
 */
const countPasskeys = async (
  databaseUrl: string,
  host: string,
): Promise<{ readonly own: number; readonly others: number } | undefined> => {
  if (missingFile(databaseUrl) !== undefined) return undefined
  let database: SqlDatabase | undefined
  try {
    database = await openDatabase(databaseUrl)
    const hosts = await database.query<{ rp_id: string; total: number | string }>((k) =>
      k('passkeys').select('rp_id').count({ total: '*' }).groupBy('rp_id'),
    )
    const total = (of: typeof hosts): number => of.reduce((sum, row) => sum + Number(row.total), 0)
    const own = total(hosts.filter(({ rp_id: id }) => id === host))
    return { own, others: total(hosts) - own }
  } catch {
    // The check of the database says what is wrong with it.
    return undefined
  } finally {
    await database?.close().catch(() => undefined)
  }
}

/** Warns of passkeys that were registered at another host than that of the base URL: browsers no longer offer them. */
export const checkPasskeys = async ({
  baseUrl,
  databaseUrl,
}: Pick<RuntimeSettings, 'baseUrl' | 'databaseUrl'>): Promise<readonly Finding[]> => {
  const host = relyingPartyAt(baseUrl)?.id
  const counted = await countPasskeys(databaseUrl.reveal(), host ?? '')
  if (counted === undefined || counted.own + counted.others === 0) return []
  if (counted.others === 0) return [ok('passkeys', `All ${counted.own} passkeys are for ${host}.`)]
  return [
    warning(
      'passkeys',
      `${counted.others} of ${counted.own + counted.others} passkeys were registered at another host than that of the ` +
        `base URL, and browsers do not offer them${host === undefined ? '' : ` at ${host}`}. Set MOORAGE_BASE_URL to ` +
        'the https address at which they were registered, or let the users register new ones.',
    ),
  ]
}
