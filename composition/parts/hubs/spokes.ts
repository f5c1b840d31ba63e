import { certificateRequestReader } from '../../../adapters/kubernetes/certificate-requests.ts'
import { clusterInfoReader } from '../../../adapters/kubernetes/kubeconfig.ts'
import { makeSqlHubMembers } from '../../../adapters/sql/hubs/hub-members.ts'
import { AuthorizerPort } from '../../../core/authz/ports.ts'
import { ClusterTasksPort } from '../../../core/cluster-tasks/ports.ts'
import { makeSpokeHubs } from '../../../core/clusters/hubs/hub-of-spoke.ts'
import {
  ClusterInfoReaderPort,
  HubsPort,
  SpokeHubsPort,
  SpokeRemovalsPort,
  SpokeSuppliesPort,
} from '../../../core/clusters/hubs/ports.ts'
import { makeSpokeSupplies } from '../../../core/clusters/hubs/spoke-needs.ts'
import { ClusterDependentsPort, ClusterStorePort, MemberClustersPort } from '../../../core/clusters/ports.ts'
import { makeSpokeRemovals } from '../../../core/hubs/spokes/removal.ts'
import { AgentImagesPort, CertificateRequestReaderPort, HubMembersPort } from '../../../core/hubs/spokes/ports.ts'
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
    bind(AgentImagesPort, {}, () => ({
      registry: settings.spokeAgentRegistry,
      version: settings.spokeAgentVersion === 'none' ? undefined : settings.spokeAgentVersion,
    })),
    bind(CertificateRequestReaderPort, {}, () => certificateRequestReader),
    bind(ClusterInfoReaderPort, {}, () => clusterInfoReader),
    bind(HubMembersPort, {}, () => makeSqlHubMembers(database)(database)),
    bind(SpokeSuppliesPort, { authorizer: AuthorizerPort, hubs: HubsPort }, makeSpokeSupplies),
    bind(
      SpokeHubsPort,
      {
        authorizer: AuthorizerPort,
        clusterInfo: ClusterInfoReaderPort,
        clusters: ClusterStorePort,
        hubs: HubsPort,
      },
      makeSpokeHubs,
    ),
    bind(
      SpokeRemovalsPort,
      {
        authorizer: AuthorizerPort,
        clusters: ClusterStorePort,
        clusterTasks: ClusterTasksPort,
        dependents: ClusterDependentsPort,
        hubs: HubsPort,
        memberClusters: MemberClustersPort,
      },
      makeSpokeRemovals,
    ),
  ],
})
