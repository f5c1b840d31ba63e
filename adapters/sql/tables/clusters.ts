import type { ClusterPhase, HostingProvider, PhaseReason } from '../../../core/clusters/types.ts'
import { fromManagerMask, toManagerMask } from '../../../core/clusters/types.ts'
import type { AccountId, ClusterId, UserId } from '../../../core/kernel/ids.ts'
import {
  coded,
  flag,
  id,
  instant,
  int,
  long,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const clusters = table('clusters', {
  id: rowId<ClusterId>(),
  ownerId: id<AccountId>(),
  name: text(63),
  displayName: text(255),
  uid: text(64),
  externalId: withDefault(text(255)),
  provider: text<HostingProvider>(32),
  vendor: withDefault(text(64)),
  endpoint: text(512),
  location: withDefault(text(128)),
  project: withDefault(text(128)),
  kubernetesVersion: withDefault(text(64)),
  nodeCount: withDefault(int()),
  managers: withDefault(coded(int(), { encode: toManagerMask, decode: fromManagerMask })),
  hubClusterUid: withDefault(text(64)),
  infraNamespace: withDefault(text(63)),
  phase: text<ClusterPhase>(16),
  /** Empty if there is none. */
  phaseReason: withDefault(text<PhaseReason | ''>(32)),
  phaseMessage: withDefault(text(1000)),
  impersonatesUsers: withDefault(flag()),
  ref: text(36),
  sealedCredential: nullable(sealed()),
  createdAt: instant(),
  checkedAt: nullable(instant()),
  importedBy: nullable(id<UserId>()),
  version: withDefault(long()),
  managedClusterName: withDefault(text(63)),
  clusterSetName: withDefault(text(63)),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    clusters: typeof import('./clusters.ts')
  }
}
