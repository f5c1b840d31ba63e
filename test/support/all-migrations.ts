import { auditMigrations } from '../../adapters/sql/audit/migrations.ts'
import { authzMigrations } from '../../adapters/sql/authz/migrations.ts'
import { busMigrations } from '../../adapters/sql/bus/migrations.ts'
import { chartRepositoriesMigrations } from '../../adapters/sql/packages/migrations.ts'
import { clientOrgsMigrations } from '../../adapters/sql/client-orgs/migrations.ts'
import { cloudsMigrations } from '../../adapters/sql/clouds/migrations.ts'
import { clustersMigrations } from '../../adapters/sql/clusters/migrations.ts'
import { contractsMigrations } from '../../adapters/sql/contracts/migrations.ts'
import { identityMigrations } from '../../adapters/sql/identity/migrations.ts'
import { kernelMigrations } from '../../adapters/sql/kernel/migrations.ts'
import { mailMigrations } from '../../adapters/sql/mail/migrations.ts'
import { marketplaceMigrations } from '../../adapters/sql/marketplace/migrations.ts'
import { meteringMigrations } from '../../adapters/sql/marketplace/migrations.ts'
import { metricsProxyMigrations } from '../../adapters/sql/metrics-proxy/migrations.ts'
import { organizationsMigrations } from '../../adapters/sql/organizations/migrations.ts'
import { packagesMigrations } from '../../adapters/sql/packages/migrations.ts'
import { tasksMigrations } from '../../adapters/sql/tasks/migrations.ts'
import { usageMigrations } from '../../adapters/sql/usage/migrations.ts'
import type { PartMigrations } from '../../adapters/sql/kit/migration.ts'

/**
 * The migrations of each of our parts, for tests of the database that load no part. test/composition/parts.test.ts
 * compares them with those of the parts.
 */
export const allMigrations: readonly PartMigrations[] = [
  auditMigrations,
  authzMigrations,
  busMigrations,
  chartRepositoriesMigrations,
  clientOrgsMigrations,
  cloudsMigrations,
  clustersMigrations,
  contractsMigrations,
  identityMigrations,
  kernelMigrations,
  mailMigrations,
  marketplaceMigrations,
  meteringMigrations,
  metricsProxyMigrations,
  organizationsMigrations,
  packagesMigrations,
  tasksMigrations,
  usageMigrations,
]
