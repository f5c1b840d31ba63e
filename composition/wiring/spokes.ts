import { certificateRequestReader } from '../../adapters/kubernetes/certificate-requests.ts'
import { clusterInfoReader } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeSqlHubMembers } from '../../adapters/sql/spokes/hub-members.ts'
import { AuthorizerToken } from '../../core/authz/ports.ts'
import { ClusterTasksToken } from '../../core/cluster-tasks/ports.ts'
import { makeSpokeHubs } from '../../core/clusters/hubs/hub-of-spoke.ts'
import {
  ClusterInfoReaderToken,
  HubsToken,
  SpokeHubsToken,
  SpokeRemovalsToken,
  SpokeSuppliesToken,
} from '../../core/clusters/hubs/ports.ts'
import { makeSpokeSupplies } from '../../core/clusters/hubs/spoke-needs.ts'
import { ClusterStoreToken, MemberClustersToken } from '../../core/clusters/ports.ts'
import { makeSpokeRemovals } from '../../core/spokes/removal.ts'
import { AgentImagesToken, CertificateRequestReaderToken, HubMembersToken } from '../../core/spokes/ports.ts'
import type { Provide } from '../boot.ts'

/** Provides what hubs and spokes need beside the connections to clusters. */
export const provideSpokes: Provide = (container, { database, settings }) => {
  container.provideValue(AgentImagesToken, {
    registry: settings.spokeAgentRegistry,
    version: settings.spokeAgentVersion === 'none' ? undefined : settings.spokeAgentVersion,
  })
  container.provideValue(CertificateRequestReaderToken, certificateRequestReader)
  container.provideValue(ClusterInfoReaderToken, clusterInfoReader)
  container.provide(HubMembersToken, () => makeSqlHubMembers(database)(database))
  container.provide(SpokeSuppliesToken, (resolve) =>
    makeSpokeSupplies({ authorizer: resolve(AuthorizerToken), hubs: resolve(HubsToken) }),
  )
  container.provide(SpokeHubsToken, (resolve) =>
    makeSpokeHubs({
      authorizer: resolve(AuthorizerToken),
      clusterInfo: resolve(ClusterInfoReaderToken),
      clusters: resolve(ClusterStoreToken),
      hubs: resolve(HubsToken),
    }),
  )
  container.provide(SpokeRemovalsToken, (resolve) =>
    makeSpokeRemovals({
      authorizer: resolve(AuthorizerToken),
      clusters: resolve(ClusterStoreToken),
      clusterTasks: resolve(ClusterTasksToken),
      hubs: resolve(HubsToken),
      memberClusters: resolve(MemberClustersToken),
    }),
  )
}
