import { identityMigrations } from '../../../adapters/sql/identity/migrations.ts'
import { hkdfSync } from 'node:crypto'
import { isRight, right } from 'fp-ts/lib/Either.js'
import type { IdentitySettings } from '../../../core/identity/ports.ts'
import {
  AuthenticatorPort,
  BackgroundPort,
  CommonPasswordsPort,
  CredentialStorePort,
  CsrfTokensPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
  TokenDigestPort,
  UserFounderPort,
} from '../../../core/identity/ports.ts'
import { makeDirectoryAccounts } from '../../../core/identity/accounts/directory-accounts.ts'
import { DirectoryAccountsPort } from '../../../core/identity/accounts/directory-ports.ts'
import { makeUserFounder } from '../../../core/identity/accounts/users.ts'
import type { AttemptThrottle } from '../../../core/identity/attempt-ports.ts'
import { AccessEndPort, CallerProofsPort, SessionOpeningPort } from '../../../core/identity/access-ports.ts'
import { accessEnd } from '../../../core/identity/accounts/access-end.ts'
import { makeSessionOpening } from '../../../core/identity/sessions/session-opening.ts'
import { AllowancesPort, AttemptThrottlePort, OnLockedPort } from '../../../core/identity/attempt-ports.ts'
import { BusPassesPort, SessionResumptionPort } from '../../../core/identity/sessions/ports.ts'
import { ClusterTokensPort, ConfinedTokensPort, CustomTokenIssuerPort } from '../../../core/identity/tokens/ports.ts'
import { isMarkDue } from '../../../core/identity/sessions/sessions.ts'
import { makeSessionResumption } from '../../../core/identity/sessions/remembered-logins.ts'
import { ContentDigestPort } from '../../../core/identity/accounts/ports.ts'
import { makeClusterTokens, makeConfinedTokens } from '../../../core/identity/tokens/delegated-tokens.ts'
import { makeAuthenticator } from '../../../core/identity/authentication/authenticator.ts'
import { OneTimePasswordsPort, QrCodesPort, UseOneTimeCodePort } from '../../../core/identity/second-factor/ports.ts'
import { makeUsePasskey } from '../../../core/identity/passkeys/assertions.ts'
import { UsePasskeyPort, WebAuthnPort } from '../../../core/identity/passkey-ports.ts'
import { makeCallerProofs, makeNotifyLocked } from '../../../core/identity/credentials.ts'
import { makeSealedSeeds } from '../../../core/identity/second-factor/codes.ts'
import type { UseOneTimeCodeDeps } from '../../../core/identity/second-factor/one-time-codes.ts'
import {
  makeCheckOneTimeCode,
  makeSpendOneTimeCode,
  makeUseOneTimeCode,
  makeUseRecoveryCode,
} from '../../../core/identity/second-factor/one-time-codes.ts'
import { isLocalSignInOff } from '../../../core/identity-providers/local-sign-in.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, secret } from '../../../core/kernel/secret.ts'
import type { HashingQueue } from '../../../adapters/security/passwords.ts'
import {
  makeArgon2PasswordHasher,
  makeHashingQueue,
  makeListedCommonPasswords,
  noCommonPasswords,
} from '../../../adapters/security/passwords.ts'
import { makeHmacCsrfTokens, sha256ContentDigest, sha256TokenDigest } from '../../../adapters/security/digests.ts'
import { makeJoseCustomTokens } from '../../../adapters/security/jose-custom-tokens.ts'
import { idnaDomainNames } from '../../../adapters/security/idna-domain-names.ts'
import { otpauthOneTimePasswords, pngQrCodes } from '../../../adapters/security/one-time-passwords.ts'
import { makeSimpleWebAuthn } from '../../../adapters/security/webauthn.ts'
import { AccessMemoryPort, rememberCredentials } from '../../../adapters/sql/authz/access-memory.ts'
import { makeSqlAttemptCounters } from '../../../adapters/sql/identity/attempt-counters.ts'
import { makeSqlCredentialStore } from '../../../adapters/sql/identity/credential-store.ts'
import { tokenObjectRows } from '../../../adapters/sql/identity/rows.ts'
import { makeSqlIdentityStores } from '../../../adapters/sql/identity/identity-stores.ts'
import type { FreshUser } from '../../../adapters/sql/identity/user-store.ts'
import { makeBackground } from '../../../adapters/system/background.ts'
import { steadyClock } from '../../../adapters/system/system-clock.ts'
import { makeAllowances } from '../../../adapters/system/allowances.ts'
import { makeAttemptThrottle } from '../../../adapters/system/attempt-throttle.ts'
import type { IdentityValues } from './settings.ts'
import { customTokenOptions, freshUserOf, identitySettings } from './settings.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { identityPlugin } from '../../../plugins/identity/plugin.ts'
import type { Boot } from '../../part/boot.ts'
import { FirstAdminPort, operatorCall } from '../../part/operator.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { ok, problem } from '../../part/finding.ts'
import { ownPage } from '../../part/pages/web-page.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { makeFirstAdmin, ofUserCreation, userCreation } from './user-creation.ts'
import type { Counts } from '../../part/gauges.ts'
import { defineGauges, makeCounts } from '../../part/gauges.ts'
import { bindMailingUnitOfWork } from '../units-of-work.ts'

