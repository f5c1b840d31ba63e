import { ClockPort, PausePort } from '../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import {
  DashboardSystemsPort,
  MetricsBackendsPort,
  MetricsSettingsPort,
  MetricsTargetsPort,
  ProxyTokensPort,
  RegistrationStorePort,
  RegistrationUnitOfWorkPort,
  TenantDirectoryPort,
} from '../../core/metrics-proxy/ports.ts'
import type { Dashboard } from '../../core/metrics-proxy/ports.ts'
import { makeRegister, makeUnregister } from '../../core/metrics-proxy/registrations.ts'
import type { RegisteredDatasource, RegisterInput } from '../../core/metrics-proxy/registrations.ts'
import type { MetricsContext, SentMetrics } from '../../core/metrics-proxy/requests.ts'
import { makeFindTenant } from '../../core/metrics-proxy/requests.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type * as t from 'io-ts'
import type * as codecs from './codecs.ts'
import { findTenant, registerDashA, registerDashB, unregisterDashA, unregisterDashB } from './tsproxy.routes.ts'

type SentContext = t.TypeOf<typeof codecs.MetricsContext>
type SentRegistration = t.TypeOf<typeof codecs.RegisterRequest>

const contextOf = (sent: SentContext): MetricsContext => ({
  hubUID: sent.hubUID ?? '',
  clusterUID: sent.clusterUID ?? '',
  projectId: sent.projectId ?? '',
  default: sent.default ?? false,
  issueToken: sent.issueToken ?? false,
  clientOrgID: sent.clientOrgID ?? '',
})

/** Clients of this interface send empty texts and objects for what they do not have. */
const unlessEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

const metricsOf = ({ url, service, basicAuth, bearerToken, tls }: SentRegistration['metrics']): SentMetrics => {
  const { scheme = '', name = '', namespace = '', port = '', path = '', query = '' } = service ?? {}
  const { username = '', password = '' } = basicAuth ?? {}
  const { ca = '', cert = '', key = '', serverName = '', insecureSkipTLSVerify = false } = tls ?? {}
  const hasService = [scheme, name, namespace, port, path, query].some((text) => text !== '')
  const hasTls = [ca, cert, key, serverName].some((text) => text !== '') || insecureSkipTLSVerify
  return {
    url: url ?? '',
    service: hasService ? { scheme, name, namespace, port, path, query } : undefined,
    basicAuth: username === '' && password === '' ? undefined : { username, password },
    bearerToken: unlessEmpty(bearerToken),
    tls: hasTls ? { ca, cert, key, serverName, insecureSkipTLSVerify } : undefined,
  }
}

const registrationOf =
  (dashboard: Dashboard) =>
  ({
    body,
    query,
  }: {
    readonly body: SentRegistration
    readonly query: { readonly org?: string | undefined }
  }): RegisterInput => ({ dashboard, context: contextOf(body), metrics: metricsOf(body.metrics), org: query.org })

const dashA = ({ url, token, placement: { datasource, folderId: folderID } }: RegisteredDatasource) => ({
  dashA: { url, bearerToken: token?.reveal(), dashboard: { datasource, folderID } },
  folderID,
  datasource,
})

const dashB = ({ url, placement: { datasource, projectName, folderName } }: RegisteredDatasource) => ({
  dashB: { url, dashboard: { projectName, folderName, datasource } },
  projectName,
  folderName,
  datasource,
})

export const tsproxyGroup = defineGroup({
  needs: {
    tenants: TenantDirectoryPort,
    registrations: RegistrationStorePort,
    unitOfWork: RegistrationUnitOfWorkPort,
    systems: DashboardSystemsPort,
    backends: MetricsBackendsPort,
    targets: MetricsTargetsPort,
    tokens: ProxyTokensPort,
    settings: MetricsSettingsPort,
    secretBox: SecretBoxPort,
    entropy: EntropyPort,
    clock: ClockPort,
    pause: PausePort,
  },
  routes: (given) => {
    const register = makeRegister(given)
    const unregister = makeUnregister(given)
    return [
      handle(registerDashA, register, { input: registrationOf('dashA'), reply: dashA }),
      handle(unregisterDashA, unregister, {
        input: ({ body, query }) => ({ dashboard: 'dashA' as const, context: contextOf(body), org: query.org }),
      }),
      handle(registerDashB, register, { input: registrationOf('dashB'), reply: dashB }),
      handle(unregisterDashB, unregister, {
        input: ({ body, query }) => ({ dashboard: 'dashB' as const, context: contextOf(body), org: query.org }),
      }),
      handle(findTenant, makeFindTenant(given), {
        input: ({ params }) => params.uidcid,
        reply: ({ isClientOrganization, ...tenant }) => ({
          ...tenant,
          clientOrg: isClientOrganization ? 'true' : undefined,
        }),
      }),
    ]
  },
})
