import { right } from 'fp-ts/lib/Either.js'
import type { ClusterStore } from '../../core/clusters/ports.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { consoleListClusters } from './admin.routes.ts'
import { toClusterInfo } from './cluster-wire.ts'

/** What a site admin sees of all clusters. */
export const clusterAdminRoutes = ({ clusters, clock }: { readonly clusters: ClusterStore; readonly clock: Clock }): readonly BoundRoute[] => [
  handle(consoleListClusters, async ({ page }) =>
    right(mapPage(await clusters.listAll(page), (cluster) => toClusterInfo(cluster, clock.now()))),
  ),
]