/** Counts of refused attempts to prove a secret, and of locks, since the start of this process. */
export interface AttemptCounters {
  readonly refused: Counts
  readonly locks: Counts
}
export const AttemptCountersPort = portKey<AttemptCounters>('identity.AttemptCounters')

/** The labels are closed lists: the kinds of secrets, and three reasons. */
const mostKinds = 10

export const makeAttemptCounters = (): AttemptCounters => ({
  refused: makeCounts(['kind', 'reason'], mostKinds),
  locks: makeCounts(['kind'], mostKinds),
})

/** Counts what a throttle refuses. */
export const countedThrottle = (throttle: AttemptThrottle, { refused, locks }: AttemptCounters): AttemptThrottle => ({
  ...throttle,
  async guard(attempt, check) {
    const guarded = await throttle.guard(attempt, check)
    if (guarded.kind === 'judged') return guarded
    refused.add(attempt.kind, guarded.kind)
    if (guarded.kind === 'wrong' && guarded.hasLocked) locks.add(attempt.kind)
    return guarded
  },
})

export const attemptGauges = defineGauges(
  {
    moorage_sign_in_refusals_total: {
      type: 'counter',
      help:
        'Attempts to prove a secret that were refused here, by the kind of secret and the reason: wrong, ' +
        'subject-locked, address-blocked.',
      label: ['kind', 'reason'],
    },
    moorage_account_locks_total: {
      type: 'counter',
      help: 'Attempts that locked an account or an unknown name, by the kind of secret.',
      label: 'kind',
    },
  },
  { attemptCounters: AttemptCountersPort },
  ({ attemptCounters }) =>
    () => ({
      moorage_sign_in_refusals_total: attemptCounters.refused.samples(),
      moorage_account_locks_total: attemptCounters.locks.samples(),
    }),
)

type IdentityBoot = Boot<IdentityValues>

/** What a new user begins with. */
export const FreshUserPort = portKey<FreshUser>('identity.FreshUser')
const HashingQueuePort = portKey<HashingQueue>('identity.HashingQueue')
const OneTimeCodesPort = portKey<UseOneTimeCodeDeps>('identity.OneTimeCodes')

const hour = 3600

const settingsOf = (boot: IdentityBoot): IdentitySettings => ({
  baseUrl: boot.baseUrl,
  sessionCookie: boot.settings.sessionCookie,
  passwordMinLength: boot.settings.passwordMinLength,
  sessionIdleSeconds: boot.settings.sessionIdleMinutes * 60,
  sessionSeconds: boot.settings.sessionHours * hour,
  rememberSeconds: boot.settings.rememberDays * 24 * hour,
})

/** Returns a key of its own, derived from the one that keeps such values unreadable. */
const attemptKeyOf = (boot: IdentityBoot) =>
  secret(new Uint8Array(hkdfSync('sha256', boot.keys.audit.reveal(), '', 'moorage attempt counters', 32)))

