import { isLeft } from 'fp-ts/lib/Either.js'
import { joseKeyFactory } from '../../../adapters/oidc-provider/key-factory.ts'
import { makeOidcProtocol, protocolRoots } from '../../../adapters/oidc-provider/protocol.ts'
import { readOnceForRequest } from '../../../adapters/oidc-provider/request-scope.ts'
import { makeLibraryFetch } from '../../../adapters/oidc-provider/library-fetch.ts'
import { makeUserFetch } from '../../../adapters/outbound/user-fetch.ts'
import { makeSqlApplicationStore } from '../../../adapters/sql/authorization-server/application-store.ts'
import { makeSqlClusterDirectory } from '../../../adapters/sql/authorization-server/cluster-directory.ts'
import { makeSqlConsentStore } from '../../../adapters/sql/authorization-server/consent-store.ts'
import { authorizationServerMigrations } from '../../../adapters/sql/authorization-server/migrations.ts'
import { makeSqlKeyStore, makeSqlRecordStore } from '../../../adapters/sql/authorization-server/record-store.ts'
import { makeSqlSignInStore } from '../../../adapters/sql/authorization-server/sign-in-store.ts'
import { makeSqlWorkloadStore } from '../../../adapters/sql/authorization-server/workload-store.ts'
import { makeSqlTeamDirectory } from '../../../adapters/sql/authorization-server/team-directory.ts'
import { AccessMemoryPort, rememberAnswers } from '../../../adapters/sql/authz/access-memory.ts'
import { makeSqlIdentityStores } from '../../../adapters/sql/identity/identity-stores.ts'
import { makeSqlTeamStore } from '../../../adapters/sql/organizations/team-store.ts'
import { bindingOf } from '../../../core/authorization-server/authorizations.ts'
import { makeProtocolDirectory } from '../../../core/authorization-server/directory.ts'
import { makeProtocolKeys } from '../../../core/authorization-server/keys.ts'
import type { ApplicationStore } from '../../../core/authorization-server/ports.ts'
import {
  AccountReadsPort,
  ApiUrlPort,
  ApplicationStorePort,
  ClusterDirectoryPort,
  AuthorizationProtocolPort,
  AuthorizationServerUnitOfWorkPort,
  ConsentStorePort,
  KeptAnswersPort,
  KeyFactoryPort,
  KeyStorePort,
  ProtocolCountersPort,
  ProtocolDirectoryPort,
  ProtocolKeysPort,
  ProtocolRecordsPort,
  ProtocolRootsPort,
  RecordStorePort,
  SignInStorePort,
  TeamDirectoryPort,
} from '../../../core/authorization-server/ports.ts'
import { makeProtocolRecords } from '../../../core/authorization-server/records.ts'
import { readResource, scopesOfResource } from '../../../core/authorization-server/resources.ts'
import { accessScopes, identityScopes } from '../../../core/authorization-server/scopes.ts'
import { TokenExchangePort, WorkloadStorePort } from '../../../core/authorization-server/workloads/ports.ts'
import { makeSignOutCaller } from '../../../core/authorization-server/sign-out.ts'
import { makeAccessToken } from '../../../core/identity/tokens/access-tokens.ts'
import { AuthenticatorPort, IdentitySettingsPort, TokenDigestPort } from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { EntropyPort, randomBase62, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { authorizationServerPlugin } from '../../../plugins/authorization-server/plugin.ts'
import { authorizationCookie } from '../../../plugins/authorization-server/codecs.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily } from '../../part/binding.ts'
import type { Boot } from '../../part/boot.ts'
import type { Counts } from '../../part/gauges.ts'
import { defineGauges, makeCounts } from '../../part/gauges.ts'
import { ownPage } from '../../part/pages/web-page.ts'
import { definePart } from '../../part/part.ts'
import { FreshUserPort } from '../identity/part.ts'
import { bindUnitOfWork } from '../units-of-work.ts'
import { protocolPages } from './pages.ts'
import { workloadBindings } from './workloads.ts'

const TallyPort = portKey<Counts>('authorizationServer.Tally')
/** Endpoints and outcomes that have series of their own. */
const mostSeries = 60
/** 43 base62 characters are slightly more than 256 bits. */
const browserKeyLength = 43

/** The applications, of which one is read once for a request. */
const readOnce = (applications: ApplicationStore): ApplicationStore => ({
  ...applications,
  byClientId: readOnceForRequest((clientId) => applications.byClientId(clientId)),
})

/** The protocol, with what it counts. */
const protocolBindings = (boot: Boot<object>): readonly Binding[] => [
  bind(TallyPort, {}, () => makeCounts(['endpoint', 'outcome'], mostSeries)),
  bind(ProtocolCountersPort, { tally: TallyPort }, ({ tally }) => ({
    request: (endpoint, outcome) => tally.add(endpoint, outcome),
  })),
  bind(ProtocolRootsPort, {}, () => protocolRoots),
  bind(
    AuthorizationProtocolPort,
    {
      answers: KeptAnswersPort,
      apiUrl: ApiUrlPort,
      authenticator: AuthenticatorPort,
      clock: ClockPort,
      counters: ProtocolCountersPort,
      digest: TokenDigestPort,
      directory: ProtocolDirectoryPort,
      entropy: EntropyPort,
      exchange: TokenExchangePort,
      identity: IdentitySettingsPort,
      keys: ProtocolKeysPort,
      records: ProtocolRecordsPort,
      signIns: SignInStorePort,
      unitOfWork: AuthorizationServerUnitOfWorkPort,
    },
    ({ authenticator, digest, entropy, identity, unitOfWork, ...given }) =>
      makeOidcProtocol({
        ...given,
        log: boot.log,
        digestOf: (text) => Buffer.from(digest.digest(text)).toString('latin1'),
        pages: protocolPages,
        baseUrl: () => identity.baseUrl(),
        scopes: [...identityScopes, ...accessScopes],
        apiScopes: accessScopes,
        scopesOfResource(indicator) {
          const resource = readResource(given.apiUrl(), indicator)
          return resource === undefined ? undefined : scopesOfResource(resource)
        },
        newAccessToken: () => makeAccessToken(entropy, digest),
        fetch: makeLibraryFetch(makeUserFetch(boot)),
        browserCookie: {
          name: authorizationCookie,
          newValue: () => randomBase62(entropy, browserKeyLength),
          pattern: /^[0-9A-Za-z]{43}$/,
        },
        bindingOf: (browserKey, id) => bindingOf(digest, browserKey, id),
        async callerOf(sessionKey, call) {
          const proven = await authenticator.authenticate({ kind: 'session', sessionKey }, undefined, call.sourceIp)
          if (isLeft(proven)) return undefined
          const { userId, sessionId, mustChangePassword } = proven.right
          return sessionId === undefined || mustChangePassword === true ? undefined : { userId, sessionId }
        },
        signOut: makeSignOutCaller({ unitOfWork }),
      }),
  ),
]

/** The authorization server: people sign in at other applications with their account here. */
export const part = definePart({
  plugin: authorizationServerPlugin,
  migrations: authorizationServerMigrations,
  pages: [ownPage('authorize', 'Continue to an application'), ownPage('device', 'Connect a device')],
  provide(boot) {
    const { database } = boot
    const stores = lazily(() => ({
      identity: makeSqlIdentityStores(database, boot.heldObjects),
      applications: makeSqlApplicationStore(database),
      consents: makeSqlConsentStore(database),
      records: makeSqlRecordStore(database),
      workloads: makeSqlWorkloadStore(database),
    }))
    return [
      bind(ApplicationStorePort, {}, () => stores().applications(database)),
      bind(ConsentStorePort, {}, () => stores().consents(database)),
      bind(RecordStorePort, {}, () => stores().records(database)),
      bind(
        ApiUrlPort,
        { identity: IdentitySettingsPort },
        ({ identity }) =>
          () =>
            `${identity.baseUrl()}/api/v1`,
      ),
      bind(ClusterDirectoryPort, {}, () => makeSqlClusterDirectory(database)),
      bind(SignInStorePort, {}, () => makeSqlSignInStore(database)),
      bind(WorkloadStorePort, {}, () => stores().workloads(database)),
      bind(KeyStorePort, {}, () => makeSqlKeyStore(database)),
      bind(KeptAnswersPort, { memory: AccessMemoryPort }, ({ memory }) => rememberAnswers(memory)),
      bind(KeyFactoryPort, {}, () => joseKeyFactory),
      bind(AccountReadsPort, {}, () => stores().identity(database)),
      bind(TeamDirectoryPort, { clock: ClockPort }, ({ clock }) =>
        makeSqlTeamDirectory(database, { teams: makeSqlTeamStore(database)(database), clock }),
      ),
      bindUnitOfWork(
        database,
        AuthorizationServerUnitOfWorkPort,
        ({ freshUser }) => {
          const identity = makeSqlIdentityStores(database, boot.heldObjects, freshUser)
          return (tx) => {
            const { tokens, sessions, users } = identity(tx)
            return {
              tokens,
              sessions,
              users,
              applications: stores().applications(tx),
              consents: stores().consents(tx),
              records: stores().records(tx),
              workloads: stores().workloads(tx),
            }
          }
        },
        { freshUser: FreshUserPort },
      ),
      bind(
        ProtocolRecordsPort,
        {
          apiUrl: ApiUrlPort,
          applications: ApplicationStorePort,
          clock: ClockPort,
          clusters: ClusterDirectoryPort,
          digest: TokenDigestPort,
          entropy: EntropyPort,
          records: RecordStorePort,
          secretBox: SecretBoxPort,
          signIns: SignInStorePort,
          unitOfWork: AuthorizationServerUnitOfWorkPort,
        },
        (given) => makeProtocolRecords({ ...given, applications: readOnce(given.applications) }),
      ),
      bind(
        ProtocolDirectoryPort,
        {
          accounts: AccountReadsPort,
          applications: ApplicationStorePort,
          clock: ClockPort,
          digest: TokenDigestPort,
          teams: TeamDirectoryPort,
        },
        (given) => makeProtocolDirectory({ ...given, applications: readOnce(given.applications) }),
      ),
      bind(
        ProtocolKeysPort,
        {
          clock: ClockPort,
          entropy: EntropyPort,
          factory: KeyFactoryPort,
          keys: KeyStorePort,
          secretBox: SecretBoxPort,
        },
        makeProtocolKeys,
      ),
      ...workloadBindings(boot),
      ...protocolBindings(boot),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_authorization_requests_total: {
          type: 'counter',
          help:
            'Requests of applications here, and reports of sign-outs to them, by endpoint (authorization, token, ' +
            'back-channel logout) and outcome: success, failed, the grant type, or the error code of OAuth.',
          label: ['endpoint', 'outcome'],
        },
      },
      { tally: TallyPort },
      ({ tally }) =>
        async () => ({ moorage_authorization_requests_total: tally.samples() }),
    ),
  ],
})
