import { defineAudit } from '../kernel/unit-of-work.ts'
import { definedFields } from '../kernel/json.ts'
import type { OrgId, TokenId } from '../kernel/ids.ts'
import type { Robot } from './ports.ts'
import type { Organization, Team } from './types.ts'

/** Returns the audit row of an action on an organization. The name is absent where the change does not read it. */
export const auditOfOrganization = defineAudit(
  'organization',
  [
    'organization.created',
    'organization.edited',
    'organization.renamed',
    'organization.deleted',
    'organization.avatar_changed',
    'organization.avatar_removed',
    'organization.policy_changed',
    'organization.membership_set',
    'organization.member_published',
    'organization.member_concealed',
    'organization.member_removed',
    'organization.member_invited',
    'organization.invitation_withdrawn',
    'organization.invitation_accepted',
  ],
  ({ id, name }: Pick<Organization, 'id'> & Partial<Pick<Organization, 'name'>>) => ({
    objectId: id,
    ...definedFields({ objectName: name }),
    tenantId: id,
  }),
)

/** Returns the audit row of an action on a team. */
export const auditOfTeam = defineAudit(
  'team',
  ['team.created', 'team.edited', 'team.deleted', 'team.member_added', 'team.member_removed'],
  ({ id, name, orgId }: Pick<Team, 'id' | 'name' | 'orgId'>) => ({ objectId: id, objectName: name, tenantId: orgId }),
)

/** Returns the audit row of an action on a robot account. */
export const auditOfRobot = defineAudit(
  'robot_ac',
  ['robot.created', 'robot.changed', 'robot.deleted'],
  ({ id, login, orgId }: Pick<Robot, 'id' | 'login' | 'orgId'>) => ({
    objectId: id,
    objectName: login,
    tenantId: orgId,
  }),
)

/** An access token that is restricted to an organization, as the audit log shows it. */
interface AuditedToken {
  readonly id: TokenId
  readonly name: string
  readonly orgId: OrgId
}

/** Returns the audit row of an action on an access token of an organization. */
export const auditOfToken = defineAudit(
  'token',
  ['organization.token_revoked', 'robot.token_created', 'robot.token_revoked'],
  ({ id, name, orgId }: AuditedToken) => ({ objectId: id, objectName: name, tenantId: orgId }),
)
