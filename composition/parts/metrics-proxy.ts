import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { databaseOnly, makeBackendObjects } from '../../adapters/dashboards/backend-objects.ts'
import type { DashboardHttp } from '../../adapters/dashboards/dashboard-http.ts'
import { makeDashboardHttp } from '../../adapters/dashboards/dashboard-http.ts'
import { makeGrafana } from '../../adapters/dashboards/grafana.ts'
import { makePerses } from '../../adapters/dashboards/perses.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../adapters/outbound/egress-policy.ts'
import { metricsProxyMigrations } from '../../adapters/sql/metrics-proxy/migrations.ts'
import {
  makeSqlRegistrationStore,
  makeSqlTenantDirectory,
} from '../../adapters/sql/metrics-proxy/registration-store.ts'
import { ClusterApiPort, ClusterConnectionsPort, ClusterStorePort } from '../../core/clusters/ports.ts'
import { auditOfToken } from '../../core/identity/audit.ts'
import { IdentityUnitOfWorkPort, TokenDigestPort } from '../../core/identity/ports.ts'
import { makeCreateToken } from '../../core/identity/tokens/access-tokens.ts'
import type { CreateTokenDeps } from '../../core/identity/tokens/access-tokens.ts'
import { ClockPort, laterByDays } from '../../core/kernel/clock.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { EntropyPort, hex, secret } from '../../core/kernel/secret.ts'
import { portKey } from '../../core/kernel/port-key.ts'
import type { MetricsTargets, ProxyTokens } from '../../core/metrics-proxy/ports.ts'
import {
  DashboardSystemsPort,
  MetricsBackendsPort,
  MetricsRefused,
  MetricsSettingsPort,
  MetricsTargetsPort,
  ProxyTokensPort,
  RegistrationStorePort,
  RegistrationUnitOfWorkPort,
  TenantDirectoryPort,
} from '../../core/metrics-proxy/ports.ts'
import { MembershipStorePort } from '../../core/organizations/ports.ts'
import { metricsProxyPlugin } from '../../plugins/metrics-proxy/plugin.ts'
import { bind } from '../part/binding.ts'
import type { Boot } from '../part/boot.ts'
import type { ValuesOf } from '../part/setting.ts'
import { absentUnlessSet, withDefault } from '../part/setting.ts'
import { matching, secretWords, words } from '../part/setting-type.ts'
import { definePart } from '../part/part.ts'
import { bindUnitOfWork } from './units-of-work.ts'

