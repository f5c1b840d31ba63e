import * as t from 'io-ts'
import {
  answer,
  described,
  freeText,
  naming,
  optional,
  pathName,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** Longer than any password or token of a metrics server. */
const Credential = freeText(8192)
/** A chain of certificates, or a key. */
const Pem = textLines(65_536)

const ServiceSpec = request(
  {
    scheme: described(optional(freeText(5)), '`http` or `https`; without one, the API server takes http.'),
    name: described(optional(freeText(63)), 'The name of the service.'),
    namespace: described(optional(freeText(63)), 'The namespace of the service.'),
    port: described(optional(freeText(5)), 'The port, a number from 0 to 65535.'),
    path: described(optional(freeText(1024)), 'The path of the Prometheus API at the service.'),
    query: described(optional(freeText(1024)), 'A query that each request carries.'),
  },
  'ServiceSpec',
)

const MetricsBasicAuth = request(
  {
    username: described(optional(freeText(255)), 'The user name.'),
    password: described(optional(Credential), 'The password. It is stored sealed and never returned.'),
  },
  'MetricsBasicAuth',
)

const MetricsTLSConfig = request(
  {
    ca: described(optional(Pem), 'The certificates to trust, as PEM.'),
    cert: described(optional(Pem), 'The certificate of the client, as PEM.'),
    key: described(optional(Pem), 'The key of the client, as PEM. It is stored sealed and never returned.'),
    serverName: described(optional(freeText(253)), 'The name in the certificate of the server, if it is not its host.'),
    insecureSkipTLSVerify: described(optional(t.boolean), 'Accept any certificate of the server. Defaults to false.'),
  },
  'MetricsTLSConfig',
)

const MetricsConfig = request(
  {
    url: described(
      optional(freeText(2048)),
      'The address of the Prometheus API. Exactly one of `url` and `service` is given.',
    ),
    service: described(optional(ServiceSpec), 'A service of the cluster, which its API server passes requests to.'),
    basicAuth: described(optional(MetricsBasicAuth), 'HTTP Basic of the Prometheus API.'),
    bearerToken: described(optional(Credential), 'Bearer token of the Prometheus API. It is stored sealed.'),
    tls: described(optional(MetricsTLSConfig), 'How the connection is secured.'),
  },
  'MetricsConfig',
)

const contextFields = {
  hubUID: described(
    optional(freeText(36)),
    'The UID of the hub that manages the cluster, if one does. It must be that of a cluster of the same account.',
  ),
  clusterUID: described(optional(freeText(36)), 'The UID of the cluster. It must be given.'),
  projectId: described(
    optional(freeText(253)),
    'The project of the cluster whose metrics they are: 1 to 20 lower-case letters, digits and `-`. Ignored with ' +
      '`default`.',
  ),
  default: described(
    optional(t.boolean),
    'They are the metrics of the whole cluster, and the default datasource of the tenant. Defaults to false.',
  ),
  issueToken: described(optional(t.boolean), 'Issue new tokens although nothing else has changed. Defaults to false.'),
  clientOrgID: described(
    optional(freeText(19)),
    'The id of the client organization whose metrics they are, in decimal digits. It must have the cluster too, and ' +
      'the caller must administer it.',
  ),
}

export const MetricsContext = request(contextFields, 'MetricsContext')
export const RegisterRequest = request(
  { metrics: described(MetricsConfig, 'Where the metrics are read.'), ...contextFields },
  'RegisterRequest',
)

export const OrgQuery = request(
  {
    org: described(
      optional(pathName('organization')),
      'The account that has the cluster. Needed only if several accounts that you administer have it.',
    ),
  },
  'MetricsOrgQuery',
)

const url = described(t.string, 'The address of the dashboard system.')
const datasource = described(t.string, 'The name of the datasource: `<tenant id>.<cluster UID>[.<project id>]`.')
const folderID = described(SafeInteger, 'The number of the folder for dashboards of the cluster.')
const projectName = described(t.string, 'The project of the tenant.')
const folderName = described(t.string, 'The folder for dashboards of the cluster.')

const DashAConfig = answer(
  {
    url,
    bearerToken: described(
      optional(t.string),
      'A token for the API of the dashboard system. Only in the answer to the request that issued it.',
    ),
    dashboard: described(answer({ datasource, folderID }, 'DashboardSpec'), 'Where the datasource is.'),
  },
  'DashAConfig',
)
export const DashADatasourceResponse = answer(
  { dashA: described(DashAConfig, 'How to reach the dashboard system.'), folderID, datasource },
  'DashADatasourceResponse',
)

const DashBConfig = answer(
  {
    url,
    dashboard: described(
      answer({ projectName, folderName, datasource }, 'DashBDashboardSpec'),
      'Where the datasource is.',
    ),
  },
  'DashBConfig',
)
export const DashBDatasourceResponse = answer(
  {
    dashB: described(DashBConfig, 'How to reach the dashboard system. It issues no tokens.'),
    projectName,
    folderName,
    datasource,
  },
  'DashBDatasourceResponse',
)

/** The core judges the text, so that each malformed one is 400. */
const Identifier = naming(freeText(255), 'metrics tenant', 'identifier')

export const IdentifierPath = request(
  {
    uidcid: described(
      Identifier,
      'The identifier: `<owner id>.<cluster UID>` or `<owner id>.<cluster UID>.<project id>`.',
    ),
  },
  'MetricsIdentifierPath',
)

export const TenantResponse = answer(
  {
    owner: described(t.string, 'The name of the account that owns the cluster.'),
    clusterName: described(t.string, 'The name of the cluster.'),
    tenantID: described(
      t.string,
      'The tenant whose metrics may be read: `user.<owner id>`. Renaming does not change it.',
    ),
    clientOrg: described(optional(t.string), '`true` if the owner is a client organization; otherwise absent.'),
  },
  'MetricsTenant',
)
