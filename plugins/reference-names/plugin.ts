import { right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { ClusterInfoModel, singleCluster } from '../clusters/cluster-info-wire.ts'
import { ClusterListQuery, ownerInPath, OwnerPath } from '../clusters/codecs.ts'
import { toClusterInfoModel } from '../clusters/cluster-wire.ts'
import { read, requires } from '../kit/access.ts'
import { answer, described } from '../kit/codecs.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { definePlugin } from '../kit/plugin.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { referenceNames } from './names.ts'

const ClusterInfoList = answer(
  {
    metadata: described(answer({}, 'ListMetadata'), 'Always empty: the list is whole.'),
    items: described(t.readonlyArray(ClusterInfoModel), 'The clusters, by name.'),
  },
  'ClusterInfoList',
)

const listClusters = defineRoute({
  id: 'referenceNames.listClusters',
  method: 'GET',
  path: '/reference-names/clustersv2/{owner}',
  summary: 'List the clusters of an account, as an object with `items`',
  description:
    'Clients of the reference get it at `/clustersv2/{owner}`. By name, all of them. `provider` selects ' +
    'the clusters of one hosting provider.',
  tag: 'Cluster Management v2',
  access: requires('can_list_clusters', ownerInPath),
  scope: read('cluster'),
  params: OwnerPath,
  query: ClusterListQuery,
  ok: json(200, ClusterInfoList, { metadata: {}, items: [singleCluster] }),
  failures: [],
})

/** Without regard to case; no provider selects all clusters. */
const isOf =
  (provider: string | undefined) =>
  (cluster: { readonly provider: string }): boolean =>
    (provider ?? '') === '' || cluster.provider.toLowerCase() === provider?.toLowerCase()

const group = defineGroup({
  needs: { clock: ClockPort, clusters: ClusterStorePort },
  routes: ({ clock, clusters }) => [
    handle(
      listClusters,
      async (_call, { grant, query }) => right((await clusters.listOf(grant.ownerId)).filter(isOf(query.provider))),
      { reply: (found) => ({ metadata: {}, items: found.map((cluster) => toClusterInfoModel(cluster, clock.now())) }) },
    ),
  ],
})

export const referenceNamesPlugin = definePlugin({
  id: 'reference-names',
  summary: 'Serves clients of the reference, whose names differ, beside those of this interface',
  listener: 'api',
  gate: 'always',
  names: referenceNames,
  groups: [group],
})
