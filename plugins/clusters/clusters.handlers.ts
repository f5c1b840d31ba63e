import { right } from 'fp-ts/lib/Either.js'
import { AuthorizerPort } from '../../core/authz/ports.ts'
import {
  makeGetClusterByUid,
  makeGetHubAccess,
  makeHasHub,
  makeListAllClusters,
} from '../../core/clusters/account-hubs.ts'
import { makeGetClientConfig } from '../../core/clusters/client-config.ts'
import {
  makeChangeCluster,
  makeConnectCluster,
  makeGetCluster,
  makeListOwnerClusters,
  makeListUserClusters,
  makeReconfigureCluster,
  makeRemoveCluster,
  makeStillAllowed,
} from '../../core/clusters/clusters.ts'
import { makeIdentify, makeSealCredential } from '../../core/clusters/connections.ts'
import { HubsPort, SpokeHubsPort, SpokeRemovalsPort } from '../../core/clusters/hubs/ports.ts'
import { makeReadSetOfSpoke } from '../../core/clusters/hubs/hub-of-spoke.ts'
import { makeCheckCluster, makeImportCluster, makeValidateImport } from '../../core/clusters/imports.ts'
import {
  ClusterApiPort,
  ClusterConnectionsPort,
  ClusterDependentsPort,
  ClusterStorePort,
  ClusterTaskUnitOfWorkPort,
  ClusterTransportPort,
  ClusterUnitOfWorkPort,
  CredentialCodecPort,
  KubeconfigParserPort,
  PublicAddressPort,
} from '../../core/clusters/ports.ts'
import { recordTaskKinds } from '../../core/clusters/record-tasks.ts'
import { makeRefreshStatus } from '../../core/clusters/status.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import { ClusterTokensPort } from '../../core/identity/tokens/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { TasksPort } from '../../core/tasks/ports.ts'
import { objectIdOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { ClusterInfoModel } from './cluster-info-wire.ts'
import {
  componentsOf,
  requestedChange,
  toClaim,
  toClusterInfo,
  toClusterInfoModel,
  toClusterMetadata,
  toValidationResponse,
  requestedUpdate,
} from './cluster-wire.ts'
import {
  checkCluster,
  clusterExists,
  connectCluster,
  consoleListClusters,
  deleteCluster,
  getClientConfig,
  getCluster,
  getClusterIdentity,
  getClusterStatus,
  getHubInfo,
  hasHub,
  importCluster,
  listAllClusters,
  listOwnerClusters,
  listUserClusters,
  reconfigureCluster,
  removeCluster,
  updateCluster,
  validateImport,
} from './clusters.routes.ts'
import { selectionOf } from './codecs.ts'

const idOf = ({ grant }: { readonly grant: AccessGrant }): ClusterId => objectIdOf(grant)
const ownerOf = (grant: AccessGrant) => ({ name: grant.objectName, isOrganization: grant.orgId !== undefined })

/** The routes that find, check and import clusters of an account. */
export const accountClusterGroup = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    api: ClusterApiPort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    codec: CredentialCodecPort,
    entropy: EntropyPort,
    parser: KubeconfigParserPort,
    secretBox: SecretBoxPort,
    tasks: TasksPort,
    unitOfWork: ClusterTaskUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = {
      ...given,
      identify: makeIdentify(given),
      seal: makeSealCredential(given),
      stillAllowed: makeStillAllowed(given.authorizer),
    }
    const infoOf = (cluster: Cluster) => toClusterInfo(cluster, given.clock.now())
    const modelOf = (cluster: Cluster) => toClusterInfoModel(cluster, given.clock.now())
    return [
      handle(listUserClusters, makeListUserClusters(deps), {
        input: ({ query }) => ({ all: query.all === 'true' }),
        reply: (clusters) => clusters.map(infoOf),
      }),
      handle(listOwnerClusters, makeListOwnerClusters(deps), {
        input: ({ grant, query, page }) => ({
          ownerId: grant.ownerId,
          provider: query.provider,
          selection: selectionOf(query),
          page,
        }),
        reply: infoOf,
      }),
      handle(
        clusterExists,
        async (_call, { grant, params }) => right(await given.clusters.find(grant.ownerId, params.cluster)),
        {
          reply: (found) => ({ exist: found !== undefined }),
        },
      ),
      handle(checkCluster, makeCheckCluster(deps), {
        input: ({ grant, body }) => ({ claim: toClaim(grant, body), owner: ownerOf(grant) }),
        reply: modelOf,
      }),
      handle(validateImport, makeValidateImport(deps), {
        input: ({ grant, body }) => toClaim(grant, body),
        reply: (judged, { grant, body }) =>
          toValidationResponse(judged, toClaim(grant, body), grant.orgId !== undefined),
      }),
      handle(importCluster, makeImportCluster(deps), {
        input: ({ grant, body, query }) => ({
          claim: toClaim(grant, body),
          components: componentsOf(body),
          responseId: query['response-id'],
        }),
        reply: modelOf,
      }),
      handle(consoleListClusters, async (_call, { page }) => right(await given.clusters.listAll(page)), {
        reply: infoOf,
      }),
    ]
  },
})

