import { definePlugin } from '../kit/plugin.ts'
import { organizationAdminRoutes } from './admin.handlers.ts'
import { avatarRoutes } from './avatar.handlers.ts'
import { invitationRoutes } from './invitations.handlers.ts'
import { memberRoutes } from './members.handlers.ts'
import { organizationNeeds } from './needs.ts'
import { organizationRoutes } from './organizations.handlers.ts'
import { organizationPermissions } from './permissions.ts'
import { policyRoutes } from './policies.handlers.ts'
import { organizationRelations, robotRelations, teamRelations } from './relations.ts'
import { removeExpiredInvitations } from './remove-expired-invitations.job.ts'
import { robotRoutes } from './robots.handlers.ts'
import { teamRoutes } from './teams.handlers.ts'
import { tellSecondFactor } from './tell-second-factor.job.ts'

/** Who belongs together: organizations, their members and teams. */
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
