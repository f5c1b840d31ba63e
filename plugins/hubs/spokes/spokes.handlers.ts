import type * as t from 'io-ts'
import { AuthorizerPort } from '../../../core/authz/ports.ts'
import { ClusterTasksPort } from '../../../core/cluster-tasks/ports.ts'
import { ClusterInfoReaderPort, HubsPort, SpokeHubsPort, SpokeSuppliesPort } from '../../../core/clusters/hubs/ports.ts'
import {
  ClusterAddressesPort,
  ClusterConnectionsPort,
  ClusterDependentsPort,
  ClusterStorePort,
  ClusterSurveyorPort,
  ClusterTaskUnitOfWorkPort,
  ClusterTransportPort,
  ClusterUnitOfWorkPort,
  CredentialSealerPort,
  KubeconfigParserPort,
  MemberClustersPort,
} from '../../../core/clusters/ports.ts'
import { hostingProviders } from '../../../core/clusters/types.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { ClockPort, PausePort, shortAge } from '../../../core/kernel/clock.ts'
import { makeAcceptSpokes } from '../../../core/hubs/spokes/acceptance.ts'
import { makeSyncAccounts } from '../../../core/hubs/spokes/accounts.ts'
import { makeConvertToSpoke } from '../../../core/hubs/spokes/conversion.ts'
import type { HubSummary } from '../../../core/hubs/spokes/hub-summaries.ts'
import { hasNoWorkloads, makeListAllHubs, makeListHubs } from '../../../core/hubs/spokes/hub-summaries.ts'
import { importSpokeTaskKind } from '../../../core/hubs/spokes/import-task.ts'
import { makeImportSpoke } from '../../../core/hubs/spokes/imports.ts'
import type { StatedCluster } from '../../../core/hubs/spokes/join-command.ts'
import { makeGetJoinCommand } from '../../../core/hubs/spokes/join-command.ts'
import type { ManagedCluster } from '../../../core/hubs/spokes/managed-clusters.ts'
import {
  makeListAccepted,
  makeListAvailable,
  makeListNotAccepted,
  makeReadManagedClusters,
} from '../../../core/hubs/spokes/managed-clusters.ts'
import { AgentImagesPort, CertificateRequestReaderPort, HubMembersPort } from '../../../core/hubs/spokes/ports.ts'
import { makeRemoveSpoke, removeSpokeKind } from '../../../core/hubs/spokes/removal.ts'
import type { ImportOptions } from '../../clusters/codecs.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { JsonText } from '../../kit/reply.ts'
import type { ClusterOptions, HubCluster, ManagedClusterInfo } from './codecs.ts'
import {
  acceptSpokes,
  convertToSpoke,
  getJoinCommand,
  importSpoke,
  listAccepted,
  listAllHubs,
  listAvailable,
  listHubs,
  listNotAccepted,
  readManagedClusters,
  removeManagedCluster,
  syncAccounts,
} from './spokes.routes.ts'

const countNames = { spokes: 'spokeClusters', addOns: 'addOns', nodes: 'clusterNode' } as const

const toHubCluster = (
  { cluster, spokes, addOns, nodes, unknown }: HubSummary,
  now: Date,
): t.TypeOf<typeof HubCluster> => ({
  name: cluster.name,
  ownerName: cluster.ownerName,
  displayName: cluster.displayName,
  hubClusterUID: cluster.uid,
  spokeClusters: spokes,
  addOns,
  clusterNode: nodes,
  provider: cluster.provider,
  hubType: hasNoWorkloads(cluster) ? 'OCM-MC' : 'OCM',
  locations: cluster.location,
  age: shortAge(cluster.createdAt, now),
  createdAt: cluster.createdAt,
  unknownCounts: unknown.length === 0 ? undefined : unknown.map((kind) => countNames[kind]),
})

const toManagedClusterInfo = ({ name, url, uid, clusterSet }: ManagedCluster): t.TypeOf<typeof ManagedClusterInfo> => ({
  name,
  clusterURL: url,
  clusterUID: uid,
  clusterSet,
})

const input = ({ grant }: { readonly grant: AccessGrant }): AccessGrant => grant
const reply = (clusters: readonly ManagedCluster[]) => clusters.map(toManagedClusterInfo)

export const managedClusterGroup = defineGroup({
  needs: { authorizer: AuthorizerPort, clock: ClockPort, clusters: ClusterStorePort, hubs: HubsPort },
  routes: (given) => [
    handle(listHubs, makeListHubs(given), {
      input: ({ grant }) => grant.ownerId,
      reply: (hubs) => hubs.map((hub) => toHubCluster(hub, given.clock.now())),
    }),
    handle(listAllHubs, makeListAllHubs(given), {
      reply: (hubs) => hubs.map((hub) => toHubCluster(hub, given.clock.now())),
    }),
    handle(readManagedClusters, makeReadManagedClusters(given), { input, reply: (text) => new JsonText(text) }),
    handle(listNotAccepted, makeListNotAccepted(given), { input, reply }),
    handle(listAccepted, makeListAccepted(given), { input, reply }),
    handle(listAvailable, makeListAvailable(given), { input, reply }),
  ],
})

