import { defineAudit } from '../kernel/unit-of-work.ts'
import type { ProvisionedGroup, ProvisionedUser } from './types.ts'

/** Returns the audit row of a change of a user by the directory. */
export const auditOfProvisionedUser = defineAudit(
  'provisioned_user',
  ['provisioned_user.created', 'provisioned_user.changed', 'provisioned_user.deleted'],
  ({ id, userName, orgId }: Pick<ProvisionedUser, 'id' | 'userName' | 'orgId'>) => ({
    objectId: id,
    objectName: userName,
    tenantId: orgId,
  }),
)

/** Returns the audit row of a change of a group by the directory. */
export const auditOfProvisionedGroup = defineAudit(
  'provisioned_group',
  ['provisioned_group.created', 'provisioned_group.changed', 'provisioned_group.deleted'],
  ({ id, displayName, orgId }: Pick<ProvisionedGroup, 'id' | 'displayName' | 'orgId'>) => ({
    objectId: id,
    objectName: displayName,
    tenantId: orgId,
  }),
)
