import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { FeatureClaimsToken, SpokeSlicesToken, VersionInRangeToken } from '../../core/featuresets/ports.ts'
import { makeGetSyncStatus, makeListSyncStatuses } from '../../core/featuresets/sync-status.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getSyncStatus, listSyncStatuses } from './sync-status.routes.ts'

export const syncStatusGroup = defineGroup({
  needs: { hubs: HubsToken, claims: FeatureClaimsToken, isInRange: VersionInRangeToken, slices: SpokeSlicesToken },
  routes: (given) => [
    handle(listSyncStatuses, makeListSyncStatuses(given), { input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }) }),
    handle(getSyncStatus, makeGetSyncStatus(given), {
      input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset, feature: params.feature }),
    }),
  ],
})
