import { hkdfSync } from 'node:crypto'
import {
  AuthenticatorToken,
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
import type { IdentitySettings } from '../../core/identity/ports.ts'
import { AllowancesToken, AttemptThrottleToken, OnLockedToken } from '../../core/identity/attempt-ports.ts'
import { BusPassesToken, SessionResumptionToken } from '../../core/identity/sessions/ports.ts'
import { CustomTokenIssuerToken, ClusterTokensToken, ConfinedTokensToken } from '../../core/identity/tokens/ports.ts'
import { makeSessionResumption } from '../../core/identity/sessions/remembered-logins.ts'
import { SiteRulesStoreToken, ContentDigestToken } from '../../core/identity/accounts/ports.ts'
import { makeClusterTokens, makeConfinedTokens } from '../../core/identity/tokens/delegated-tokens.ts'
import { makeAuthenticator } from '../../core/identity/authentication/authenticator.ts'
import { OneTimePasswordsToken, QrCodesToken, UseOneTimeCodeToken } from '../../core/identity/second-factor/ports.ts'
import { makeNotifyLocked } from '../../core/identity/credentials.ts'
import { makeSealedSeeds } from '../../core/identity/second-factor/codes.ts'
import type { UseOneTimeCodeDeps } from '../../core/identity/second-factor/one-time-codes.ts'
import {
  makeCheckOneTimeCode,
  makeSpendOneTimeCode,
  makeUseOneTimeCode,
  makeUseRecoveryCode,
} from '../../core/identity/second-factor/one-time-codes.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken, secret } from '../../core/kernel/secret.ts'
import { makeListedCommonPasswords, noCommonPasswords } from '../../adapters/security/passwords.ts'
import { makeHmacCsrfTokens, sha256ContentDigest, sha256TokenDigest } from '../../adapters/security/digests.ts'
import { makeJoseCustomTokens } from '../../adapters/security/jose-custom-tokens.ts'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { otpauthOneTimePasswords, pngQrCodes } from '../../adapters/security/one-time-passwords.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { tokenObjectRows } from '../../adapters/sql/identity/rows.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeBackground } from '../../adapters/system/background.ts'
import { steadyClock } from '../../adapters/system/system-clock.ts'
import { makeAllowances } from '../../adapters/throttle/allowances.ts'
import { makeAttemptThrottle } from '../../adapters/throttle/attempt-throttle.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import type { Boot, Provide } from '../boot.ts'
import { customTokenOptions } from './custom-token-options.ts'
import { BindMailOutboxToken } from './mail.ts'
import type { Resolve } from '../container.ts'

const hour = 3600

const settingsOf = (boot: Boot): IdentitySettings => ({
  baseUrl: boot.baseUrl,
  sessionCookie: boot.settings.sessionCookie,
  passwordMinLength: boot.settings.passwordMinLength,
  sessionIdleSeconds: boot.settings.sessionIdleMinutes * 60,
  sessionSeconds: boot.settings.sessionHours * hour,
  rememberSeconds: boot.settings.rememberDays * 24 * hour,
})

/** Returns a key of its own, derived from the one that keeps such values unreadable. */
const attemptKeyOf = (boot: Boot) =>
  secret(new Uint8Array(hkdfSync('sha256', boot.keys.audit.reveal(), '', 'moorage attempt counters', 32)))

const oneTimeCodesOf = (resolve: Resolve, boot: Boot): UseOneTimeCodeDeps => {
  const stores = resolve(IdentityStoresToken)
  const clock = resolve(ClockToken)
  const digest = resolve(TokenDigestToken)
  return {
    secondFactors: stores.secondFactors,
    seeds: makeSealedSeeds(boot.secretBox),
    oneTimePasswords: resolve(OneTimePasswordsToken),
    clock,
    throttle: resolve(AttemptThrottleToken),
    onLocked: resolve(OnLockedToken),
    useRecoveryCode: makeUseRecoveryCode({ stores, clock, unitOfWork: resolve(IdentityUnitOfWorkToken), digest }),
    digest,
  }
}

