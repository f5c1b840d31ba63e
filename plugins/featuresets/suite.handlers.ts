import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterUnitOfWorkToken } from '../../core/clusters/ports.ts'
import { makeCheckAutoUpdate, makeGetSuiteVersions, makeStartAutoUpdate } from '../../core/featuresets/suite.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { checkAutoUpdate, getSuiteVersions, startAutoUpdate } from './suite.routes.ts'

export const suiteGroup = defineGroup({
  needs: { hubs: HubsToken, unitOfWork: ClusterUnitOfWorkToken },
  routes: (given) => [
    handle(getSuiteVersions, makeGetSuiteVersions(given), { input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }) }),
    handle(checkAutoUpdate, makeCheckAutoUpdate(given), { input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }) }),
    handle(startAutoUpdate, makeStartAutoUpdate(given), { input: ({ grant, params }) => ({ grant, clusterSet: params.clusterset }) }),
  ],
})
