import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Cluster } from './types.ts'

/** Returns the audit row of an action on a cluster. */
export const auditOf = defineAudit(
  'cluster',
  ['cluster.imported', 'cluster.changed', 'cluster.connected', 'cluster.linked', 'cluster.removed'],
  ({ id, name, ownerId }: Pick<Cluster, 'id' | 'name' | 'ownerId'>) => ({ objectId: id, objectName: name, tenantId: ownerId }),
)