/** The routes of a single cluster. */
export const clusterGroup = defineGroup({
  needs: {
    address: PublicAddressPort,
    api: ClusterApiPort,
    authorizer: AuthorizerPort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    dependents: ClusterDependentsPort,
    clusterTokens: ClusterTokensPort,
    connections: ClusterConnectionsPort,
    codec: CredentialCodecPort,
    entropy: EntropyPort,
    parser: KubeconfigParserPort,
    secretBox: SecretBoxPort,
    hubs: HubsPort,
    spokeRemovals: SpokeRemovalsPort,
    transport: ClusterTransportPort,
    tasks: TasksPort,
    unitOfWork: ClusterTaskUnitOfWorkPort,
  },
  routes: (given) => {
    const refresh = makeRefreshStatus({ ...given, readSetOfSpoke: makeReadSetOfSpoke(given) })
    const deps = {
      ...given,
      identify: makeIdentify(given),
      seal: makeSealCredential(given),
      stillAllowed: makeStillAllowed(given.authorizer),
    }
    const change = makeChangeCluster(deps)
    const modelOf = (cluster: Cluster) => toClusterInfoModel(cluster, given.clock.now())
    return [
      handle(getCluster, makeGetCluster(given), { input: idOf, reply: modelOf }),
      handle(updateCluster, change, {
        input: ({ grant, body }) => ({ id: idOf({ grant }), requested: requestedUpdate(body) }),
        reply: modelOf,
      }),
      handle(getClientConfig, makeGetClientConfig(given), {
        input: ({ grant, query, makesToken }) => ({
          id: idOf({ grant }),
          makesToken: makesToken === true,
          maxTokenLifeDays: grant.context.entry?.maxTokenLifeDays ?? 0,
          lifeSeconds: query.expirationSeconds,
        }),
      }),
      handle(getClusterStatus, refresh, { input: ({ grant }) => ({ id: idOf({ grant }) }), reply: modelOf }),
      handle(connectCluster, makeConnectCluster({ change, refresh }), {
        input: ({ grant, body: { name, accessConfig, kubeConfig, kubeconfig, credential } }) => ({
          id: idOf({ grant }),
          objectName: grant.objectName,
          name,
          accessConfigs: [accessConfig, kubeConfig, kubeconfig],
          credential,
        }),
        reply: modelOf,
      }),
      handle(reconfigureCluster, makeReconfigureCluster(deps), {
        input: ({ grant, body, query }) => ({
          id: idOf({ grant }),
          requested: requestedChange(body),
          components: componentsOf(body),
          responseId: query['response-id'],
        }),
        // The route declares a free-form object, which is not encoded.
        reply: (cluster) => ({ ...ClusterInfoModel.encode(modelOf(cluster)) }),
      }),
      handle(removeCluster, makeRemoveCluster(given), {
        input: ({ grant, body, query }) => ({
          id: idOf({ grant }),
          name: body.name,
          leavesHub: body.components?.spokeComponent === true,
          responseId: query['response-id'],
        }),
      }),
      handle(deleteCluster, makeRemoveCluster(given), {
        input: ({ grant, query }) => ({
          id: idOf({ grant }),
          name: undefined,
          leavesHub: false,
          responseId: query['response-id'],
        }),
      }),
    ]
  },
})

/** The kinds of tasks that report changes of records. */
export const recordTaskGroup = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clusters: ClusterStorePort,
    hubs: HubsPort,
    spokeHubs: SpokeHubsPort,
    unitOfWork: ClusterUnitOfWorkPort,
  },
  tasks: (given) => recordTaskKinds({ ...given, readSetOfSpoke: makeReadSetOfSpoke(given) }),
})

/** The routes that tell which hubs and clusters an account has. */
export const accountHubGroup = defineGroup({
  needs: {
    address: PublicAddressPort,
    authorizer: AuthorizerPort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    clusterTokens: ClusterTokensPort,
    connections: ClusterConnectionsPort,
  },
  routes: (given) => [
    handle(getClusterIdentity, makeGetClusterByUid(given), {
      input: ({ params }) => params.clusterID,
      reply: ({ cluster, authorityPem }) => toClusterMetadata(cluster, authorityPem),
    }),
    handle(listAllClusters, makeListAllClusters({ ...given, listUserClusters: makeListUserClusters(given) }), {
      input: ({ grant }) => grant.ownerId,
      reply: (clusters) => clusters.map((cluster) => toClusterInfo(cluster, given.clock.now())),
    }),
    handle(hasHub, makeHasHub(given), { input: ({ grant }) => grant.ownerId, reply: (has) => ({ 'has-hub': has }) }),
    handle(getHubInfo, makeGetHubAccess(given), {
      input: ({ grant, makesToken }) => ({
        ownerId: grant.ownerId,
        makesToken: makesToken === true,
        maxTokenLifeDays: grant.context.entry?.maxTokenLifeDays ?? 0,
      }),
      reply: (hubs) =>
        Object.fromEntries(hubs.map(({ name, apiServer, token }) => [name, definedFields({ apiServer, token })])),
    }),
  ],
})
