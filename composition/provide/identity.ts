import {
  AuthenticatorToken, BackgroundToken, CommonPasswordsToken, CredentialStoreToken, CsrfTokensToken, DomainNamesToken,
  IdentitySettingsToken, IdentityStoresToken, IdentityUnitOfWorkToken, PasswordHasherToken, TokenDigestToken,
} from '../../core/identity/ports.ts'
import type { IdentitySettings } from '../../core/identity/ports.ts'
import { makeAuthenticator } from '../../core/identity/authenticate.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { makeListedCommonPasswords } from '../../adapters/security/common-passwords.ts'
import { makeHmacCsrfTokens } from '../../adapters/security/hmac-csrf-tokens.ts'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { sha256TokenDigest } from '../../adapters/security/sha256-token-digest.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/unit-of-work.ts'
import { makeBackground } from '../../adapters/system/background.ts'
import type { Boot, Provide } from '../boot.ts'

const hour = 3600

const settingsOf = (boot: Boot): IdentitySettings => ({
  baseUrl: boot.baseUrl,
  sessionCookie: boot.settings.sessionCookie,
  passwordMinLength: boot.settings.passwordMinLength,
  sessionIdleSeconds: hour,
  sessionSeconds: 24 * hour,
  rememberSeconds: 30 * 24 * hour,
})

export const provideIdentity: Provide = (container, boot) => {
  const { database } = boot
  const bindStores = makeSqlIdentityStores(database)
  const background = makeBackground(boot.log)
  boot.onStop('identity background work', () => background.stop())
  container.provideValue(IdentitySettingsToken, settingsOf(boot))
  container.provideValue(TokenDigestToken, sha256TokenDigest)
  container.provideValue(CsrfTokensToken, makeHmacCsrfTokens(boot.keys.csrf))
  container.provideValue(DomainNamesToken, idnaDomainNames)
  container.provideValue(BackgroundToken, background)
  container.provide(CommonPasswordsToken, () => makeListedCommonPasswords())
  container.provide(CredentialStoreToken, () => makeSqlCredentialStore(database))
  container.provide(IdentityStoresToken, () => bindStores(database))
  container.provide(IdentityUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ ...bindStores(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
  container.provide(AuthenticatorToken, (resolve) =>
    makeAuthenticator({
      credentials: resolve(CredentialStoreToken),
      hasher: resolve(PasswordHasherToken),
      digest: resolve(TokenDigestToken),
      clock: resolve(ClockToken),
      background: resolve(BackgroundToken),
      settings: resolve(IdentitySettingsToken),
    }),
  )
}
