import { definePlugin } from '../kit/plugin.ts'
import { organizationAdminRoutes } from './organizations/admin.handlers.ts'
import { avatarRoutes, organizationRoutes, policyRoutes } from './organizations/organizations.handlers.ts'
import { invitationRoutes } from './invitations/invitations.handlers.ts'
import { memberRoutes } from './members/members.handlers.ts'
import { organizationNeeds } from './needs.ts'
import { organizationPermissions } from './permissions.ts'
import { organizationRelations, robotRelations, teamRelations } from './relations.ts'
import { removeExpiredInvitations, tellSecondFactor } from './housekeeping.job.ts'
import { robotRoutes } from './robots/robots.handlers.ts'
import { teamRoutes } from './teams/teams.handlers.ts'

/** Organizations, their members and their teams. */
export const organizationsPlugin = definePlugin({
  id: 'organizations',
  summary: 'Organizations, members and teams, invitations, policies, robot accounts',
  listener: 'api',
  gate: 'always',
  needs: organizationNeeds,
  routes: (given) => [
    ...organizationRoutes(given),
    ...avatarRoutes(given),
    ...teamRoutes(given),
    ...memberRoutes(given),
    ...invitationRoutes(given),
    ...policyRoutes(given),
    ...robotRoutes(given),
    ...organizationAdminRoutes(given),
  ],
  jobs: (given) => [tellSecondFactor(given), removeExpiredInvitations(given)],
  permissions: organizationPermissions,
  objectTypes: [organizationRelations, teamRelations, robotRelations],
})
