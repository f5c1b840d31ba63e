import * as t from 'io-ts'
import { clientOrgStatuses } from '../../core/client-orgs/types.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import {
  answer,
  bodyId,
  described,
  DnsLabel,
  FreeObjectCodec,
  freeText,
  listOf,
  oneOf,
  optional,
  OrgPathName,
  pathId,
  pathName,
  patternText,
  PathName,
  naming,
  request,
  textLines,
} from '../kit/codecs.ts'

export const ClientOrgPath = t.type(
  { id: described(pathId<OrgId>('client organization'), 'The id of the client organization, from 1.') },
  'ClientOrgPath',
)
export const ClientOrgNamePath = t.type({ orgname: OrgPathName }, 'ClientOrgNamePath')
export const ClientClusterPath = t.type(
  {
    orgname: OrgPathName,
    cluster: described(pathName('cluster'), 'The name of the cluster on its hub.'),
  },
  'ClientClusterPath',
)
export const ClientOrgQuery = request(
  {
    org: described(
      optional(naming(PathName, 'organization', 'name')),
      'The name of an account: only client organizations with a cluster of one of its hubs. All of them if absent.',
    ),
  },
  'ClientOrgQuery',
)

const ClientClusterStatus = answer(
  {
    cluster: described(t.string, 'The name of the cluster on its hub.'),
    status: described(oneOf(...clientOrgStatuses), 'The status on this cluster.'),
    remains: described(
      t.readonlyArray(t.string),
      'What the cluster still has, if the client organization is being removed from it, was given up, or failed: kind ' +
        'and name of each namespace and account.',
    ),
    message: described(
      t.string,
      'Why the last attempt failed, why it is not known what remains, or which credentials in the namespaces are not ' +
        'made by this service; empty if nothing is to be said.',
    ),
  },
  'ClientClusterStatus',
)

export const ClientOrgStatus = answer(
  {
    status: described(
      oneOf(...clientOrgStatuses),
      '`Active`; `Deleting` while a main namespace exists; `Partially Deleted` while others exist, or if it is deleted ' +
        'from some clusters; `Deleted`; `NotFound` if there is no such client organization, or nothing of it on the ' +
        'cluster.',
    ),
    clusters: described(
      t.readonlyArray(ClientClusterStatus),
      'Each cluster that it has or had; empty if there is none.',
    ),
  },
  'ClientOrgStatus',
)

/** Clients send an empty text for what they do not set. */
const OptionalName = optional(patternText(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, 63, 'empty, or a DNS label'))
const Uid = patternText(/^[A-Za-z0-9-]{1,64}$/, 64, 'a UID: 1 to 64 letters, digits and -')
const OwnerName = described(naming(PathName, 'organization', 'name'), 'The name of the account that owns the hub.')
const RoleName = patternText(/^(?:[a-z0-9](?:[a-z0-9:.-]{0,98}[a-z0-9])?)?$/, 100, 'empty, or the name of a role')
const BindingName = patternText(
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)?$/,
  253,
  'empty, or the name of an object: lower-case letters, digits, - and .',
)
const Annotations = described(
  optional(t.record(t.string, textLines(4000))),
  'Annotations of the namespace of the client organization. Keys of Kubernetes and of the platform are refused.',
)

const DbProductConfig = request(
  {
    nodeSelector: described(
      optional(t.record(t.string, freeText(63))),
      'The labels of the nodes on which databases of the client organization run.',
    ),
    tolerations: described(
      optional(listOf(FreeObjectCodec, 50)),
      'The tolerations of pods of databases, as Kubernetes has them; at most 50.',
    ),
  },
  'DbProductConfig',
)

const Envoy = request(
  {
    provisionerType: described(optional(freeText(100)), 'How the gateway is provisioned.'),
    service: described(optional(FreeObjectCodec), 'The service of the gateway, as the vendor configures it.'),
  },
  'Envoy',
)
const GatewayConfigOptions = request(
  {
    cluster: described(optional(FreeObjectCodec), 'What the gateway needs to know about the cluster.'),
    envoy: described(optional(Envoy), 'The proxy of the gateway.'),
    infra: described(optional(FreeObjectCodec), 'Addresses and certificates of the gateway.'),
  },
  'GatewayConfigOptions',
)

const period = (what: string) => described(optional(freeText(32)), `How long ${what} are kept, such as \`30d\`.`)
const MetricsRetentionConfig = request(
  {
    fiveMinuteRetentionPeriod: period('metrics of five minutes'),
    oneHourRetentionPeriod: period('metrics of one hour'),
    rawsRetentionPeriod: period('raw metrics'),
  },
  'MetricsRetentionConfig',
)
const TelemetryParams = request(
  {
    monitoringClusterName: described(OptionalName, 'The name of the cluster that receives metrics and logs.'),
    logsRetentionPeriods: period('logs'),
    tracesRetentionPeriods: period('traces'),
    metricsRetentionPeriods: described(optional(MetricsRetentionConfig), 'How long metrics are kept.'),
  },
  'TelemetryParams',
)