/** How a caller is proven: passwords, one-time codes, and the bounds on attempts. */
const authenticationBindings = (boot: IdentityBoot): readonly Binding[] => {
  const { database } = boot
  return [
    bind(OneTimePasswordsPort, {}, () => otpauthOneTimePasswords),
    bind(QrCodesPort, {}, () => pngQrCodes),
    bind(
      OneTimeCodesPort,
      {
        stores: IdentityStoresPort,
        clock: ClockPort,
        digest: TokenDigestPort,
        oneTimePasswords: OneTimePasswordsPort,
        throttle: AttemptThrottlePort,
        onLocked: OnLockedPort,
        unitOfWork: IdentityUnitOfWorkPort,
        usePasskey: UsePasskeyPort,
      },
      ({ stores, clock, digest, unitOfWork, ...given }) => ({
        ...given,
        secondFactors: stores.secondFactors,
        seeds: makeSealedSeeds(boot.secretBox),
        clock,
        useRecoveryCode: makeUseRecoveryCode({ stores, clock, unitOfWork, digest }),
        digest,
      }),
    ),
    bind(WebAuthnPort, {}, () => makeSimpleWebAuthn(boot.settings.baseUrl)),
    bind(
      UsePasskeyPort,
      {
        stores: IdentityStoresPort,
        unitOfWork: IdentityUnitOfWorkPort,
        webAuthn: WebAuthnPort,
        digest: TokenDigestPort,
        clock: ClockPort,
        throttle: AttemptThrottlePort,
        onLocked: OnLockedPort,
      },
      makeUsePasskey,
    ),
    bind(UseOneTimeCodePort, { codes: OneTimeCodesPort }, ({ codes }) => makeUseOneTimeCode(codes)),
    bind(AttemptCountersPort, {}, () => makeAttemptCounters()),
    bind(
      AttemptThrottlePort,
      { background: BackgroundPort, attemptCounters: AttemptCountersPort },
      ({ background, attemptCounters }) => {
        const throttle = makeAttemptThrottle({
          counters: makeSqlAttemptCounters(database),
          key: attemptKeyOf(boot),
          clock: steadyClock,
          background,
          log: boot.log,
        })
        return countedThrottle(throttle, attemptCounters)
      },
    ),
    bind(AllowancesPort, {}, () =>
      makeAllowances({ counters: makeSqlAttemptCounters(database), key: attemptKeyOf(boot), log: boot.log }),
    ),
    bind(
      OnLockedPort,
      { unitOfWork: IdentityUnitOfWorkPort, entropy: EntropyPort, clock: ClockPort, background: BackgroundPort },
      ({ unitOfWork, entropy, clock, background }) =>
        makeNotifyLocked({
          unitOfWork,
          background,
          entropy,
          clock,
        }),
    ),
    bind(HashingQueuePort, {}, () => {
      const queue = makeHashingQueue({ share: boot.processes.share, caller: boot.readings })
      boot.pools.watch('passwords', queue.load)
      return queue
    }),
    bind(CredentialStorePort, { memory: AccessMemoryPort, clock: ClockPort }, ({ memory, clock }) =>
      rememberCredentials(
        makeSqlCredentialStore(database, isLocalSignInOff),
        memory,
        (lastUsedAt) => !isMarkDue(lastUsedAt, clock.now()),
      ),
    ),
    bind(PasswordHasherPort, { queue: HashingQueuePort }, ({ queue }) => makeArgon2PasswordHasher(queue)),
    bind(
      AuthenticatorPort,
      {
        credentials: CredentialStorePort,
        domains: DomainNamesPort,
        hasher: PasswordHasherPort,
        digest: TokenDigestPort,
        clock: ClockPort,
        background: BackgroundPort,
        caches: CachesPort,
        settings: IdentitySettingsPort,
        throttle: AttemptThrottlePort,
        onLocked: OnLockedPort,
        codes: OneTimeCodesPort,
      },
      ({ codes, ...given }) =>
        makeAuthenticator({
          ...given,
          checkOneTimeCode: makeCheckOneTimeCode(codes),
          spendOneTimeCode: makeSpendOneTimeCode(codes),
        }),
    ),
  ]
}