const address = matching(/^https?:\/\/[^\s@?#]+[^\s@?#/]$/, 'an http or https URL, without a slash at the end')
const label = matching(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'a DNS label')

const settings = {
  metricsProxyUrl: absentUnlessSet(
    'MOORAGE_METRICS_PROXY_URL',
    address,
    'Where dashboard systems reach the metrics proxy; the name of a backend follows it in the path of each datasource.',
    { after: 'MOORAGE_MARKETPLACE_BASE_URL' },
  ),
  metricsProxyCluster: absentUnlessSet(
    'MOORAGE_METRICS_PROXY_CLUSTER',
    matching(/^[^/\s]{1,40}\/[^/\s]{1,63}$/, 'owner/cluster, both as this service names them'),
    'The imported cluster in which backends of the metrics proxy are written as Kubernetes objects.',
    { fallbackText: 'none: registrations are in the database only' },
  ),
  metricsProxyNamespace: withDefault(
    'MOORAGE_METRICS_PROXY_NAMESPACE',
    label,
    'metrics-proxy',
    'The namespace of these objects.',
  ),
  metricsProxyInstance: withDefault(
    'MOORAGE_METRICS_PROXY_INSTANCE',
    label,
    'metrics-proxy',
    'The value of the label by which the metrics proxy selects these objects.',
  ),
  dashAUrl: absentUnlessSet(
    'MOORAGE_DASH_A_URL',
    address,
    'Dashboard system A, a Grafana: its address, for this service and for its clients.',
  ),
  dashAUsername: withDefault(
    'MOORAGE_DASH_A_USERNAME',
    words,
    'admin',
    'A server administrator of dashboard system A.',
  ),
  dashAPassword: absentUnlessSet('MOORAGE_DASH_A_PASSWORD', secretWords, 'The password of that administrator.'),
  dashBUrl: absentUnlessSet(
    'MOORAGE_DASH_B_URL',
    address,
    'Dashboard system B, a Perses: its address, for this service and for its clients.',
  ),
  dashBToken: absentUnlessSet(
    'MOORAGE_DASH_B_TOKEN',
    secretWords,
    'Bearer token for the API of dashboard system B. Without one, no credential is sent.',
  ),
}
type MetricsBoot = Boot<ValuesOf<typeof settings>>

/** The connections to the dashboard systems; those that are configured. */
interface DashboardConnections {
  readonly dashA: DashboardHttp | undefined
  readonly dashB: DashboardHttp | undefined
}
const DashboardConnectionsPort = portKey<DashboardConnections>('metrics-proxy.DashboardConnections')

const connectionsOf = ({ settings: values }: MetricsBoot): DashboardConnections => {
  const { dashAUrl, dashAUsername, dashAPassword, dashBUrl, dashBToken } = values
  const basic = `${dashAUsername}:${dashAPassword?.reveal() ?? ''}`
  return {
    dashA: dashAUrl && makeDashboardHttp(`${dashAUrl}/api`, secret(`Basic ${Buffer.from(basic).toString('base64')}`)),
    dashB: dashBUrl && makeDashboardHttp(`${dashBUrl}/api/v1`, dashBToken && secret(`Bearer ${dashBToken.reveal()}`)),
  } as DashboardConnections
}

/** Addresses of users that the proxy reads: public ones by https, and what the operator allowed. Names are resolved. */
const targetsOf = ({ settings: values, resolver }: MetricsBoot): MetricsTargets => {
  const allowance = makeEgressAllowance(values.egressAllow)
  const policy = makeUserUrlPolicy(allowance, resolver.lookup)
  return {
    refusal: async (url) => {
      const refused = policy.refusal(url)
      // A host that the operator allowed by name may be known to the proxy alone.
      if (refused !== undefined || allowance.hasHost(url)) return refused
      return new Promise((resolve) => {
        policy.lookupFor(url)(url.hostname.replace(/^\[|\]$/g, ''), { all: true }, (error) =>
          resolve(error === null ? undefined : 'The host cannot be reached from here, or is not allowed.'),
        )
      })
    },
  }
}

/** In days: longer than a token of an organization without a limit needs to be. */
const usualLifeDays = 3650

/** Makes tokens by the rules of identity: with what the caller's credential can give, and no more. */
const tokensOf = (deps: CreateTokenDeps): ProxyTokens => {
  const create = makeCreateToken(deps)
  return {
    async issue({ keyed: _, ...call }, { accountName, accountKind, entry }, name) {
      const { userId, login } = call.principal
      const lifeDays = entry === undefined || entry.maxTokenLifeDays === 0 ? usualLifeDays : entry.maxTokenLifeDays
      const wanted = laterByDays(deps.clock.now(), lifeDays)
      const bound = call.principal.tokenExpiresAt
      const made = await create(call, {
        owner: { userId, login },
        name: `${name} ${hex(deps.entropy.bytes(4))}`,
        scopes: ['read:cluster'],
        expiresAt: bound !== undefined && bound < wanted ? bound : wanted,
        ...definedFields({ org: accountKind === 'organization' ? accountName : undefined }),
      })
      if (isLeft(made)) return left(MetricsRefused(`No token for the datasource can be made: ${made.left.message}`))
      const { record, value } = made.right
      return right({ ref: { id: record.id, userId: record.userId }, value })
    },
    async revoke({ keyed: _, ...call }, tokens) {
      if (tokens.length === 0) return
      await deps.unitOfWork.run<never, void>(call, async ({ tokens: store, audit }) => {
        for (const { id, userId } of tokens) {
          const name = await store.remove(userId, id)
          if (name !== undefined) await audit.record(auditOfToken({ id, userId, name }, 'token.deleted'))
        }
        return right(undefined)
      })
    },
  }
}

/** Registration of metrics at dashboard systems, and the hook of the metrics proxy. */
export const part = definePart({
  plugin: metricsProxyPlugin,
  settings,
  migrations: metricsProxyMigrations,
  tags: [
    {
      name: 'Metrics Proxy',
      description:
        'Metrics of clusters at dashboard systems, and the hook by which the metrics proxy asks for tenants.',
      after: 'Monitoring & Telemetry',
    },
  ],
  provide(boot) {
    const { database } = boot
    return [
      bind(TenantDirectoryPort, {}, () => makeSqlTenantDirectory(database)(database)),
      bind(RegistrationStorePort, {}, () => makeSqlRegistrationStore(database)(database)),
      bindUnitOfWork(database, RegistrationUnitOfWorkPort, () => {
        const registrations = makeSqlRegistrationStore(database)
        return (tx) => ({ registrations: registrations(tx) })
      }),
      bind(
        DashboardConnectionsPort,
        {},
        () => connectionsOf(boot),
        async ({ dashA, dashB }) => {
          await dashA?.close()
          await dashB?.close()
        },
      ),
      bind(DashboardSystemsPort, { connections: DashboardConnectionsPort }, ({ connections: { dashA, dashB } }) =>
        definedFields({
          dashA: dashA && makeGrafana(boot.settings.dashAUrl ?? '', dashA),
          dashB: dashB && makePerses(boot.settings.dashBUrl ?? '', dashB),
        }),
      ),
      bind(
        MetricsBackendsPort,
        {
          clusters: ClusterStorePort,
          connections: ClusterConnectionsPort,
          api: ClusterApiPort,
          memberships: MembershipStorePort,
        },
        ({ memberships, ...deps }) => {
          const { metricsProxyCluster, metricsProxyNamespace: namespace, metricsProxyInstance } = boot.settings
          if (metricsProxyCluster === undefined) return databaseOnly
          const [owner = '', cluster = ''] = metricsProxyCluster.split('/')
          return makeBackendObjects(
            { owner, cluster, namespace, instance: metricsProxyInstance },
            { ...deps, accountId: async (name) => (await memberships.findAccount(name))?.id as AccountId | undefined },
          )
        },
      ),
      bind(MetricsTargetsPort, {}, () => targetsOf(boot)),
      bind(
        ProxyTokensPort,
        { unitOfWork: IdentityUnitOfWorkPort, digest: TokenDigestPort, entropy: EntropyPort, clock: ClockPort },
        tokensOf,
      ),
      bind(MetricsSettingsPort, {}, () => ({ proxyUrl: boot.settings.metricsProxyUrl })),
    ]
  },
})
