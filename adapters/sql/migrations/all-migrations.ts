import { migration as identityAccounts } from './0001-identity-accounts.ts'
import { migration as organizationsTeams } from './0002-organizations-teams.ts'
import { migration as authzRoles } from './0003-authz-roles.ts'
import { migration as auditEvents } from './0004-audit-events.ts'
import { migration as kernelBookkeeping } from './0005-kernel-bookkeeping.ts'
import { migration as clustersRecords } from './0006-clusters-records.ts'
import type { Migration } from './migration.ts'

/** Every migration in the order in which they run. New ones are appended. */
export const allMigrations: readonly Migration[] = [
  identityAccounts,
  organizationsTeams,
  authzRoles,
  auditEvents,
  kernelBookkeeping,
  clustersRecords,
]
