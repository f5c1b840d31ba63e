import { definePlugin } from '../kit/plugin.ts'
import { memberRoutes } from './members.handlers.ts'
import { organizationNeeds } from './needs.ts'
import { organizationRoutes } from './organizations.handlers.ts'
import { organizationPermissions } from './permissions.ts'
import { organizationRelations, teamRelations } from './relations.ts'
import { teamRoutes } from './teams.handlers.ts'

/** Who belongs together: organizations, their members and teams. */
export const organizationsPlugin = definePlugin({
  id: 'organizations',
  summary: 'Organizations, members and teams',
  listener: 'api',
  gate: 'always',
  needs: organizationNeeds,
  routes: (given) => [...organizationRoutes(given), ...teamRoutes(given), ...memberRoutes(given)],
  permissions: organizationPermissions,
  objectTypes: [organizationRelations, teamRelations],
})
