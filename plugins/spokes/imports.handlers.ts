import type * as t from 'io-ts'
import { AuthorizerToken } from '../../core/authz/ports.ts'
import { ClusterTasksToken } from '../../core/cluster-tasks/ports.ts'
import { ClusterInfoReaderToken, HubsToken, SpokeHubsToken } from '../../core/clusters/hubs/ports.ts'
import {
  ClusterAddressesToken,
  ClusterConnectionsToken,
  ClusterStoreToken,
  ClusterSurveyorToken,
  ClusterTaskUnitOfWorkToken,
  ClusterUnitOfWorkToken,
  CredentialSealerToken,
  KubeconfigParserToken,
  MemberClustersToken,
} from '../../core/clusters/ports.ts'
import { hostingProviders } from '../../core/clusters/types.ts'
import { ClockToken, PauseToken } from '../../core/kernel/clock.ts'
import { makeAcceptSpokes } from '../../core/spokes/acceptance.ts'
import { makeConvertToSpoke } from '../../core/spokes/conversion.ts'
import { importSpokeTaskKind } from '../../core/spokes/import-task.ts'
import { makeImportSpoke } from '../../core/spokes/imports.ts'
import { AgentImagesToken, CertificateRequestReaderToken } from '../../core/spokes/ports.ts'
import type { ImportOptions } from '../clusters/codecs.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { convertToSpoke, importSpoke } from './imports.routes.ts'

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
    addresses: ClusterAddressesToken,
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    clusterTasks: ClusterTasksToken,
    hubs: HubsToken,
    memberClusters: MemberClustersToken,
    parser: KubeconfigParserToken,
    seal: CredentialSealerToken,
    spokeHubs: SpokeHubsToken,
    unitOfWork: ClusterTaskUnitOfWorkToken,
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
      input: ({ grant, body, query }) => ({ ...statedIn(body), grant, name: given(body.basicInfo?.name), responseId: query['response-id'] }),
    }),
  ],
})

/** The task that imports spokes. */
export const importTaskGroup = defineGroup({
  needs: {
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusterInfo: ClusterInfoReaderToken,
    clusters: ClusterStoreToken,
    clusterTasks: ClusterTasksToken,
    connections: ClusterConnectionsToken,
    hubs: HubsToken,
    images: AgentImagesToken,
    pause: PauseToken,
    requests: CertificateRequestReaderToken,
    spokeHubs: SpokeHubsToken,
    surveyor: ClusterSurveyorToken,
    unitOfWork: ClusterUnitOfWorkToken,
  },
  tasks: (ports) => [importSpokeTaskKind({ ...ports, acceptSpokes: makeAcceptSpokes(ports) })],
})
