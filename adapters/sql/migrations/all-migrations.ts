import { migration as identityAccounts } from './0001-identity-accounts.ts'
import { migration as organizationsTeams } from './0002-organizations-teams.ts'
import { migration as authzRoles } from './0003-authz-roles.ts'
import { migration as auditEvents } from './0004-audit-events.ts'
import { migration as kernelBookkeeping } from './0005-kernel-bookkeeping.ts'
import { migration as clustersRecords } from './0006-clusters-records.ts'
import { migration as identitySecondFactors } from './0007-identity-second-factors.ts'
import { migration as identityAttempts } from './0008-identity-attempts.ts'
import { migration as identityRemembered } from './0009-identity-remembered.ts'
import { migration as mailOutbox } from './0010-mail-outbox.ts'
import { migration as identityCodes } from './0011-identity-codes.ts'
import { migration as identitySite } from './0012-identity-site.ts'
import { migration as organizationsSecurity } from './0013-organizations-security.ts'
import { migration as cloudsCredentials } from './0014-clouds-credentials.ts'
import { migration as busAccounts } from './0015-bus-accounts.ts'
import { migration as identityAvatars } from './0016-identity-avatars.ts'
import { migration as auditRetention } from './0017-audit-retention.ts'
import { migration as identityPreferences } from './0018-identity-preferences.ts'
import { migration as kernelIndexes } from './0019-kernel-indexes.ts'
import { migration as tasks } from './0020-tasks.ts'
import { migration as packagesDrivers } from './0021-packages-drivers.ts'
import { migration as chartRepositories } from './0022-chart-repositories.ts'
import { migration as kernelInstances } from './0023-kernel-instances.ts'
import { migration as identitySearchTerms } from './0024-identity-search-terms.ts'
import { migration as identityInterface } from './0025-identity-interface.ts'
import { migration as identityClusterTokens } from './0026-identity-cluster-tokens.ts'
import { migration as tasksResponseIds } from './0027-tasks-response-ids.ts'
import { migration as clustersManagedNames } from './0028-clusters-managed-names.ts'
import { migration as contracts } from './0029-contracts.ts'
import { migration as contractsDocuments } from './0030-contracts-documents.ts'
import { migration as usageEvents } from './0031-usage-events.ts'
import { migration as usageClusters } from './0032-usage-clusters.ts'
import { migration as usageMonths } from './0033-usage-months.ts'
import { migration as clustersSetNames } from './0034-clusters-set-names.ts'
import { migration as contractsTerms } from './0040-contracts-terms.ts'
import { migration as usageTerms } from './0041-usage-terms.ts'
import { migration as usageIntake } from './0043-usage-intake.ts'
import { migration as usageRefused } from './0044-usage-refused.ts'
import { migration as usageFinalMonths } from './0045-usage-final-months.ts'
import { migration as marketplace } from './0050-marketplace.ts'
import type { Migration } from './migration.ts'

/** Every migration in the order in which they run. New ones are appended. */
export const allMigrations: readonly Migration[] = [
  identityAccounts,
  organizationsTeams,
  authzRoles,
  auditEvents,
  kernelBookkeeping,
  clustersRecords,
  identitySecondFactors,
  identityAttempts,
  identityRemembered,
  mailOutbox,
  identityCodes,
  identitySite,
  organizationsSecurity,
  cloudsCredentials,
  busAccounts,
  identityAvatars,
  auditRetention,
  identityPreferences,
  kernelIndexes,
  tasks,
  packagesDrivers,
  chartRepositories,
  kernelInstances,
  identitySearchTerms,
  identityInterface,
  identityClusterTokens,
  tasksResponseIds,
  clustersManagedNames,
  contracts,
  contractsDocuments,
  usageEvents,
  usageClusters,
  usageMonths,
  clustersSetNames,
  contractsTerms,
  usageTerms,
  usageIntake,
  usageRefused,
  usageFinalMonths,
  marketplace,
]
