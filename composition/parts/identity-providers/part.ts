import { makeDomainProofs, systemTextRecords } from '../../../adapters/identity-providers/domain-proofs.ts'
import { makeLdapDirectorySearch } from '../../../adapters/identity-providers/ldap/ldap-directory-search.ts'
import { makeOpenIdConnect } from '../../../adapters/identity-providers/openid-connect.ts'
import { makeAccountLimiter } from '../../../adapters/outbound/account-limiter.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../../adapters/outbound/egress-policy.ts'
import type { GuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeUserFetch } from '../../../adapters/outbound/user-fetch.ts'
import { makeSqlSignInAttemptStore } from '../../../adapters/sql/identity-providers/attempt-store.ts'
import { makeSqlDomainStore } from '../../../adapters/sql/identity-providers/domain-store.ts'
import {
  makeSqlExternalAccountStore,
  makeSqlExternalSessionStore,
} from '../../../adapters/sql/identity-providers/external-account-store.ts'
import { makeSqlLocalSignInStore } from '../../../adapters/sql/identity-providers/local-sign-in-store.ts'
import { identityProvidersMigrations } from '../../../adapters/sql/identity-providers/migrations.ts'
import { makeSqlProviderStore } from '../../../adapters/sql/identity-providers/provider-store.ts'
import { makeSqlIdentityStores } from '../../../adapters/sql/identity/identity-stores.ts'
import { makeSqlMembershipStore } from '../../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../../adapters/sql/organizations/team-store.ts'
import { makeMembersByAddress } from '../../../core/identity-providers/domains/members.ts'
import {
  DirectorySearchPort,
  DomainProofsPort,
  DomainStorePort,
  ExternalAccountStorePort,
  ExternalSessionStorePort,
  LocalSignInStorePort,
  MembersByAddressPort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderCountersPort,
  ProviderUnitOfWorkPort,
  SignInAttemptStorePort,
} from '../../../core/identity-providers/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { AddressReaderPort } from '../../../core/organizations/invitations/ports.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { identityProvidersPlugin } from '../../../plugins/identity-providers/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
import type { Boot } from '../../part/boot.ts'
import type { Counts } from '../../part/gauges.ts'
import { defineGauges, makeCounts } from '../../part/gauges.ts'
import { ownPage } from '../../part/pages/web-page.ts'
import { definePart } from '../../part/part.ts'
import { withDefault } from '../../part/setting.ts'
import { wholeNumber, wordOf } from '../../part/setting-type.ts'
import { FreshUserPort } from '../identity/part.ts'
import { BindMailOutboxPort } from '../mail/part.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

/** What requests the addresses that owners of organizations chose. */
const ProviderFetchPort = portKey<GuardedFetch>('identityProviders.Fetch')

interface Tally {
  readonly signIns: Counts
  readonly checks: Counts
}
const TallyPort = portKey<Tally>('identityProviders.Counts')
/** Providers that have series of their own. */
const mostProviders = 50
const mostOutcomes = 10

/** Connections to directories: of one network, or to one directory, at most as many as of an account. */
const directoryTurns = {
  pool: 'directories',
  inAll: 32,
  perAccount: 8,
  waitingPerAccount: 128,
  waitMilliseconds: 15_000,
} as const

const storesOf = ({ database, heldObjects }: Pick<Boot, 'database' | 'heldObjects'>) => {
  return {
    organizations: makeSqlOrganizationStore(database, heldObjects),
    teams: makeSqlTeamStore(database),
    memberships: makeSqlMembershipStore(database),
    providers: makeSqlProviderStore(database),
    accounts: makeSqlExternalAccountStore(database),
    sessions: makeSqlExternalSessionStore(database),
    attempts: makeSqlSignInAttemptStore(database),
    domains: makeSqlDomainStore(database),
    localSignIn: makeSqlLocalSignInStore(database),
  }
}

