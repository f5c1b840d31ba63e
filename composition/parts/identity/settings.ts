import type { ValuesOf } from '../../part/setting.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import { matching, secretWords, wholeNumber, wordOf, words } from '../../part/setting-type.ts'
import type { FreshUser } from '../../../adapters/sql/identity/user-store.ts'
import type { CustomTokenOptions } from '../../../adapters/security/jose-custom-tokens.ts'

/** The settings of identity. */
export const identitySettings = {
  adminUsername: withDefault('MOORAGE_ADMIN_USERNAME', words, 'admin', 'First site admin, created if there is none.', {
    after: 'MOORAGE_MIGRATE',
  }),
  adminEmail: withDefault('MOORAGE_ADMIN_EMAIL', words, 'admin@localhost', 'E-mail address of the first site admin.'),
  adminPassword: absentUnlessSet('MOORAGE_ADMIN_PASSWORD', secretWords, 'Password of the first site admin.', {
    fallbackText: 'generated, printed once on stdout',
  }),
  passwordMinLength: withDefault(
    'MOORAGE_PASSWORD_MIN_LENGTH',
    wholeNumber(8, 64),
    '12',
    'Minimum number of characters of a password.',
    { after: 'MOORAGE_TRUSTED_PROXIES' },
  ),
  passwordList: withDefault(
    'MOORAGE_PASSWORD_LIST',
    wordOf('on', 'off'),
    'on',
    'Whether passwords of the list of common passwords are refused.',
  ),
  newUserEmail: withDefault(
    'MOORAGE_NEW_USER_EMAIL',
    wordOf('hidden', 'shown'),
    'hidden',
    'Whether other signed-in users see the address of a new user, until the user decides. Other services ' +
      'of this family begin with `shown`.',
  ),
  newUserLanguage: withDefault(
    'MOORAGE_NEW_USER_LANGUAGE',
    matching(/^(?:none|[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)$/, 'a language tag such as en-US, or none'),
    'en-US',
    'The language of a new user, until the user chooses one. Other services of this family begin with `none`.',
  ),
  sessionCookie: withDefault(
    'MOORAGE_SESSION_COOKIE',
    matching(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -'),
    'moorage_session',
    'Session cookie name (`__Host-` is put before it by HTTPS, and when the base URL is https).',
  ),
  sessionIdleMinutes: withDefault(
    'MOORAGE_SESSION_IDLE_MINUTES',
    wholeNumber(5, 10_080),
    '60',
    'Life of a session without use.',
  ),
  sessionHours: withDefault('MOORAGE_SESSION_HOURS', wholeNumber(1, 720), '24', 'Maximum life of a session.'),
  rememberDays: withDefault(
    'MOORAGE_REMEMBER_DAYS',
    wholeNumber(0, 365),
    '30',
    'How long a remembered login opens new sessions without the password; 0 disables remembered logins.',
  ),
  kubeconfigHours: withDefault(
    'MOORAGE_KUBECONFIG_HOURS',
    wholeNumber(1, 168),
    '24',
    'Life of the token in a kubeconfig of `client-config`.',
  ),
  extIdpKey: absentUnlessSet(
    'MOORAGE_EXTIDP_KEY',
    words,
    'Private key that signs tokens for the external identity provider of a vendor-hosted deployment, a PEM ' +
      'file (PKCS#8; RSA or EC P-256).',
    { after: 'MOORAGE_PLUGINS' },
  ),
  extIdpIssuer: absentUnlessSet(
    'MOORAGE_EXTIDP_ISSUER',
    words,
    'Issuer of those tokens, as configured at the provider.',
    { fallbackText: 'the base URL' },
  ),
  extIdpAudience: absentUnlessSet(
    'MOORAGE_EXTIDP_AUDIENCE',
    words,
    'Audience of those tokens, as configured at the provider.',
  ),
} as const

export type IdentityValues = ValuesOf<typeof identitySettings>

/** Returns the options for signing tokens for the external identity provider. */
export const customTokenOptions = (settings: IdentityValues, baseUrl: string): CustomTokenOptions => ({
  keyFile: settings.extIdpKey,
  issuer: settings.extIdpIssuer ?? baseUrl,
  audience: settings.extIdpAudience,
})

/** Returns what a new user begins with. */
export const freshUserOf = (settings: IdentityValues): FreshUser => ({
  hideEmail: settings.newUserEmail === 'hidden',
  language: settings.newUserLanguage === 'none' ? '' : settings.newUserLanguage,
})
