import { AccessDenied } from '../../core/authz/ports.ts'
import { ClusterMissing } from '../../core/clusters/ports.ts'
import { PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong } from '../../core/kernel/access.ts'
import {
  DashboardFailed,
  DashboardOff,
  IdentifierRefused,
  MetricsRefused,
  NotOfTenant,
  RegistrationBusy,
  TenantMissing,
} from '../../core/metrics-proxy/ports.ts'
import { signedIn } from '../kit/access.ts'
import { empty, json, withHeader } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  DashADatasourceResponse,
  DashBDatasourceResponse,
  IdentifierPath,
  MetricsContext,
  OrgQuery,
  RegisterRequest,
  TenantResponse,
} from './codecs.ts'

const common = { tag: 'Metrics Proxy', access: signedIn, scopeCategory: 'cluster', servesConfined: true } as const
const changeRoute = routesOf({
  ...common,
  query: OrgQuery,
  failures: [
    MetricsRefused,
    ClusterMissing,
    AccessDenied,
    PasskeyDemanded,
    SecondFactorDemanded,
    TokenLifeTooLong,
    DashboardOff,
    DashboardFailed,
    RegistrationBusy,
  ],
})

const clusterUID = '4f9a7c1e-3f9e-4a3e-9a55-0d9b1f0c2c11'
const datasource = `7.${clusterUID}`
const contextExample = { clusterUID, default: true }
const registerExample = {
  metrics: {
    service: { scheme: 'http', name: 'prometheus', namespace: 'monitoring', port: '9090' },
    bearerToken: 'a token of the cluster',
  },
  ...contextExample,
}
const rights =
  'The caller must be an admin of the account that has the cluster. Returns 403 if the caller administers no account ' +
  'that has it, whether or not others have it.'
const repeatable =
  'A registration that is repeated without a change asks no other system. Credentials are stored sealed and never ' +
  'returned. The datasource reads through the metrics proxy with a token of the caller, which can only read and ' +
  'stops when the caller leaves the account.'

const issuing =
  'A token for the API of the dashboard system is issued by the first registration, and by one with `issueToken`; ' +
  'it is in that answer only.'

export const registerDashA = changeRoute({
  id: 'metricsProxy.registerDashA',
  method: 'POST',
  path: '/tsproxy/register',
  summary: 'Register the metrics of a cluster at dashboard system A',
  description: `${rights} ${repeatable} ${issuing}`,
  body: body(RegisterRequest, registerExample),
  refusesSudo: true,
  ok: json(200, DashADatasourceResponse, {
    dashA: {
      url: 'https://dash-a.example',
      bearerToken: 'glsa_example',
      dashboard: { datasource, folderID: 12 },
    },
    folderID: 12,
    datasource,
  }),
})

export const unregisterDashA = changeRoute({
  id: 'metricsProxy.unregisterDashA',
  method: 'POST',
  path: '/tsproxy/unregister',
  summary: 'Remove the metrics of a cluster from dashboard system A',
  description: `${rights} What does not exist counts as removed. A folder with dashboards of people is kept.`,
  body: body(MetricsContext, contextExample),
  ok: empty(200),
})

export const registerDashB = changeRoute({
  id: 'metricsProxy.registerDashB',
  method: 'POST',
  path: '/tsproxy/dashB/register',
  summary: 'Register the metrics of a cluster at dashboard system B',
  description: `${rights} ${repeatable}`,
  body: body(RegisterRequest, registerExample),
  refusesSudo: true,
  ok: json(200, DashBDatasourceResponse, {
    dashB: {
      url: 'https://dash-b.example',
      dashboard: { projectName: 'user.7', folderName: datasource, datasource },
    },
    projectName: 'user.7',
    folderName: datasource,
    datasource,
  }),
})

export const unregisterDashB = changeRoute({
  id: 'metricsProxy.unregisterDashB',
  method: 'POST',
  path: '/tsproxy/dashB/unregister',
  summary: 'Remove the metrics of a cluster from dashboard system B',
  description: `${rights} A registration that does not exist counts as removed. The project of the tenant is kept.`,
  body: body(MetricsContext, contextExample),
  ok: empty(200),
})

const hookRoute = routesOf(common)

export const findTenant = hookRoute({
  id: 'metricsProxy.findTenant',
  method: 'GET',
  path: '/tsproxy/auth/{uidcid}/*',
  ignoresRest: true,
  summary: 'Decide whether the caller may read the metrics of a cluster',
  description:
    'For the metrics proxy, which asks before it passes a request on, with the credential of that request. The ' +
    'caller must be a member of the account that owns the cluster; site admins have no special rights. Nothing is ' +
    'remembered: a member who was removed is refused from the next request on. Any path is accepted behind the ' +
    'identifier.',
  params: IdentifierPath,
  badPathAs: 400,
  ok: withHeader(
    json(200, TenantResponse, { owner: 'acme', clusterName: 'production', tenantID: 'user.7' }),
    'X-Moorage-Tenant',
    ({ tenantID }) => tenantID,
  ),
  failures: [
    IdentifierRefused,
    TenantMissing,
    NotOfTenant,
    AccessDenied,
    PasskeyDemanded,
    SecondFactorDemanded,
    TokenLifeTooLong,
  ],
})
