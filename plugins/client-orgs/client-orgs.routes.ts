import {
  ClientOrgExists,
  ClientOrgInUse,
  ClientOrgInvalid,
  ClientOrgMissing,
  ClientOrgRefused,
} from '../../core/client-orgs/ports.ts'
import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { EmailTaken, UserNameTaken } from '../../core/identity/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../core/tasks/ports.ts'
import { siteAdmin } from '../kit/access.ts'
import { empty, json, list, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { Organization, organizationExample } from '../organizations/codecs.ts'
import {
  AddClusterParams,
  ClientClusterPath,
  ClientOrgNamePath,
  ClientOrgParams,
  ClientOrgPath,
  ClientOrgQuery,
  ClientOrgStatus,
  RemoveClusterParams,
} from './codecs.ts'

const route = routesOf({ tag: 'Client Organizations', access: siteAdmin, scopeCategory: 'admin' })

const organization = {
  ...organizationExample,
  name: 'globex',
  username: 'globex',
  full_name: 'Globex Corporation',
  avatar_url: 'https://platform.example/api/v1/avatars/drawn/globex',
  orgType: 2,
}
const cluster = {
  hubClusterOwnerName: 'acme',
  hubClusterName: 'ace',
  hubClusterUID: '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11',
  spokeClusterName: 'shop-fra',
}
const plan = {
  annotations: { 'globex.example/tier': 'gold' },
  dbProductConfig: { nodeSelector: { pool: 'databases' }, tolerations: [{ key: 'databases', operator: 'Exists' }] },
  useGateway: true,
  gatewayConfig: { envoy: { provisionerType: 'kubernetes', service: { type: 'LoadBalancer' } } },
  telemetryParams: { monitoringClusterName: 'metrics', logsRetentionPeriods: '30d' },
}
/** A task is accepted for each change. */
const taskFailures = [TaskLocked, ResponseIdTaken, TooManyTasks] as const

export const listClientOrgs = route({
  id: 'client-orgs.listClientOrgs',
  method: 'GET',
  path: '/user/clients',
  summary: 'List the client organizations',
  description: 'By name. Those that are being deleted are listed until they are gone.',
  query: ClientOrgQuery,
  ok: packed(list(Organization, organization)),
})

export const getClientOrg = route({
  id: 'client-orgs.getClientOrg',
  method: 'GET',
  path: '/user/client/{id}',
  summary: 'Get a client organization',
  description: 'Any other organization is 404.',
  params: ClientOrgPath,
  ok: json(200, Organization, organization),
  failures: [ClientOrgMissing],
})

export const getClientStatus = route({
  id: 'client-orgs.getClientStatus',
  method: 'GET',
  path: '/user/client/{orgname}/status',
  summary: 'Get the status of a client organization on all of its clusters',
  description:
    'Clusters from which it is being deleted are asked which of its namespaces exist. One that does not answer ' +
    'counts as not finished. A deleted client organization has a status until its name is used again.',
  params: ClientOrgNamePath,
  ok: json(200, ClientOrgStatus, {
    status: 'Active',
    clusters: [{ cluster: 'shop-fra', status: 'Active', remains: [], message: '' }],
  }),
})

export const getClusterStatus = route({
  id: 'client-orgs.getClusterStatus',
  method: 'GET',
  path: '/user/client/{orgname}/cluster/{cluster}/status',
  summary: 'Get the status of a client organization on one cluster',
  description: '`NotFound` if the client organization never had the cluster, or if nothing could be made there.',
  params: ClientClusterPath,
  ok: json(200, ClientOrgStatus, {
    status: 'Deleting',
    clusters: [
      {
        cluster: 'shop-fra',
        status: 'Deleting',
        remains: ['Namespace globex', 'ServiceAccount moorage-clients/globex'],
        message: 'The cluster did not answer in time.',
      },
    ],
  }),
})

export const createClientOrg = route({
  id: 'client-orgs.createClientOrg',
  method: 'POST',
  path: '/user/client/create',
  summary: 'Create a client organization',
  description:
    'Creates the organization and its admin, and accepts the task that gives the organization its namespaces, ' +
    'rights, gateway and telemetry objects on the clusters, and records the clusters for it. A new admin is notified ' +
    'by mail, and requests a password there. The task is one of the owner of the hub.',
  body: body(ClientOrgParams, {
    clientOrg: {
      orgName: 'globex',
      orgFullName: 'Globex Corporation',
      orgType: 'client',
      visibility: 'private',
    },
    hubClusterUID: cluster.hubClusterUID,
    hubClusterOwnerName: cluster.hubClusterOwnerName,
    userPermission: {
      userName: 'hank',
      email: 'hank@globex.example',
      permissions: [{ name: 'shop-fra', isClusterSet: false, roleType: 'ClusterRole', roleRefName: 'admin' }],
      importCluster: true,
    },
    usableAsShared: false,
    ...plan,
  }),
  ok: empty(200, 'Created; the task has begun'),
  failures: [
    ...hubReadFailures,
    ...taskFailures,
    ClientOrgExists,
    ClientOrgInvalid,
    ClientOrgRefused,
    EmailTaken,
    UserNameTaken,
  ],
  // What the body names is not in the path.
  statusOf: { ClusterMissing: 400 },
})

export const addCluster = route({
  id: 'client-orgs.addCluster',
  method: 'POST',
  path: '/user/client/{orgname}/add-cluster',
  summary: 'Add a cluster to a client organization',
  description:
    'Accepts the task that makes on the cluster what the creation makes. The role of the organization there is the ' +
    'ClusterRole `admin` in its namespaces. The same request continues a task that failed.',
  params: ClientOrgNamePath,
  body: body(AddClusterParams, { ...cluster, ...plan }),
  ok: empty(200, 'Accepted'),
  failures: [...hubReadFailures, ...taskFailures, ClientOrgInvalid, ClientOrgRefused],
  statusOf: { ClusterMissing: 400 },
})

export const removeCluster = route({
  id: 'client-orgs.removeCluster',
  method: 'POST',
  path: '/user/client/{orgname}/delete-cluster',
  summary: 'Remove a cluster from a client organization',
  description:
    'Accepts the task that deletes the namespaces of the client organization on the cluster, with everything in ' +
    'them, its rights, and its record of the cluster. The same request continues a task that failed.',
  params: ClientOrgNamePath,
  body: body(RemoveClusterParams, cluster),
  ok: empty(200, 'Accepted'),
  failures: [...taskFailures, ClientOrgRefused],
})

export const deleteClientOrg = route({
  id: 'client-orgs.deleteClientOrg',
  method: 'DELETE',
  path: '/user/client/delete/{id}',
  summary: 'Delete a client organization',
  description:
    'Accepts the task that removes it from each cluster, and then deletes the organization; the account of its admin ' +
    'stays. Also while it is being created. The same request continues a task that failed.',
  params: ClientOrgPath,
  ok: empty(200, 'Accepted'),
  failures: [...taskFailures, ClientOrgInUse, ClientOrgMissing],
})