/** Clients send an empty text, or 0, for what they do not state. */
const stated = (name: string | undefined, uid: string | undefined, ownerId: number | undefined): StatedCluster => ({
  name: name === '' ? undefined : name,
  uid: uid === '' ? undefined : uid,
  ownerId: ownerId === 0 ? undefined : ownerId,
})
const clustersOf = (
  options: t.TypeOf<typeof ClusterOptions>,
): { readonly hub: StatedCluster; readonly host: StatedCluster } => ({
  hub: stated(options.hubClusterName, options.hubClusterUID, options.hubClusterOwnerID),
  host: stated(options.hostClusterName, options.hostClusterUID, options.hostClusterOwnerID),
})

export const acceptanceGroup = defineGroup({
  needs: {
    clock: ClockPort,
    clusterInfo: ClusterInfoReaderPort,
    clusters: ClusterStorePort,
    connections: ClusterConnectionsPort,
    hubs: HubsPort,
    members: HubMembersPort,
    requests: CertificateRequestReaderPort,
    unitOfWork: ClusterUnitOfWorkPort,
  },
  routes: (given) => [
    handle(acceptSpokes, makeAcceptSpokes(given), {
      input: ({ grant, body: { clusters, skipApproveCheck = false, requesters = [] } }) => ({
        grant,
        clusters,
        skipsApproveCheck: skipApproveCheck,
        requesters,
      }),
    }),
    handle(getJoinCommand, makeGetJoinCommand(given), {
      input: ({ grant, query: { installer = 'clusteradm' }, body }) => ({
        grant,
        installer,
        clusterName: body.clusterName,
        ...clustersOf(body),
      }),
      reply: (command) => ({ spoke: command.reveal() }),
    }),
    handle(syncAccounts, makeSyncAccounts(given), { input: ({ grant }) => grant, reply: (synced) => synced }),
  ],
})

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

type Options = t.TypeOf<typeof ImportOptions>

/** What both requests state. Clients send 0 for an unknown owner. */
const statedIn = ({ basicInfo, components }: Pick<Options, 'basicInfo' | 'components'>) => ({
  claimedOwnerId: basicInfo?.ownerID === 0 ? undefined : basicInfo?.ownerID,
  claimedHubUid: given(basicInfo?.hubClusterID),
  claimedUid: given(basicInfo?.clusterUID),
  clusterProfile: given(components?.clusterProfile),
  components: {
    gitOpsEngine: components?.gitopsEngine === true,
    omitted: [
      ...(components?.allFeatures === true ? ['allFeatures'] : []),
      ...((components?.featureSets ?? []).length > 0 ? ['featureSets'] : []),
      ...(given(components?.monitoringClusterName) === undefined ? [] : ['monitoringClusterName']),
    ],
  },
})

/** The routes that import spokes and convert clusters to spokes. */
export const importGroup = defineGroup({
  needs: {
    addresses: ClusterAddressesPort,
    authorizer: AuthorizerPort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    clusterTasks: ClusterTasksPort,
    hubs: HubsPort,
    memberClusters: MemberClustersPort,
    parser: KubeconfigParserPort,
    seal: CredentialSealerPort,
    spokeHubs: SpokeHubsPort,
    unitOfWork: ClusterTaskUnitOfWorkPort,
  },
  routes: (ports) => [
    handle(importSpoke, makeImportSpoke(ports), {
      input: ({ grant, body, query }) => ({
        ...statedIn(body),
        grant,
        name: body.basicInfo.name,
        displayName: body.basicInfo.displayName ?? '',
        provider: hostingProviders.find((provider) => provider.toLowerCase() === body.provider?.name?.toLowerCase()),
        accessConfig: body.provider?.accessConfig,
        externalId: body.provider?.clusterID ?? '',
        project: body.provider?.project ?? '',
        location: body.provider?.region ?? '',
        infraNamespace: body.basicInfo.infraNamespace ?? '',
        impersonatesUsers: body.basicInfo.impersonateUsers ?? false,
        responseId: query['response-id'],
      }),
    }),
    handle(convertToSpoke, makeConvertToSpoke(ports), {
      input: ({ grant, body, query }) => ({
        ...statedIn(body),
        grant,
        name: given(body.basicInfo?.name),
        responseId: query['response-id'],
      }),
    }),
  ],
})

/** The task that imports spokes. */
export const importTaskGroup = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clock: ClockPort,
    clusterInfo: ClusterInfoReaderPort,
    clusters: ClusterStorePort,
    clusterTasks: ClusterTasksPort,
    connections: ClusterConnectionsPort,
    hubs: HubsPort,
    images: AgentImagesPort,
    pause: PausePort,
    requests: CertificateRequestReaderPort,
    spokeHubs: SpokeHubsPort,
    supplies: SpokeSuppliesPort,
    surveyor: ClusterSurveyorPort,
    unitOfWork: ClusterUnitOfWorkPort,
  },
  tasks: (ports) => [importSpokeTaskKind({ ...ports, acceptSpokes: makeAcceptSpokes(ports) })],
})

/** The route that removes a spoke from a hub, and the task that does it. */
export const removalGroup = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clock: ClockPort,
    clusters: ClusterStorePort,
    clusterTasks: ClusterTasksPort,
    dependents: ClusterDependentsPort,
    hubs: HubsPort,
    memberClusters: MemberClustersPort,
    pause: PausePort,
    transport: ClusterTransportPort,
    unitOfWork: ClusterUnitOfWorkPort,
  },
  routes: (given) => [
    handle(removeManagedCluster, makeRemoveSpoke(given), {
      input: ({ grant, body, query }) => ({
        grant,
        name: body.clusterName,
        isForced: body.force === true,
        removesRecord: false,
        responseId: query['response-id'],
      }),
    }),
  ],
  tasks: (given) => [removeSpokeKind(given)],
})
