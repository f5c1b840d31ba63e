import { importing } from '../clusters/sample.ts'
import { defineSample } from '../support/part-sample.ts'

/** Nothing of its own: the clusters of the tenants are no hubs. */
export const sample = defineSample({
  part: 'spokes',
  make: async () => undefined,
  sendsExample: (routeId) => routeId.startsWith('spokes.'),
  bodies: {
    'spokes.getJoinCommand': (mine, theirs) => ({
      own: { clusterName: 'shop', hubClusterName: mine.key('cluster') },
      hubClusterUID: { clusterName: 'shop', hubClusterUID: theirs.key('cluster', 'uid') },
      hubClusterOwnerID: { clusterName: 'shop', hubClusterOwnerID: theirs.id('organization') },
    }),
    'spokes.importSpoke': (mine, theirs) => ({
      own: importing(mine),
      'basicInfo.ownerID': importing(mine, { ownerID: theirs.id('organization') }),
      'basicInfo.clusterUID': importing(mine, { clusterUID: theirs.key('cluster', 'uid') }),
      'basicInfo.hubClusterID': importing(mine, { hubClusterID: theirs.key('cluster', 'uid') }),
    }),
    'spokes.convertToSpoke': (mine, theirs) => ({
      own: { basicInfo: { name: mine.key('cluster') } },
      'basicInfo.name': { basicInfo: { name: theirs.key('cluster') } },
      'basicInfo.clusterUID': { basicInfo: { clusterUID: theirs.key('cluster', 'uid') } },
    }),
  },
  refusedAs: (routeId) =>
    routeId.startsWith('spokes.') && !['spokes.listHubs', 'spokes.listAllHubs'].includes(routeId)
      ? 'NotAHub'
      : undefined,
})
