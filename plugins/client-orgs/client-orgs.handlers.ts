import type * as t from 'io-ts'
import { AuthorizerPort } from '../../core/authz/ports.ts'
import {
  makeAddCluster,
  makeDeleteClientOrg,
  makeGetClientOrg,
  makeGetClientStatus,
  makeGetClusterStatus,
  makeListClientOrgs,
  makeRemoveCluster,
} from '../../core/client-orgs/client-orgs.ts'
import type { RequestedPermission, RequestedPlan } from '../../core/client-orgs/creation.ts'
import { makeCreateClientOrg } from '../../core/client-orgs/creation.ts'
import { ClientOrgStorePort, ClientOrgUnitOfWorkPort } from '../../core/client-orgs/ports.ts'
import { reconciliationTask } from '../../core/client-orgs/reconciliation.ts'
import { HubsPort } from '../../core/clusters/hubs/ports.ts'
import {
  ClusterConnectionsPort,
  ClusterStorePort,
  ClusterTransportPort,
  CredentialSealerPort,
} from '../../core/clusters/ports.ts'
import { IdentitySettingsPort, UserFounderPort } from '../../core/identity/ports.ts'
import { ClockPort, PausePort } from '../../core/kernel/clock.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { MembershipStorePort, OrganizationStorePort } from '../../core/organizations/ports.ts'
import { TasksPort } from '../../core/tasks/ports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { organizationWire } from '../organizations/organizations/organization-wire.ts'
import type { AddClusterParams, ClientOrgParams, RemoveClusterParams } from './codecs.ts'
import {
  addCluster,
  createClientOrg,
  deleteClientOrg,
  getClientOrg,
  getClientStatus,
  getClusterStatus,
  listClientOrgs,
  removeCluster,
} from './client-orgs.routes.ts'

/** Clients send an empty text for what they do not set. */
const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

type PlanBody = Omit<t.TypeOf<typeof AddClusterParams>, keyof t.TypeOf<typeof RemoveClusterParams> | 'gatewayPresetRef'>

/** Clients send an empty object for what they do not set. */
const filled = (object: object | undefined): FreeObject | undefined => {
  const fields = object === undefined ? {} : (definedFields(object) as FreeObject)
  return Object.keys(fields).length === 0 ? undefined : fields
}

const planOf = (body: PlanBody, gatewayRef: FreeObject | undefined): RequestedPlan => ({
  annotations: body.annotations ?? {},
  useGateway: body.useGateway ?? false,
  ...definedFields({
    dbProductConfig: filled(body.dbProductConfig),
    gatewayConfig: filled(body.gatewayConfig),
    gatewayRef: filled(gatewayRef),
    telemetry: filled(body.telemetryParams),
  }),
})

type Permission = NonNullable<t.TypeOf<typeof ClientOrgParams>['userPermission']['permissions']>[number]

const permissionOf = (permission: Permission): RequestedPermission => {
  const { name, isClusterSet = false, roleType, roleRefName, roleRefNamespace = [] } = permission
  return {
    name,
    isClusterSet,
    roleType: roleType === 'Role' ? 'Role' : 'ClusterRole',
    roleName: given(roleRefName) ?? 'admin',
    namespaces: roleRefNamespace,
    bindingName: given(
      isClusterSet ? permission.managedClusterSetRoleBindingName : permission.managedClusterRoleBindingName,
    ),
  }
}

const hubOf = ({
  hubClusterOwnerName,
  hubClusterUID,
  hubClusterName,
}: Pick<t.TypeOf<typeof RemoveClusterParams>, 'hubClusterOwnerName' | 'hubClusterUID'> & {
  readonly hubClusterName?: string
}) => ({ ownerName: hubClusterOwnerName, uid: hubClusterUID, name: hubClusterName })

/** The routes that read client organizations. */
export const clientOrgReads = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clientOrgs: ClientOrgStorePort,
    clusters: ClusterStorePort,
    hubs: HubsPort,
    identitySettings: IdentitySettingsPort,
    organizations: OrganizationStorePort,
  },
  routes: (ports) => {
    const reply = organizationWire(ports)
    return [
      handle(listClientOrgs, makeListClientOrgs(ports), {
        input: ({ query, page }) => ({ hubOwner: query.org, page }),
        reply,
      }),
      handle(getClientOrg, makeGetClientOrg(ports), { input: ({ params }) => params.id, reply }),
      handle(getClientStatus, makeGetClientStatus(ports), {
        input: ({ params }) => params.orgname,
        reply: (report) => report,
      }),
      handle(getClusterStatus, makeGetClusterStatus(ports), {
        input: ({ params }) => ({ name: params.orgname, cluster: params.cluster }),
        reply: (report) => report,
      }),
    ]
  },
})

/** The routes that change client organizations. */
export const clientOrgChanges = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clientOrgs: ClientOrgStorePort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    entropy: EntropyPort,
    hubs: HubsPort,
    memberships: MembershipStorePort,
    tasks: TasksPort,
    transport: ClusterTransportPort,
    unitOfWork: ClientOrgUnitOfWorkPort,
    userFounder: UserFounderPort,
  },
  routes: (ports) => [
    handle(createClientOrg, makeCreateClientOrg(ports), {
      input: ({ body }) => {
        const { clientOrg, userPermission } = body
        return {
          name: clientOrg.orgName,
          profile: {
            visibility:
              clientOrg.visibility === undefined || clientOrg.visibility === '' ? 'private' : clientOrg.visibility,
            ...definedFields({
              fullName: clientOrg.orgFullName,
              description: clientOrg.description,
              website: clientOrg.website,
              location: clientOrg.location,
              fleetEndpoint: clientOrg.fleetManagementClusterEndPoint,
            }),
          },
          needsFleet: clientOrg.provideSyncToken ?? false,
          hub: hubOf(body),
          admin: { id: userPermission.id, login: given(userPermission.userName), email: given(userPermission.email) },
          permissions: (userPermission.permissions ?? []).map(permissionOf),
          importsClusters: userPermission.importCluster ?? true,
          isShared: body.usableAsShared ?? false,
          plan: planOf(body, body.gatewayConfigRef),
        }
      },
    }),
    handle(addCluster, makeAddCluster(ports), {
      input: ({ params, body }) => ({
        orgName: params.orgname,
        hub: hubOf(body),
        spoke: body.spokeClusterName,
        plan: planOf(body, body.gatewayPresetRef),
      }),
    }),
    handle(removeCluster, makeRemoveCluster(ports), {
      input: ({ params, body }) => ({
        orgName: params.orgname,
        hub: hubOf(body),
        spoke: body.spokeClusterName,
        isForced: body.force === true,
      }),
    }),
    handle(deleteClientOrg, makeDeleteClientOrg(ports), { input: ({ params }) => params.id }),
  ],
})

/** The task that settles client organizations. */
export const clientOrgTasks = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clientOrgs: ClientOrgStorePort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    connections: ClusterConnectionsPort,
    entropy: EntropyPort,
    hubs: HubsPort,
    pause: PausePort,
    seal: CredentialSealerPort,
    transport: ClusterTransportPort,
    unitOfWork: ClientOrgUnitOfWorkPort,
  },
  tasks: (ports) => [reconciliationTask(ports)],
})
