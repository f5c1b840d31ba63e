import { auditMigrations } from '../audit/migrations/audit-migrations.ts'
import { authzMigrations } from '../authz/migrations/authz-migrations.ts'
import { busMigrations } from '../bus/migrations/bus-migrations.ts'
import { chartRepositoriesMigrations } from '../chart-repositories/migrations/chart-repositories-migrations.ts'
import { cloudsMigrations } from '../clouds/migrations/clouds-migrations.ts'
import { clustersMigrations } from '../clusters/migrations/clusters-migrations.ts'
import { contractsMigrations } from '../contracts/migrations/contracts-migrations.ts'
import { identityMigrations } from '../identity/migrations/identity-migrations.ts'
import { kernelMigrations } from '../kernel/migrations/kernel-migrations.ts'
import { mailMigrations } from '../mail/migrations/mail-migrations.ts'
import { organizationsMigrations } from '../organizations/migrations/organizations-migrations.ts'
import { packagesMigrations } from '../packages/migrations/packages-migrations.ts'
import { tasksMigrations } from '../tasks/migrations/tasks-migrations.ts'
import { usageMigrations } from '../usage/migrations/usage-migrations.ts'
import type { PartMigrations } from './migration.ts'

/** The migrations of each of our parts. `ownMigrations` puts them in order. */
export const allMigrations: readonly PartMigrations[] = [
  auditMigrations,
  authzMigrations,
  busMigrations,
  chartRepositoriesMigrations,
  cloudsMigrations,
  clustersMigrations,
  contractsMigrations,
  identityMigrations,
  kernelMigrations,
  mailMigrations,
  organizationsMigrations,
  packagesMigrations,
  tasksMigrations,
  usageMigrations,
]
