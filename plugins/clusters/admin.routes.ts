import { read, siteAdmin } from '../kit/access.ts'
import { list } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { ClusterInfo } from './codecs.ts'
import { listedCluster } from './examples.ts'

export const consoleListClusters = defineRoute({
  id: 'clusters.consoleListClusters',
  method: 'GET',
  path: '/accounts/admin/clusters',
  summary: 'List the clusters of all accounts, by owner and name',
  tag: 'Administration',
  access: siteAdmin,
  scope: read('admin'),
  ok: list(ClusterInfo, listedCluster),
  failures: [],
})