const planProps = {
  annotations: Annotations,
  dbProductConfig: described(optional(DbProductConfig), 'Where databases of the client organization run.'),
  useGateway: described(
    optional(t.boolean),
    'Whether the client organization has a gateway, in the namespace `<orgName>-gw`; false by default.',
  ),
  gatewayConfig: described(optional(GatewayConfigOptions), 'The configuration of the gateway; only with `useGateway`.'),
  telemetryParams: described(optional(TelemetryParams), 'Monitoring of the client organization.'),
}
const gatewayRef = (what: string) =>
  described(
    optional(FreeObjectCodec),
    `${what}, as \`{name, namespace}\`; only with \`useGateway\`. The namespace of another client organization is ` +
      'accepted only if that one is usable as shared.',
  )

const CreateOrgParams = request(
  {
    orgName: described(
      freeText(255, 1),
      'The name of the client organization and of its namespaces: a DNS label of at most 40 characters.',
    ),
    orgFullName: described(optional(freeText(100)), 'The display name; empty by default.'),
    description: described(optional(textLines(255)), 'A text about the organization; empty by default.'),
    website: described(optional(freeText(255)), 'An http or https URL; empty by default.'),
    location: described(optional(freeText(50)), 'A place; empty by default.'),
    orgType: described(optional(oneOf('client', '')), '`client`.'),
    fleetManagementClusterEndPoint: described(
      optional(freeText(255)),
      'The URL of the cluster-fleet manager; required with `provideSyncToken`.',
    ),
    provideSyncToken: described(
      optional(t.boolean),
      'Whether the organization belongs to a cluster-fleet manager, whose URL is then required. No token is ' +
        'exchanged with it.',
    ),
    visibility: described(
      optional(oneOf('', 'public', 'limited', 'private')),
      'Who may see the organization; `private` by default.',
    ),
  },
  'CreateOrgParams',
)

const Permission = request(
  {
    name: described(DnsLabel, 'The name of a cluster or of a cluster set on the hub.'),
    isClusterSet: described(optional(t.boolean), 'Whether `name` is that of a cluster set; false by default.'),
    roleType: described(optional(oneOf('ClusterRole', 'Role', '')), 'The kind of the role; `ClusterRole` by default.'),
    roleRefName: described(optional(RoleName), 'The name of the role; `admin` by default.'),
    roleRefNamespace: described(
      optional(listOf(DnsLabel, 3)),
      'Namespaces of the client organization in which the role holds; all of them if absent or empty.',
    ),
    managedClusterRoleBindingName: described(
      optional(BindingName),
      'The name of the binding on the hub for a cluster; chosen by the service if absent or empty.',
    ),
    managedClusterSetRoleBindingName: described(
      optional(BindingName),
      'The name of the binding on the hub for a cluster set; chosen by the service if absent or empty.',
    ),
  },
  'Permission',
)

const UserOptions = request(
  {
    id: described(optional(bodyId<UserId>()), 'The id of a user who exists.'),
    userName: described(optional(freeText(40)), 'The name of the user; a new one is created if it does not exist.'),
    email: described(
      optional(freeText(254)),
      'The address of a new user. If the user exists, it must be one of their addresses.',
    ),
    permissions: described(
      optional(listOf(Permission, 100)),
      'The clusters of the client organization, with the roles of its admin; at most 100.',
    ),
    importCluster: described(
      optional(t.boolean),
      'Whether the clusters are recorded for the client organization, whose members reach them by these records; ' +
        'true by default.',
    ),
    clientOrg: described(optional(t.boolean), 'Has no effect: the user is the admin of a client organization.'),
  },
  'UserOptions',
)

export const ClientOrgParams = request(
  {
    clientOrg: described(CreateOrgParams, 'The organization.'),
    hubClusterUID: described(Uid, 'The UID of the hub.'),
    hubClusterOwnerName: OwnerName,
    userPermission: described(UserOptions, 'The admin of the organization, and its clusters.'),
    usableAsShared: described(
      optional(t.boolean),
      'Whether clusters of other client organizations may refer to its gateway; false by default.',
    ),
    ...planProps,
    gatewayConfigRef: gatewayRef('A gateway configuration that exists'),
  },
  'ClientOrgParams',
)

const clusterProps = {
  hubClusterOwnerName: OwnerName,
  hubClusterName: described(DnsLabel, 'The name of the hub in its account.'),
  hubClusterUID: described(Uid, 'The UID of the hub.'),
  spokeClusterName: described(DnsLabel, 'The name of the cluster on the hub.'),
}

export const AddClusterParams = request(
  { ...clusterProps, ...planProps, gatewayPresetRef: gatewayRef('A preset of gateways that exists') },
  'AddClusterParams',
)
export const RemoveClusterParams = request(
  {
    ...clusterProps,
    force: described(
      optional(t.boolean),
      'Whether to give up what a removal that failed has not removed; false by default. It then stays on the cluster, ' +
        'and the status names it. The same request without `force` removes it when the cluster can be reached again.',
    ),
  },
  'RemoveClusterParams',
)
