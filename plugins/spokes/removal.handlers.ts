import { AuthorizerToken } from '../../core/authz/ports.ts'
import { ClusterTasksToken } from '../../core/cluster-tasks/ports.ts'
import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterStoreToken, ClusterTransportToken, ClusterUnitOfWorkToken, MemberClustersToken } from '../../core/clusters/ports.ts'
import { ClockToken, PauseToken } from '../../core/kernel/clock.ts'
import { makeRemoveSpoke, removeSpokeKind } from '../../core/spokes/removal.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { removeManagedCluster } from './removal.routes.ts'

/** The route that removes a spoke from a hub, and the task that does it. */
export const removalGroup = defineGroup({
  needs: {
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    clusterTasks: ClusterTasksToken,
    hubs: HubsToken,
    memberClusters: MemberClustersToken,
    pause: PauseToken,
    transport: ClusterTransportToken,
    unitOfWork: ClusterUnitOfWorkToken,
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
