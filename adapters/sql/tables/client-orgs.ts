import type {
  ClientClusterId,
  ClientOrgId,
  ClientOrgState,
  ClusterPlan,
  ClusterState,
  MemberAccountId,
} from '../../../core/client-orgs/types.ts'
import type { AccountId, OrgId, UserId } from '../../../core/kernel/ids.ts'
import { flag, id, instant, int, json, long, nullable, rowId, table, text, withDefault } from '../kit/columns.ts'

export const clientOrgs = table('client_orgs', {
  id: rowId<ClientOrgId>(),
  orgId: id<OrgId>(),
  name: text(40),
  vendorId: id<AccountId>(),
  adminId: id<UserId>(),
  state: text<ClientOrgState>(16),
  isShared: flag(),
  settling: withDefault(text(32)),
  createdAt: instant(),
})

export const clientOrgClusters = table('client_org_clusters', {
  id: rowId<ClientClusterId>(),
  clientOrgId: id<ClientOrgId>(),
  name: text(63),
  uid: text(64),
  hubOwnerId: id<AccountId>(),
  hubUid: text(64),
  gatewayOfId: nullable(id<ClientOrgId>()),
  state: text<ClusterState>(16),
  plan: json<ClusterPlan>(),
  accountLayout: withDefault(int()),
  message: withDefault(text(1000)),
  version: withDefault(long()),
})

/** The accounts that members have, or are about to get, on clusters. */
export const clientOrgAccounts = table('client_org_accounts', {
  id: rowId<MemberAccountId>(),
  clusterId: id<ClientClusterId>(),
  userId: id<UserId>(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    clientOrgs: typeof import('./client-orgs.ts')
  }
}
