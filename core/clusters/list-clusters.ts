import { isLeft } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterAccount, ClusterStore } from './ports.ts'
import type { Cluster } from './types.ts'

/** Direct grants that let their holder see a cluster. */
const seeingRelations = ['viewer', 'editor']

/**
 * The caller's own clusters or, with `all`, also those of every organization where the caller may see them.
 * One decision for each account, by the same evaluator as every route; direct grants are decided one by one.
 */
export const makeListUserClusters = (deps: { readonly clusters: ClusterStore; readonly authorizer: Authorizer }) =>
  async (call: SignedInCall, all: boolean): Promise<readonly Cluster[]> => {
    const { principal } = call
    const mayList = async (account: ClusterAccount): Promise<boolean> =>
      !isLeft(await deps.authorizer.authorize(principal, { type: 'account', name: account.name }, 'can_list_clusters'))
    const mayView = async (cluster: Cluster): Promise<boolean> =>
      !isLeft(await deps.authorizer.authorize(principal, { type: 'cluster', owner: cluster.ownerName, name: cluster.name }, 'can_view'))

    const accounts = (await deps.clusters.accountsOf(principal.userId)).filter(({ id }) => all || id === principal.userId)
    const found = new Map<number, Cluster>()
    for (const account of accounts) {
      if (!(await mayList(account))) continue
      for (const cluster of await deps.clusters.listOf(account.id)) found.set(cluster.id, cluster)
    }
    for (const cluster of all ? await deps.clusters.listGranted(principal.userId, seeingRelations) : []) {
      if (!found.has(cluster.id) && (await mayView(cluster))) found.set(cluster.id, cluster)
    }
    return [...found.values()]
  }
