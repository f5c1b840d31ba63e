import { AuthorizerToken } from '../../core/authz/ports.ts'
import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { makeListAllHubs, makeListHubs } from '../../core/spokes/hub-summaries.ts'
import type { ManagedCluster } from '../../core/spokes/managed-clusters.ts'
import { makeListAccepted, makeListAvailable, makeListNotAccepted, makeReadManagedClusters } from '../../core/spokes/managed-clusters.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { JsonText } from '../kit/reply.ts'
import { listAccepted, listAllHubs, listAvailable, listHubs, listNotAccepted, readManagedClusters } from './managed-clusters.routes.ts'
import { toHubCluster, toManagedClusterInfo } from './spoke-wire.ts'

const input = ({ grant }: { readonly grant: AccessGrant }): AccessGrant => grant
const reply = (clusters: readonly ManagedCluster[]) => clusters.map(toManagedClusterInfo)

export const managedClusterGroup = defineGroup({
  needs: { authorizer: AuthorizerToken, clock: ClockToken, clusters: ClusterStoreToken, hubs: HubsToken },
  routes: (given) => [
    handle(listHubs, makeListHubs(given), { input: ({ grant }) => grant.ownerId, reply: (hubs) => hubs.map((hub) => toHubCluster(hub, given.clock.now())) }),
    handle(listAllHubs, makeListAllHubs(given), { reply: (hubs) => hubs.map((hub) => toHubCluster(hub, given.clock.now())) }),
    handle(readManagedClusters, makeReadManagedClusters(given), { input, reply: (text) => new JsonText(text) }),
    handle(listNotAccepted, makeListNotAccepted(given), { input, reply }),
    handle(listAccepted, makeListAccepted(given), { input, reply }),
    handle(listAvailable, makeListAvailable(given), { input, reply }),
  ],
})