export const provideIdentity: Provide = (container, boot) => {
  const { database } = boot
  boot.objectRows.add(tokenObjectRows)
  const bindStores = makeSqlIdentityStores(database, boot.heldObjects, {
    hideEmail: boot.settings.newUserEmail === 'hidden',
    language: boot.settings.newUserLanguage === 'none' ? '' : boot.settings.newUserLanguage,
  })
  const background = makeBackground(boot.log)
  boot.onStop('identity background work', () => background.stop())
  container.provideValue(IdentitySettingsToken, settingsOf(boot))
  container.provide(CustomTokenIssuerToken, () =>
    makeJoseCustomTokens(customTokenOptions(boot.settings, boot.baseUrl())),
  )
  container.provideValue(TokenDigestToken, sha256TokenDigest)
  container.provideValue(ContentDigestToken, sha256ContentDigest)
  container.provideValue(CsrfTokensToken, makeHmacCsrfTokens(boot.keys.csrf))
  container.provideValue(DomainNamesToken, idnaDomainNames)
  container.provideValue(BackgroundToken, background)
  container.provide(ConfinedTokensToken, (resolve) =>
    makeConfinedTokens({
      digest: resolve(TokenDigestToken),
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
    }),
  )
  container.provide(ClusterTokensToken, (resolve) =>
    makeClusterTokens({
      unitOfWork: resolve(IdentityUnitOfWorkToken),
      digest: resolve(TokenDigestToken),
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
      lifeSeconds: boot.settings.kubeconfigHours * hour,
    }),
  )
  container.provideValue(OneTimePasswordsToken, otpauthOneTimePasswords)
  container.provideValue(QrCodesToken, pngQrCodes)
  container.provide(UseOneTimeCodeToken, (resolve) => makeUseOneTimeCode(oneTimeCodesOf(resolve, boot)))
  container.provide(AttemptThrottleToken, () =>
    makeAttemptThrottle({
      counters: makeSqlAttemptCounters(database),
      key: attemptKeyOf(boot),
      clock: steadyClock,
      background,
      log: boot.log,
    }),
  )
  container.provide(AllowancesToken, () =>
    makeAllowances({ counters: makeSqlAttemptCounters(database), key: attemptKeyOf(boot), log: boot.log }),
  )
  container.provide(OnLockedToken, (resolve) =>
    makeNotifyLocked({
      unitOfWork: resolve(IdentityUnitOfWorkToken),
      background,
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
    }),
  )
  container.provide(CommonPasswordsToken, () =>
    boot.settings.passwordList === 'on' ? makeListedCommonPasswords() : noCommonPasswords,
  )
  container.provide(CredentialStoreToken, () => makeSqlCredentialStore(database))
  container.provide(IdentityStoresToken, () => bindStores(database))
  container.provide(SiteRulesStoreToken, (resolve) => resolve(IdentityStoresToken).siteRules)
  container.provide(IdentityUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ ...bindStores(tx), audit, mail: outbox(tx) }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(SessionResumptionToken, (resolve) =>
    makeSessionResumption({
      stores: resolve(IdentityStoresToken),
      unitOfWork: resolve(IdentityUnitOfWorkToken),
      digest: resolve(TokenDigestToken),
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
      settings: resolve(IdentitySettingsToken),
      busPasses: resolve(BusPassesToken),
    }),
  )
  container.provide(AuthenticatorToken, (resolve) =>
    makeAuthenticator({
      credentials: resolve(CredentialStoreToken),
      hasher: resolve(PasswordHasherToken),
      digest: resolve(TokenDigestToken),
      clock: resolve(ClockToken),
      background: resolve(BackgroundToken),
      caches: resolve(CachesToken),
      settings: resolve(IdentitySettingsToken),
      throttle: resolve(AttemptThrottleToken),
      onLocked: resolve(OnLockedToken),
      checkOneTimeCode: makeCheckOneTimeCode(oneTimeCodesOf(resolve, boot)),
      spendOneTimeCode: makeSpendOneTimeCode(oneTimeCodesOf(resolve, boot)),
    }),
  )
}
