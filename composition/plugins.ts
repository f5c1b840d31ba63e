import type { AnyPlugin } from '../plugins/kit/plugin.ts'
import { auditPlugin } from '../plugins/audit/plugin.ts'
import { authzPlugin } from '../plugins/authz/plugin.ts'
import { chartRepositoriesPlugin } from '../plugins/chart-repositories/plugin.ts'
import { cloudsPlugin } from '../plugins/clouds/plugin.ts'
import { busPlugin } from '../plugins/bus/plugin.ts'
import { clustersPlugin } from '../plugins/clusters/plugin.ts'
import { clusterSetsPlugin } from '../plugins/clustersets/plugin.ts'
import { contractsPlugin } from '../plugins/contracts/plugin.ts'
import { featureSetsPlugin } from '../plugins/featuresets/plugin.ts'
import { spokesPlugin } from '../plugins/spokes/plugin.ts'
import { marketplaceHooksPlugin, marketplacePlugin } from '../plugins/marketplace/plugin.ts'
import { identityPlugin } from '../plugins/identity/plugin.ts'
import { mailPlugin } from '../plugins/mail/plugin.ts'
import { organizationsPlugin } from '../plugins/organizations/plugin.ts'
import { packagesPlugin } from '../plugins/packages/plugin.ts'
import { platformPlugin, platformVersionPlugin } from '../plugins/platform/plugin.ts'
import { tasksPlugin } from '../plugins/tasks/plugin.ts'
import { usagePlugin } from '../plugins/usage/plugin.ts'
import type { Provide } from './boot.ts'
import { provideAudit } from './wiring/audit.ts'
import { provideAuthz } from './wiring/authz.ts'
import { provideChartRepositories } from './wiring/chart-repositories.ts'
import { provideContracts } from './wiring/contracts.ts'
import { provideCharts, provideEditors, providePackages, provideReleaseTasks } from './wiring/packages.ts'
import { provideClouds } from './wiring/clouds.ts'
import { provideBus } from './wiring/bus.ts'
import { provideClusterTasks } from './wiring/cluster-tasks.ts'
import { provideClusters } from './wiring/clusters.ts'
import { provideFeatureSets } from './wiring/featuresets.ts'
import { provideHelm } from './wiring/helm.ts'
import { provideIdentity } from './wiring/identity.ts'
import { provideKernel } from './wiring/kernel.ts'
import { provideMarketplace } from './wiring/marketplace.ts'
import { provideMail } from './wiring/mail.ts'
import { provideOrganizations } from './wiring/organizations.ts'
import { providePlatform } from './wiring/platform.ts'
import { provideSpokes } from './wiring/spokes.ts'
import { provideTasks } from './wiring/tasks.ts'
import { provideUsageEvents } from './wiring/usage/events.ts'
import { provideUsageMonths } from './wiring/usage/months.ts'
import { provideUsageViews } from './wiring/usage/views.ts'

/**
 * Every part of the service, in the order in which a part may use the ports of others. MOORAGE_PLUGINS adds a
 * deployer's own parts.
 */
export const plugins: readonly AnyPlugin[] = [
  platformPlugin,
  mailPlugin,
  identityPlugin,
  organizationsPlugin,
  authzPlugin,
  auditPlugin,
  busPlugin,
  tasksPlugin,
  clustersPlugin,
  spokesPlugin,
  clusterSetsPlugin,
  featureSetsPlugin,
  contractsPlugin,
  usagePlugin,
  packagesPlugin,
  chartRepositoriesPlugin,
  cloudsPlugin,
  marketplacePlugin,
  marketplaceHooksPlugin,
  platformVersionPlugin,
]

/** The functions that bind the ports of each part to adapters. */
export const providers: readonly Provide[] = [
  provideKernel,
  providePlatform,
  provideMail,
  provideIdentity,
  provideOrganizations,
  provideAuthz,
  provideAudit,
  provideBus,
  provideTasks,
  provideClusters,
  provideClusterTasks,
  provideSpokes,
  provideCharts,
  provideChartRepositories,
  provideContracts,
  provideUsageEvents,
  provideUsageMonths,
  provideUsageViews,
  provideHelm,
  providePackages,
  provideReleaseTasks,
  provideEditors,
  provideClouds,
  provideFeatureSets,
  provideMarketplace,
]