/** Sign-in with identity providers. */
export const part = definePart({
  plugin: identityProvidersPlugin,
  migrations: identityProvidersMigrations,
  settings: {
    providerCheckMinutes: withDefault(
      'MOORAGE_PROVIDER_CHECK_MINUTES',
      wholeNumber(1, 1440),
      '15',
      'How often the service asks an identity provider whether it still lets a person in.',
      { after: 'MOORAGE_KUBECONFIG_HOURS' },
    ),
    organizationProviders: withDefault(
      'MOORAGE_ORGANIZATION_PROVIDERS',
      wordOf('on', 'off'),
      'on',
      'Whether organizations may have identity providers of their own.',
    ),
    directoryEndPercent: withDefault(
      'MOORAGE_DIRECTORY_END_PERCENT',
      wholeNumber(1, 100),
      '20',
      "The share of a directory's people, in percent, who may lose access by one comparison. Three always may.",
    ),
  },
  pages: [
    ownPage('external-sign-in', 'Sign in', '/user/oauth2/{id}/callback'),
    ownPage('begin-sign-in', 'Sign in', '/user/oauth2/{id}'),
    ownPage('identity-providers', 'Identity providers'),
  ],
  provide(boot) {
    const { database, settings, resolver, pools } = boot
    const stores = lazily(() => storesOf(boot))
    return [
      bind(ProviderFetchPort, {}, () => makeUserFetch(boot)),
      bind(OpenIdConnectPort, { fetch: ProviderFetchPort, clock: ClockPort }, makeOpenIdConnect),
      bind(DirectorySearchPort, { clock: ClockPort }, ({ clock }) => {
        const allowance = makeEgressAllowance(settings.egressAllow)
        const limiter = makeAccountLimiter(directoryTurns)
        pools.watch(directoryTurns.pool, limiter.load)
        return makeLdapDirectorySearch({
          policy: makeUserUrlPolicy(allowance, resolver.lookup),
          allowance,
          limiter,
          clock,
        })
      }),
      bind(DomainProofsPort, { fetch: ProviderFetchPort }, ({ fetch }) => makeDomainProofs(fetch, systemTextRecords)),
      bind(ProviderSettingsPort, {}, () => ({
        checkSeconds: settings.providerCheckMinutes * 60,
        allowsOrganizations: settings.organizationProviders === 'on',
        endPercent: settings.directoryEndPercent,
      })),
      bind(TallyPort, {}, () => ({
        signIns: makeCounts(['provider', 'outcome'], mostProviders),
        checks: makeCounts(['outcome'], mostOutcomes),
      })),
      bind(ProviderCountersPort, { tally: TallyPort }, ({ tally }) => ({
        signIn: (providerId, outcome) => tally.signIns.add(String(providerId ?? 0), outcome),
        check: (outcome) => tally.checks.add(outcome),
      })),
      bind(ProviderStorePort, {}, () => stores().providers(database)),
      bind(ExternalAccountStorePort, {}, () => stores().accounts(database)),
      bind(ExternalSessionStorePort, {}, () => stores().sessions(database)),
      bind(SignInAttemptStorePort, {}, () => stores().attempts(database)),
      bind(DomainStorePort, {}, () => stores().domains(database)),
      bind(LocalSignInStorePort, {}, () => stores().localSignIn(database)),
      bind(MembersByAddressPort, { addresses: AddressReaderPort }, makeMembersByAddress),
      bindUnitOfWork(
        database,
        ProviderUnitOfWorkPort,
        ({ outbox, freshUser }) => {
          const identity = makeSqlIdentityStores(database, boot.heldObjects, freshUser)
          return (tx, audit) => ({
            identity: { ...identity(tx), audit, mail: outbox(tx) },
            organizations: {
              organizations: stores().organizations(tx),
              teams: stores().teams(tx),
              memberships: stores().memberships(tx),
              audit,
            },
            providers: stores().providers(tx),
            accounts: stores().accounts(tx),
            sessions: stores().sessions(tx),
            attempts: stores().attempts(tx),
            domains: stores().domains(tx),
            localSignIn: stores().localSignIn(tx),
          })
        },
        { outbox: BindMailOutboxPort, freshUser: FreshUserPort },
      ),
    ]
  },
  demo: async (world) => (await import('./demo.ts')).seedProvider(world),
  metrics: [
    defineGauges(
      {
        moorage_external_sign_ins_total: {
          type: 'counter',
          help:
            'Sign-ins with identity providers here, by the id of the provider and the outcome: signed-in, linked, ' +
            'second-factor, or the code of the refusal.',
          label: ['provider', 'outcome'],
        },
        moorage_access_checks_total: {
          type: 'counter',
          help: 'Checks here whether a provider still lets a person in: renewed, ended, unavailable, withheld.',
          label: 'outcome',
        },
        moorage_identity_providers: {
          help: 'Identity providers that are switched on, by how the last request to them went: working, failing, unused.',
          label: 'state',
        },
        moorage_access_checks_late_seconds: {
          help: 'For how long the oldest check of access, or comparison with a directory, has been due; 0 if none is.',
        },
        moorage_directory_ends_withheld: {
          help: 'People who are missing in directories and keep access, since they are too many at once.',
        },
      },
      { tally: TallyPort, accounts: ExternalAccountStorePort, providers: ProviderStorePort, clock: ClockPort },
      ({ tally, accounts, providers, clock }) =>
        async () => {
          const directories = await providers.directoryState()
          const due = [await accounts.oldestDue(), directories.oldestDue].map((at) => at?.getTime() ?? Infinity)
          return {
            moorage_external_sign_ins_total: tally.signIns.samples(),
            moorage_access_checks_total: tally.checks.samples(),
            moorage_identity_providers: { ...(await providers.states()) },
            moorage_access_checks_late_seconds: Math.max(0, (clock.now().getTime() - Math.min(...due)) / 1000),
            moorage_directory_ends_withheld: directories.withheldEnds,
          }
        },
    ),
  ],
})
