import { certificateRequestReader } from '../../../adapters/kubernetes/certificate-requests.ts'
import { clusterInfoReader } from '../../../adapters/kubernetes/kubeconfig.ts'
import { makeSqlHubMembers } from '../../../adapters/sql/hubs/hub-members.ts'
import { AuthorizerToken } from '../../../core/authz/ports.ts'
import { ClusterTasksToken } from '../../../core/cluster-tasks/ports.ts'
import { makeSpokeHubs } from '../../../core/clusters/hubs/hub-of-spoke.ts'
import {
  ClusterInfoReaderToken,
  HubsToken,
  SpokeHubsToken,
  SpokeRemovalsToken,
  SpokeSuppliesToken,
} from '../../../core/clusters/hubs/ports.ts'
import { makeSpokeSupplies } from '../../../core/clusters/hubs/spoke-needs.ts'
import { ClusterDependentsPort, ClusterStoreToken, MemberClustersToken } from '../../../core/clusters/ports.ts'
import { makeSpokeRemovals } from '../../../core/hubs/spokes/removal.ts'
import { AgentImagesToken, CertificateRequestReaderToken, HubMembersToken } from '../../../core/hubs/spokes/ports.ts'
import { spokesPlugin } from '../../../plugins/hubs/spokes/plugin.ts'
import { withDefault } from '../../part/setting.ts'
import { matching } from '../../part/setting-type.ts'
import { bind } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'

/** Hubs and spokes, beside the connections to clusters. */
export const part = definePart({
  plugin: spokesPlugin,
  settings: {
    spokeAgentRegistry: withDefault(
      'MOORAGE_SPOKE_AGENT_REGISTRY',
      matching(/^[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?$/, 'a registry and path'),
      'quay.io/open-cluster-management',
      'Where spokes pull the images of their agents from: registry and path, without a tag.',
      { after: 'MOORAGE_KUBERNETES_ALLOW' },
    ),
    spokeAgentVersion: withDefault(
      'MOORAGE_SPOKE_AGENT_VERSION',
      matching(/^(?:none|[\w][\w.-]{0,127})$/, 'an image tag, or none'),
      'v1.0.0',
      'Image tag of the agents; `none` if the operator of the agents (klusterlet) is installed on spokes ' +
        'by other means.',
    ),
  },
  tags: [{ name: 'Multi-cluster', description: 'Hubs, spokes, cluster sets and feature sets.' }],
  provide: ({ database, settings }) => [
    bind(AgentImagesToken, {}, () => ({
      registry: settings.spokeAgentRegistry,
      version: settings.spokeAgentVersion === 'none' ? undefined : settings.spokeAgentVersion,
    })),
    bind(CertificateRequestReaderToken, {}, () => certificateRequestReader),
    bind(ClusterInfoReaderToken, {}, () => clusterInfoReader),
    bind(HubMembersToken, {}, () => makeSqlHubMembers(database)(database)),
    bind(SpokeSuppliesToken, { authorizer: AuthorizerToken, hubs: HubsToken }, makeSpokeSupplies),
    bind(
      SpokeHubsToken,
      {
        authorizer: AuthorizerToken,
        clusterInfo: ClusterInfoReaderToken,
        clusters: ClusterStoreToken,
        hubs: HubsToken,
      },
      makeSpokeHubs,
    ),
    bind(
      SpokeRemovalsToken,
      {
        authorizer: AuthorizerToken,
        clusters: ClusterStoreToken,
        clusterTasks: ClusterTasksToken,
        dependents: ClusterDependentsPort,
        hubs: HubsToken,
        memberClusters: MemberClustersToken,
      },
      makeSpokeRemovals,
    ),
  ],
})
