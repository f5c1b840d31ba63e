import type { ClusterDirectory } from '../../../core/authorization-server/ports.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { aliased, pick } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { clusters } from '../tables/clusters.ts'
import { accounts, users } from '../tables/identity.ts'

/** ClusterDirectory over the clusters of accounts and the members of organizations. */
export const makeSqlClusterDirectory = (db: SqlDatabase): ClusterDirectory => {
  const find = db.prepare(
    { ownerKey: accounts.lowerName, ...pick(clusters, 'name'), userId: users.id },
    pick(aliased(clusters, 'c'), 'id'),
    (k, p) =>
      k('clusters as c')
        .join('accounts as a', 'a.id', 'c.owner_id')
        .join('users as u', 'u.id', k.raw('?', [p.userId]))
        .leftJoin('org_members as m', (on) => on.on('m.org_id', 'c.owner_id').andOn('m.user_id', 'u.id'))
        .where('a.lower_name', p.ownerKey)
        .where('c.name', p.name)
        .where((any) =>
          any
            .whereNotNull('m.user_id')
            .orWhere('c.owner_id', k.ref('u.id'))
            .orWhere('u.robot_org_id', k.ref('c.owner_id')),
        ),
  )
  return {
    async clusterOf(userId, { owner, cluster }) {
      return (await db.first(find, { userId, ownerKey: accountNameKey(owner), name: cluster }))?.id
    },
  }
}