/** Users, their credentials, tokens and sessions. */
export const part = definePart({
  plugin: identityPlugin,
  spans: [
    spansOf(AuthenticatorPort, { authenticate: { name: 'authenticate' }, spendCode: { name: 'spend one-time code' } }),
    spansOf(PasswordHasherPort, {
      hash: { name: 'queue passwords: hash' },
      verify: { name: 'queue passwords: verify' },
    }),
  ],
  migrations: identityMigrations,
  settings: identitySettings,
  pages: [
    ownPage('account', 'Your account'),
    ownPage('confirm-email', 'Confirm an e-mail address'),
    ownPage('reset-password', 'Set a new password'),
    ownPage('sign-in', 'Sign in'),
  ],
  objectRows: [tokenObjectRows],
  tags: [
    {
      name: 'Identity - Users & Settings',
      description:
        'Users, access tokens, emails, follow relations, sign-in and sign-out, settings of the signed-in user.',
    },
    {
      name: 'Administration',
      description: 'Administration of users and organizations by site admins.',
      after: 'Identity - Organizations & Teams',
    },
  ],
  provide(boot) {
    const { database } = boot
    const bindStores = lazily(() => makeSqlIdentityStores(database, boot.heldObjects, freshUserOf(boot.settings)))
    return [
      ...authenticationBindings(boot),
      bind(
        UserFounderPort,
        { domains: DomainNamesPort, entropy: EntropyPort, hasher: PasswordHasherPort },
        makeUserFounder,
      ),
      bind(FreshUserPort, {}, () => freshUserOf(boot.settings)),
      bind(AccessEndPort, {}, () => accessEnd),
      bind(
        CallerProofsPort,
        {
          credentials: CredentialStorePort,
          domains: DomainNamesPort,
          hasher: PasswordHasherPort,
          throttle: AttemptThrottlePort,
          onLocked: OnLockedPort,
          useOneTimeCode: UseOneTimeCodePort,
          clock: ClockPort,
        },
        makeCallerProofs,
      ),
      bind(
        SessionOpeningPort,
        {
          digest: TokenDigestPort,
          entropy: EntropyPort,
          clock: ClockPort,
          settings: IdentitySettingsPort,
          busPasses: BusPassesPort,
          useOneTimeCode: UseOneTimeCodePort,
        },
        makeSessionOpening,
      ),
      bind(IdentitySettingsPort, {}, () => settingsOf(boot)),
      bind(CustomTokenIssuerPort, {}, () => makeJoseCustomTokens(customTokenOptions(boot.settings, boot.baseUrl()))),
      bind(TokenDigestPort, {}, () => sha256TokenDigest),
      bind(ContentDigestPort, {}, () => sha256ContentDigest),
      bind(CsrfTokensPort, {}, () => makeHmacCsrfTokens(boot.keys.csrf)),
      bind(DomainNamesPort, {}, () => idnaDomainNames),
      bind(DirectoryAccountsPort, { domains: DomainNamesPort }, makeDirectoryAccounts),
      bind(
        BackgroundPort,
        {},
        () => makeBackground(boot.log),
        (background) => background.stop(),
      ),
      bind(ConfinedTokensPort, { digest: TokenDigestPort, entropy: EntropyPort, clock: ClockPort }, makeConfinedTokens),
      bind(
        ClusterTokensPort,
        { unitOfWork: IdentityUnitOfWorkPort, digest: TokenDigestPort, entropy: EntropyPort, clock: ClockPort },
        ({ unitOfWork, digest, entropy, clock }) =>
          makeClusterTokens({
            unitOfWork,
            digest,
            entropy,
            clock,
            lifeSeconds: boot.settings.kubeconfigHours * hour,
          }),
      ),
      bind(CommonPasswordsPort, {}, () =>
        boot.settings.passwordList === 'on' ? makeListedCommonPasswords() : noCommonPasswords,
      ),
      bind(IdentityStoresPort, {}, () => bindStores()(database)),
      bindMailingUnitOfWork(database, IdentityUnitOfWorkPort, bindStores),
      bind(
        SessionResumptionPort,
        {
          stores: IdentityStoresPort,
          unitOfWork: IdentityUnitOfWorkPort,
          digest: TokenDigestPort,
          entropy: EntropyPort,
          clock: ClockPort,
          settings: IdentitySettingsPort,
          busPasses: BusPassesPort,
        },
        makeSessionResumption,
      ),
      bind(FirstAdminPort, { ...ofUserCreation, stores: IdentityStoresPort }, ({ stores, ...creation }) =>
        makeFirstAdmin(userCreation(creation), stores, boot.settings),
      ),
    ]
  },
  metrics: [attemptGauges],
  restored: using({ unitOfWork: IdentityUnitOfWorkPort }, ({ unitOfWork }) => async () => {
    const admins = await unitOfWork.run(operatorCall('admin.afterRestore'), async ({ users }) =>
      right(await users.lockActiveAdmins()),
    )
    const count = isRight(admins) ? admins.right.length : 0
    return [
      count > 0
        ? ok('sign-in', `${count} ${count === 1 ? 'site admin' : 'site admins'} can sign in`)
        : problem('sign-in', 'No site admin can sign in. Run: moorage admin create-user --admin'),
    ]
  }),
  async demo({ vendor, customers, clients, passwordOf, send, tell }) {
    for (const { login, fullName } of [vendor, ...customers, ...clients].flatMap(({ people }) => people)) {
      tell(`person ${login}`)
      await send('POST', '/admin/users', {
        username: login,
        email: `${login}@example.com`,
        full_name: fullName,
        password: passwordOf(login),
        must_change_password: false,
      })
    }
  },
  async doctor(settings) {
    const { checkExtIdp, checkPasskeys, checkPasswordList } = await import('./doctor.ts')
    return [...checkExtIdp(settings), ...checkPasswordList(settings), ...(await checkPasskeys(settings))]
  },
})
