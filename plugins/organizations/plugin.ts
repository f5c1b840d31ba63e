import { definePlugin } from '../kit/plugin.ts'
import { removeExpiredInvitations, notifySecondFactor } from './housekeeping.job.ts'
import { invitationGroup } from './invitations/invitations.handlers.ts'
import { memberGroup, memberViewGroup, organizationTokenGroup } from './members/members.handlers.ts'
import { organizationAdminGroup } from './organizations/admin.handlers.ts'
import { organizationAvatarGroup, organizationGroup, policyGroup } from './organizations/organizations.handlers.ts'
import { organizationPermissions } from './permissions.ts'
import { organizationRelations, robotRelations, teamRelations } from './relations.ts'
import { robotGroup, robotTokenGroup } from './robots/robots.handlers.ts'
import { teamGroup, teamMemberGroup } from './teams/teams.handlers.ts'

/** Organizations, their members and their teams. */
export const organizationsPlugin = definePlugin({
  id: 'organizations',
  summary: 'Organizations, members and teams, invitations, policies, robot accounts',
  listener: 'api',
  gate: 'always',
  groups: [
    organizationGroup,
    organizationAvatarGroup,
    teamGroup,
    teamMemberGroup,
    memberViewGroup,
    memberGroup,
    organizationTokenGroup,
    invitationGroup,
    policyGroup,
    robotGroup,
    robotTokenGroup,
    organizationAdminGroup,
    notifySecondFactor,
    removeExpiredInvitations,
  ],
  permissions: organizationPermissions,
  objectTypes: [organizationRelations, teamRelations, robotRelations],
})
